"""The pure parts of the cell side: limits, binaries, the oracle's gaps, verdicts, the stream."""

import errno
import json
import multiprocessing
import platform
from types import SimpleNamespace

import pytest

from crosswarp.compat import all_shims
from crosswarp.compat.errors import CompilerCrashed
from crosswarp.kernels.case import FEATURES
from crosswarp.matrix.cell import plain
from crosswarp.matrix.cell.asked import AskedSuite, read
from crosswarp.matrix.cell.judging import tuning, verdict
from crosswarp.matrix.cell.kinds.suite import language, oracle
from crosswarp.matrix.cell.protocol import Note
from crosswarp.matrix.cell.standins.virtual_gpu import reading
from crosswarp.matrix.cell.standins.virtual_gpu.binary import read_binary
from crosswarp.matrix.cell.standins.virtual_gpu.limits import LaunchRefused, Target
from crosswarp.matrix.cell.starting.specification import wrong_versions
from crosswarp.matrix.cell.stream import Stream, shortened

CDNA = Target("gfx942", "hip", "gfx942", "gfx9", 64, 1024, 65536, 131072, 304)
HOPPER = Target("sm_90", "cuda", 90, "sm_9", 32, 1024, 232448, 65536, 132)


def test_thirty_two_warps_fit_on_nvidia_and_not_on_cdna():
    HOPPER.check(32, 0, 40, (1, 1, 1))
    with pytest.raises(LaunchRefused, match="2048 threads > 1024.*invalid argument"):
        CDNA.check(32, 0, 40, (1, 1, 1))


@pytest.mark.parametrize(
    "target, warps, shared, registers, grid, words",
    [
        (HOPPER, 4, 232449, 40, (1, 1, 1), "shared memory > 232448"),
        (HOPPER, 32, 0, 65, (1, 1, 1), "65 registers x 1024 threads > 65536"),
        (HOPPER, 4, 0, 40, (1, 65536, 1), "65536 blocks > 65535 in grid dimension y"),
        (CDNA, 4, 0, 40, (2**24, 1, 1), "work items"),
    ],
)
def test_other_limits(target, warps, shared, registers, grid, words):
    with pytest.raises(LaunchRefused) as refused:
        target.check(warps, shared, registers, grid)
    assert words in str(refused.value)


def test_a_large_grid_in_x_is_fine_on_nvidia():
    HOPPER.check(4, 0, 40, (2**24, 65535, 65535))


def test_amdgcn_text_is_read():
    text = b"...\n    .private_segment_fixed_size: 216\n    .vgpr_count:     512\n    .vgpr_spill_count: 54\n"
    found = read_binary(text)
    assert (found.registers, found.stack, found.spills) == (512, 216, 54)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF" + b"\0" * 64, b"\xff" * 100])
def test_a_binary_that_cannot_be_read_has_no_figures(data):
    try:
        found = read_binary(data)
    except Exception as error:  # noqa: BLE001
        pytest.fail(f"raised {error!r}")
    assert found.registers is None


def test_a_binary_is_read_once(tmp_path, monkeypatch):
    """What was read is noted by all that it was read from; what is torn, or cannot be noted, is read."""
    assembly = ".vgpr_count: 8\n\ts_barrier\n\ts_endpgm\n"
    forms = {"amdgcn": assembly}
    reading.note_in(tmp_path / "readings")
    try:
        found, counts = reading.read(assembly.encode(), forms)
        assert found.registers == 8 and counts["barrier"] == 1
        (noted,) = (tmp_path / "readings").iterdir()
        with monkeypatch.context() as patched:
            patched.setattr(reading, "_read", lambda *what: pytest.fail("read again"))
            assert reading.read(assembly.encode(), forms) == (found, counts)
        noted.write_text("{")
        assert reading.read(assembly.encode(), forms) == (found, counts)
        more = {"amdgcn": assembly.replace("s_barrier", "s_barrier\n\ts_barrier")}
        assert reading.read(assembly.encode(), more)[1]["barrier"] == 2
        (tmp_path / "file").touch()
        reading.note_in(tmp_path / "file")
        assert reading.read(assembly.encode(), forms) == (found, counts)
    finally:
        reading.note_in(None)


def test_bf16_is_never_compared_in_an_interpreter():
    assert oracle.gap(("bf16",), "3.2.0", "1.26.4").why.startswith(
        "the interpreter computes on the bit patterns"
    )
    assert oracle.gap(("fp32",), "3.2.0", "1.26.4") is None


def test_what_a_triton_lacks_is_unsupported_unless_a_shim_provides_it():
    assert language.lack(("dot", "tl-range"), "2.3.1", "sm_90").why.startswith("tl.range came with")
    assert language.lack(("dot", "tl-range"), "2.3.1", "sm_90", ["language_names"]) is None
    assert language.lack(("dot", "tl-range"), "3.0.0", "sm_90") is None
    assert language.lack(("tensor-descriptor",), "3.3.1", "gfx942") is not None
    assert language.lack(("dot-scaled",), "3.6.0", "gfx942") is not None
    assert language.lack(("dot-scaled",), "3.6.0", "sm_90") is None
    assert language.lack(("tensor-descriptor",), "3.4.0+git1234", "gfx942") is None


