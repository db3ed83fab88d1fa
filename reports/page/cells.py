"""The data that the grid and its details are drawn from, as the scripts beside the page read it.

An outcome is its number in `WORST`, a set of outcomes a number with those bits set: the lowest bit is the worst. So is
a set of comparisons with the column before, in the order of `CHANGES`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from crosswarp import compat
from crosswarp.matrix.results.comparison import OUTCOMES, THRESHOLDS
from crosswarp.matrix.results.figures import launches, once_a_list
from crosswarp.matrix.results.record import MODES, RED, Record
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.page.model import Column, Kernel, Model, Place, place_of
from crosswarp.reports.page.text import block, line, web

CHANGES = tuple(outcome for outcome in OUTCOMES if outcome not in ("same", "unknown"))
# The worst value of these metrics is the least; of all others the most.
LEAST = ("tensor", *(threshold.metric for threshold in THRESHOLDS if threshold.falls))
METRICS = (*(threshold.metric for threshold in THRESHOLDS), "tensor", "compile")
_WORST = [(metric, min if metric in LEAST else max) for metric in METRICS]
# The fields of a row of a kernel's details, in this order; a text is stored as its number among the texts.
FIELDS = (
    "case", "config", "mode", "outcome", "reason", "fingerprint", "message", "seconds", "issue", "shims", "figures",
)  # fmt: skip
# The index of a mode among the modes, and of an outcome among the outcomes: no name is in both.
_NUMBERS = {name: number for names in (MODES, WORST) for number, name in enumerate(names)}


def grid(model: Model) -> dict[str, Any]:
    """All data of the first view, without the messages."""
    counts: dict[tuple[str, str], list[Counter[str]]] = defaultdict(lambda: [Counter(), Counter()])
    for (_, lane, target, mode), tally in model.view.tallies.items():
        counts[lane, target][MODES.index(mode)].update(tally)
    outcomes, changes = model.outcomes, _changes(model)
    return {
        "outcomes": WORST,
        "red": RED,
        "changes": CHANGES,
        "metrics": METRICS,
        "least": LEAST,
        "fields": {name: number for number, name in enumerate(FIELDS)},
        "columns": [_column(model, column) for column in model.columns],
        "kernels": [
            {"name": line(k.name), "slug": k.slug, "shows": k.shows_issue} for k in model.kernels
        ],
        "shims": [shim.name for shim in compat.all_shims()],
        "issues": {
            model.issue_slugs[issue.id]: {
                "id": issue.id,
                "title": line(issue.title),
                "links": [url for url in map(web, issue.links) if url],
                "fixed": issue.fixed_in or "",
                "workaround": line(issue.workaround),
                "shim": line(issue.shim or ""),
            }
            for issue in model.issues
            if model.explained[issue.id]
        },
        "grids": [
            {
                "lane": lane,
                "target": line(target),
                "counts": [
                    [counts[lane, target][mode][outcome] for outcome in WORST] for mode in (0, 1)
                ],
                "rows": [
                    [
                        _cell(outcomes.get(place), changes.get(place, (0, 0)))
                        for column in model.columns
                        for place in [(lane, target, kernel.name, column.id)]
                    ]
                    for kernel in model.kernels
                ],
            }
            for lane, target in model.grids
        ],
    }  # fmt: skip


def _column(model: Model, column: Column) -> dict[str, str]:
    before = model.before(column.id)
    return {
        "id": line(column.id),
        "slug": column.slug,
        "label": line(column.label),
        "short": line(column.short),
        "triton": line(column.triton),
        "torch": line(column.torch),
        "before": before.slug if before else "",
    }


def details(model: Model) -> dict[str, dict[str, Any]]:
    """For each kernel, by its slug: every case and configuration, with its messages."""
    return {
        kernel.slug: _detail(model, kernel, model.view.by_kernel[kernel.name])
        for kernel in model.kernels
    }


def _detail(model: Model, kernel: Kernel, records: Sequence[Record]) -> dict[str, Any]:
    texts: dict[str, int] = {"": 0}
    # By a cell's output, which most cells of a kernel share.
    lines: dict[str, int] = {}

    def text(value: str) -> int:
        number = lines.get(value)
        if number is None:
            number = lines[value] = texts.setdefault(line(value), len(texts))
        return number

    def message(value: str) -> int:
        return texts.setdefault(block(value), len(texts)) if value else 0

    number = {column.id: n for n, column in enumerate(model.columns)}
    cells: dict[str, dict[int, dict[str, Any]]] = {}
    for record in records:
        places = cells.setdefault(f"{record.lane}/{line(record.target)}", {})
        place = places.get(number[record.column])
        if place is None:
            command = model.command(kernel.name, record.column, record.lane, [record.target])
            place = places[number[record.column]] = {"command": block(command), "cells": []}
        place["cells"].append(_row(model, record, text, message))
    return {"slug": kernel.slug, "texts": list(texts), "cells": cells}


def _row(
    model: Model, record: Record, text: Callable[[str], int], message: Callable[[str], int]
) -> list[Any]:
    issue, shims = None, record.shims if record.mode != "bare" else ()
    if record.red:
        issue = model.view.issue_of.get(record.id)
        fixed = model.view.fixes.get(record.id)
        shims = fixed.shims if fixed else shims
    return [
        text(record.case),
        text(record.config),
        _NUMBERS[record.mode],
        _NUMBERS[record.outcome],
        text(record.reason),
        text(record.fingerprint),
        message(record.message),
        round(record.seconds, 2),
        text(model.issue_slugs[issue.id] if issue else ""),
        text(", ".join(shims)) if shims else 0,
        _figures(record),
    ]


def _figures(record: Record) -> list[float | None] | int:
    """The worst launch's figure of each metric, then the median time in ms; 0 when there is none."""
    worst = _worst(record)
    timing = record.resources.get("timing")
    median = timing.get("median") if isinstance(timing, dict) else None
    measured = isinstance(median, float) and record.outcome == "pass"
    if not measured and worst is None:
        return 0
    return [*(worst or [None] * len(METRICS)), median if measured else None]


@once_a_list
def _worst(record: Record) -> list[float | None] | None:
    """The worst launch's figure of each metric; None where no metric has any."""
    each = [figures for couples in launches(record).values() for figures in couples]
    if len(each) == 1:
        # As of most cells.
        worst = list(map(each[0].get, METRICS))
    else:
        worst = [
            worst_of([figures[metric] for figures in each if metric in figures], default=None)
            for metric, worst_of in _WORST
        ]
    return worst if any(figure is not None for figure in worst) else None


def _changes(model: Model) -> dict[Place, list[int]]:
    """Returns the changes of each place since the column before, without and with compat."""
    changes: dict[Place, list[int]] = defaultdict(lambda: [0, 0])
    for column in model.columns:
        before = model.before(column.id)
        for pair in model.upgrades[before.id, column.id].pairs if before else ():
            if pair.after is not None and pair.comparison.outcome in CHANGES:
                bit = 1 << CHANGES.index(pair.comparison.outcome)
                changes[place_of(pair.after)][MODES.index(pair.after.mode)] |= bit
    return changes


def _cell(outcomes: Sequence[int] | None, changes: Sequence[int]) -> list[int] | int:
    return [*outcomes, *changes] if outcomes else 0
