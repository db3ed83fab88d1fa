"""The baseline that is installed with crosswarp: what stands in where nobody has run anything yet.

It is `baseline/all.json` of the repository, the very file, installed as data of `crosswarp.baseline`. Reading it as a
store lets every report be made of it.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from crosswarp import compat
from crosswarp.matrix.errors import StoreError
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.record import Record, by_column
from crosswarp.matrix.results.store import DEFAULT, Environment, Store

NAME = f"the baseline of crosswarp {compat.__version__}"


def path() -> Path | None:
    """Where the file lies; None in a checkout that is not installed."""
    try:
        spec = find_spec("crosswarp.baseline")
    except ModuleNotFoundError:
        return None
    # Not importlib.resources: of an editable install it stumbles over places that are none.
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return next((file for one in folders if (file := Path(one, "all.json")).is_file()), None)


def stands_in(store: Path) -> bool:
    """Whether the baseline answers for `store`: nobody named one, and no run was ever begun here."""
    # A run makes the folder before its first cell: one that failed must not look like the baseline.
    return store == DEFAULT and not store.parent.exists() and path() is not None


def opened(store: Path) -> Store:
    """`store`, or the baseline as one.

    Raises:
        StoreError: there is none, and the baseline does not stand in for it.
    """
    return as_store() if stands_in(store) else Store(store, must_exist=True)


def line() -> str:
    """What to say of it, before anything is shown."""
    with as_store() as store:
        run = store.run()
    targets = ", ".join(run.plan["targets"])
    return (
        f"Nothing was run here yet. This is {NAME}: {len(run.plan['columns'])} releases of Triton, {targets}, "
        f"{run.cells:,} cells. Your own: crosswarp run"
    )


class _Kept(Store):
    """In memory, and made once: a command may open its store several times."""

    def close(self) -> None:
        pass


@lru_cache(maxsize=1)
def as_store() -> Store:
    """The baseline, to be read.

    Raises:
        StoreError: crosswarp is not installed.
    """
    found = path()
    if found is None:
        raise StoreError(
            "The baseline cannot be found: this crosswarp is not installed. Install it: pip install -e ."
        )
    records = baseline.read(found)
    columns = by_column(records, [])
    made = _Kept(Path(":memory:"))
    made.path = Path(NAME)
    with made.together():
        plan = {"columns": list(columns), "targets": _targets(records), "baseline": NAME}
        # A baseline has no dates; a report says this where another run's would stand.
        run = made.begin(["run"], plan, started=NAME)
        for column, mine in columns.items():
            versions = mine[0].versions
            made.environment(run, Environment(column, column, "ready", "", versions, (), 0.0))
            for lane in dict.fromkeys(record.lane for record in mine):
                cases = {one.item for one in mine if one.lane == lane and one.case != "*"}
                made.session(run, column, lane, versions, len(cases))
        made.cells(run, records)
        made.finish(run, "finished", 0, NAME)
    return made


def _targets(records: list[Record]) -> list[str]:
    """Those of GPUs, in the order in which they stand."""
    found = dict.fromkeys(record.target for record in records)
    return [target for target in found if target not in ("cpu", "gpu")]
