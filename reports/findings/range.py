"""`crosswarp range`: the requested part of a run, and the releases on which it passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosswarp.matrix.cell.kinds.library_tests.names import IMPORT
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts import targets as targets_module
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results import fault, packaged, supported
from crosswarp.matrix.results.record import LANES, LANES_OF_TARGETS, Record
from crosswarp.matrix.results.store import Run
from crosswarp.reports.findings import reproducers


@dataclass(frozen=True)
class Shown:
    """The measured releases, and their subject."""

    run: Run
    kernels: Sequence[str]
    targets: Sequence[str]
    lanes: Sequence[str]
    supported: supported.Supported
    # The requirements of the library whose tests these are, by "triton" and "torch".
    declares: Mapping[str, str] = field(default_factory=dict)
    # How many kernels that only show a known issue were left out.
    apart: int = 0

    @property
    def of(self) -> str:
        count = len(self.kernels)
        kernels = ", ".join(self.kernels) if count <= 4 else f"{count} kernels"
        return f"{kernels}; {', '.join(self.targets)}; {', '.join(self.lanes)}"


def measured(
    path: Path,
    run: int | None,
    table: Sequence[Column],
    kernels: Sequence[str],
    targets: Sequence[str],
    lanes: Sequence[str],
    reproducers_too: bool = False,
) -> Shown:
    """The ranges of a stored run (the latest, without a number); the last three are globs as the command line has them.

    Kernels that only show a known issue are left out, unless they are `reproducers_too` or chosen by name.

    Raises UsageError for what the run does not hold, StoreError for a store that cannot be read.
    """
    with packaged.opened(path) as store:
        stored = store.run(run)
        # A library's tests need the message: the library's ImportError may stand before the missing package.
        records = store.records(stored.id, brief=not stored.described.library)
        planned = store.planned(stored.id)
    if not records:
        raise UsageError(f"run {stored.id} holds no cell. `crosswarp runs` lists others: --run ID.")
    short = supported.short(records, planned)
    records = _measured(_comparable(records, stored), stored)
    records = _chosen(records, lanes, "lane", lambda record: record.lane, stored.id)
    # Only two lanes have targets to choose from: `cpu` and `gpu` are not named for a run either.
    compiled = [record for record in records if record.lane in LANES_OF_TARGETS]
    targets = targets_module.named(targets_module.load(), selection.split(targets or ["*"]))
    if compiled:
        wanted = _chosen(compiled, targets, "target", lambda record: record.target, stored.id)
        left = {record.target for record in compiled} - {record.target for record in wanted}
        records = [r for r in records if r.lane not in LANES_OF_TARGETS or r.target not in left]
    records = _chosen(records, kernels, "kernel", lambda record: record.kernel, stored.id)
    apart = frozenset[str]()
    if not (kernels or reproducers_too):
        apart = reproducers.among((record.kernel for record in records), stored.plan)
        records = reproducers.without(records, apart)
    columns = stored.described.columns
    return Shown(
        stored,
        kernels=sorted({record.kernel for record in records}),
        targets=list(dict.fromkeys(record.target for record in records)),
        lanes=sorted({record.lane for record in records}, key=LANES.index),
        supported=supported.supported(
            records, table, columns if isinstance(columns, (list, tuple)) else (), short
        ),
        declares=_declares(stored),
        apart=len(apart),
    )


def _comparable(records: list[Record], run: Run) -> list[Record]:
    """Returns the records of a library's tests that can be compared between columns.

    A file that could not be imported stands for all its tests, and is not missing from other columns. A column with
    such files fails, and its sample was drawn from fewer tests: tests drawn as substitutes are left out.
    """
    library = run.described.library
    if not library:
        return records
    lacking = {(r.column, r.lane) for r in records if r.red and r.case == IMPORT}
    whole = {r.item for r in records if (r.column, r.lane) not in lacking}
    drawn = library.get("sample") and whole
    return [
        replace(r, case="*") if r.red and r.case == IMPORT else r
        for r in records
        if r.red or not drawn or r.item in whole or (r.column, r.lane) not in lacking
    ]


def _measured(records: list[Record], run: Run) -> list[Record]:
    """The records, where a missing package is no result of a release: that part of a library's tests did not run."""
    if not run.described.library:
        return records
    return [
        replace(record, outcome="not-run")
        if record.red and fault.missing_module(record)
        else record
        for record in records
    ]


def _declares(run: Run) -> Mapping[str, str]:
    """Returns the declared requirements, checked: another person's store may contain anything."""
    declares = run.described.library.get("declares")
    return {
        name: text
        for name, text in (declares if isinstance(declares, Mapping) else {}).items()
        if name in ("triton", "torch") and isinstance(text, str)
    }


def _chosen(
    records: Sequence[Record],
    wanted: Sequence[str],
    what: str,
    name: Callable[[Record], str],
    run: int,
) -> list[Record]:
    names = list(dict.fromkeys(map(name, records)))
    listing = f"Run {run} has: {', '.join(names)}."
    chosen = set(selection.choose(selection.split(wanted or ["*"]), names, what, listing))
    # A column that never reached its kernels has the name `*`, for all of them.
    return [record for record in records if name(record) in chosen | {"*"}]
