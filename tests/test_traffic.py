"""Lines that ask memory for more than they did, where no time was predicted: shown, and judged by nobody."""

from __future__ import annotations

import pytest

from crosswarp.matrix.results import traffic
from crosswarp.matrix.results.comparison import compare
from crosswarp.reports.findings import diff as finding
from crosswarp.reports.findings.diff import Side
from crosswarp.reports.text import diff_text

LAUNCH = {"kernel": "_kernel", "num_warps": 4, "grid": [4, 1, 1], "times": 1}


@pytest.fixture
def counted(make_record):
    def make(*rows, target="gfx942", **launch):
        each = {**LAUNCH, "memory": list(rows), **launch}
        return make_record(lane="emulate", target=target, resources={"counters": [each]})

    return make


def asked(units, line=67, what="load", space="global", requests=100, unit="sectors"):
    return {"line": line, "what": what, "space": space, "requests": requests, unit: units}


def test_a_line_that_lost_its_coalescing_is_shown(counted):
    compared = compare(counted(asked(100), asked(10, 3)), counted(asked(3200), asked(10, 3)))
    (change,) = compared.changes
    assert compared.outcome == "changed" and not compared.also
    assert (change.metric, change.before, change.after, change.unit) == (
        "sectors",
        1.0,
        32.0,
        "a request",
    )
    assert change.what == "_kernel, 4 warps, line 67, load"
    # The way back is an improvement, which nothing reports.
    assert compare(counted(asked(3200)), counted(asked(100))).outcome == "same"


@pytest.mark.parametrize("unit", ["cycles", "wavefronts"])
def test_bank_conflicts_are_shown_in_the_words_of_their_maker(counted, unit):
    rows = [asked(units, what="store", space="shared", unit=unit) for units in (200, 1600)]
    (change,) = compare(*(counted(row) for row in rows)).changes
    assert (change.metric, change.before, change.after) == ("banks", 2.0, 16.0)
    assert change.unit == f"{unit} a request" and change.what.endswith("line 67, store")


def test_only_the_line_with_the_most_more_is_shown_of_each_memory(counted):
    before = [asked(100, 68), asked(100), asked(100, 69, space="shared", unit="cycles")]
    after = [asked(900, 68), asked(300), asked(400, 69, space="shared", unit="cycles")]
    changes = compare(counted(*before), counted(*after)).changes
    assert [(change.metric, change.what[-13:]) for change in changes] == [
        ("sectors", "line 68, load"), ("banks", "line 69, load"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (asked(100), asked(149)),
        # Accesses of four times the width.
        (asked(400, requests=400), asked(440, requests=100)),
        # Of few requests.
        (asked(1, requests=1), asked(63, requests=1)),
        # As many a request, of more requests.
        (asked(100), asked(1000, requests=1000)),
        # Other places, and units that cannot be compared.
        (asked(100, 66), asked(3200)),
        (asked(100, what="store"), asked(3200)),
        (asked(100, space="shared", unit="cycles"), asked(3200, space="shared", unit="wavefronts")),
        (asked(0, requests=0), asked(3200)),
    ],
)
def test_nothing_is_shown_of_less(counted, before, after):
    assert compare(counted(before), counted(after)).outcome == "same"


def test_scalar_loads_and_copies_are_loads_of_their_line(counted):
    before = counted(asked(100, what="cp.async"))
    (change,) = compare(before, counted(asked(3200, what="scalar load"))).changes
    assert change.what.endswith("line 67, load")


def test_another_grid_or_number_of_warps_is_another_launch(counted):
    for other in ({"grid": [8, 1, 1]}, {"num_warps": 8}, {"kernel": "_other"}):
        assert compare(counted(asked(100)), counted(asked(3200), **other)).outcome == "same"


def test_each_of_several_launches_alike_has_its_own_before(make_record):
    def of(*counts):
        launches = [{**LAUNCH, "memory": [asked(units)]} for units in counts]
        return make_record(lane="emulate", target="gfx942", resources={"counters": launches})

    (change,) = compare(of(100, 6400, 3200), of(100, 12800, 3200)).changes
    assert (change.before, change.after) == (64.0, 128.0)


def test_the_diff_names_line_and_figures_and_fails_nobody(counted):
    sides = (Side("a", [counted(asked(100))], "x"), Side("b", [counted(asked(3200))], "y"))
    diff = finding.diff(*sides, ())
    text = " ".join(diff_text.terminal(diff, verbose=True).split())
    assert not diff.worse
    assert "sectors 1 → 32 a request: _kernel, 4 warps, line 67, load" in text
    assert traffic.NOT_JUDGED in text


@pytest.mark.parametrize(
    "odd",
    [
        None, "x", [None], [{}], [{**LAUNCH, "memory": {}}], [{**LAUNCH, "memory": [None, 3, {"space": "global"}]}],
        [{**LAUNCH, "memory": [asked(10**400), asked(10**400, space="shared", unit="cycles", requests=10**30)]}],
        [{**LAUNCH, "memory": [asked("9")]}], [{**LAUNCH, "memory": [asked(-1), asked(True, line={})]}],
        [{**LAUNCH, "grid": "4", "num_warps": [], "memory": [{**asked(9000), "what": None}]}],
    ],
)  # fmt: skip
def test_what_a_cell_made_up_harms_nobody(counted, make_record, odd):
    other = make_record(lane="emulate", target="gfx942", resources={"counters": odd})
    for before, after in ((counted(asked(100)), other), (other, counted(asked(3200)))):
        assert compare(before, after).outcome == "same"
