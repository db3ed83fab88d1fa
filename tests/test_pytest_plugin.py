"""The pure parts of the pytest plugin: what is sampled, judged, noted and stubbed. No torch, no Triton."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import pytest

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.pytest_plugin import (
    configurations,
    judging,
    nvidia_smi,
    options,
    outcomes,
    rewriting,
    sampling,
    stubs,
)
from crosswarp.matrix.cell.pytest_plugin.judging import Frame

FOLDER = Path(options.__file__).parent


# Sampling


def names(**functions):
    return [
        f"t.py::{name}[{place}]" for name, number in functions.items() for place in range(number)
    ]


def test_a_sample_gives_each_function_one_before_any_a_second():
    everything = names(a=1000, b=2, c=1, d=5)
    chosen = [everything[place] for place in sampling.sample(everything, 6)]
    functions = [name.partition("[")[0][-1] for name in chosen]
    assert sorted(set(functions)) == ["a", "b", "c", "d"]
    assert max(functions.count(name) for name in "abd") == 2
    assert functions == sorted(functions), "in the order of the tests"


def test_a_sample_depends_on_the_names_alone():
    everything = names(a=50, b=50)
    chosen = {everything[place] for place in sampling.sample(everything, 20)}
    turned = everything[::-1]
    assert {turned[place] for place in sampling.sample(turned, 20)} == chosen
    more = everything + names(c=3)
    kept = {more[place] for place in sampling.sample(more, 20)} & chosen
    assert len(kept) >= 15, "another function takes the places of few"
    assert sampling.sample(everything, 500) == list(range(100))


class Metafunc:
    """As much of pytest's as parametrising takes."""

    def __init__(self, name):
        self._calls, self.definition = [], SimpleNamespace(nodeid=name)

    def parametrize(self, values):
        before = self._calls or [SimpleNamespace(id="")]
        self._calls = [
            SimpleNamespace(id=f"{call.id}-{value}".strip("-"))
            for call in before
            for value in values
        ]


def test_parameters_are_cut_before_they_multiply():
    function, told = Metafunc("t.py::test"), []
    sampling.cut_parameters(function, 8, told.append)
    for _ in range(6):
        function.parametrize(range(10))
        assert len(function._calls) <= 10
    assert len(function._calls) == 8 and sum(told) + 8 == 10**6
    again = Metafunc("t.py::test")
    sampling.cut_parameters(again, 8, told.append)
    for _ in range(6):
        again.parametrize(range(10))
    assert [call.id for call in again._calls] == [call.id for call in function._calls]


def test_the_first_and_the_last_configuration():
    assert configurations.chosen(range(10), 2) == [0, 9]
    assert configurations.chosen(range(10), 1) == [0]
    assert configurations.chosen(range(10), 4) == [0, 3, 6, 9]
    assert configurations.chosen(range(10), 0) == list(range(10))
    assert configurations.chosen([7], 2) == [7]


# Judging


@pytest.mark.parametrize(
    "text",
    [
        *("y.shape == (3, 4)", "y.dtype == x.dtype", "len(y.shape) == 3 and y.dtype is x.dtype"),
        *("x.grad is not None", "isinstance(y, tuple)", "not y.is_contiguous()", "y.size(0) == 3"),
        *("y.device == x.device", "y.shape[0] == n", "x.grad_fn is None or y.is_cuda"),
    ],
)
def test_asserts_about_structure(text):
    assert judging.structural(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text",
    [
        *("torch.equal(y, x)", "(y - x).abs().max() < 1e-3", "y.item() == 3", "ok", "check(y, x)"),
        *(
            "y.shape == x.shape and torch.allclose(y, x)",
            "not y.isnan().any()",
            "error < tolerance",
        ),
    ],
)
def test_asserts_about_values(text):
    assert not judging.structural(ast.parse(text, mode="eval").body)


TEST = Frame("/home/me/lib/tests/test_op.py", "test_op", "test_op")


@pytest.mark.parametrize(
    ("text", "frames", "about"),
    [
        ("assert False", [TEST], True),
        ("no", [TEST, Frame("/home/me/lib/tests/helper.py", "hm", "helper")], True),
        ("no", [TEST, Frame("/home/me/lib/mylib/utils.py", "assert_close", "mylib.utils")], True),
        ("no", [TEST, Frame("/v/site-packages/fla/utils.py", "check_err", "fla.utils")], True),
        # A library that refuses its arguments.
        ("K > 256", [TEST, Frame("/v/site-packages/fla/ops.py", "chunk", "fla.ops")], False),
        # Triton's own, whoever called it: in a folder of that name nothing of Triton's is.
        (
            "",
            [TEST, Frame("/v/site-packages/triton/compiler.py", "check", "triton.compiler")],
            False,
        ),
        ("no", [Frame("/src/triton/mine/tests/test_a.py", "test_a", "test_a")], True),
        ("The values for attribute 'shape' do not match: (3,) != (4,)", [TEST], False),
        ("The values for attribute 'dtype' do not match", [TEST], False),
        ("(shapes (3,), (4,) mismatch)", [TEST], False),
        ("Tensor-likes are not close!", [TEST], True),
        ("nowhere", [], False),
    ],
)
def test_which_failed_assert_is_about_values(text, frames, about):
    assert judging.about_values(text, frames) is about


