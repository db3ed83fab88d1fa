"""`crosswarp prune`: what stays, what goes, and that nobody is disturbed."""

from __future__ import annotations

import os
import sqlite3
import types
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from crosswarp.matrix.results import journal, pruning
from crosswarp.matrix.results.store import OF_A_RUN, Environment, Store
from crosswarp.reports import cli

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def ran(make_record):
    """`ran(store, day, ...)`: a stored run that began that many days before NOW."""

    def make(store, day, suite=None, cells=3, status="finished", key="", work=None):
        started = (NOW - timedelta(days=day)).isoformat()
        run = store.begin(["run"], {"suite": suite}, started, work)
        store.cells(
            run, [make_record(case=f"c{number}", message="x" * 4000) for number in range(cells)]
        )
        if key:
            store.keys(run, "triton-3.2.0", {("sm_90", "compile", "bare", key): "digest"})
        if status:
            store.finish(run, status, 0)
        return run

    return make


def going(store, keep, days=None):
    return [one.run.id for one in pruning.choose(store, keep, days, NOW).going]


def test_what_stays(path, ran):
    with Store(path) as store:
        ran(store, 90)
        ran(store, 80, key="softmax")
        ran(store, 70, suite="mine")
        ran(store, 60, cells=0, status="failed")
        ran(store, 50, status="cancelled")
        ran(store, 40, key="matmul")
        running = ran(store, 30, status="")
        ran(store, 20)
        ran(store, 10)
        # The newest of "mine" (3), both keys (2, 6), the one that runs (7), and the newest two with cells (8, 9).
        assert going(store, 2) == [1, 4, 5]
        assert going(store, 2, days=55) == [1, 4]
        assert going(store, 20) == [4]
        assert pruning.choose(store, 1, None, NOW).stay[running] == "still running"
        # A newer run of what the key is of: the older one is not asked any more.
        ran(store, 5, key="softmax")
        assert going(store, 1) == [1, 2, 4, 5, 8, 9]


def test_a_run_without_a_date_is_young(path, ran, make_record):
    with Store(path) as store:
        for started in ("yesterday", None):
            store.cells(store.begin(["run"], {}, started), [make_record()])
            store.finish(store.runs()[0].id, "finished", 0)
        assert going(store, 1) == [1]
        assert going(store, 1, days=1) == []


def test_the_newest_run_that_finished_stays_behind_newer_ones_that_did_not(path, ran):
    with Store(path) as store:
        for status in ("finished", "finished", "cancelled", "cancelled"):
            ran(store, 10, status=status)
        assert going(store, 1) == [1, 3]


def test_the_runs_go_with_their_files_and_the_store_becomes_smaller(path, ran, tmp_path, capsys):
    with Store(path) as store:
        for day in range(8, 0, -1):
            run = ran(store, day, cells=60, work=tmp_path)
            folder = journal.folder(tmp_path, path, store.run(run))
            (folder / "part").mkdir(parents=True)
            (folder / "part" / "log").write_text("x" * 5000)
    before = path.stat().st_size
    assert cli.main(["prune", "--store", str(path), "--keep", "2", "--dry-run"]) == 0
    assert path.stat().st_size == before and len(list((tmp_path / "runs").iterdir())) == 8
    out = capsys.readouterr().out
    assert "6 runs would go: about" in out and "and 30.0 kB of files." in out
    assert cli.main(["prune", "--store", str(path), "--keep", "2"]) == 0
    assert path.stat().st_size < before / 2
    assert {one.name.rpartition("-")[2] for one in (tmp_path / "runs").iterdir()} == {"7", "8"}
    with Store(path) as store:
        assert [(run.id, run.cells) for run in store.runs()] == [(8, 60), (7, 60)]
        # No number is given twice.
        assert store.begin([], {}) == 9
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_who_reads_meanwhile_keeps_what_it_has_begun_to_read(path, ran):
    with Store(path) as store:
        ran(store, 9), ran(store, 8)
    with Store(path, read_only=True) as reader:
        assert cli.main(["prune", "--store", str(path), "--keep", "1"]) == 0
        assert [run.id for run in reader.runs()] == [2, 1] and len(reader.records(1)) == 3
    with Store(path, read_only=True) as reader:
        assert [run.id for run in reader.runs()] == [2]


def test_nothing_of_a_run_is_left_and_every_table_is_known(path, ran):
    with Store(path) as store:
        ran(store, 9, key="softmax"), ran(store, 8)
        store.note(1, "", "read me")
        store.take(1, "triton-3.2.0", {"item": 1})
        store.session(1, "triton-3.2.0", "compile", {}, 1)
        store.target(1, "triton-3.2.0", "sm_90", True, "")
        at = ("triton-3.2.0", "triton-3.2.0", "ready", "", {}, (), 1.0, ())
        store.environment(1, Environment(*at))
        assert all(store._db.execute(f"SELECT * FROM {table}").fetchall() for table in OF_A_RUN)
        tables = store._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        assert {row["name"] for row in tables} == {"runs", *OF_A_RUN}
        store.remove(1)
        for table in OF_A_RUN:
            assert not store._db.execute(f"SELECT * FROM {table} WHERE run = 1").fetchall()


