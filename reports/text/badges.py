"""Badges: the state of a run at a glance, for the whole, each column and each target.

Each is a self-contained SVG, and the JSON from which shields.io makes one ("endpoint"). Pure functions of the store's
contents: whether a result is stale is decided by a given date, not by today's.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from math import ceil
from xml.etree import ElementTree

from crosswarp.matrix import versions
from crosswarp.matrix.results.verdict import triton_of
from crosswarp.matrix.versions import Version
from crosswarp.reports.findings.reused import Reused, reused
from crosswarp.reports.findings.standing import Standing, standing
from crosswarp.reports.findings.view import View, day
from crosswarp.reports.text import escape

# White text is readable on each of them: a contrast of 4.5 or more (tested).
COLOURS = {
    "passing": "#1a7f37", "fixed": "#0969da", "known": "#8a5d00", "regressed": "#cf222e", "incomplete": "#a04100",
    "unsupported": "#6a737d", "not-run": "#6a737d", "stale": "#6a737d", "label": "#444c56",
}  # fmt: skip
FONT = "Verdana,Geneva,DejaVu Sans,sans-serif"
SIZE, _HEIGHT, _PADDING = 11, 20, 6
# In thousandths of the size, from " " to "~": the wider of Verdana and DejaVu Sans, which are nearly one design. What
# is drawn in another font is fitted into the length that these give.
_WIDTHS = (
    352, 401, 460, 838, 636, 1076, 780, 275, 454, 454, 636, 838, 364, 454, 364, 454, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 454, 454, 838, 838, 838, 545, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 421, 455, 693,
    557, 863, 748, 787, 603, 787, 695, 684, 616, 732, 684, 989, 685, 615, 685, 454, 454, 454, 838, 636, 636, 613,
    635, 550, 635, 615, 352, 635, 634, 278, 344, 592, 278, 974, 634, 612, 635, 635, 427, 521, 394, 634, 592, 818,
    592, 592, 525, 636, 454, 636, 838,
)  # fmt: skip
_OTHER, _WIDE = 1000, 1100
LONGEST = 90


@dataclass(frozen=True)
class Badge:
    label: str
    message: str
    colour: str
    wrong: bool = False


def badges(view: View, stale_before: date | None = None) -> dict[str, Badge]:
    """By the path that they are written to, without its ending."""
    made = {"all": _badge(_range(view), standing(view), view, stale_before, view.reused)}
    for column in view.columns:
        shown = standing(view, column=column)
        made[f"columns/{_file(column)}"] = _badge(
            _spelled(view.label(column)), shown, view, stale_before,
            reused(view.records, view.sources, column=column),
        )  # fmt: skip
    # The other lanes have targets that no plan names.
    planned = view.run.described.targets
    named = planned if "compile" in view.run.described.lanes else ()
    for target in dict.fromkeys([*named, *(record.target for record in view.records)]):
        label = {"cpu": "interpreter"}.get(target, target)
        shown = standing(view, target=target)
        over = reused(view.records, view.sources, target=target)
        made[f"targets/{_file(target)}"] = _badge(label, shown, view, stale_before, over)
    return made


def files(made: dict[str, Badge]) -> dict[str, str]:
    written = {}
    for name, badge in made.items():
        written[f"{name}.svg"] = svg(badge)
        written[f"{name}.json"] = endpoint(badge)
    return written


def svg(badge: Badge) -> str:
    """Every text has its length measured and set, so that no font can make it longer than its box."""
    label, message = width(badge.label), width(badge.message)
    left, right = label + 2 * _PADDING, message + 2 * _PADDING
    title = f"{badge.label}: {badge.message}"
    root = ElementTree.Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "width": str(left + right), "height": str(_HEIGHT),
        "viewBox": f"0 0 {left + right} {_HEIGHT}", "role": "img", "aria-label": title,
    })  # fmt: skip
    ElementTree.SubElement(root, "title").text = title
    box = {"width": str(left + right), "height": str(_HEIGHT), "rx": "3", "fill": badge.colour}
    ElementTree.SubElement(root, "rect", box)
    # Not a clip path: its id would clash where a page holds two badges.
    corners = f"M{left} 0H3a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3H{left}z"
    ElementTree.SubElement(root, "path", {"d": corners, "fill": COLOURS["label"]})
    for text, start, length in (
        (badge.label, _PADDING, label),
        (badge.message, left + _PADDING, message),
    ):
        ElementTree.SubElement(root, "text", {
            "x": str(start), "y": "14", "fill": "#fff", "font-family": FONT, "font-size": str(SIZE),
            "textLength": str(length), "lengthAdjust": "spacingAndGlyphs", "direction": "ltr",
        }).text = text  # fmt: skip
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def endpoint(badge: Badge) -> str:
    """https://shields.io/badges/endpoint-badge"""
    document = {
        "schemaVersion": 1, "label": badge.label, "message": badge.message, "color": badge.colour.removeprefix("#"),
        **({"isError": True} if badge.wrong else {}),
    }  # fmt: skip
    return escape.document(document)


def width(text: str) -> int:
    """In pixels, and never too few."""
    return ceil(sum(map(_width, text)) * SIZE / 1000)


def _width(char: str) -> int:
    place = ord(char) - ord(" ")
    if 0 <= place < len(_WIDTHS):
        return _WIDTHS[place]
    if char in "·–":
        return {"·": 364, "–": 636}[char]
    if unicodedata.combining(char):
        return 0
    return _WIDE if unicodedata.east_asian_width(char) in "WF" else _OTHER


def _badge(
    label: str, shown: Standing, view: View, stale_before: date | None, over: Reused
) -> Badge:
    on = day(view.run.finished or view.run.started)
    message, colour = shown.summary(), COLOURS[shown.state]
    if over.cells:
        message = f"{message} · {over}"
    # A badge without a date never counts as fresh.
    if stale_before and (on is None or on < stale_before):
        message, colour = f"stale, of {on or 'an unknown day'} · {message}", COLOURS["stale"]
    wrong = shown.state == "regressed"
    return Badge(escape.line(label, LONGEST) or "?", escape.line(message, LONGEST), colour, wrong)


def _range(view: View) -> str:
    """`triton 2.3.1 – 3.9`, of the versions that the run was planned for or met."""
    met = {record.column: triton_of(record) for record in view.records if record.versions}
    named = (met.get(column) or versions.of_column(column) for column in view.columns)
    releases = sorted(
        {release for version in named if version and (release := versions.base(version))}
    )
    ends = list(dict.fromkeys(_short(release) for release in (*releases[:1], *releases[-1:])))
    return f"triton {' – '.join(ends)}" if ends else "triton"


def _short(release: Version) -> str:
    return re.sub(r"^(\d+\.\d+)\.0$", r"\1", str(release))


def _spelled(label: str) -> str:
    """A column's id as people write it: `triton 3.2.0 + torch 2.5.1`."""
    return re.sub(r"\+torch-", " + torch ", re.sub(r"^triton-", "triton ", label))


def _file(name: str) -> str:
    """Returns a safe file name: the cell side names targets. A hash keeps changed names distinct."""
    plain = re.sub(r"[^A-Za-z0-9._+-]", "-", name).lstrip(".-")[:60]
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
