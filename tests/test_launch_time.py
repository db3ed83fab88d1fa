"""Microseconds of a launch, compared: more calls and more time, on one machine and on a slower one."""

import pytest

from crosswarp.matrix.results.comparison import compare
from crosswarp.reports.commands import failing
from crosswarp.reports.findings import diff as finding
from crosswarp.reports.findings.diff import Side
from crosswarp.reports.text import diff_text


@pytest.fixture
def launched(make_record):
    def make(microseconds, calls, pace=20.0, **more):
        resources = {
            "launch_us": {"_kernel": microseconds}, "launch_calls": {"_kernel": calls}, "pace_us": pace, **more,
        }  # fmt: skip
        return make_record(lane="compile", resources=resources)

    return make


def test_more_calls_that_take_longer_are_reported_with_their_ratio(launched):
    before, after = launched(40.0, 131), launched(60.0, 202)
    found = compare(before, after)
    assert found.outcome == "slower-to-launch"
    (change,) = found.changes
    assert (change.before, change.after, change.remark) == (
        40.0,
        60.0,
        "131 → 202 calls of functions",
    )
    diff = finding.diff(Side("a", [before], "x"), Side("b", [after], "y"), ())
    assert not diff.worse and "Slower to launch (1 cell)" in diff_text.terminal(diff)
    assert "1.5 times as long, 40 → 60 µs" in diff_text.terminal(diff)
    for size, count in (("", 1), (":1.4x", 1), (":2x", 0)):
        wanted = [failing._read(f"slower-to-launch{size}")]
        assert failing.failing(diff.pairs, wanted) == count


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The same release beside other work, and on a machine of half the speed.
        ((40.0, 131), (90.0, 131)),
        ((40.0, 131), (80.0, 202, 40.0)),
        # A call more, a microsecond more, faster.
        ((40.0, 131), (60.0, 132)),
        ((4.0, 20), (6.0, 40)),
        ((60.0, 202), (40.0, 131)),
    ],
)
def test_what_is_no_slower_is_the_same(launched, before, after):
    assert compare(launched(*before), launched(*after)).outcome == "same"


@pytest.mark.parametrize("name", ["launch_us", "launch_calls", "pace_us"])
@pytest.mark.parametrize(
    "odd", [None, 7, "x", [], {"_kernel": "x"}, {"_kernel": float("nan")}, {7: {}}, 0]
)
def test_what_a_cell_made_up_harms_nobody(launched, name, odd):
    usual, made_up = launched(40.0, 131), launched(400.0, 1310, **{name: odd})
    for one, two in ((usual, made_up), (made_up, usual)):
        assert compare(one, two).outcome in ("same", "slower-to-launch")
    if name != "pace_us" or not odd or not isinstance(odd, int):
        assert compare(usual, made_up).outcome == "same"