def run_noting(source, notes):
    """`source` as a test module of pytest's would be; what was noted, and what it bound."""
    noted = []

    def note(error):
        noted.append(str(error))
        return notes

    module = rewriting.transformed(ast.parse(source))
    bound = {rewriting._NOTE: note}
    error = None
    try:
        exec(compile(module, "test_it.py", "exec"), bound)
    except AssertionError as caught:
        error = caught
    return noted, bound, error


def test_a_module_goes_on_where_the_error_is_noted():
    source = (
        "def check(): raise AssertionError('helper')\n"
        "assert 1 == 2, 'plain'\n"
        "check()\n"
        "if True:\n    assert False, 'nested'\n"
        "done = True\n"
    )
    noted, bound, error = run_noting(source, notes=True)
    assert noted == ["plain", "helper", "nested"] and bound["done"] and error is None
    noted, bound, error = run_noting(source, notes=False)
    assert noted == ["plain"] and "done" not in bound
    assert error.__traceback__.tb_next.tb_lineno == 2, "the traceback shows the assert"


def test_an_assert_about_structure_is_raised_and_marked():
    source = "class y: shape = (3,)\nassert y.shape == (4,)\n"
    noted, _, error = run_noting(source, notes=True)
    assert noted == [] and getattr(error, rewriting.STRUCTURAL)


def test_another_run_never_reads_what_was_rewritten():
    import _pytest.assertion.rewrite as rewrite

    patches, before = Patches(), (rewrite.PYC_TAIL, rewrite.rewrite_asserts)
    assert rewriting.install(patches, lambda error: True)
    try:
        assert rewrite.PYC_TAIL != before[0] and rewrite.PYC_TAIL.endswith(before[0])
    finally:
        patches.undo()
    assert (rewrite.PYC_TAIL, rewrite.rewrite_asserts) == before


# Outcomes


def report(outcome="passed", when="call"):
    return SimpleNamespace(
        nodeid="t.py::test",
        when=when,
        duration=0.5,
        longrepr=None,
        **{kind: kind == outcome for kind in ("passed", "failed", "skipped")},
    )


def test_no_outcome_is_called_passed():
    cases = {
        "compiled": (report(), "compiled", 3),
        "no launch": (report(), "no launch", 0),
        "not applicable": (report("skipped"), "not applicable", 1),
        "failed": (report("failed"), "red", 2),
    }
    for category, (one, word, launches) in cases.items():
        one.crosswarp = {"outcome": word, "launches": launches, "noted": []}
        found = outcomes.status(one)
        assert found[0] == category
        assert "pass" not in f"{found[0]} {found[1]} {found[2][0]}".lower()
    assert outcomes.status(cases["compiled"][0])[2][0] == "COMPILED (3 launches)"
    assert outcomes.status(report()) is None


def test_the_summary_counts_each():
    one, two = report(), report()
    one.crosswarp = two.crosswarp = {"outcome": "compiled", "launches": 4, "noted": []}
    stats = {"compiled": [one, two], "no launch": [1], "failed": [1], "error": [1], "skipped": [1]}
    assert outcomes.summary(stats, "compiled") == (
        "2 compiled (8 launches), 1 no launch, 2 red, 1 skipped by the tests themselves"
    )


# Options


def parsed(**changed):
    base = dict(
        virtual_gpu="sm_90",
        virtual_gpu_lane="compile",
        crosswarp_shims=False,
        crosswarp_bare=False,
        crosswarp_sample=None,
        crosswarp_stub=["a", "b", "a"],
        crosswarp_time_limit=60.0,
        crosswarp_configurations=2,
        crosswarp_records=None,
        crosswarp_sanitize=False,
    )
    return SimpleNamespace(**{**base, **changed})


def test_the_interpreter_is_shimmed_unless_told_otherwise():
    assert not options.settings_of(parsed()).shimmed
    assert options.settings_of(parsed(crosswarp_shims=True)).shimmed
    assert options.settings_of(parsed(virtual_gpu_lane="interpret")).shimmed
    assert not options.settings_of(
        parsed(virtual_gpu_lane="interpret", crosswarp_bare=True)
    ).shimmed
    assert options.settings_of(parsed()).stubs == ["a", "b"]
    assert options.settings_of(parsed(virtual_gpu_lane="emulate", crosswarp_sanitize=True)).sanitize


@pytest.mark.parametrize(
    "changed",
    [
        dict(crosswarp_shims=True, crosswarp_bare=True),
        dict(crosswarp_sample=0),
        dict(crosswarp_time_limit=0.0),
        dict(crosswarp_time_limit=float("nan")),
        dict(crosswarp_configurations=-1),
        dict(crosswarp_sanitize=True),
    ],
)
def test_options_out_of_range_say_what_to_give(changed):
    with pytest.raises(ValueError, match="give"):
        options.settings_of(parsed(**changed))


