"""A run that names nothing leaves cases out, and nothing that the baseline shows is lost with them."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import plan as suite_plan
from crosswarp.matrix.facts import issues, named_runs, repeats, targets
from crosswarp.matrix.results import baseline, verdict
from crosswarp.matrix.running import plan
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.commands import asked, run

BASELINE = Path(__file__).parents[1] / "baseline" / "all.json"


@pytest.fixture(scope="module")
def table():
    return repeats.load()


@pytest.fixture(scope="module")
def records():
    return [record for record in baseline.read(BASELINE) if record.ran]


@pytest.fixture(scope="module")
def kept(records, table):
    return [
        record
        for record in records
        if not repeats.left_out(table, record.kernel, record.lane, record.target, record.case)
    ]


def lost(records, kept, shown):
    """The results of `shown` for the records which no kept record shows."""
    return {one for record in records for one in shown(record)} - {
        one for record in kept for one in shown(record)
    }


def test_each_outcome_of_a_kernel_is_seen_on_each_release_in_both_modes_and_each_failure_for_either_maker(
    records, kept
):
    def shown(record):
        place = record.kernel, record.lane, record.column, record.mode, record.outcome
        yield place
        if record.red:
            yield *place, record.target[:2]

    assert lost(records, kept, shown) == set()
    assert len(kept) < len(records) / 3


def test_a_kernel_that_ever_failed_for_a_maker_is_seen_wherever_it_ran_there(records, kept):
    failed = {(r.kernel, r.lane, r.target[:2]) for r in records if r.red}

    def shown(record):
        place = record.kernel, record.lane, record.target[:2]
        if place in failed:
            yield *place, record.column, record.mode, record.outcome

    assert lost(records, kept, shown) == set()


def test_no_target_lane_or_mode_is_lost_on_any_release(records, kept):
    def shown(record):
        yield record.lane, record.target, record.column, record.mode

    assert lost(records, kept, shown) == set()


def test_each_failure_of_a_left_out_cell_is_shown_by_another_with_its_issue(records, kept):
    known = verdict.ByKernel(issues.load())
    place = {id(r): (r.kernel, r.lane, r.column, r.mode) for r in records}
    seen = {
        (*place[id(r)], issue.id)
        for r in kept
        if (issue := verdict.classify(r, known, verdict.triton_of(r)))
    }
    left_out = {id(r) for r in records} - {id(r) for r in kept}
    failures = [r for r in records if r.red and id(r) in left_out]
    assert failures
    for record in failures:
        issue = verdict.classify(record, known, verdict.triton_of(record))
        assert issue and (*place[id(record)], issue.id) in seen, record


def test_each_known_issue_is_seen_on_each_release_that_has_it_and_so_is_its_fix(records, kept):
    known = verdict.ByKernel(issues.load())

    def shown(record):
        issue = verdict.classify(record, known, verdict.triton_of(record))
        if issue:
            yield issue.id, record.kernel, record.column, record.mode, record.lane
        for shim in record.shims:
            yield shim, record.column
        for proved in known.proved_by(record):
            yield proved.id, record.column, record.outcome

    assert lost(records, kept, shown) == set()


def test_the_founding_regressions_are_in_it(records, kept):
    quick = named_runs.load()[named_runs.QUICK]

    def shown(record):
        if record.kernel in quick.kernels and record.column in quick.columns and record.red:
            yield record.kernel, record.column, record.target[:2], record.outcome

    found = {one for record in kept for one in shown(record)}
    assert {kernel for kernel, *_ in found} == {*quick.kernels}
    assert lost(records, kept, shown) == set()


def test_only_what_was_measured_is_left_out(table):
    measured = {
        (record.kernel, repeats.place_of(record.lane, record.target), record.case)
        for record in baseline.read(BASELINE)
    }
    left_out = {
        (kernel, place, case)
        for kernel, places in table.items()
        for place, cases in places.items()
        for case in cases
    }
    assert left_out and left_out <= measured


def test_cases_are_weighed_by_kernel_and_by_what_a_release_lacks(tmp_path):
    path = tmp_path / "repeats.json"
    cost = {"compile/sm_80": {"a": [2, 0.5], "b": [1, 3.0]}, "emulate/sm_80": {"a": [1, 1.0]}}
    lacking = {
        "triton-3.2.0": {"compile/sm_80": {"b": 1.0}},
        "triton-2.3.1": {"emulate/sm_80": {"a": 1.0}},
    }
    path.write_text(repeats.dumped(LEFT_OUT, cost, lacking))
    assert repeats.load(path) == LEFT_OUT
    of_lane, weights = repeats.weights("here-triton-3.9.0", "compile", path)
    assert of_lane == pytest.approx(4 / 3)
    assert weights == pytest.approx({"sm_80/a": 0.375, "sm_80/b": 2.25})
    of_lane, weights = repeats.weights("here-triton-3.2.0", "compile", path)
    assert of_lane == pytest.approx(1 / 3)
    assert weights == pytest.approx({"sm_80/a": 1.5, "sm_80/b": 0.0})
    # Nothing runs there, and nothing is known.
    assert repeats.weights("triton-2.3.1", "emulate", path) == (0.0, {})
    assert repeats.weights("triton-3.2.0", "device", path) == (1.0, {})


def test_the_lanes_of_a_release_are_weighed_by_what_it_runs():
    # Triton 2.3.1 interprets none of these, and compiles for no GPU of AMD's.
    assert repeats.weights("triton-2.3.1", "interpret")[0] == 0.0
    lanes = {name: repeats.weights(f"triton-{name}", "compile") for name in ("2.3.1", "3.9.0")}
    assert lanes["2.3.1"][0] < lanes["3.9.0"][0]
    assert lanes["2.3.1"][1]["gfx942/block_pointers"] == 0.0
    assert lanes["3.9.0"][1]["gfx942/block_pointers"] > 0.0


@pytest.fixture
def wanted():
    """`wanted("--lanes", …)`: the plan's selection, and the options for another machine."""

    def make(*arguments):
        parser = argparse.ArgumentParser()
        run.add(parser)
        options = parser.parse_args(arguments)
        return asked.asked(options).left_out, asked.words(options)

    return make


