"""Kernels that take longer to compile: reported with ratio and stage, no failure, nothing of a busy machine."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import pytest

from crosswarp.matrix.cell.standins.virtual_gpu import stages
from crosswarp.matrix.results import compile_time
from crosswarp.matrix.results.comparison import compare, pairs
from crosswarp.reports.commands import failing
from crosswarp.reports.findings import diff as finding
from crosswarp.reports.findings.diff import Side
from crosswarp.reports.text import diff_text


@pytest.fixture
def compiled(make_record):
    """A record of launches that took so many CPU seconds to compile, each a number or a figure for each stage."""

    def make(*seconds, kernel="_kernel", stack=0, pace=None, **changes):
        launches = [
            {
                "kernel": kernel, "num_warps": 4, "shared": 0, "registers": 32, "stack": stack, "spills": None,
                "processor_seconds": sum(one.values()) if isinstance(one, dict) else one,
                "stage_seconds": one if isinstance(one, dict) else None, "pace_ms": pace,
            }
            for one in seconds
        ]  # fmt: skip
        return make_record(**changes, resources={"launches": launches})

    return make


def test_a_jump_is_reported_with_its_ratio_and_is_no_failure(compiled):
    found = compare(compiled(1.5), compiled(33.0))
    (change,) = found.changes
    assert (found.outcome, found.also) == ("slower-to-compile", ())
    assert compile_time.ratio(change) == 22 and (change.what, change.unit) == ("_kernel", "s")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Faster; less than twice; twice, and little; what was in a cache, or was not measured.
        (33.0, 1.5), (10.0, 19.0), (0.2, 1.1), (None, 9.0), (9.0, None), (1.0, None),
    ],
)  # fmt: skip
def test_what_is_no_jump_is_not_reported(compiled, before, after):
    assert compare(compiled(before), compiled(after)).outcome == "same"


def test_the_stage_that_grew_is_named(compiled):
    before = compiled({"ttir": 0.1, "ttgir": 0.2, "llir": 0.7, "amdgcn": 0.5})
    after = compiled({"ttir": 0.1, "ttgir": 0.3, "llir": 31.0, "amdgcn": 1.5})
    (change,) = compare(before, after).changes
    assert change.remark == "stage llir: 0.7 → 31 s"
    # The time outside the stages is the front end's.
    stages = before.resources["launches"][0]["stage_seconds"]
    launch = {
        **after.resources["launches"][0], "processor_seconds": 60.0, "stage_seconds": stages,
    }  # fmt: skip
    after = replace(after, resources={"launches": [launch]})
    (change,) = compare(before, after).changes
    assert change.remark == "stage front end: 0 → 58.5 s"
    (change,) = compare(compiled(1.5), after).changes
    assert change.remark == ""


def test_the_same_launches_are_compared_and_of_one_more_the_typical_ones(compiled):
    # One of the four was in a cache: it is left out on both sides.
    (change,) = compare(compiled(1.0, 9.0, 1.0), compiled(4.0, None, 4.0)).changes
    assert (change.before, change.after) == (2.0, 8.0)
    assert compare(compiled(2.0, 2.0), compiled(2.0, 2.0, 2.0)).outcome == "same"
    (change,) = compare(compiled(2.0, 2.0), compiled(9.0, 9.0, 9.0)).changes
    assert (change.before, change.after) == (2.0, 9.0)


def test_beside_more_resources_it_is_reported_as_well(compiled):
    found = compare(compiled(1.0), compiled(9.0, stack=4096))
    assert found.outcomes == ("resource-regressed", "slower-to-compile")
    assert [one.metric for one in found.changes_of("resource-regressed")] == ["stack"]
    assert [one.metric for one in found.changes_of("slower-to-compile")] == ["processor"]


def test_a_slower_machine_is_no_slower_compiler(compiled):
    """Everything takes 1.8 times as long; one kernel 2.5 times, and one 5 times."""
    ordinary = [(compiled(2.0, case=f"c{n}"), compiled(3.6, case=f"c{n}")) for n in range(40)]
    some = [(2.0, 5.0, "busy"), (2.0, 10.0, "grown")]
    odd = [(compiled(a, case=case), compiled(b, case=case)) for a, b, case in some]

    def reported(couples):
        found = pairs([a for a, _ in couples], [b for _, b in couples])
        return [p.record.case for p in found if p.comparison.outcome == "slower-to-compile"]

    assert reported([*ordinary, *odd]) == ["grown"]
    # Of so few nobody knows what the machine does.
    assert reported(odd) == ["busy", "grown"]
    # A release that takes five times as long for all: that is no machine.
    everywhere = [(compiled(2.0, case=f"c{n}"), compiled(10.0, case=f"c{n}")) for n in range(40)]
    assert len(reported(everywhere)) == 40


def test_seconds_are_compared_at_one_pace(compiled):
    """A core that does other work as well takes longer for the compiler and for the constant work."""
    idle = compiled({"ttgir": 1.0, "llir": 1.0}, pace=2.0)
    busy = compiled({"ttgir": 2.0, "llir": 2.5}, pace=3.0)
    assert compare(idle, busy).outcome == "same"
    grown = compiled({"ttgir": 2.0, "llir": 10.0}, pace=3.0)
    (change,) = compare(idle, grown).changes
    assert (change.before, change.after, change.remark) == (2.0, 8.0, "stage llir: 1 → 6.67 s")
    # An older crosswarp noted no pace.
    assert compare(compiled(2.0), busy).outcome == "slower-to-compile"
    assert compare(compiled(2.0, pace=0), busy).outcome == "slower-to-compile"
    assert compile_time.total(busy) == pytest.approx(3.0)


def test_a_long_compilation_counts_at_the_pace_of_its_run(compiled):
    """It ended beside an idle core: its two ends say little of the eight seconds between them."""
    others = [
        (compiled(0.3, case=f"c{n}", pace=2.0), compiled(0.3, case=f"c{n}", pace=2.0))
        for n in range(3)
    ]
    before = compiled({"llir": 2.0}, case="long", pace=2.0)
    after = compiled({"llir": 6.4}, case="long", pace=1.0)

    def change(couples):
        found = pairs([a for a, _ in couples], [b for _, b in couples])
        (change,) = [one for pair in found for one in pair.comparison.changes]
        return change

    # By itself 12.8 s: the pace of 1 ms would make it 6.4 times as long.
    assert change([(before, after)]).after == 12.8
    among_others = change([*others, (before, after)])
    assert (among_others.before, among_others.after) == (2.0, 6.864)
    assert among_others.remark == "stage llir: 2 → 6.86 s"


def test_a_short_compilation_counts_at_its_pace(compiled):
    """0.2 s on the idle core of a busy machine are no 0.13 s."""
    machines = compile_time.Machines(before=2.0, after=3.0)
    was, now = compile_time.seconds(
        compiled({"llir": 0.2}, pace=2.0), compiled({"llir": 0.2}, pace=2.0), machines
    )["_kernel"]
    assert was["processor"] == 0.2 and now["processor"] == 0.185


def test_diff_says_it_and_fails_only_where_it_is_asked_to(compiled):
    before = [compiled(1.5, column="triton-3.1.0"), compiled(2.0, case="c", column="triton-3.1.0")]
    after = [
        compiled({"ttgir": 1.0, "llir": 32.0}, column="triton-3.2.0"),
        compiled(5.0, case="c", column="triton-3.2.0"),
    ]
    found = finding.diff(Side("a", before, "triton-3.1.0"), Side("b", after, "triton-3.2.0"), ())
    assert found.counts == {"slower-to-compile": 2} and not found.worse
    text = diff_text.terminal(found)
    assert (
        "Slower to compile (2 cells)" in text
        and "softmax (2): 22 times as long, 1.5 → 33 s" in text
    )
    assert "Nothing breaks. 1 kernel slower to compile." in text
    (group,) = json.loads(diff_text.export(found))["groups"]
    assert group["comparison"] == "slower-to-compile"

    def failing_cells(*words):
        parser = argparse.ArgumentParser()
        failing.add_fail_on(parser)
        given = [one for word in words for one in ("--fail-on", word)]
        return failing.failing(found.pairs, parser.parse_args(given).fail_on)

    assert failing_cells() == 0
    assert failing_cells("slower-to-compile") == 2
    assert failing_cells("slower-to-compile:3x") == 1
    assert failing_cells("slower-to-compile:140%") == 2
    for wrong in ("slower-to-compile:", "slower-to-compile:3", "regressed", "slower-to-compile:x"):
        with pytest.raises(SystemExit):
            failing_cells(wrong)


def test_stages_are_timed_and_what_is_kept_of_a_ttgir_knows_no_times():
    class Backend:
        def add_stages(self, made, options):
            made["ttir"] = lambda source, metadata: seen.append(dict(metadata)) or f"{source}+"
            made["ptx"] = lambda source, metadata: seen.append(dict(metadata)) or sum(range(10**6))

    seen, made, metadata = [], {}, {}
    stages._timed(Backend.add_stages)(Backend(), made, None)
    assert [one("k", metadata) for one in made.values()] == ["k+", sum(range(10**6))]
    found = stages.seconds_of(metadata)
    assert list(found) == ["ttir", "ptx"] and found["ptx"] > 0 and seen == [{}, {}]
    assert stages.seconds_of(type("Metadata", (), metadata)) == found
    pace = stages.pace_of(metadata)
    assert pace is not None and pace > 0
    assert stages.pace_of(type("Metadata", (), metadata)) == pace
    for odd in ({}, None, {stages.STAGES: "[]"}, {stages.STAGES: "no JSON"}, {stages.STAGES: None}):
        assert stages.seconds_of(odd) == {} and stages.pace_of(odd) is None


def test_a_pace_is_that_of_the_stages_that_take_long():
    assert stages._mean([0.0, 1.0, 0.0], [2.0, 2.0, 4.0, 4.0]) == pytest.approx(3.0, abs=0.02)
    assert stages._mean([0.0, 0.0], [2.0, 2.0, 4.0]) == 2.5


@pytest.mark.parametrize(
    "noted",
    [{"ttir": "1"}, {"ttir": -1.0}, {"ttir": float("nan")}, ["ttir"], "ttir", {}],
)
def test_stages_that_a_cell_made_up_name_nothing(compiled, noted):
    before, after = compiled({"ttir": 1.0}), compiled({"ttir": 9.0})
    after.resources["launches"][0]["stage_seconds"] = noted
    (change,) = compare(before, after).changes
    assert change.remark == ""
