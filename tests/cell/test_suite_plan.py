"""The plan of a suite that has bad modules beside good ones: each costs itself alone, and is told with its field."""

import json
import os
import sys
import textwrap
from types import ModuleType, SimpleNamespace
from unittest import mock

import pytest

from crosswarp.compat.isolate import Outcome, run_isolated
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import kernels, plan

pytestmark = pytest.mark.both_ends

HEAD = """
from pathlib import Path
from crosswarp.kernels import Case, Kernel
def make(*cases, **changes):
    given = dict(name=Path(__file__).stem, inputs=dict, launch=dict, reference=dict, tolerance={"fp32": 1e-6})
    return Kernel(cases=cases, **{**given, **changes})
"""
SM_90 = {
    "backend": "cuda", "arch": 90, "family": "sm_9", "warp_size": 32, "max_threads_per_block": 1024,
    "shared_memory_optin": 232448, "registers_per_block": 65536, "multiprocessors": 132, "triton": ">=2.3.1",
}  # fmt: skip
GOOD = 'KERNEL = make(Case("a", "fp32", {}), Case("b", "fp32", {}, lanes=("compile",)))'
BAD = {
    "no_targets": ('KERNEL = make(Case("a", "fp32", {}, targets=None))', "targets: it is None"),
    "a_comma": ('KERNEL = make(Case("a", "fp32", {}, targets=("sm_90")))', "with the comma"),
    "an_id": ('KERNEL = make(Case(7, "fp32", {}))', "cases[0]: id: 7 is a int"),
    "a_dtype": ('KERNEL = make(Case("a", "fp64", {}))', "dtype: 'fp64' is none of"),
    "a_tolerance": ('KERNEL = make(Case("a", "bf16", {}))', "no tolerance for bf16"),
    "no_kernel": ("KERNEL = None", "KERNEL: it is None"),
    "raises": ("raise ValueError('at import')\nKERNEL = 1", "at import"),
    "leaves": ("import os\nos._exit(3)\nKERNEL = 1", "exit 3"),
    "repr": ("class Odd:\n    def __repr__(self):\n        raise KeyError('odd')\nKERNEL = Odd()", "odd"),
    "syntax": ("KERNEL = (", "SyntaxError"),
    "gone": ("KERNEL = 1\ndel KERNEL", "KERNEL"),
    "own_text": (
        "class Text(str):\n    pass\nKERNEL = make(Case(Text('a'), 'fp32', {}))", "id: 'a' is a Text",
    ),
}  # fmt: skip


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    for name, text in {"good": GOOD, **{name: text for name, (text, _) in BAD.items()}}.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(HEAD) + text + "\n")
    return folder


def planned(tmp_path, suite, lane, **changes):
    asked = {
        "column": "c", "records": str(tmp_path / f"{lane}.jsonl"), "suite": suite and str(suite),
        "lanes": ["compile", "interpret"], "modes": ["bare"], "targets": {"sm_90": SM_90},
        "time_limit": 60, **changes,
    }  # fmt: skip
    spec = AskedSuite(**asked)
    items = plan.shared_plan(spec, lane).items
    lines = (tmp_path / f"{lane}.jsonl").read_text().splitlines()
    return items, [json.loads(line) for line in lines]


@pytest.mark.one_release
@pytest.mark.parametrize("lane", ["compile", "interpret"])
def test_each_costs_itself_alone(tmp_path, suite, lane, monkeypatch):
    monkeypatch.setattr(plan, "targets", lambda *a: {"sm_90": ""})
    items, events = planned(tmp_path, suite, lane)
    good = [item.case for item in items if item.broken is None]
    assert good == (["a", "b"] if lane == "compile" else ["a"])
    broken = {item.kernel: item.broken for item in items if item.broken is not None}
    assert set(broken) == set(BAD) and len(items) == len(good) + len(BAD)
    for name, (_, told) in BAD.items():
        verdict = broken[name]
        assert verdict["outcome"] in ("api-error", "crash"), name
        assert told in verdict["message"] + verdict["reason"], (name, verdict)
        assert verdict["phase"] == "import" and verdict["fingerprint"]
        if verdict["reason"] == plan.MALFORMED:
            assert verdict["message"].startswith(f"{name}.py: ")
            assert told.split(":")[0] in verdict["fingerprint"]
    notes = [event["text"] for event in events if event["event"] == "note"]
    # Once for a column, before anything runs.
    assert len(notes) == (len(BAD) if lane == "compile" else 0)
    assert [event["event"] for event in events] == ["note"] * len(notes) + ["session"]


