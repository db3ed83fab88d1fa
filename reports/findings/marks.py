"""The outcomes of each case with its configuration, without and with compat together."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.verdict import Verdict
from crosswarp.matrix.results.vocabulary import Mark

# column, target, lane, kernel, case, configuration
Place = tuple[str, str, str, str, str, str]


def marks(records: Sequence[Record], verdict: Verdict) -> dict[Place, Mark]:
    """By column, target, lane, kernel, case and configuration."""
    # Where only the shims ran, theirs are the cells.
    bare = [record for record in records if record.mode == "bare"] or records
    by_place: dict[Place, Mark] = {_place(record): _mark(record) for record in bare}
    by_place.update({_place(fix.bare): "fixed" for fix in verdict.fixes})
    regressed = [
        *verdict.unexpected_red,
        *verdict.unexpected_pass,
        *(record for record, _ in verdict.shim_failed),
    ]
    by_place.update({_place(record): "regressed" for record in regressed})
    return by_place


def _mark(record: Record) -> Mark:
    if record.red:
        return "known"
    return {"pass": "passing", "unsupported": "unsupported"}.get(record.outcome, "not-run")  # type: ignore[return-value]


def _place(record: Record) -> Place:
    return (
        record.column, record.target, record.lane, record.kernel, record.case, record.config,
    )  # fmt: skip
