"""Memory traffic compared: predicted slower from twice the work on, with the line; nothing below."""

from __future__ import annotations

import pytest

from crosswarp.matrix.results.comparison import compare
from crosswarp.reports.findings import diff as finding
from crosswarp.reports.findings.diff import Side
from crosswarp.reports.text import diff_text

ODD = {"kernel": "_kernel", "num_warps": 4, "grid": [4, 1, 1], "sectors": 10**6}


@pytest.fixture
def counted(make_record):
    def make(sectors=1000, wavefronts=1000, line=67, kernel="_kernel", what="load", **changes):
        memory = [
            {"line": line, "what": what, "space": "global", "requests": 100, "sectors": sectors - 10},
            {"line": 3, "what": "store", "space": "global", "requests": 10, "sectors": 10},
            {"line": 9, "what": "ldmatrix", "space": "shared", "requests": 50, "wavefronts": wavefronts},
        ]  # fmt: skip
        one = {
            "kernel": kernel, "num_warps": 4, "grid": [4, 1, 1], "sectors": sectors, "wavefronts": wavefronts,
            "memory": memory,
        }  # fmt: skip
        return make_record(lane="emulate", resources={"counters": [one]}, **changes)

    return make


def test_the_line_that_lost_its_coalescing_is_named(counted):
    found = compare(counted(110), counted(3210, what="cp.async"))
    (change,) = found.changes
    assert found.outcome == "predicted-slower"
    assert (change.before, change.after, change.unit) == (110, 3210, "sectors of global memory")
    assert change.told == "line 67, load: 32 sectors a request where it was 1"


def test_bank_conflicts(counted):
    (change,) = compare(counted(wavefronts=84), counted(wavefronts=1144)).changes
    assert change.unit == "wavefronts of shared memory"
    assert change.told == "line 9, load: 22.9 wavefronts a request where it was 1.68"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The same, less, less than twice, and twice as much of little.
        ({}, {}), ({}, {"sectors": 400}), ({}, {"sectors": 1999}), ({"sectors": 20}, {"sectors": 63}),
        # Another kernel of the launcher is no twin.
        ({}, {"sectors": 9000, "kernel": "_other"}),
    ],
)  # fmt: skip
def test_what_is_no_more_work_is_not_reported(counted, before, after):
    assert compare(counted(**before), counted(**after)).outcome == "same"


def test_it_is_no_failure(counted):
    diff = finding.diff(Side("a", [counted(110)], "x"), Side("b", [counted(3210)], "y"), ())
    text = diff_text.terminal(diff)
    assert not diff.worse and "Predicted slower (1 cell)" in text and "line 67" in text


@pytest.mark.parametrize(
    "odd",
    [
        None, "x", [None], [{}], [{"num_warps": "4"}], [{"num_warps": 4, "sectors": "9", "grid": {}}],
        [{**ODD, "memory": [None, {"space": "global"}]}],
    ],
)  # fmt: skip
def test_what_a_cell_made_up_harms_nobody(counted, make_record, odd):
    other = make_record(lane="emulate", resources={"counters": odd})
    for one, two in ((counted(), other), (other, counted())):
        assert compare(one, two).outcome in ("same", "predicted-slower")
