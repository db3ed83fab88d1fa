"""The baseline that is installed with crosswarp, which is used where no run is stored yet.

It is the file `baseline/all.json` of the repository, installed as data of `crosswarp.baseline`. It is read as a store,
so that every report can be made of it. A pass over it makes only the requested records: most commands need two columns,
or a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from crosswarp import compat
from crosswarp.matrix.errors import StoreError, UsageError
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import DEFAULT, Environment, Note, Run, Store

NAME = f"the baseline of crosswarp {compat.__version__}"


def path() -> Path | None:
    """Where the file lies; None in a checkout that is not installed."""
    try:
        spec = find_spec("crosswarp.baseline")
    except ModuleNotFoundError:
        return None
    # Not importlib.resources: of an editable install it stumbles over places that are none.
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return next((file for folder in folders if (file := Path(folder, "all.json")).is_file()), None)


def stands_in(store: Path) -> bool:
    """Returns whether the baseline answers for `store`: it is the default one, and no run was ever begun here."""
    # The file and not its folder: `check` and `fuzz` work in that folder too, and keep no run.
    return store == DEFAULT and not store.exists() and path() is not None


def opened(store: Path) -> Store:
    """`store`, or the baseline as one.

    Raises:
        StoreError: there is none, and the baseline does not stand in for it.
    """
    return as_store() if stands_in(store) else Store(store, read_only=True)


def line() -> str:
    """Returns the line about it that comes before any result."""
    with as_store() as store:
        run = store.run()
    targets = ", ".join(run.described.targets)
    return (
        f"Nothing was run here yet. This is {NAME}: {len(run.described.columns)} releases of Triton, {targets}, "
        f"{run.cells:,} cells. Your own: crosswarp run"
    )


class _Baseline(Store):
    """The baseline as a store with one run. Its records are made of the table when they are asked for."""

    def __init__(self, table: baseline.Table) -> None:
        self.path = Path(NAME)
        self._table = table
        self._all: list[Record] | None = None
        plan = {
            "columns": self.columns(1),
            # Those of GPUs, in the order in which they stand.
            "targets": [target for target in self._each(lambda entry: entry.targets) if target not in ("cpu", "gpu")],
            "baseline": NAME,
        }  # fmt: skip
        cells = sum(entry.cells for entry in table.entries)
        # A baseline has no dates; a report says this where another run's would stand.
        self._run = Run(1, NAME, NAME, "finished", 0, ("run",), plan, cells)

    def close(self) -> None:
        """Nothing is open, and a command may ask for its store several times."""

    def runs(self) -> list[Run]:
        return [self._run]

    def run(self, run: int | None = None) -> Run:
        if run not in (None, self._run.id):
            raise UsageError(f"{NAME} has no run {run}: it is one run. Leave out --run.")
        return self._run

    def records(self, run: int, column: str | None = None, brief: bool = False) -> list[Record]:
        if column is not None or (brief and self._all is None):
            return self._table.records(column, brief)
        if self._all is None:
            self._all = self._table.records()
        return list(self._all)

    def columns(self, run: int) -> list[str]:
        return self._each(lambda entry: entry.columns)

    def kernels(self, run: int) -> list[str]:
        return self._each(lambda entry: (entry.kernel,))

    def counts(self, run: int) -> Counter[tuple[str, str, str, str, str, str]]:
        return Counter(
            (record.column, record.target, record.lane, record.mode, record.kernel, record.outcome)
            for record in self.records(run)
        )

    def sessions(self, run: int) -> dict[tuple[str, str], dict[str, Any]]:
        return {
            (column, entry.lane): dict(self._table.versions(column))
            for entry in reversed(self._table.entries)
            for column in reversed(entry.columns)
        }

    def planned(self, run: int) -> dict[tuple[str, str], int]:
        items: Counter[tuple[str, str]] = Counter()
        for entry in self._table.entries:
            count = len(entry.targets) * len(entry.modes) if entry.case != "*" else 0
            for column in entry.columns:
                items[column, entry.lane] += count
        return dict(items)

    def environments(self, run: int) -> list[Environment]:
        return [
            Environment(column, column, "ready", "", self._table.versions(column), (), 0.0)
            for column in self.columns(run)
        ]

    def targets(self, run: int) -> dict[tuple[str, str], tuple[bool, str]]:
        return {}

    def reused_items(self, run: int) -> dict[tuple[str, str], int]:
        return {}

    def notes(self, run: int) -> list[Note]:
        return []

    def _each(self, names: Callable[[baseline.Entry], Iterable[str]]) -> list[str]:
        """The names that the lines have, each once, in the order in which they stand."""
        return list(dict.fromkeys(name for entry in self._table.entries for name in names(entry)))


@lru_cache(maxsize=1)
def as_store() -> Store:
    """The baseline, to be read.

    Raises:
        StoreError: crosswarp is not installed.
    """
    file = path()
    if file is None:
        raise StoreError(
            "The baseline cannot be found: this crosswarp is not installed. Install it: pip install -e ."
        )
    return _Baseline(baseline.installed(file))