@pytest.mark.parametrize(
    "answer",
    [
        None, 7, (), ([], [("a", "sm_90")], []), ([7], [], []), ([], ["a"], []), ("x", "y", "z"),
        ([], [("a", ("*",))]), ([], [("a", ("*",))], [7]),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_costs_its_module_alone(tmp_path, suite, monkeypatch, answer):
    monkeypatch.setattr(plan, "targets", lambda *a: {"sm_90": ""})
    monkeypatch.setattr(plan, "run_isolated", lambda *a, **k: Outcome("returned", answer))
    items, _ = planned(tmp_path, suite, "compile", kernels=["good"])
    assert [(item.case, item.broken["reason"]) for item in items] == [("import", plan.MALFORMED)]


def test_a_release_without_a_backend_for_the_only_target_imports_the_modules(
    tmp_path, suite, monkeypatch
):
    monkeypatch.setattr(plan, "targets", lambda *a: {"gfx942": "no backend for gfx942"})
    row = {**SM_90, "backend": "hip", "arch": "gfx942", "family": "gfx9", "warp_size": 64}
    items, _ = planned(tmp_path, suite, "compile", kernels=["good"], targets={"gfx942": row})
    assert [(item.case, item.broken) for item in items] == [("a", None), ("b", None)]


def test_every_kernel_of_ours_is_well_formed(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "targets", lambda *a: {"sm_90": ""})
    items, _ = planned(tmp_path, None, "interpret")
    malformed = [item for item in items if item.broken and item.broken["reason"] == plan.MALFORMED]
    assert malformed == [] and len({item.kernel for item in items}) > 30


def test_what_the_host_names_is_planned_and_no_module_asked(tmp_path, suite, monkeypatch):
    monkeypatch.setattr(plan, "_cases", None)
    monkeypatch.setattr(plan, "targets", None)
    items, events = planned(
        tmp_path, suite, "compile", again={"compile": ["sm_90/compile/bare/good/a/b"]}, planned={"compile": 9},
    )  # fmt: skip
    assert items == [plan.Item("sm_90", "compile", "bare", "good", "a/b", guarded=True)]
    assert [(event["event"], event["planned"]) for event in events] == [("session", 9)]


@pytest.mark.one_release
@pytest.mark.parametrize("ill", ["leaves", "raises", "is malformed"])
def test_of_our_own_kernels_asked_together_one_that_is_ill_costs_itself_alone(
    tmp_path, monkeypatch, ill
):
    monkeypatch.setattr(plan, "targets", lambda *a: {"sm_90": ""})
    load, alone = plan.kernels.load, []

    def loaded(suite, name):
        if name != "rope":
            return load(suite, name)
        if ill == "leaves":
            os._exit(3)
        if ill == "raises":
            raise ValueError("at import")
        return None

    monkeypatch.setattr(plan.kernels, "load", loaded)
    ask = plan._cases

    def counted(spec, lane, name):
        alone.append(name)
        return ask(spec, lane, name)

    monkeypatch.setattr(plan, "_cases", counted)
    names = ["layer_norm", "rope", "softmax"]
    items, _ = planned(tmp_path, None, "compile", kernels=names)
    assert [item.case for item in items if item.kernel == "rope"] == ["import"]
    assert {item.kernel for item in items if item.broken is None} == {"layer_norm", "softmax"}
    # What came before it was told, and a child that has ended tells nothing of what comes after.
    assert alone == (["rope", "softmax"] if ill == "leaves" else ["rope"])


def test_reading_sources_ends_at_an_object_that_has_every_attribute(monkeypatch):
    module = ModuleType("of_mocks")
    module.anything = mock.MagicMock()
    monkeypatch.setitem(sys.modules, "of_mocks", module)
    kernel = SimpleNamespace(launch=SimpleNamespace(__module__="of_mocks"))
    outcome = run_isolated(lambda send: kernels.digest(kernel), time_limit=20)
    assert outcome.kind == "returned"
