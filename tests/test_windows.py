"""The window that cells have, and which edge of an issue's own they contradict."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crosswarp.matrix.results import windows
from crosswarp.matrix.results.verdict import Verdict, judge

RELEASES = ("2.3.1", "3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.10.0")


def of(text):
    """`"ggr?"`: the red and the green ones of RELEASES."""
    found = {"r": [], "g": [], "?": []}
    for release, letter in zip(RELEASES, text):
        found[letter].append(Version(release))
    return found["r"], found["g"]


@pytest.mark.parametrize(
    ("seen", "below", "window"),
    [
        ("ggrrggggg", False, ">=3.1,<3.3"),
        ("gggrggggg", False, "==3.2.*"),
        ("ggggggggr", False, ">=3.10"),
        ("rrrgggggg", True, "<3.2"),
        ("rrrgggggg", False, ">=2.3,<3.2"),
        ("rrrrrrrrr", True, ""),
        ("rrrrrrrrr", False, ">=2.3"),
        ("grrgrgggg", False, ">=3.0,<3.4,!=3.2.*"),
        # What was not run is left out, but for what is newer than all.
        ("g?r??????", False, ">=3.1"),
        ("??r??gggg", False, "==3.1.*"),
        ("?rr??gggg", False, ">=3.0,<3.2"),
        ("rgggggggg", True, "<3.0"),
        ("ggggggggg", False, ""),
    ],
)
def test_the_window_that_was_measured(seen, below, window):
    red, green = of(seen)
    made = windows.measured(red, green, below, map(Version, RELEASES))
    assert SpecifierSet(made) == SpecifierSet(window)
    if red:
        inside = SpecifierSet(made)
        assert all(one in inside for one in red) and not any(one in inside for one in green)


def test_two_patches_of_one_minor():
    red, green = [Version("3.2.1"), Version("3.4.0")], [Version("3.2.0"), Version("3.4.1")]
    assert windows.measured(red, green) == ">=3.2.1,<3.4.1"
    assert (
        windows.measured([Version("3.2.0"), Version("3.2.2")], [Version("3.2.1")])
        == ">=3.2,!=3.2.1"
    )


@pytest.mark.parametrize(
    ("window", "version", "edge"),
    [
        (">=3.6,<3.8", "3.5.1", "lower edge"),
        (">=3.6,<3.8", "3.8.0", "upper edge"),
        (">=3.6,<3.8", "3.10.0", "upper edge"),
        ("==3.2.*", "3.1.0", "lower edge"),
        ("==3.2.*", "3.3.1", "upper edge"),
        ("~=3.2", "4.0", "upper edge"),
        (">=3.0,!=3.4.*", "3.4.1", "hole"),
    ],
)
def test_the_edge_that_leaves_a_version_out(window, version, edge):
    assert windows.edge(window, Version(version)) == edge


@pytest.mark.parametrize(("window", "named"), [(">=3.6,<3.8", ">=3.6,<3.8"), ("", "every window")])
def test_a_version_inside_a_window_has_no_edge(window, named):
    with pytest.raises(ValueError, match=f"^3.7.1 is inside {named}$"):
        windows.edge(window, Version("3.7.1"))


@pytest.fixture
def told(make_record, make_issue):
    """`told("grr", ">=3.1")`: what is wrong with that window, when these of RELEASES are green and red."""

    def make(seen, window, more=(), **changes):
        issue = make_issue(
            triton=window, shim=None, configs=["*"], case={"kernel": "chunk"}, **changes
        )
        red = {"outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts"}
        records = [
            make_record(
                column=f"triton-{release}", kernel="chunk", **(red if letter == "r" else {})
            )
            for release, letter in zip(RELEASES, seen)
            if letter != "?"
        ]
        records += [
            make_record(**{"kernel": "chunk", **(red if bad else {}), **one}) for bad, one in more
        ]
        return [str(one) for one in windows.wrong(records, judge(records, [issue]), [issue])]

    return make


@pytest.mark.parametrize(
    ("seen", "window", "text"),
    [
        ("gggrrgggg", ">=3.3,<3.4",
         "affected releases >=3.3,<3.4 are too narrow at the lower edge: it fails on 3.2.0 as well. "
         "Measured: >=3.2,<3.4."),
        ("gggrrrggg", "==3.2.*",
         "affected releases ==3.2.* are too narrow at the upper edge: it fails on 3.3.1 and 3.4.0 as well. "
         "Measured: >=3.2,<3.5."),
        ("gggrrrggg", ">=3.2,<3.5,!=3.3.*", "leave out failures: 3.3.1. Measured: >=3.2,<3.5."),
        ("gggrggggg", ">=3.2,<3.4", "are too wide at the upper edge: it passes on 3.3.1. Measured: ==3.2.*."),
        ("gggrggggg", ">=3.0,<3.3", "are too wide at the lower edge: it passes on 3.0.0 and 3.1.0. Measured: ==3.2.*."),
        ("gggrgrggg", ">=3.2,<3.5", "have a hole: it passes on 3.3.1. Measured: >=3.2,<3.5,!=3.3.*."),
        ("ggggggggg", ">=3.2,<3.4", "pass wherever they ran: 3.2.0 and 3.3.1."),
        ("rrrgggggg", "<3.3", "are too wide at the upper edge: it passes on 3.2.0. Measured: <3.2."),
    ],
)  # fmt: skip
def test_the_wrong_edge_is_named(told, seen, window, text):
    (one,) = told(seen, window)
    assert one.startswith("triton-1: its affected releases ") and one.endswith(text)


def test_both_edges_at_once(told):
    assert told("ggrrggggg", ">=3.2,<3.4") == [
        "triton-1: its affected releases >=3.2,<3.4 are too narrow at the lower edge: it fails on 3.1.0 as well. "
        "Measured: >=3.1,<3.3.",
        "triton-1: its affected releases >=3.2,<3.4 are too wide at the upper edge: it passes on 3.3.1. Measured: "
        ">=3.1,<3.3.",
    ]


def test_nothing_is_wrong_with_a_window_that_fits(told):
    assert told("ggrrggggg", ">=3.1,<3.3") == told("?????????", ">=3.1,<3.3") == []


@pytest.mark.parametrize(
    ("red", "cell", "changes", "text"),
    [
        (True, {"target": "gfx942"}, {"targets": ["sm_90"]},
         "its targets (sm_90) are too narrow: it fails on gfx942 as well."),
        (True, {"lane": "device"}, {}, "its lanes (compile) are too narrow: it fails on device as well."),
        (True, {"target": "gfx942", "column": "triton-3.5.1"}, {"targets": ["sm_90"]},
         "its affected releases ==3.2.* and targets (sm_90) are too narrow: it fails on 3.5.1, gfx942 as well."),
        (False, {"target": "gfx942"}, {}, "its targets (*) are too wide: it passes on gfx942."),
        (False, {"case": "other"}, {}, "its case is too wide: chunk other passes on 3.2.0."),
        (False, {"lane": "device"}, {"lanes": ["compile", "device"]},
         "its lanes (compile, device) are too wide: it passes on device."),
        (True, {"column": "main", "versions": {"triton": "3.9.0+git1"}}, {},
         "its affected releases ==3.2.* are too narrow at the upper edge: it fails on 3.9.0+git1 as well. "
         "Measured: >=3.2."),
        (True, {"column": "main"}, {}, "its affected releases ==3.2.* are too narrow: it fails on main as well."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_not_always_the_versions(told, red, cell, changes, text):
    (one,) = told("???r?????", "==3.2.*", [(red, cell)], **changes)
    assert one == f"triton-1: {text}"


def test_cells_of_which_a_part_is_green(told):
    """The same case, red on one target and green on another, each elsewhere the other way round: no edge to name."""
    more = [(False, {"target": "sm_80"}), (True, {"target": "sm_80", "column": "triton-3.3.1"})]
    (one,) = told("???rr????", ">=3.2,<3.4", more)
    assert "only a part of the cells fails on 3.2.0: triton-3.2.0/sm_80/compile/bare/chunk" in one


def test_another_failure_is_no_edge(told, make_record, make_issue):
    assert (
        told("???r?????", "==3.2.*", [(True, {"column": "triton-3.3.1", "fingerprint": "SIGSEGV"})])
        == []
    )
    # A record that would take any text describes nothing.
    red = make_record(column="triton-3.3.1", kernel="chunk", outcome="crash", fingerprint="SIGSEGV")
    issue = make_issue(fingerprint="", configs=["*"])
    assert windows.wrong([red], judge([red], [issue]), [issue]) == []


def test_every_report_says_it(stored, make_record, make_issue):
    from crosswarp.reports import page
    from crosswarp.reports.text.comment import comment, markdown
    from crosswarp.reports.text.export import export
    from crosswarp.reports.text.summary import summary

    red = make_record(
        kernel="chunk", config="num_warps=8", outcome="crash", fingerprint="reshapeOuts"
    )
    issue = make_issue(triton=">=3.3,<3.4")
    view = stored([red], [issue], code=1)
    text = "its affected releases >=3.3,<3.4 are too narrow at the lower edge: it fails on 3.2.0 as well"
    site = (
        "".join(page.site(view, [issue]).values())
        .replace("<wbr>", "")
        .replace("&gt;", ">")
        .replace("&lt;", "<")
    )
    for report in (summary(view), comment(view), markdown(view), export(view), site):
        assert text in " ".join(report.split())


def test_a_patch_that_is_green_stays_out_of_its_minor():
    red, green = [Version("3.2.0")], [Version(one) for one in ("3.1.0", "3.2.1", "3.3.0")]
    made = SpecifierSet(windows.measured(red, green))
    assert red[0] in made and not any(one in made for one in green)


def test_what_is_red_in_another_way_is_not_green(make_record, make_issue):
    """It says nothing about where the window ends."""
    issue = make_issue(kernels=["chunk"], configs=["*"], case={"kernel": "chunk"}, shim=None)
    cell = {"kernel": "chunk", "outcome": "crash", "fingerprint": "reshapeOuts"}
    records = [
        make_record(**cell),
        make_record(**cell, column="triton-3.1.0"),
        make_record(**{**cell, "fingerprint": "another"}, column="triton-3.3.1"),
    ]
    told = [str(one) for one in windows.wrong(records, judge(records, [issue]), [issue])]
    assert len(told) == 1 and told[0].endswith("Measured: >=3.1.")
    records[-1] = make_record(
        **{**cell, "outcome": "pass", "fingerprint": ""}, column="triton-3.3.1"
    )
    told = [str(one) for one in windows.wrong(records, judge(records, [issue]), [issue])]
    assert len(told) == 1 and told[0].endswith("Measured: >=3.1,<3.3.")


def test_an_issue_without_a_text_claims_no_failure_beyond_its_range(make_record, make_issue):
    record = make_record(outcome="crash", fingerprint="reshapeOuts", versions={"triton": "3.9.0"})
    for text, axes in (("reshapeOuts", ("triton",)), ("", ())):
        assert windows._left_out(make_issue(fingerprint=text), record) == axes


def test_a_failure_counts_for_the_issue_that_is_nearest(make_record, make_issue):
    record = make_record(outcome="crash", fingerprint="reshapeOuts", versions={"triton": "3.9.0"})
    near = make_issue(id="a-long-name", kernels=["*"], configs=["*"])
    far = make_issue(id="b", kernels=["*"], configs=["*"], targets=["gfx942"])
    for issues in ([near, far], [far, near]):
        (wrong,) = windows.wrong([record], Verdict(unexpected_red=[record]), issues)
        assert wrong.issue is near and "too narrow at the upper edge" in wrong.text
    for mute in ({"versions": {}, "column": "main"}, {"column": "here-fbtriton-3.9.0"}):
        odd = make_record(outcome="crash", fingerprint="reshapeOuts", **mute)
        wrong = windows.wrong([odd], Verdict(unexpected_red=[odd]), [near])
        assert [one.text for one in wrong] == (
            ["its affected releases >=3.2,<3.3 are too narrow: it fails on main as well."]
            if odd.column == "main"
            else []
        )
