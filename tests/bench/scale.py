"""Ten million cells: what SQLite does with them, and what Parquet parts read by DuckDB do.

    pip install duckdb; nice python tests/bench/scale.py --cells 10000000

Made-up cells in the shape of the store's: 12 columns x 20 targets x 2 modes x as many cases as there is room for, of
100 libraries. Each step is a process of its own, whose time and peak memory are told: parts written as machines would,
merged with the check that no two parts hold a cell, two runs compared cell by cell, the page of one library and the
index of all. The store's own steps are run on fewer cells (--sqlite), because that is the question.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

COLUMNS, TARGETS, LIBRARIES, SHARES = 12, 20, 100, 8
MEMORY = "2GB"
ID = '"column", target, lane, mode, library, kernel, "case", config'


def duck(folder: Path):
    import duckdb

    db = duckdb.connect()
    db.execute(f"SET memory_limit = '{MEMORY}'")
    db.execute("SET threads = 2")
    db.execute("SET preserve_insertion_order = false")
    db.execute(f"SET temp_directory = '{folder / 'spill'}'")
    return db


def cells(cases: int, run: int, column: int, share: int) -> str:
    """SQL of one part: the cells of a column whose case falls into a share. Run 2 differs from run 1 in one of 200."""
    # hash() is what makes a cell what it is, the same in every run and on every machine.
    return f"""
    SELECT 'library-' || lpad((c % {LIBRARIES})::VARCHAR, 3, '0') AS library,
        'triton-3.{column}.0' AS "column", 'sm_' || (80 + t)::VARCHAR AS target, 'compile' AS lane,
        CASE m WHEN 0 THEN 'bare' ELSE 'shimmed' END AS mode, 'kernel_' || (c // 40)::VARCHAR AS kernel,
        'fp16-' || c::VARCHAR AS "case", '' AS config,
        CASE WHEN h % 100 < 2 AND m = 0 THEN 'crash' WHEN h % 1000 = 999 THEN 'mismatch' ELSE 'pass' END AS outcome,
        '' AS reason,
        CASE WHEN h % 100 < 2 AND m = 0 THEN 'SIGABRT: LinearLayout.cpp reshapeOuts ' || (h % 17)::VARCHAR ELSE '' END
            AS fingerprint,
        CASE WHEN h % 100 < 2 AND m = 0 THEN repeat('the compiler died in pass ' || (h % 91)::VARCHAR || '; ', 12)
            ELSE '' END AS message,
        'launch' AS phase, (h % 4000) / 1000.0 AS seconds,
        '{{"launches":[{{"kernel":"_kernel","num_warps":4,"registers":' || (16 + h % 240)::VARCHAR || ',"stack":'
            || (h % 7 * 8)::VARCHAR || ',"shared":' || (h % 200 * 1024)::VARCHAR || '}}]}}' AS resources,
        '[]' AS shims, '' AS issue
    FROM (
        SELECT c, t, m, hash(c, t, m, {column}, CASE WHEN hash(c, t, {column}) % 200 = 0 THEN {run} ELSE 1 END) AS h
        FROM range({cases}) cs(c), range({TARGETS}) ts(t), range(2) ms(m) WHERE c % {SHARES} = {share}
    )"""


def parts(folder: Path, cases: int, run: int) -> dict:
    db = duck(folder)
    place = folder / f"parts-{run}"
    place.mkdir(parents=True, exist_ok=True)
    for column in range(COLUMNS):
        for share in range(SHARES):
            file = place / f"triton-3.{column}.0-{share + 1}-of-{SHARES}.parquet"
            db.execute(
                f"COPY ({cells(cases, run, column, share)}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
            )
    return {"files": COLUMNS * SHARES, "megabytes": size(place)}


def merge(folder: Path, cases: int, run: int) -> dict:
    """What `crosswarp merge` checks and does: no cell twice, all there, one run in one order."""
    db = duck(folder)
    source = f"read_parquet('{folder}/parts-{run}/*.parquet')"
    begun = time.monotonic()
    # Of each column by itself: parts of two columns cannot hold the same cell.
    twice = total = 0
    for column in range(COLUMNS):
        mine = f"read_parquet('{folder}/parts-{run}/triton-3.{column}.0-*.parquet')"
        count, distinct = db.execute(
            f"SELECT count(*), count(DISTINCT hash({ID})) FROM {mine}"
        ).fetchone()
        total, twice = total + count, twice + count - distinct
    checked = time.monotonic() - begun
    assert total == cases * COLUMNS * TARGETS * 2 and not twice, (total, twice)
    place = folder / f"run-{run}"
    db.execute(
        f"COPY (SELECT * FROM {source}) TO '{place}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (library), "
        "OVERWRITE_OR_IGNORE)"
    )
    return {"cells": total, "check_seconds": round(checked, 1), "megabytes": size(place)}


def diff(folder: Path, cases: int, run: int) -> dict:
    """Cell by cell between two runs, a library after the other, which is how they lie."""
    db = duck(folder)
    found: dict[str, int] = {}
    for library in range(LIBRARIES):
        of = f"library=library-{library:03}/*.parquet"
        rows = db.execute(
            f"""
            SELECT CASE WHEN a.outcome IS NULL THEN 'new' WHEN b.outcome IS NULL THEN 'gone'
                WHEN a.outcome = b.outcome AND a.fingerprint = b.fingerprint THEN
                    CASE WHEN a.resources = b.resources THEN 'same' ELSE 'resources' END
                WHEN b.outcome = 'pass' THEN 'fixed' WHEN a.outcome = 'pass' THEN 'regressed'
                ELSE 'changed-failure' END AS told, count(*)
            FROM read_parquet('{folder}/run-1/{of}') a FULL JOIN read_parquet('{folder}/run-2/{of}') b
            USING ({ID.replace("library, ", "")}) GROUP BY told"""
        ).fetchall()
        for told, count in rows:
            found[told] = found.get(told, 0) + count
    assert sum(found.values()) == cases * COLUMNS * TARGETS * 2
    return found


def page(folder: Path, cases: int, run: int) -> dict:
    """The grid of one library, kernel x column for each target, and the index of all libraries."""
    db = duck(folder)
    begun = time.monotonic()
    index = db.execute(
        f"""SELECT library, "column", count(*), count(*) FILTER (outcome NOT IN ('pass', 'unsupported'))
        FROM read_parquet('{folder}/run-1/*/*.parquet', hive_partitioning = true) GROUP BY ALL ORDER BY ALL"""
    ).fetchall()
    after_index = time.monotonic()
    rows = db.execute(
        f"""SELECT target, kernel, "column", mode, count(*), count(*) FILTER (outcome <> 'pass'), min(fingerprint)
        FROM read_parquet('{folder}/run-1/library=library-007/*.parquet') GROUP BY ALL ORDER BY ALL"""
    ).fetchall()
    grid = time.monotonic()
    red = db.execute(
        f"""SELECT * FROM read_parquet('{folder}/run-1/library=library-007/*.parquet')
        WHERE outcome <> 'pass' AND kernel = (SELECT min(kernel) FROM
            read_parquet('{folder}/run-1/library=library-007/*.parquet'))"""
    ).fetchall()
    html = "".join(f"<tr>{''.join(f'<td>{value}</td>' for value in row)}</tr>\n" for row in rows)
    (folder / "library-007.html").write_text(f"<table>{html}</table>")
    return {
        "index_rows": len(index), "index_seconds": round(after_index - begun, 2), "grid_rows": len(rows),
        "grid_seconds": round(grid - after_index, 2), "cells_of_a_kernel": len(red),
        "kernel_seconds": round(time.monotonic() - grid, 2), "html_megabytes": round(len(html) / 1e6, 1),
    }  # fmt: skip


def sqlite(folder: Path, cases: int, run: int) -> dict:
    """crosswarp's own store with a run of that many cells: written, read as every report does, judged."""
    from crosswarp.matrix.results.record import Record
    from crosswarp.matrix.results.store import Store
    from crosswarp.reports.findings.view import view

    path = folder / f"store-{cases}.db"
    path.unlink(missing_ok=True)
    db = duck(folder)
    begun = time.monotonic()
    count = 0
    with Store(path) as store:
        one = store.begin(
            ["run"], {"columns": ["triton-3.0.0"], "targets": [], "lanes": ["compile"]}
        )
        source = db.execute(cells(cases, 1, 0, 0))
        names = [entry[0] for entry in source.description]
        while rows := source.fetchmany(10_000):
            made = []
            for row in rows:
                told = dict(zip(names, row, strict=True))
                told.pop("library")
                told["resources"], told["shims"] = json.loads(told["resources"]), ()
                told["seconds"] = float(told["seconds"])
                made.append(Record(**told))
            store.cells(one, made)
            count += len(made)
        store.finish(one, "finished", 0)
    written = time.monotonic()
    with Store(path) as store:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        shown = view(store, ())
        assert len(shown.records) == count
    read = time.monotonic()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "cells": count, "write_seconds": round(written - begun, 1), "read_and_judge_seconds": round(read - written, 1),
        "megabytes": size(path), "bytes_a_cell": round(path.stat().st_size / count),
        "memory_megabytes_for_reading": grown // 1024,
    }  # fmt: skip


