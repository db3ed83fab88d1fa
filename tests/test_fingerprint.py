"""Fingerprints: the same root cause gives the same line on every machine."""

import pytest

from crosswarp.matrix.suite import fingerprint

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
