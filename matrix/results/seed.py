"""A small store for a remote machine: the results here of a column that need not run again there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from crosswarp.matrix.errors import StoreError
from crosswarp.matrix.results.store import Store

_OF_COLUMN = ("environments", "sessions", "targets", "keys", "taken", "cells")


def seed(source: Path, column: str, path: Path) -> int:
    """Writes a new store with the runs that are the newest of any key of a column, under their own numbers.

    Returns the newest of them; 0, and no file, where there is none.
    """
    if not source.is_file():
        return 0
    with Store(source) as store:
        runs = store.newest_with_keys(column)
        named = {
            source
            for run in runs
            for (of, _), source in store.reused_items(run).items()
            if of == column and source
        }
    if not runs:
        return 0
    Store(path).close()
    try:
        db = sqlite3.connect(path)
        try:
            db.execute("ATTACH ? AS source", (str(source),))
            # A run whose cells are reused is identified by its time, whether its own cells are here or not.
            for table, chosen in (("runs", runs | named), *((name, runs) for name in _OF_COLUMN)):
                marks = ", ".join("?" * len(chosen))
                where = f"{'id' if table == 'runs' else 'run'} IN ({marks})"
                values: list[object] = [*sorted(chosen)]
                if table != "runs":
                    where += ' AND "column" = ?'
                    values.append(column)
                db.execute(
                    f"INSERT INTO main.{table} SELECT * FROM source.{table} WHERE {where}", values
                )
            db.commit()
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StoreError(f"{source}: cannot be read for another machine ({error}).") from None
    return max(runs | named)
