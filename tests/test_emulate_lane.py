"""The lane emulate on the host: what a run plans for it, and what its cells are told as."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.kinds.suite import in_child
from crosswarp.matrix.cell.kinds.suite import item as runner
from crosswarp.matrix.cell.kinds.suite import plan as suite_plan
from crosswarp.matrix.cell.kinds.suite.plan import Item
from crosswarp.matrix.cell.starting import specification
from crosswarp.matrix.facts import targets
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import plan
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text import again


def of(*names):
    table = targets.load()
    return {name: table[name] for name in names}


@pytest.mark.parametrize(
    "chosen, emulated",
    [
        (("sm_80", "sm_90", "gfx942"), ("sm_80",)),
        (("gfx942", "sm_100", "sm_90"), ("sm_100",)),
    ],
)
def test_a_run_that_names_no_lanes_emulates_one_target(monkeypatch, chosen, emulated):
    monkeypatch.setattr(plan, "DEFAULT_LANES", ("compile", "emulate", "interpret"))
    assert plan.default_lanes(of(*chosen)) == (("compile", "emulate", "interpret"), emulated)


def test_a_run_for_amd_alone_emulates_nothing(monkeypatch):
    monkeypatch.setattr(plan, "DEFAULT_LANES", ("compile", "emulate", "interpret"))
    assert plan.default_lanes(of("gfx942")) == (("compile", "interpret"), None)


def test_the_cells_are_told_which_targets(tmp_path):
    chosen = of("sm_80", "sm_90", "gfx942")
    one = Plan(Suite(), (), chosen, lanes=("compile", "emulate"), emulated=("sm_80",))
    assert one.spec("c", {}, tmp_path, tmp_path).emulated == ["sm_80"]
    assert one.describe()["emulated"] == ["sm_80"]
    lost = one.not_run("c", "x", "y")
    assert {r.target for r in lost if r.lane == "emulate"} == {"sm_80"}
    assert {r.target for r in lost if r.lane == "compile"} == set(chosen)
    asked = Plan(Suite(), (), chosen, lanes=("emulate",))
    assert asked.spec("c", {}, tmp_path, tmp_path).emulated is None
    assert "emulated" not in asked.describe()
    assert {record.target for record in asked.not_run("c", "x", "y")} == set(chosen)


def test_a_script_executes_what_it_compiles(make_record):
    record = make_record(
        kernel="softmax", case="fp16-33x77", lane="emulate", target="sm_80", outcome="mismatch",
        fingerprint="mismatch: y wrong", versions={"triton": "3.2.0", "torch": "2.6.0"},
    )  # fmt: skip
    text = script(record, None, targets.load())
    ast.parse(text)
    assert "compiles for it, executes the compiled code" in text
    assert "run_with(Machine(seconds=1800))" in text
    # and then compares, virtual or not
    assert "if VIRTUAL:\n        print" not in text and "The numbers are right" in text
    compiled = script(make_record(kernel="softmax", case="fp16-33x77"), None, targets.load())
    assert "Machine" not in compiled and "if VIRTUAL:\n        print" in compiled


def test_targets_of_both_makers_are_emulated_where_they_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(suite_plan.probe, "why_not", lambda target, limit: "")
    spec = Plan(Suite(), (), of("sm_90", "gfx942"), lanes=("emulate",)).spec(
        "c", {}, tmp_path / "r", tmp_path
    )
    stream = suite_plan.Stream(spec.records)
    found = suite_plan.targets(spec, "emulate", "3.9.0", stream)
    assert found == {"sm_90": "", "gfx942": ""}
    spec = replace(spec, emulated=["sm_90"])
    assert list(suite_plan.targets(spec, "emulate", "3.9.0", stream)) == ["sm_90"]
    assert list(suite_plan.targets(spec, "compile", "3.9.0", stream)) == ["sm_90", "gfx942"]


def test_a_case_for_other_targets_alone_is_not_emulated():
    cases = [("a", ("sm_90",)), ("b", ("*",))]
    found = suite_plan._items(AskedSuite(modes=["bare"]), "emulate", "k", cases, {"sm_80": ""})
    assert [item.case for item in found] == ["b"]


def cells():
    at = {
        "event": "cell",
        "target": "sm_80",
        "lane": "emulate",
        "mode": "bare",
        "kernel": "softmax",
        "config": "",
    }
    return [
        {"event": "session", "lane": "emulate", "versions": {"triton": "3.2.0"}, "planned": 4},
        *(
            step
            for case, told in {
                "right": {"outcome": "pass"},
                "wrong": {"outcome": "mismatch", "reason": "wrong", "fingerprint": "mismatch: y wrong"},
                "outside": {"outcome": "crash", "reason": "fault", "fingerprint": "fault: out-of-bounds access in k"},
                "unknown": {"outcome": "unsupported", "reason": "ptx: max.u16x2", "message": "does not know it"},
            }.items()
            for step in (
                {"event": "start", "item": f"sm_80/emulate/bare/softmax/{case}"},
                {**at, "case": case, "seconds": 0.1, **told},
                {"event": "end", "item": f"sm_80/emulate/bare/softmax/{case}"},
            )
        ),
    ]  # fmt: skip


@pytest.fixture
def ran(fake_run):
    result = fake_run(cells(), lanes=("emulate",), targets=of("sm_80"))
    assert result.exit_code == 1
    return str(fake_run.database)


def test_every_report_knows_the_lane(ran, command, tmp_path):
    status, out, _ = command("report", "--store", ran)
    assert status == 0 and "emulate: sm_80" in out and "  emulate  without " in out
    for form in ("markdown", "comment", "junit", "csv"):
        status, out, err = command("report", "--store", ran, "--format", form)
        assert status == 0 and "emulate" in out, (form, err)
    status, _, err = command(
        "report", "--store", ran, "--format", "html", "--out", str(tmp_path / "s")
    )
    assert status == 0, err
    page = (tmp_path / "s" / "kernels" / "softmax.html").read_text()
    assert "emulate" in page
    # and says what the lane cannot see
    index = (tmp_path / "s" / "index.html").read_text()
    assert "<b>emulate</b>" in index and "what ptxas and the chip make of it" in index
    assert "<b>device</b>" not in index
    status, out, _ = command("badge", "--store", ran, "--out", str(tmp_path / "b"))
    assert status == 0 and (tmp_path / "b" / "targets" / "sm_80.svg").exists()


def test_the_export_fits_its_schema(ran, command):
    status, out, _ = command("report", "--store", ran, "--format", "json")
    assert status == 0
    found = {record["case"]: record for record in json.loads(out)["cells"]}
    assert {record["lane"] for record in found.values()} == {"emulate"}
    assert found["unknown"]["reason"] == "ptx: max.u16x2"


def test_a_baseline_keeps_the_lane_and_diff_compares_it(ran, command, tmp_path):
    file = str(tmp_path / "baseline.json")
    assert command("baseline", "write", file, "--store", ran)[0] == 0
    status, out, err = command("diff", file, "run", "--store", ran)
    assert status == 0, out + err


def test_what_is_red_can_be_reproduced_and_ranged(ran, command, tmp_path):
    status, out, err = command("reproduce", "--store", ran, "--out", str(tmp_path / "r"))
    assert status == 0, out + err
    assert "executes the compiled code" in "".join(
        p.read_text() for p in (tmp_path / "r").glob("*.py")
    )
    status, out, err = command("range", "--store", ran, "--lanes", "emulate", "--targets", "sm_80")
    assert status == 0 and "emulate" in out, out + err
    assert command("range", "--store", ran, "--targets", "sm_90")[0] == 2


def test_the_command_of_a_square_names_lane_and_target(ran):
    with Store(Path(ran)) as store:
        run = store.run()
    assert "--targets sm_80 --lanes emulate" in again.command(
        run, "softmax", "triton-3.2.0", "emulate", ["sm_80"]
    )


def test_launches_are_kept_until_the_last_mode_of_their_case_has_run(tmp_path, monkeypatch):
    spec = AskedSuite(records=str(tmp_path / "c.jsonl"), time_limit=60, modes=["bare", "shimmed"])
    kept = specification.launches(spec)

    def child(one, spec, send):
        folder = specification.launches_of(spec, one.target, one.kernel, one.case)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / one.mode).touch()
        return Verdict("pass")

    monkeypatch.setattr(in_child, "run", child)
    left = []
    for mode, case in (("bare", "a"), ("bare", "b"), ("shimmed", "a"), ("shimmed", "b")):
        one = Item("sm_80", "emulate", mode, "softmax", case)
        assert runner.run(one, spec, lambda *cell: None).outcome == "pass"
        left.append(sorted(path.name for path in kept.rglob("*are")))
    # Those of another case stay; where a mode is alone, nothing waits for another.
    assert left == [["bare"], ["bare", "bare"], ["bare"], []]
    runner.run(Item("sm_80", "emulate", "bare", "k", "c"), replace(spec, modes=["bare"]), print)
    assert not list(kept.iterdir())