# Of no release, so no feature that has a window: kernels that use it bring a probe (kernels/tlx_import.py).
PROBED = ("tlx",)


def test_features_have_one_spelling():
    known = {one.uses for one in (*language.LACKS, *oracle.GAPS)} - {"*"}
    # What some interpreter refuses without more words (matrix/cell/starting/probe_kernels.py), and what need not give
    # the same bits twice (device.py).
    assert known | {"autotune", "dot", "atomic"} == {*FEATURES, *PROBED}


def test_the_oldest_interpreter_is_no_oracle_at_all():
    assert oracle.gap(("fp32",), "2.3.1", "1.26.4") is not None


@pytest.mark.parametrize(
    "triton, numpy, trusted",
    [("3.1.0", "1.26.4", True), ("3.1.0", "2.0.2", False), ("3.2.0", "2.3.5", True), ("3.2.0", "2.4.0", False),
     ("3.6.0", "2.4.6", False), ("3.7.1", "2.5.2", True)],
)  # fmt: skip
def test_numpy_decides_too(triton, numpy, trusted):
    assert (oracle.gap(("fp32",), triton, numpy) is None) is trusted


def test_a_gap_is_closed_by_its_shim():
    uses = ("reserved-option", "fp32")
    assert oracle.gap(uses, "3.2.0", "1.26.4") is not None
    assert oracle.gap(uses, "3.2.0", "1.26.4", ["interpreter_reserved_options"]) is None
    assert oracle.gap(uses, "3.3.1", "1.26.4") is None


def test_each_gap_has_its_word_and_the_window_of_its_shim():
    shims = {shim.name: shim for shim in all_shims()}
    for gap in oracle.GAPS:
        assert gap.uses in ("*", *FEATURES, *PROBED)
        if gap.shim:
            assert gap.triton == shims[gap.shim].window, gap.uses


def test_a_dead_compiler_is_a_crash_with_its_fingerprint():
    found = verdict.of_error(CompilerCrashed("k", "signal", "SIGABRT", "LLVM ERROR: out of luck"))
    assert (found.outcome, found.reason, found.fingerprint) == (
        "crash",
        "SIGABRT",
        "SIGABRT: LLVM ERROR: out of luck",
    )


def test_an_endless_compiler_is_a_timeout():
    found = verdict.of_error(CompilerCrashed("k", "timeout", "120 s", ""))
    assert (found.outcome, found.reason) == ("timeout", "longer than 120 s")


@pytest.mark.parametrize(
    "kind, reason, outcome, words",
    [("exit", "exit 0", "crash", "exit 0 without a result"),
     ("memory", "600 MiB", "crash", "memory: more than 600 MiB"),
     ("signal", "SIGSEGV", "crash", "SIGSEGV"), ("timeout", "5 s", "timeout", "longer than 5 s")],
)  # fmt: skip
def test_ends_of_a_process(kind, reason, outcome, words):
    found = verdict.of_death(kind, reason, "")
    assert (found.outcome, found.reason) == (outcome, words)


def test_a_refused_launch_is_a_limit():
    try:
        CDNA.check(32, 0, 40, (1, 1, 1))
    except LaunchRefused as error:
        found = verdict.of_error(error)
    assert (found.outcome, found.phase) == ("limit", "launch")


def test_an_exception_before_compiling_is_an_api_error():
    found = verdict.of_error(TypeError("missing a required argument: 'num_warps'"))
    assert (found.outcome, found.reason) == ("api-error", "TypeError")


def test_a_fault_on_the_device_is_a_crash():
    found = verdict.of_error(RuntimeError("CUDA error: an illegal memory access was encountered"))
    assert (found.outcome, found.reason, found.phase) == ("crash", "device fault", "execute")
    assert verdict.of_error(RuntimeError("CUDA error: invalid argument")).outcome == "api-error"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_disk_says_nothing_about_the_kernel(number):
    found = verdict.of_error(OSError(number, "No space left on device"))
    assert (found.outcome, found.reason) == ("not-run", "disk full")
    assert "free space" in found.message


def test_causes_in_a_ring_have_an_end():
    one, other = ValueError("one"), TypeError("other")
    one.__cause__ = one
    assert verdict.of_error(one).fingerprint == "ValueError: one"
    one.__cause__, other.__cause__ = other, one
    found = verdict.of_error(one)
    assert (found.outcome, found.reason) == ("api-error", "ValueError") and "other" in found.message


def dot():
    raise AssertionError


def test_a_bare_assertion_is_told_by_where_it_stands():
    class CompilationError(Exception):
        """As Triton raises it: a line of the kernel, and no word of what was wrong."""

    told = []
    for line in (
        "at 7:9:\n    v5 = tl.dot(v10, v5)\n         ^",
        "at 3:9:\n    acc = tl.dot(a, b, acc)\n",
    ):
        try:
            try:
                dot()
            except AssertionError as cause:
                raise CompilationError(line) from cause
        except CompilationError as error:
            told.append(verdict.of_error(error))
    assert {one.fingerprint for one in told} == {
        "CompilationError: AssertionError in test_suite_pure.py: dot"
    }
    assert "tl.dot(v10, v5)" in told[0].message


