"""The grid as a picture: a square for each kernel, column, target and lane, whose text fits."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from crosswarp.reports.page.grid import SHOW_ISSUES, svg
from crosswarp.reports.page.model import Model
from crosswarp.reports.text.badges import COLOURS, width

SVG = "{http://www.w3.org/2000/svg}"
COLUMNS = ["triton-2.3.1", "triton-3.2.0"]


@pytest.fixture
def draw(stored):
    """`draw(records, issues)`: the picture, read as XML."""

    def make(records, issues=(), **run):
        shown = stored(records, list(issues), **run)
        return ElementTree.fromstring(svg(shown, Model(shown, list(issues))))

    return make


def squares(drawn):
    """(x, y) of each square but the legend's, by its colour."""
    found = {}
    for path in drawn.findall(f"{SVG}path"):
        if path.get("fill") != "none":
            places = re.findall(r"M(\d+) (\d+)h", path.get("d"))
            found[path.get("fill")] = [(int(x), int(y)) for x, y in places[:-1]]
    return found


def texts(drawn):
    return [text.text for text in drawn.iter(f"{SVG}text")]


def test_a_square_for_each_target_and_lane(draw, make_record):
    records = [
        make_record(column=column, target=target, lane=lane)
        for column in COLUMNS
        for target, lane in (("sm_90", "compile"), ("gfx942", "compile"), ("cpu", "interpret"))
    ]
    drawn = draw(records, targets=["sm_90", "gfx942"])
    (places,) = squares(drawn).values()
    assert len(places) == len({x for x, _ in places}) == 6 and len({y for _, y in places}) == 1
    assert texts(drawn)[:3] == ["2.3.1", "3.2.0", "softmax"]
    assert texts(drawn)[-2:] == ["passes", "Squares of a column: sm_90 · gfx942 · interpreter"]


@pytest.mark.parametrize(
    ("outcome", "shimmed", "shim", "state"),
    [
        ("pass", "pass", "guarded", "passing"),
        ("crash", "pass", "guarded", "fixed"),
        ("crash", "crash", None, "known"),
        ("crash", "crash", "guarded", "regressed"),
        ("mismatch", "pass", "guarded", "regressed"),
        ("not-run", "not-run", "guarded", "not-run"),
    ],
)
def test_the_worst_of_its_cells_is_what_a_square_shows(
    draw, make_record, make_issue, outcome, shimmed, shim, state
):
    cell = {"kernel": "chunk", "config": "num_warps=8", "fingerprint": "reshapeOuts"}
    records = [
        make_record(kernel="chunk", case="other"),
        make_record(**cell, outcome=outcome),
        make_record(**cell, outcome=shimmed, mode="shimmed"),
    ]
    issue = make_issue(shim=shim, configs=["*"], case={"kernel": "chunk"})
    ((colour, places),) = squares(draw(records, [issue])).items()
    assert colour == COLOURS[state] and len(places) == 1


def test_what_a_release_lacks_is_a_dash_and_what_did_not_run_is_told(draw, make_record):
    cells = [
        make_record(outcome="unsupported"),
        make_record(kernel="matmul", outcome="unsupported"),
        make_record(kernel="matmul", case="other"),
    ]
    found = squares(draw(cells, columns=["triton-3.1.0", "triton-3.2.0"]))
    # Of a column that was lost nobody knows which cells it would have had.
    assert [len(found[colour]) for colour in ("#ffffff", COLOURS["passing"])] == [1, 1]
    assert len(found[COLOURS["not-run"]]) == 2


def test_what_shows_an_issue_stands_apart(draw, make_record):
    drawn = draw([make_record(kernel="surplus_values"), make_record(kernel="softmax")])
    assert texts(drawn)[1:4] == ["softmax", SHOW_ISSUES, "surplus_values"]
    # In another's suite nothing of that name is ours.
    drawn = draw([make_record(kernel="surplus_values"), make_record()], suite="theirs")
    assert SHOW_ISSUES not in texts(drawn)


def test_all_of_it_is_inside(draw, make_record):
    records = [
        make_record(kernel=kernel, column=column)
        for kernel in ("k" * 90, "漢字漢字", "surplus_values")
        for column in ("main", "triton-3.2.0+torch-2.5.1+numpy-2.0.2+python-3.12")
    ]
    drawn = draw(records)
    across, down = (int(drawn.get(name)) for name in ("width", "height"))
    for text in drawn.iter(f"{SVG}text"):
        x, long = int(text.get("x")), int(text.get("textLength"))
        assert long == width(text.text) and text.get("lengthAdjust") == "spacingAndGlyphs"
        start = x - long if text.get("text-anchor") == "end" else x
        assert 0 <= start and start + long <= across and 10 <= int(text.get("y")) <= down - 4
    for places in squares(drawn).values():
        assert all(0 <= x <= across - 11 and 0 <= y <= down - 11 for x, y in places)


def test_hostile_names_stay_text(draw, hostile_view, hostile):
    drawn = ElementTree.fromstring(svg(hostile_view, Model(hostile_view, [])))
    allowed = ("svg", "title", "rect", "path", "g", "text")
    assert {part.tag for part in drawn.iter()} <= {f"{SVG}{tag}" for tag in allowed}
    assert all(len(text) < 400 and text.isprintable() for text in texts(drawn))


def test_it_says_aloud_how_the_run_stands(draw, make_record):
    drawn = draw([make_record()], started="2026-11-21T08:00:00+00:00")
    told = "Kernels by release of Triton, 2026-11-21: 1 ok"
    assert (drawn.get("role"), drawn.get("aria-label")) == ("img", told)
    assert drawn.find(f"{SVG}title").text == told


def test_nothing_at_all(draw, make_record):
    assert squares(draw([], columns=["triton-3.2.0"])) == {}
