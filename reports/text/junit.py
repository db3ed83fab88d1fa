"""A run as JUnit XML, as CI systems read it: a suite for each column, a test for each cell.

A test fails when its cell fails the run. A known failure is `skipped`, as an expected failure is; a planned cell that
did not run is an `error`. Only elements that every reader knows are used; tests/junit.xsd has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.fates import Fate, fates
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape

LONGEST_NAME = 300
LONGEST_TEXT = 4000
_KINDS = ("failure", "error", "skipped")


def junit(view: View) -> str:
    judged = fates(view)
    started = _moment(view.run.started)
    suites = []
    for column, records in view.by_column.items():
        cells = [_cell(record, judged.get(record.id)) for record in records]
        installed: Mapping[str, Any] = next((r.versions for r in records if r.versions), {})
        suites.append(
            _suite(view.label(column), started, cells, installed, sum(r.seconds for r in records))
        )
    problems = [note.text for note in view.notes if note.kind == "problem"]
    sentences = dict.fromkeys([*map(str, missing(view)), *problems])
    if sentences:
        suites.append(_suite("crosswarp", started, [_problem(text) for text in sentences]))
    root = Element("testsuites", {"name": "crosswarp", **_sums(suites)})
    root.extend(suites)
    ElementTree.indent(root, " ")
    # ASCII with references for the rest: no reader and no terminal can take it for another encoding.
    text = ElementTree.tostring(root, encoding="us-ascii").decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(
    name: str, started: str, cells: Sequence[Element], installed: Mapping[str, Any] = {}, seconds: float = 0.0
) -> Element:  # fmt: skip
    counts = {"tests": str(len(cells))}
    for kind, plural in zip(_KINDS, ("failures", "errors", "skipped")):
        counts[plural] = str(sum(cell.find(kind) is not None for cell in cells))
    suite = Element("testsuite", {
        "name": escape.line(name, LONGEST_NAME) or "-", **counts, "time": f"{seconds:.3f}",
        **({"timestamp": started} if started else {}),
    })  # fmt: skip
    properties = {
        name: value for name, value in installed.items() if isinstance(value, str) and value
    }
    if properties:
        holder = SubElement(suite, "properties")
        for key, value in properties.items():
            SubElement(
                holder,
                "property",
                {"name": escape.line(key, 80) or "-", "value": escape.line(value, 200)},
            )
    suite.extend(cells)
    return suite


def _cell(record: Record, fate: Fate | None) -> Element:
    place = (record.column, record.target, record.lane, record.mode, record.kernel)
    name = f"{record.case} [{record.config}]" if record.config else record.case
    cell = _case(".".join(place), name, record.seconds)
    what = escape.line(f"{record.outcome}: {record.fingerprint or record.reason}", LONGEST_NAME)
    if fate is None:
        if not record.ran:
            kind = "skipped" if record.outcome == "unsupported" else "error"
            _add(cell, kind, record.outcome, what, record.message)
        return cell
    about = f"{fate.kind}: {fate.issue.id}: {fate.issue.title}" if fate.issue else fate.kind
    links = fate.issue.links if fate.issue else ()
    text = "\n".join([about, *links, "", record.message])
    if fate.wrong:
        _add(cell, "failure", fate.kind, f"{fate.kind}: {what}", text)
    else:
        _add(cell, "skipped", fate.kind, f"{about}: {what}", "")
    return cell


def _problem(text: str) -> Element:
    cell = _case("crosswarp", text, 0.0)
    _add(cell, "error", "missing", text, text)
    return cell


def _case(classname: str, name: str, seconds: float) -> Element:
    return Element("testcase", {
        "classname": escape.line(classname, LONGEST_NAME) or "-", "name": escape.line(name, LONGEST_NAME) or "-",
        "time": f"{seconds:.3f}",
    })  # fmt: skip


def _add(cell: Element, element: str, kind: str, message: str, text: str) -> None:
    node = SubElement(cell, element, {"message": escape.line(message, LONGEST_NAME), "type": kind})
    if text:
        node.text = escape.terminal(escape.middle(text, LONGEST_TEXT))


def _moment(text: str) -> str:
    """As the schema has it, or nothing of a store that holds no moment in its place."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return ""


def _sums(suites: Iterable[Element]) -> dict[str, str]:
    suites = list(suites)
    counts = {
        name: str(sum(int(suite.get(name, "0")) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }
    return {**counts, "time": f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}"}