def test_who_names_nothing_leaves_repeats_out(wanted, table):
    for arguments in [(), ("--triton", "3.9.0"), ("--modes", "bare"), ("--here",)]:
        assert wanted(*arguments)[0] == table


@pytest.mark.parametrize(
    "arguments",
    [
        ("--all-cases",), ("--quick",), ("--lanes", "compile"), ("--targets", "founding"), ("--kernels", "softmax"),
        ("--cases", "*"), ("--sanitize",), ("--suite", "."),
    ],
)  # fmt: skip
def test_who_names_something_gets_the_whole_of_it(wanted, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("KERNEL = None\n")
    assert wanted(*arguments)[0] == {}


def test_another_machine_leaves_out_the_same(wanted):
    assert "--all-cases" in wanted("--all-cases")[1]
    assert wanted(*wanted()[1])[0] == wanted()[0] != {}


LEFT_OUT = {"k": {"compile/sm_90": ["b"]}}


def test_the_suite_leaves_a_case_out_where_it_repeats_another(tmp_path):
    spec = Suite(left_out=LEFT_OUT).asked("x", {"modes": ["bare"]})
    assert isinstance(spec, AskedSuite)
    loaded = [("a", ("*",)), ("b", ("*",))]

    def cases(lane, target, kernel="k"):
        return [item.case for item in suite_plan._items(spec, lane, kernel, loaded, {target: ""})]

    assert cases("compile", "sm_90") == ["a"]
    assert cases("compile", "sm_80") == cases("emulate", "sm_90") == ["a", "b"]
    # A kernel that was never measured.
    assert cases("compile", "sm_90", "new") == ["a", "b"]


def test_the_plan_says_which_it_leaves_out_and_takes_none_of_them(make_record):
    def planned(left_out):
        return plan.Plan(
            Suite(left_out=left_out), (), {"sm_90": targets.load()["sm_90"]}, lanes=("compile",)
        )

    partly, whole = planned(LEFT_OUT), planned({})
    cell = make_record(kernel="k", case="b", lane="compile", target="sm_90")
    assert whole.has(cell) and not partly.has(cell)
    assert partly.has(make_record(kernel="k", case="a", lane="compile", target="sm_90"))
    other = planned({"k": {"compile/sm_90": ["a"]}})
    names = [one.describe().get("left_out") for one in (whole, partly, other)]
    assert names[0] is None and len({*names}) == 3