# Stand-ins


def test_a_stub_can_be_imported_subclassed_and_decorated_with():
    patches = Patches()
    stubs.install(patches, ["not_there"])
    try:
        import not_there
        from not_there.inner.deeper import Base, decorate

        class Mine(Base):
            value = 3

        assert Mine().value == 3 and Mine.value == 3
        decorate(lambda: None)
        assert isinstance(not_there, types.ModuleType)
        assert not_there.some.thing.__name__ == "thing"
    finally:
        patches.undo()
    assert not any(name.startswith("not_there") for name in sys.modules)
    with pytest.raises(ImportError):
        import not_there  # noqa: F811


def test_what_to_do_about_a_missing_module():
    assert "--crosswarp-stub flash_attn_2_cuda" in stubs.hint(
        "E   ModuleNotFoundError: No module named 'flash_attn_2_cuda'"
    )
    assert stubs.hint("E   SyntaxError: invalid syntax") == ""


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'triton.experimental.gluon'",
        "ImportError: cannot import name 'extra' from 'triton.experimental.gluon.language' (/x/__init__.py)",
    ],
)
def test_no_stub_for_a_name_that_this_triton_lacks(text):
    hint = stubs.hint(text)
    assert "--crosswarp-stub" not in hint and "crosswarp lint" in hint
    assert "--crosswarp-stub triton_extension" in stubs.hint("No module named 'triton_extension'")


@pytest.fixture
def smi(monkeypatch):
    monkeypatch.setattr(nvidia_smi.shutil, "which", lambda name: None)
    patches, path = Patches(), os.environ["PATH"]
    properties = SimpleNamespace(name="NVIDIA H100", major=9, minor=0, total_memory=64 << 30)
    nvidia_smi.install(patches, SimpleNamespace(backend="cuda"), properties)
    yield (
        lambda *arguments: (
            subprocess.run(
                ["nvidia-smi", *arguments], capture_output=True, text=True, check=True
            ).stdout
        )
    )
    patches.undo()
    assert os.environ["PATH"] == path


def test_nvidia_smi_answers(smi):
    asked = ("--query-gpu=name,compute_cap,memory.total", "--format=csv,noheader")
    assert smi(*asked) == "NVIDIA H100, 9.0, 65536 MiB\n"
    assert smi("-L").startswith("GPU 0: NVIDIA H100") and "Driver Version" in smi()


# What the plugin costs without its option


def test_inert_it_imports_next_to_nothing():
    code = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import crosswarp.matrix.cell.pytest_plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = done.stdout.split()
    assert len(new) <= 6 and all(name.startswith("crosswarp") for name in new), new


def test_pytest_does_not_rewrite_the_plugin():
    """Its own asserts are none of a library's, and the rewriting would cost each run that has no use for it."""
    for path in FOLDER.rglob("*.py"):
        text = path.read_text("utf-8")
        assert "PYTEST_DONT_REWRITE" in (ast.get_docstring(ast.parse(text)) or ""), path


# Way emulate


def machine_that_failed(**verdict):
    from crosswarp.matrix.cell.pytest_plugin import lanes

    way = lanes.make("emulate")
    way._machine = SimpleNamespace(failed=SimpleNamespace(message="k: at a line", **verdict))
    return way.ended()


def test_what_ended_a_launch_before_its_time():
    unknown = machine_that_failed(outcome="unsupported", reason="ptx: wgmma.mma_async.sp")
    assert unknown == (outcomes.UNSUPPORTED, "k: at a line", "wgmma.mma_async.sp")
    slow = machine_that_failed(outcome="timeout", reason="longer than 4 s")
    assert slow.outcome == outcomes.TIMEOUT
    # A device would hang, or lose its context.
    assert machine_that_failed(outcome="timeout", reason="deadlock").outcome == outcomes.RED
    assert machine_that_failed(outcome="crash", reason="fault").outcome == outcomes.RED


def untold(outcome, **more):
    told = {"outcome": outcome, "launches": 0, **more}
    return SimpleNamespace(
        crosswarp=told, nodeid="t.py::t", when="call", duration=0.5, failed=False, skipped=True,
        passed=False, longrepr=("t.py", 1, f"{outcome}: why"),
    )  # fmt: skip


def test_what_says_nothing_of_the_library_is_no_failure():
    unknown = [untold("unsupported", opcode=name) for name in ("a.b", "c.d", "c.d")]
    assert outcomes.status(unknown[0])[::2] == (
        "unsupported",
        ("UNSUPPORTED a.b", {"yellow": True}),
    )
    assert outcomes.record(unknown[0])["outcome"] == "unsupported"
    stats = {"unsupported": unknown, "timeout": [untold("timeout")]}
    assert outcomes.summary(stats, "computed").startswith(
        "0 computed (0 launches), 3 unsupported, 1 timeout"
    )
    assert outcomes.unknown(stats) == "c.d (2), a.b (1)"