class _NoText(Exception):
    def __str__(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), SystemExit(3), _NoText()])
def test_exceptions_of_any_kind_are_the_kernel_s(error):
    found = verdict.of_error(error, "bind")
    assert (found.outcome, found.reason, found.phase) == ("api-error", type(error).__name__, "bind")
    assert json.loads(json.dumps(verdict.as_data(found))) == verdict.as_data(found)


def test_a_configuration_that_interrupts_has_its_verdict():
    told = []
    log = tuning.ConfigLog(
        lambda name: None, lambda name, verdict: told.append((name, verdict.reason))
    )
    config = SimpleNamespace(kwargs={"BLOCK": 64}, num_warps=4, num_stages=3)

    def bench():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log._visit(SimpleNamespace(), config, bench)
    assert told == [("BLOCK=64,num_stages=3,num_warps=4", "KeyboardInterrupt")]


class _Own:
    def __str__(self):
        raise RuntimeError


class _Endless(dict):
    def __iter__(self):
        raise GeneratorExit


def test_any_object_becomes_plain_data():
    holds_itself: list = []
    holds_itself += [holds_itself, holds_itself]
    strange = {
        (1, 2): _Own(), "nan": float("nan"), "large": 2**64, "set": {1}, "deep": holds_itself, "none": None,
        "endless": _Endless(a=1), "half": "\ud800", 3: [True, 1.5, b"x"],
    }  # fmt: skip
    found = plain.clean(strange)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["(1, 2)"] == "<_Own without text: RuntimeError>"
    assert (found["nan"], found["large"], found["set"], found["half"]) == (
        "nan",
        str(2**64),
        [1],
        "?",
    )
    assert found["3"] == [True, 1.5, "b'x'"]


def _nested(levels):
    return {"a": _nested(levels - 1)} if levels else {"a": 1}


@pytest.mark.parametrize(
    "value, is_clean",
    [
        ({"a": [1, -1.5, True, None, "x", {"b": []}]}, True),
        ([], True),
        ([2**63 - 1, -(2**63)], True),
        (_nested(plain.MAX_DEPTH - 1), True),
        (_nested(plain.MAX_DEPTH), False),
        ({"a": {"b": float("nan")}}, False),
        ([[float("inf")]], False),
        ([2**63], False),
        ([{"\ud800": 1}], False),
        ({"a": ["\ud800"]}, False),
        ({"a": "x" * (plain.MAX_TEXT + 1)}, False),
        ({"x" * (plain.MAX_TEXT + 1): 1}, False),
    ],
)
def test_what_is_clean_need_not_be_cleaned(value, is_clean):
    assert plain.is_clean(value) == is_clean == (plain.clean(value) == value)


def test_wrong_versions_are_named():
    import packaging

    assert wrong_versions({"packaging": packaging.__version__}) == ""
    assert wrong_versions({"packaging": "1.0"}) == f"packaging {packaging.__version__}, planned 1.0"
    assert "not installed" in wrong_versions({"no-such-distribution": "1.0"})


def test_a_python_is_planned_to_the_minor_or_to_the_patch():
    major, minor, patch = platform.python_version_tuple()
    assert wrong_versions({"python": f"{major}.{minor}"}) == ""
    assert wrong_versions({"python": f"{major}.{minor}.{patch}"}) == ""
    # Not 3.1 for a 3.11.
    assert "planned" in wrong_versions({"python": f"{major}.{minor}"[:-1]})


def test_many_writers_never_mix_their_lines(tmp_path):
    path = tmp_path / "records.jsonl"
    writers = [
        multiprocessing.get_context("fork").Process(target=_write_many, args=(path, n))
        for n in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(events) == 400
    assert {event["text"].split()[0] for event in events} == {
        f"{w}:{n}" for w in range(4) for n in range(100)
    }


def _write_many(path, writer):
    for n in range(100):
        Stream(path).write(Note(f"{writer}:{n} \u202e\x1b[31m" + "x" * 3000))


def test_long_messages_keep_both_ends():
    text = shortened("first" + "x" * 100_000 + "last")
    assert text.startswith("first") and text.endswith("last") and len(text) < 9000


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_broken_specification_is_refused(tmp_path, content):
    path = tmp_path / "spec.json"
    path.write_text(content)
    with pytest.raises(ValueError):
        read(path, AskedSuite)


def test_the_function_below_decorators_is_reached_and_the_way_down_has_an_end():
    def kernel():
        pass

    class Decorator:
        def __init__(self, fn):
            self.fn = fn

    class Endless:
        asked = 0

        @property
        def fn(self):
            self.asked += 1
            return self if self.asked < 1000 else None

    assert plain.below_decorators(Decorator(Decorator(kernel))) is kernel
    assert plain.below_decorators(kernel) is kernel
    endless = Endless()
    plain.below_decorators(endless)
    assert endless.asked < 1000
