"""Two estimates compared: predicted slower and faster, with causes; and how often that is right on a GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from crosswarp.matrix.results import predicted
from crosswarp.matrix.results.comparison import compare
from crosswarp.reports.commands import failing
from crosswarp.reports.findings import diff as finding
from crosswarp.reports.findings.diff import Side
from crosswarp.reports.text import diff_text

sys.path.insert(0, str(Path(__file__).parent / "proofs"))
import performance_against_device as proof
import reported

PAGE = Path(__file__).parent.parent / "docs" / "predicted.md"
DATA = Path(__file__).parent / "data"
ESTIMATE = {
    "path": 20_000.0, "instructions": 3000.0, "waits": {"global loads": [9000.0, 67], "barriers": [500.0, 70]},
    "units": {"issue": 3000.0, "lsu": 2000.0}, "dram": 0.0, "spilled": 0.0, "local": 0.0, "resident": 4, "together": 1,
    "waves": 1.0, "ghz": 1.755, "cold": False, "registers": 64, "stack": 0,
}  # fmt: skip
ODD = {"kernel": "_kernel", "num_warps": 4, "grid": [4, 1, 1], "times": 1}


@pytest.fixture
def counted(make_record):
    def make(sectors=1000, line=67, what="load", launch=None, record=None, **estimate):
        memory = [
            {"line": line, "what": what, "space": "global", "requests": 100, "sectors": sectors - 10},
            {"line": 3, "what": "store", "space": "global", "requests": 10, "sectors": 10},
        ]  # fmt: skip
        one = {**ODD, "memory": memory, "estimate": {**ESTIMATE, **estimate}, **(launch or {})}
        return make_record(lane="emulate", resources={"counters": [one]}, **(record or {}))

    return make


def test_what_a_warp_waits_for_longer_is_a_cause_with_its_line(counted):
    slow = counted(path=30_000.0, waits={"global loads": [19_000.0, 67], "barriers": [500.0, 70]})
    found = compare(counted(), slow)
    (change,) = found.changes
    assert found.outcome == "predicted-slower" and found.predicted == pytest.approx(1.36, abs=0.02)
    assert change.remark == "waits for global loads 9,000 → 19,000 cycles (line 67)"
    assert change.what == "_kernel, 4 warps"
    back = compare(slow, counted())
    assert back.outcome == "predicted-faster" and back.predicted == pytest.approx(1 / 1.36, abs=0.02)  # fmt: skip


def test_the_line_that_lost_its_coalescing_is_named(counted):
    slow = counted(3210, what="cp.async", units={"issue": 3000.0, "lsu": 2000.0, "l2": 30_000.0})
    (change,) = compare(counted(110), slow).changes
    assert change.remark.split("; ") == [
        "L2 busy 0 → 30,000 cycles", "line 67, load: 32 sectors a request where it was 1",
    ]  # fmt: skip


def test_a_collapse_of_registers(counted):
    slow = counted(
        path=70_000.0, waits={"local loads": [50_000.0, 9]}, local=1856.0, registers=32, stack=2600
    )
    (change,) = compare(counted(registers=244), slow).changes
    said = change.remark.split("; ")
    assert said[0] == "waits for local loads 0 → 50,000 cycles (line 9)"
    assert said[-1] == (
        "0 → 1,856 loads and stores of local memory a warp (registers 244 → 32, stack 0 → 2,600 bytes)"
    )


def test_fewer_blocks_at_once(counted):
    slow = counted(resident=1, waves=4.0)
    (change,) = compare(counted(), slow).changes
    assert change.remark == "4 → 1 blocks at once on a multiprocessor"


def test_no_more_than_three_causes_and_none_that_says_little(counted):
    waits = {name: [1000.0 * number, number] for number, name in enumerate("abcdefg", 1)}
    many = counted(path=20_000.0 + 28_000, waits={**waits, "global loads": [9000.0, 67]})
    (change,) = compare(counted(), many).changes
    assert [text[:11] for text in change.remark.split("; ")] == [
        "waits for g", "waits for f", "waits for e",
    ]  # fmt: skip


@pytest.mark.parametrize("change", [{}, {"path": 20_900.0}, {"path": 19_200.0}, {"sectors": 4000}])
def test_within_five_percent_nothing_is_reported_and_the_ratio_is_kept(counted, change):
    found = compare(counted(), counted(**change))
    assert found.outcome == "same" and 1 / 1.05 < found.predicted < 1.05


@pytest.mark.parametrize("change", [{"waits": {}, "units": {}}, {"dram": 1.0}])
def test_the_same_estimate_is_the_same(counted, change):
    assert compare(counted(**change), counted(**change)).predicted == 1


def test_a_guess_is_said_to_be_one(counted):
    (change,) = compare(counted(), counted(path=40_000.0, guessed="the L2")).changes
    assert change.remark.endswith("guessed for this target: the L2")


def test_half_of_a_case_says_nothing(counted, make_record):
    other = {**ODD, "kernel": "_other"}
    one = counted().resources["counters"][0]
    half = make_record(lane="emulate", resources={"counters": [one, other]})
    assert compare(half, counted(path=90_000.0)).predicted is None


def test_every_launch_counts_as_often_as_it_was(counted):
    slow = counted(path=40_000.0)
    once = compare(counted(), slow).predicted
    often = compare(counted(launch={"times": 9}), counted(path=40_000.0, launch={"times": 9})).predicted  # fmt: skip
    # The overhead around a case weighs less.
    assert often > once > 1.5


def test_it_is_a_failure_where_somebody_asks_for_that(counted):
    diff = finding.diff(Side("a", [counted()], "x"), Side("b", [counted(path=24_000.0)], "y"), ())
    text = diff_text.terminal(diff)
    assert not diff.worse and "Predicted slower (1 cell)" in text
    assert "1.14 times as long" in text
    cell = json.loads(diff_text.export(diff))["groups"][0]["cells"][0]
    assert cell["predicted"] == pytest.approx(1.147, abs=0.01)
    for size, failed in (("10%", 1), ("20%", 0), ("1.1x", 1)):
        assert failing.failing(diff.pairs, [failing._read(f"predicted-slower:{size}")]) == failed


@pytest.mark.parametrize(
    "odd",
    [
        None, "x", [None], [{}], [{**ODD, "estimate": 3}], [{**ODD, "estimate": {**ESTIMATE, "path": "9"}}],
        [{**ODD, "estimate": {**ESTIMATE, "path": 1e300}}], [{**ODD, "estimate": {**ESTIMATE, "path": float("nan")}}],
        [{**ODD, "estimate": {**ESTIMATE, "ghz": 0}}], [{**ODD, "estimate": {**ESTIMATE, "units": {"lsu": None}}}],
        [{**ODD, "num_warps": {}, "grid": {}, "times": -1, "memory": [None], "estimate": ESTIMATE}],
        [{**ODD, "estimate": {**ESTIMATE, "waits": {"x": 1}}}],
    ],
)  # fmt: skip
def test_what_a_cell_made_up_harms_nobody(counted, make_record, odd):
    other = make_record(lane="emulate", resources={"counters": odd})
    for one, two in ((counted(), other), (other, counted())):
        found = compare(one, two)
        assert found.outcome == "same" and found.predicted in (None, 1)


def _not_on_the_page(rows):
    lines = PAGE.read_text("utf-8").splitlines()
    return [row for row in rows if "| " + " | ".join(row) + " |" not in lines]


def test_beside_the_times_of_a_gpu():
    pairs = list(proof.pairs(proof.kept()))
    found = proof.counts(pairs)
    assert (found.pairs, found.big, found.small) == (183, 33, 107)
    assert found.right >= 29 and found.wrong == 0 and found.false <= 7
    assert predicted.FACTOR == 1.05
    assert not _not_on_the_page(proof.table(pairs))


def test_the_page_counts_the_pairs_that_were_kept_back():
    pairs, titles = proof.of_file(DATA / "performance_kept_back.csv")
    found = proof.counts(pairs)
    assert found.right >= 0.85 * found.big and found.false <= 0.06 * found.small
    assert not _not_on_the_page(proof.table(pairs, titles))


def test_the_page_counts_the_new_cases():
    pairs, titles = proof.of_file(DATA / "performance_new_cases.csv")
    assert not _not_on_the_page(proof.table(pairs, titles))


def test_the_page_counts_both_sets_as_they_are_predicted_now():
    every = []
    for title, name in (("new cases", "new_cases"), ("kept back", "kept_back")):
        pairs, _ = proof.of_file(DATA / f"performance_{name}.csv", "corrected")
        assert not _not_on_the_page([(f"{title}, corrected", *map(str, proof.counts(pairs)))])
        every += pairs
    both = proof.counts(every)
    assert both.right >= 0.85 * both.big
    assert both.wrong <= 0.02 * both.big and both.false <= 0.06 * both.small


@pytest.mark.parametrize(
    ("says", "ratios", "agrees"),
    [
        ("slower", (1.0, 1.06), True), ("slower", (1.0, 1.04), False), ("slower", (1.2, 0.9), False),
        ("same", (1.0, 1.04), True), ("same", (1.06,), False), ("slower", (None,), False), ("same", (), False),
    ],
)  # fmt: skip
def test_a_report_agrees_where_some_case_is_slower_and_none_faster(says, ratios, agrees):
    cases = [reported.Case("one", ratio) for ratio in ratios]
    assert reported.agrees({"says": says}, cases) is agrees


def test_a_report_is_judged_by_its_own_cases_and_target(counted):
    report = {"kernel": "softmax", "target": "sm_90", "cases": ["bf16-*"]}

    def cell(path, **record):
        at = {"kernel": "softmax", "target": "sm_90", "case": "bf16-1", **record}
        return counted(path=path, record=at)

    others = [cell(90_000.0, case="fp32-1"), cell(90_000.0, target="sm_80")]
    after = [cell(30_000.0), *others]
    (found,) = reported.judged(report, [cell(20_000.0), *others], after)
    assert found.name == "bf16-1" and found.ratio == pytest.approx(1.36, abs=0.02)


def test_each_reported_slowdown_has_its_kernel_and_stands_on_the_page():
    page = PAGE.read_text("utf-8")
    reports = reported.load()
    assert len({one["thread"] for one in reports if one["says"] == "slower"}) == 12
    for one in reports:
        name, number = one["thread"].split("#")
        assert (reported.SUITE / f"{one['kernel']}.py").exists()
        thread = f"https://github.com/{name}/{{}}/{number})"
        assert any(thread.format(kind) in page for kind in ("issues", "pull"))


PLAIN = {"path": 3.0, "instructions": 10.0, "waits": {"x": [1.0, 5]}, "units": {"lsu": 4.0}, "dram": 0.0,
         "spilled": 0.0, "together": 1.0, "waves": 2.0, "resident": 2, "ghz": 1.0}  # fmt: skip


def launch(times=1, **changes):
    return predicted._Launch({}, {**PLAIN, **changes}, times)


@pytest.mark.parametrize(
    ("before", "after", "causes"),
    [
        # A wave is 5 cycles: 3 of the warp, 4 of the busiest unit. Two of them.
        ({}, {"waits": {"x": [2.0, 6]}}, [(1.2, "x 1 → 2 cycles (line 6)"), (-1.2, "instructions")]),
        ({}, {"waits": {"y": [2.0, 0]}}, [(-1.2, "x 1 → 0 cycles (line 5)"), (2.4, "y 0 → 2 cycles"), (-1.2, "instr")]),
        ({}, {"units": {"lsu": 4.0, "fma": 2.0}}, []),
        ({"units": {"lsu": 2.0}, "together": 2.0}, {"units": {"lsu": 2.0}, "together": 2.0, "waits": {"x": [2.0, 6]}},
         [(1.2, "x 1 → 2"), (-1.2, "instructions")]),
        # A wave is 13 cycles: 12 of DRAM.
        ({"dram": 12.0}, {"spilled": 12.0}, [(-12 * 24 / 13, "DRAM 12 → 0"), (12 * 24 / 13, "spilled registers")]),
        # Four waves instead of two, as half of the blocks fit.
        ({}, {"waves": 4.0, "resident": 1}, [(10.0, "2 → 1 blocks at once")]),
        ({}, {"waves": 4.0}, []),
    ],
)  # fmt: skip
def test_how_many_cycles_a_cause_takes(before, after, causes):
    made = [
        cause for cause in predicted._all_causes(launch(**before), launch(**after)) if cause.cycles
    ]
    assert sorted(cause.cycles for cause in made) == pytest.approx(
        sorted(cycles for cycles, _ in causes)
    )
    for cycles, part in causes:
        assert any(
            part in cause.text and cause.cycles == pytest.approx(cycles) for cause in made
        ), made


def test_a_case_costs_all_of_its_launches_and_what_is_around_them():
    around, each = predicted._AROUND * 2e9, predicted._EACH * 1e9
    both = {1: launch(3), 2: launch(1, ghz=2.0, waves=1.0)}
    assert predicted._total(both) == pytest.approx(3 * (10 + each) + 5 + 2 * each + around)


@pytest.mark.parametrize(
    ("waves", "whole"), [(0.2, 1), (1.0, 1), (1.1, 2), (2.0000000001, 2), (20.5, 20.5)]
)
def test_a_wave_that_is_not_full_takes_as_long(waves, whole):
    assert predicted._waves({"waves": waves}) == whole


@pytest.mark.parametrize(
    "ratio, metric", [(1.0, None), (1.04, None), (0.97, None), (2.0, "SLOWER"), (0.5, "FASTER")]
)
def test_a_ratio_is_reported_beyond_the_factor(ratio, metric):
    made = predicted.Prediction(ratio, 1, 2, "k", ("a", "b")).change()
    if metric is None:
        assert made is None
    else:
        assert (made.metric, made.before, made.after) == (getattr(predicted, metric), 1, 2)
        assert made.remark == "a; b"


@pytest.mark.parametrize("back", [False, True])
def test_the_launch_that_moved_most_is_named(make_record, back):
    """As often as it is launched: three launches grow, the second most by itself and the third most in all."""
    sides = [
        make_record(lane="emulate", resources={"counters": [
            {**ODD, "kernel": name, "times": times, "estimate": {**ESTIMATE, "path": path}}
            for name, times, path in zip("abc", (1, 1, 10), paths)
        ]})
        for paths in ((20_000.0, 20_000.0, 20_000.0), (21_000.0, 30_000.0, 24_000.0))
    ]  # fmt: skip
    made = predicted.prediction(*(sides[::-1] if back else sides))
    assert made.kernel == "c, 4 warps" and (made.ratio > 1) is not back