def test_ctrl_c_leaves_whole_runs(path, ran, make_record):
    with Store(path) as store:
        for day in (9, 8, 7, 6):
            ran(store, day)
        asked = iter((False, True))
        choice = pruning.choose(store, 1, None, NOW)
        assert [one.run.id for one in pruning.remove(store, choice, lambda: next(asked))] == [1]
        assert [(run.id, run.cells) for run in store.runs()] == [(4, 3), (3, 3), (2, 3)]
        # In the middle of shrinking, which then has not happened.
        store.cells(4, [make_record(case=f"more{number}") for number in range(4000)])
        size = path.stat().st_size
        assert not store.shrink(lambda: True)
        assert path.stat().st_size == size and store.run(4).cells == 4003
        assert store.shrink(lambda: False) and store.run(4).cells == 4003


def test_a_run_that_goes_on_keeps_its_store_writable(path, ran, capsys):
    with Store(path) as writer:
        ran(writer, 9), ran(writer, 8), ran(writer, 7, status="")
        assert cli.main(["prune", "--store", str(path), "--keep", "1"]) == 0
        assert "A run goes on in this store" in capsys.readouterr().out
        writer.note(3, "", "still writing")
        assert [run.id for run in writer.runs()] == [3, 2]


def test_a_store_of_a_stranger_names_no_folder_of_ours(path, ran, tmp_path):
    """Its field `work` may hold any path: only a folder that is named as its run's files are goes."""
    precious = tmp_path / "precious"
    (precious / "runs" / "data").mkdir(parents=True)
    with Store(path) as store:
        ran(store, 9, work=precious), ran(store, 8)
    link = journal.folder(precious, path, Store(path).run(1))
    os.symlink(Path(precious, "runs", "data"), link)
    assert cli.main(["prune", "--store", str(path), "--keep", "1"]) == 0
    assert (precious / "runs" / "data").is_dir()


def test_no_store_is_made_by_pruning_it(tmp_path, capsys):
    assert cli.main(["prune", "--store", str(tmp_path / "none.db")]) == 4
    assert not (tmp_path / "none.db").exists() and "there is no store" in capsys.readouterr().err


def test_the_folder_of_a_run_stays_the_same_from_release_to_release(tmp_path):
    """Else the cells of a run that was cut off by an update are not found."""
    run = types.SimpleNamespace(id=7, started="2026-11-28T13:05:09.123456+00:00")
    folder = journal.folder(Path("work"), Path("/nowhere/store.db"), run)
    assert folder == Path("work/runs/20261128130509-11cb65-7")


def stub(number, cells=5, status="cancelled", suite=None, library=None, started="2026-01-01"):
    described = types.SimpleNamespace(suite=suite, library={"name": library} if library else {})
    return types.SimpleNamespace(
        id=number, cells=cells, status=status, described=described, started=started, work=""
    )


@pytest.mark.parametrize(
    ("runs", "keep", "days", "needed", "gone"),
    [
        # Of each suite and library the newest; numbers as the store gives them, newest first.
        ([stub(4, library="x"), stub(3, library="y"), stub(2, library="x"), stub(1, library="y")], 1, None, (), [1, 2]),
        ([stub(4, suite="x"), stub(3, suite="y"), stub(2, suite="x"), stub(1)], 1, None, (), [2]),
        # A run without a cell is none of the newest, and goes.
        ([stub(4), stub(3, cells=0), stub(2), stub(1)], 2, None, (), [1, 3]),
        ([stub(2, cells=0), stub(1)], 1, None, (), []),
        ([stub(3), stub(2), stub(1)], 1, None, {1}, [2]),
        ([stub(3), stub(2, status="running"), stub(1)], 1, None, (), [1]),
        ([stub(4), stub(3), stub(2, status="finished"), stub(1, status="finished")], 1, None, (), [1, 3]),
        ([stub(3), stub(2, started="2026-11-27"), stub(1, started="2026-11-26")], 1, 1.5, (), [1]),
        ([stub(3), stub(2, started="2026-11-26T12:00:00+00:00")], 1, 1.5, (), [2]),
    ],
)  # fmt: skip
def test_the_runs_that_go(runs, keep, days, needed, gone):
    now = datetime(2026, 11, 28, tzinfo=timezone.utc)
    store = types.SimpleNamespace(
        runs=lambda: runs, newest_of_coordinates=lambda: set(needed), size=1000, path=Path("s")
    )
    choice = pruning.choose(store, keep, days, now)
    assert [leaving.run.id for leaving in choice.going] == gone
    assert choice.cell_bytes == pytest.approx(1000 / sum(run.cells for run in runs))
    assert sorted([*gone, *choice.stay]) == sorted(run.id for run in runs)


def test_the_files_of_a_run_that_goes(tmp_path):
    store = types.SimpleNamespace(path=tmp_path / "s.db")
    run = stub(7)
    assert pruning._going(store, run) == pruning.Going(run, None, 0)
    run.work = str(tmp_path)
    assert pruning._going(store, run) == pruning.Going(run, None, 0)
    folder = journal.folder(tmp_path, store.path, run)
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder")
    assert pruning._going(store, run) == pruning.Going(run, None, 0)
    folder.unlink()
    (folder / "part").mkdir(parents=True)
    (folder / "part" / "log").write_text("12345")
    (folder / "log").write_text("123")
    assert pruning._going(store, run) == pruning.Going(run, folder, 8)
