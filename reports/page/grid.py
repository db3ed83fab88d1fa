"""The grid as a picture: kernel × column, a square for each target and lane, for a README.

It has a background, so that it is readable on light and dark pages. Each kind of square has a colour and a sign. No
font width is assumed. The page (report --format html) has the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from crosswarp.matrix.results.vocabulary import MARKS, Mark
from crosswarp.reports.findings.standing import standing
from crosswarp.reports.findings.view import View, day
from crosswarp.reports.page.model import Model
from crosswarp.reports.text import escape
from crosswarp.reports.text.badges import COLOURS, FONT, SIZE, width


class _Sign(NamedTuple):
    colour: str
    # Strokes in a square of 11 × 11.
    strokes: str


_SIGNS: dict[Mark, _Sign] = {
    "passing": _Sign(COLOURS["passing"], "m3 5.5 2 2 3.5-4"),
    "fixed": _Sign(COLOURS["fixed"], "m5.5 2.5v6m-3-3h6"),
    "known": _Sign(COLOURS["known"], "m5.5 2.5v3.5m0 1.5v1"),
    "regressed": _Sign(COLOURS["regressed"], "m3 3 5 5m0-5-5 5"),
    "unsupported": _Sign("#ffffff", "m3 5.5h5"),
    "not-run": _Sign(COLOURS["not-run"], "m5.5 5.5h.01"),
}
_BACKGROUND, _INK, _EDGE = "#ffffff", "#1f2328", "#6a737d"
_SQUARE, _STEP, _APART, _ROW, _MARGIN = 11, 12, 7, 15, 10
# The columns' names are above the first row, the legend below the last one.
_HEAD, _BREAK = 34, 26
_LONGEST = 44
SHOW_ISSUES = "Each of these shows a known issue:"


def svg(view: View, model: Model) -> str:
    """A picture of every cell of a run."""
    grids, columns, kernels = model.grids, model.columns, model.kernels
    names = {kernel.name: escape.line(kernel.name, _LONGEST) for kernel in kernels}
    worst = _worst(view)
    lost = set(standing(view).lost)
    left = _MARGIN + max([width(name) for name in names.values()], default=0) + _APART
    heads = [escape.line(column.short, _LONGEST) for column in columns]
    group = max([len(grids) * _STEP, *(width(head) for head in heads)], default=0) + _APART
    squares: dict[Mark, list[tuple[int, int]]] = defaultdict(list)
    texts = [
        (left + place * group, _HEAD - 8, head, "start") for place, head in enumerate(heads)
    ]  # fmt: skip
    top, shown = _HEAD, False
    for kernel in kernels:
        if kernel.shows_issue and not shown:
            top, shown = top + _BREAK, True
            texts.append((_MARGIN, top - 5, SHOW_ISSUES, "start"))
        texts.append((left - _APART, top + 10, names[kernel.name], "end"))
        for place, column in enumerate(columns):
            for number, grid in enumerate(grids):
                mark = worst.get((*grid, kernel.name, column.id))
                mark = mark or ("not-run" if column.id in lost else None)
                if mark:
                    squares[mark].append((left + place * group + number * _STEP, top))
        top += _ROW
    top += 10
    legend, across = _legend([mark for mark in _SIGNS if squares[mark]], top, squares)
    texts += legend
    lanes = " · ".join(escape.line(_named(*grid), _LONGEST) for grid in grids)
    if lanes:
        texts.append((_MARGIN, top + _ROW + 10, f"Squares of a column: {lanes}", "start"))
    right = max(left + len(columns) * group, across, _MARGIN + width(texts[-1][2]) if lanes else 0)
    return _drawn(right + _MARGIN, top + 2 * _ROW + _MARGIN, _title(view), squares, texts)


def _worst(view: View) -> dict[tuple[str, ...], Mark]:
    worst: dict[tuple[str, ...], Mark] = {}
    for (column, target, lane, kernel, *_), mark in view.marks.items():
        place = (lane, target, kernel, column)
        worst[place] = min(worst.get(place, mark), mark, key=list(MARKS).index)
    return worst


def _named(lane: str, target: str) -> str:
    return {"interpret": "interpreter", "compile": target}.get(lane, f"{target} ({lane})")


def _legend(
    kinds: Iterable[Mark], top: int, squares: dict[Mark, list[tuple[int, int]]]
) -> tuple[list[tuple[int, int, str, str]], int]:
    """Adds a square of each kind, with its meaning; returns how far it reaches."""
    texts, across = [], _MARGIN
    for kind in kinds:
        squares[kind].append((across, top))
        texts.append((across + _SQUARE + 5, top + 10, MARKS[kind].short, "start"))
        across += _SQUARE + 5 + width(MARKS[kind].short) + 2 * _APART
    return texts, across


def _title(view: View) -> str:
    counted = standing(view)
    on = day(view.run.finished or view.run.started) or "on an unknown day"
    return f"Kernels by release of Triton, {on}: {counted.summary()}"


def _drawn(
    across: int,
    down: int,
    title: str,
    squares: dict[Mark, list[tuple[int, int]]],
    texts: Iterable[tuple[int, int, str, str]],
) -> str:
    root = ElementTree.Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "width": str(across), "height": str(down),
        "viewBox": f"0 0 {across} {down}", "role": "img", "aria-label": title,
    })  # fmt: skip
    ElementTree.SubElement(root, "title").text = title
    box = {"width": str(across), "height": str(down), "rx": "6", "fill": _BACKGROUND}
    ElementTree.SubElement(root, "rect", box)
    for mark, places in squares.items():
        if places:
            sign = _SIGNS[mark]
            on_white = sign.colour == _BACKGROUND
            boxes = "".join(f"M{x} {y}h{_SQUARE}v{_SQUARE}H{x}z" for x, y in places)
            ElementTree.SubElement(root, "path", {"d": boxes, "fill": sign.colour})
            strokes = "".join(f"M{x} {y}{sign.strokes}" for x, y in places)
            ElementTree.SubElement(root, "path", {
                "d": strokes, "fill": "none", "stroke": _EDGE if on_white else "#ffffff", "stroke-width": "1.6",
                "stroke-linecap": "round", "stroke-linejoin": "round",
            })  # fmt: skip
    words = ElementTree.SubElement(root, "g", {
        "fill": _INK, "font-family": FONT, "font-size": str(SIZE), "direction": "ltr",
    })  # fmt: skip
    for x, y, text, anchor in texts:
        where = {
            "x": str(x),
            "y": str(y),
            "textLength": str(width(text)),
            "lengthAdjust": "spacingAndGlyphs",
        }
        if anchor != "start":
            where["text-anchor"] = anchor
        ElementTree.SubElement(words, "text", where).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"