STEPS = {"parts": parts, "merge": merge, "diff": diff, "page": page, "sqlite": sqlite}


def size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) // 1_000_000


def measured(step: str, folder: Path, cases: int, run: int) -> None:
    """One step in a process of its own: what it says, its seconds and its peak memory."""
    begun = time.monotonic()
    command = [
        sys.executable,
        __file__,
        "--step",
        step,
        "--folder",
        str(folder),
        "--cases",
        str(cases),
        "--run",
        str(run),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{step}: {done.stderr[-2000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    told = {"step": f"{step} {run}", "seconds": round(time.monotonic() - begun, 1), **said}
    print(json.dumps(told), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument(
        "--sqlite", type=int, default=200_000, help="cells that crosswarp's own store is tried with"
    )
    parser.add_argument("--folder", type=Path, default=Path("scale"))
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--run", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.step:
        begun = time.process_time()
        said = STEPS[options.step](options.folder, options.cases, options.run)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            json.dumps(
                {
                    **said,
                    "cpu_seconds": round(time.process_time() - begun, 1),
                    "peak_megabytes": peak,
                }
            )
        )
        return
    cases = options.cells // (COLUMNS * TARGETS * 2)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(
        f"# {cases * COLUMNS * TARGETS * 2:,} cells; {os.cpu_count()} cores, load {load}; {platform.platform()}"
    )
    for run in (1, 2):
        measured("parts", options.folder, cases, run)
        measured("merge", options.folder, cases, run)
    measured("diff", options.folder, cases, 1)
    measured("page", options.folder, cases, 1)
    # One share of one column, as the SQL deals it.
    measured("sqlite", options.folder, options.sqlite * SHARES // (TARGETS * 2), 1)
    print(f"# load {', '.join(f'{one:.1f}' for one in os.getloadavg())}")


if __name__ == "__main__":
    main()
