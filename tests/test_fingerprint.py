"""Fingerprints: the same root cause gives the same line on every machine."""

import json
import re
import sys
import tempfile
from pathlib import Path

import pytest

from crosswarp.matrix.cell.judging import fingerprint

RESHAPE_OUTS = """\
python: /project/lib/Tools/LinearLayout.cpp:562: mlir::triton::LinearLayout mlir::triton::LinearLayout::reshapeOuts(\
llvm::ArrayRef<std::pair<mlir::StringAttr, int> >) const: Assertion `getTotalOutDimSize() == std::accumulate( \
newOutDims.begin(), newOutDims.end(), 1, [&](int32_t acc, auto &outDim) { return acc * outDim.second; })' failed.
"""


def test_an_assertion_names_file_function_and_condition_but_no_line():
    found = fingerprint.of_death("SIGABRT", RESHAPE_OUTS)
    assert found.startswith(
        "SIGABRT: LinearLayout.cpp: LinearLayout::reshapeOuts: Assertion `getTotalOutDimSize() =="
    )
    assert "562" not in found and "/project" not in found


def test_another_build_of_the_same_compiler_gives_the_same_fingerprint():
    moved = (
        RESHAPE_OUTS.replace("/project/", "/home/ci/src/")
        .replace(":562:", ":571:")
        .replace("python:", "pytest:")
    )
    assert fingerprint.of_death("SIGABRT", moved) == fingerprint.of_death("SIGABRT", RESHAPE_OUTS)


@pytest.mark.parametrize(
    "output, expected",
    [
        (
            "LLVM ERROR: Cannot select: 0x55d7: i32 = foo",
            "SIGABRT: LLVM ERROR: Cannot select: 0x…: i32 = foo",
        ),
        (
            "computeCapability not supported\nUNREACHABLE executed at /project/lib/Accelerate.cpp:38!",
            "SIGABRT: UNREACHABLE in Accelerate.cpp: computeCapability not supported",
        ),
        ("nothing known", "SIGABRT"),
        ("", "SIGABRT"),
    ],
)
def test_what_a_dying_compiler_says(output, expected):
    assert fingerprint.of_death("SIGABRT", output) == expected


def test_ptxas():
    text = "ptxas /scratch/tmpabc123_x.ptx, line 20; error   : Feature '.bf16' requires .target sm_80 or higher"
    assert "Feature '.bf16' requires .target <target> or higher" in fingerprint.of_exception(
        "RuntimeError", text
    )
    assert "tmpabc123" not in fingerprint.of_exception("RuntimeError", text)


def test_an_exception_is_its_type_and_its_telling_line():
    assert fingerprint.of_exception("TypeError", "missing a required argument: 'num_warps'") == (
        "TypeError: missing a required argument: 'num_warps'"
    )
    text = "at 12:34:\n    y = tl.foo(x)\n        ^\nAttributeError(\"module 'tl' has no attribute 'foo'\")"
    assert fingerprint.of_exception("CompilationError", text).endswith("has no attribute 'foo'\")")


