"""`crosswarp run --dry-run` on a terminal: what would run, what it would take, and where the figures are from."""

from __future__ import annotations

from crosswarp.matrix.facts.costs import Costs
from crosswarp.reports.findings.estimate import Estimate, OfColumn
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import column_id, fill, tight


def dry_run(estimated: Estimate, costs: Costs) -> str:
    plan = estimated.plan
    kernels = "all kernels" if plan.kernels == ("*",) else f"kernels {', '.join(plan.kernels)}"
    chosen = [", ".join(names) for names in (plan.targets, plan.lanes, plan.modes)]
    parts = [
        fill("", _verdict(estimated)),
        fill("", escape.line("; ".join([*chosen, kernels]))),
        tight(_HEADS, [row for column in estimated.columns for row in _rows(column)], left=2),
    ]  # fmt: skip
    if estimated.megabytes > estimated.free_megabytes:
        summary = (
            f"There is not enough room: {_gigabytes(estimated.free_megabytes)} are free. Take fewer releases "
            "(--triton), another disk with --work, or --environments remove, which holds one column's at a time."
        )
        parts.append(fill("", summary))
    parts += [fill("", text) for text in _sources(estimated, costs)]
    return "\n\n".join(parts) + "\n"


_HEADS = ("column", "environment", "cells", "time")


def _verdict(estimated: Estimate) -> str:
    columns = "1 column" if len(estimated.columns) == 1 else f"{len(estimated.columns)} columns"
    cells = (
        "cells that nobody has counted yet"
        if estimated.cells is None
        else f"about {estimated.cells:,} cells"
    )
    time = "" if estimated.seconds is None else f", about {_time(estimated.seconds)}"
    disk = (
        f", {_gigabytes(estimated.megabytes)} of environments to build"
        if estimated.megabytes
        else ""
    )
    return f"Nothing was run. It would be {columns}, {cells}{time} with {estimated.plan.jobs} at a time{disk}."


def _rows(column: OfColumn) -> list[list[str]]:
    first, *others = column_id(column.column).split("\n")
    cells = "?" if column.cells is None else f"{column.cells:,}"
    time = "?" if column.seconds is None else _time(column.seconds)
    built = "there" if column.built else "to build"
    return [[first, built, cells, time], *([part, "", "", ""] for part in others)]


def _sources(estimated: Estimate, costs: Costs) -> list[str]:
    runs = sorted({column.run for column in estimated.columns if column.run is not None})
    texts = []
    if runs:
        texts.append(f"Cells and time as in run {', '.join(map(str, runs))} of the store.")
    if any(column.run is None and column.cells is not None for column in estimated.columns):
        lanes = costs.lanes
        texts.append(
            f"Cells and time that no run of the store has: {lanes.source} ({lanes.checked})."
        )
    if any(column.cells is None for column in estimated.columns):
        texts.append("Of a suite of your own the cases are known when it has run once.")
    if estimated.megabytes:
        texts.append(f"Disk: {costs.environment.source}, in MB ({costs.environment.checked}).")
    return texts


def _gigabytes(megabytes: int) -> str:
    return f"{megabytes / 1000:.0f} GB" if megabytes >= 10_000 else f"{megabytes / 1000:.1f} GB"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