@pytest.mark.parametrize("type_name", ["RuntimeError", "AcceleratorError"])
def test_an_error_of_the_gpu_is_what_cuda_says_and_no_advice(type_name):
    text = (
        "CUDA error: an illegal instruction was encountered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    found = fingerprint.of_exception(type_name, text)
    assert found == "CUDA error: an illegal instruction was encountered"


def test_paths_and_addresses_are_left_out():
    one = fingerprint.of_exception("KeyError", "object at 0x7f01 in /home/a/b/kernel.py:12")
    two = fingerprint.of_exception("KeyError", "object at 0x9abc in /srv/x/kernel.py:99")
    assert one == two == "KeyError: object at 0x… in kernel.py"


def test_endless_text_is_cut():
    assert len(fingerprint.of_exception("ValueError", "x" * 1_000_000)) <= fingerprint.LONGEST


def test_one_cause_on_two_targets_is_one_fingerprint():
    told = "{}: 2048 threads > 1024 in a block (num_warps=32)"
    one, two = (
        fingerprint.of_exception("LaunchRefused", told.format(target))
        for target in ("gfx90a", "gfx942")
    )
    assert one == two == "LaunchRefused: <target>: 2048 threads > 1024 in a block (num_warps=32)"
    assert "'<target>' is not defined" in fingerprint.of_exception(
        "RuntimeError", "ptxas fatal   : Value 'sm_100a' is not defined for option 'gpu-name'"
    )


@pytest.mark.parametrize(
    "one, two",
    [
        ("cannot open tmpab12cd_x", "cannot open tmpzz98yy_q"),
        ("killed pid 12", "killed pid 4711"),
        ("at 12:3: bad layout", "at 7:19: bad layout"),
    ],
)
def test_noise_of_the_day_is_left_out(one, two):
    assert fingerprint.of_text(one) == fingerprint.of_text(two)


# What real releases said of small kernels that each fail in a way of its own, on 2026-11-22; no path is kept.
PLACES = {"{tmp}": tempfile.gettempdir(), "{venv}": sys.prefix}


def _messages():
    text = (Path(__file__).parent / "data" / "compiler_messages.json").read_text("utf-8")
    for place, path in PLACES.items():
        assert place in text
        text = text.replace(place, path)
    return json.loads(text)


MESSAGES = _messages()
# Where a release says it in words of its own, or fails in another place of the compiler.
REWORDED = {
    # An abort in the lowering, where later releases have a verifier; an error of MLIR, where they look in Python.
    ("inline_pack", "2.3.1"),
    ("odd_range", "2.3.1"),
    # Raised by Python itself, not wrapped yet.
    ("unknown_name", "3.2.0"),
    # Other words, and other quotes in them.
    ("dot_shapes", "3.2.0"),
    ("small_dot", "3.2.0"),
    ("branch_type", "3.2.0"),
    ("loop_type", "3.2.0"),
}


def _of(message):
    if "reason" in message:
        return fingerprint.of_death(message["reason"], message["output"])
    return fingerprint.of_exception(message["type"], message["text"], message["output"])


def test_no_two_causes_share_a_fingerprint():
    kinds = {}
    for message in MESSAGES:
        kinds.setdefault(_of(message), set()).add(message["kind"])
    assert not {line: both for line, both in kinds.items() if len(both) > 1}
    # And none says only that something failed.
    assert not [line for line in kinds if re.search("PassManager|^[A-Za-z]+$|aborted due to", line)]


def test_one_cause_has_one_fingerprint_on_all_releases():
    lines, releases = {}, {}
    for message in MESSAGES:
        if (message["kind"], message["triton"]) not in REWORDED:
            lines.setdefault(message["kind"], set()).add(_of(message))
            releases.setdefault(message["kind"], set()).add(message["triton"])
    assert not {kind: found for kind, found in lines.items() if len(found) > 1}
    # From a location that is spelled `loc("…")` to one that is not, and from ptxas to ptxas-blackwell.
    assert {"3.2.0", "3.6.0"} <= releases["inline_pack"]
    assert {"2.3.1", "3.2.0", "3.6.0", "3.9.0"} <= releases["inline_unknown"]


def test_an_mlir_error_reads_alike_before_and_after_its_location_was_spelled_plainly():
    told = "error: 'tt.dot' op expected the same element type"
    old = f'loc("/home/a/kernel.py":12:23): {told}\n'
    named = f'loc("x"("/home/a/kernel.py":12:23)): {told}\n'
    new = f"/home/a/kernel.py:31:20: {told}\n    y = tl.dot(a, b)\n        ^\n"
    found = {
        fingerprint.of_exception("RuntimeError", "PassManager::run failed", text)
        for text in (old, named, new)
    }
    assert found == {"RuntimeError: MLIR error: 'tt.dot' op expected the same element type"}
    other = fingerprint.of_exception(
        "RuntimeError", "PassManager::run failed", old.replace("'tt.dot'", "'tt.load'")
    )
    assert other not in found


def test_a_pass_that_fails_without_a_word_is_named():
    at = "/home/a/kernel.py:106:0"
    general = "error: Failures have been detected while processing an MLIR pass pipeline"
    said = "{0}: {1}\n{0}: note: Pipeline failed while executing [`{2}` on 'builtin.module' operation]: reproducer …\n"
    one, two = (
        fingerprint.of_exception(
            "RuntimeError", "PassManager::run failed", said.format(at, general, name)
        )
        for name in ("NVWSInsertAref", "TritonGPUAccelerateMatmul")
    )
    assert one == "RuntimeError: MLIR error: the pass NVWSInsertAref failed" != two
    # What was wrong, where it is said, tells more than where.
    cause = f"{at}: error: operand does not dominate this use\n"
    assert fingerprint.of_exception(
        "RuntimeError",
        "PassManager::run failed",
        cause + said.format(at, general, "NVWSInsertAref"),
    ).endswith("MLIR error: operand does not dominate this use")


def test_ptxas_tells_all_that_is_wrong_and_not_how_many_registers():
    told = "Internal Triton PTX codegen error\n`ptxas` stderr:\n{}ptxas fatal   : Ptx assembly aborted due to errors\n"
    remark = "ptxas info    : (C7510) Potential Performance Loss in the function 'a'\n" * 200
    short = "ptxas fatal   : (C7600) Register allocation failed with register count of '{}'. …\n"
    counts = {
        fingerprint.of_exception(name, told.format(remark + short.format(count)))
        for count in (24, 255)
        for name in ("RuntimeError", "PTXASError")
    }
    (only,) = counts
    assert only.startswith("PTXASError: ptxas fatal : (C7600) Register allocation failed")
    line = f"ptxas {tempfile.gettempdir()}/tmp1234567.ptx, line 44; error   : {{}}\n"
    one = line.format("Arguments mismatch for instruction 'add'")
    two = one * 2 + line.format("Unknown symbol '%x'")
    found = [fingerprint.of_exception("PTXASError", told.format(text)) for text in (one, two)]
    assert found[1] == f"{found[0]}; error : Unknown symbol '%x'"
