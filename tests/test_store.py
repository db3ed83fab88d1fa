"""The store keeps what it was given, and says plainly when it cannot."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from crosswarp.matrix.cell.protocol import Cell, line
from crosswarp.matrix.errors import StoreError, UsageError
from crosswarp.matrix.results import journal
from crosswarp.matrix.results import store as store_module
from crosswarp.matrix.results.store import Environment, Store, _what_to_do, process_started


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "store.db"


def test_a_record_comes_back_as_it_was(path, make_record):
    record = make_record(
        outcome="crash", reason="signal", fingerprint="f", message="line\nline", phase="compile", seconds=1.5,
        resources={"launches": [{"num_warps": 8}]}, shims=("one", "two"), issue="triton-1", config="num_warps=8",
    )  # fmt: skip
    with Store(path) as store:
        run = store.begin(["run"], {"columns": ["triton-3.2.0"]})
        store.session(run, record.column, record.lane, {"triton": "3.2.0"}, 7)
        assert store.cells(run, [record]) == 0
    with Store(path) as store:
        (found,) = store.records(run)
    assert found.versions == {"triton": "3.2.0"}
    assert {**vars(found), "versions": {}} == {**vars(record), "versions": {}}


def test_the_first_of_two_equal_cells_is_kept(path, make_record):
    with Store(path) as store:
        run = store.begin([], {})
        assert store.cells(run, [make_record(outcome="crash"), make_record(outcome="pass")]) == 1
        assert [record.outcome for record in store.records(run)] == ["crash"]


def test_the_cells_of_one_column(path, make_record):
    with Store(path) as store:
        run, other = store.begin([], {}), store.begin([], {})
        columns = ("triton-3.2.0", "triton-3.1.0", "triton-3.2.0")
        cells = [make_record(column=one, case=f"c{place}") for place, one in enumerate(columns)]
        store.cells(run, cells)
        store.cells(other, [make_record(column="triton-3.2.0", case="another run's")])
        assert [one.case for one in store.records(run, "triton-3.2.0")] == ["c0", "c2"]
        assert [one.case for one in store.records(run)] == ["c0", "c1", "c2"]
        assert store.records(run, "none") == []


def test_history(path):
    with Store(path) as store:
        first, second = store.begin(["a"], {}), store.begin(["b"], {})
        store.finish(first, "finished", 0, "2026-05-04T03:02:01+00:00")
        store.note(second, "main", "read me", kind="problem")
        store.environment(
            second,
            Environment(
                "main", "main (x)", "failed", "no", {}, ("triton",), 1.0, ("torch==2.5.1",)
            ),
        )
        assert [run.id for run in store.runs()] == [second, first]
        assert store.run().id == second
        assert (store.run(first).status, store.run(first).exit_code) == ("finished", 0)
        assert store.run(first).finished == "2026-05-04T03:02:01+00:00"
        assert [note.kind for note in store.notes(second)] == ["problem"]
        (environment,) = store.environments(second)
        assert (environment.requirements, environment.overrides) == (("triton",), ("torch==2.5.1",))
        with pytest.raises(UsageError, match="crosswarp runs"):
            store.run(99)


def test_a_run_whose_process_is_gone_was_cut_off(path):
    script = (
        "import sys, pathlib; from crosswarp.matrix.results.store import Store;"
        "print(Store(pathlib.Path(sys.argv[1])).begin([], {}))"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    with Store(path) as store:
        mine = store.begin([], {})
        assert [run.id for run in store.mark_cut_off()] == [1]
        assert store.mark_cut_off() == []
        assert [run.status for run in store.runs()] == ["running", "cut off"]
        assert store.run(mine).status == "running"


def test_a_reused_pid_is_not_the_old_process(path, monkeypatch):
    with Store(path) as store:
        monkeypatch.setattr(store_module, "process_started", lambda pid: "boot:100")
        store.begin([], {})
        monkeypatch.setattr(store_module, "process_started", lambda pid: "boot:200")
        assert len(store.mark_cut_off()) == 1


def test_another_machine_s_run_is_left_alone(path, monkeypatch):
    with Store(path) as store:
        monkeypatch.setattr(store_module, "_host", lambda: "elsewhere")
        store.begin([], {})
        monkeypatch.undo()
        store._db.execute("UPDATE runs SET pid = 999999999")
        assert store.mark_cut_off() == []


def test_process_started_tells_processes_apart():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert process_started(os.getpid()) == process_started(os.getpid()) != ""
        assert process_started(child.pid) not in ("", process_started(os.getpid()))
    finally:
        child.communicate(b"\n")
    assert process_started(child.pid) == ""


def test_not_a_database(path):
    path.parent.mkdir()
    path.write_text("hello " * 1000)
    with pytest.raises(StoreError, match="not a crosswarp store.*Move it away"):
        Store(path)


def test_written_by_a_newer_crosswarp(path):
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="newer crosswarp.*--store"):
        Store(path)


def test_no_store_where_one_must_be(path):
    with pytest.raises(StoreError, match="no store.*crosswarp run"):
        Store(path, read_only=True)
    assert not path.exists()


def test_locked_by_another(path, monkeypatch):
    with Store(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store._db.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(StoreError, match="another process holds it"):
            store.begin([], {})
        other.execute("ROLLBACK")
        other.close()
        assert store.begin([], {}) == 1


def test_disk_full_keeps_what_was_recorded(path, make_record):
    with Store(path) as store:
        run = store.begin([], {})
        store.cells(run, [make_record()])
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        many = [make_record(case=f"c{number}", message="m" * 5000) for number in range(100)]
        with pytest.raises(StoreError, match="disk is full.*kept"):
            store.cells(run, many)
        # The batch that did not fit left nothing behind, and the store still answers.
        assert [record.case for record in store.records(run)] == [make_record().case]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--store"):
        Store(tmp_path / "file" / "store.db")


def test_a_read_only_file(path, monkeypatch):
    Store(path).close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        store_module.sqlite3,
        "connect",
        lambda p, **kw: connect(f"file:{p}?mode=ro", uri=True, **kw),
    )
    with pytest.raises(StoreError, match="cannot be written.*--store"):
        Store(path).begin([], {})


def test_migrations_run_from_every_older_format(path, monkeypatch, make_record):
    with Store(path) as store:
        run = store.begin([], {})
        store.cells(run, [make_record()])
    newer = (
        *store_module.MIGRATIONS,
        "ALTER TABLE runs ADD COLUMN added TEXT NOT NULL DEFAULT 'x'",
    )
    monkeypatch.setattr(store_module, "MIGRATIONS", newer)
    with Store(path) as store:
        assert len(store.records(run)) == 1
        assert store._db.execute("SELECT added FROM runs").fetchone()[0] == "x"


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_that_may_not_be_entered(path, monkeypatch, read_only):
    # As Path.exists does in a folder without the right to enter it; whoever is root may enter all.
    def refused(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(type(path), "exists", refused)
    with pytest.raises(StoreError, match="cannot be written .* Change its rights"):
        Store(path, read_only=read_only)


@pytest.mark.parametrize(
    "said", ["attempt to write a readonly database", "unable to open database file"]
)
def test_a_store_in_a_read_only_folder(path, monkeypatch, said):
    def refused(*arguments, **options):
        raise sqlite3.OperationalError(said)

    monkeypatch.setattr(sqlite3, "connect", refused)
    with pytest.raises(StoreError, match="name another with --store") as caught:
        Store(path)
    assert caught.value.exit_code == 4


@pytest.fixture
def nothing_can_be_written(monkeypatch):
    """As on a file system that is mounted read-only: SQLite cannot make its files beside the store."""
    connect = sqlite3.connect

    def refusing(name, **options):
        if (
            str(name).startswith("file:")
            and "immutable=1" in name
            or "/crosswarp-store-" in str(name)
            or name == ":memory:"
        ):
            return connect(name, **options)
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(store_module.sqlite3, "connect", refusing)


def test_a_store_that_cannot_be_written_is_read(path, make_record, request):
    odd = path.with_name("a b?c#%41.db")
    with Store(odd) as store:
        store.cells(store.begin([], {}), [make_record()])
    request.getfixturevalue("nothing_can_be_written")
    before = odd.read_bytes()
    with Store(odd, read_only=True) as store:
        assert [record.id for record in store.records(store.run().id)] == [make_record().id]
    assert odd.read_bytes() == before and [one.name for one in path.parent.iterdir()] == [odd.name]
    with pytest.raises(StoreError, match="--store"):
        Store(odd)


def test_what_its_last_writer_left_in_a_second_file_is_read_too(
    path, make_record, request, tmp_path
):
    with Store(path) as store:
        store.cells(store.begin([], {}), [make_record()])
        # As its writer's death leaves them.
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{tmp_path / 'dead.db'}{suffix}")
    request.getfixturevalue("nothing_can_be_written")
    with Store(tmp_path / "dead.db", read_only=True) as store:
        assert len(store.records(1)) == 1


def test_an_older_format_that_cannot_be_written_is_read(path, monkeypatch, make_record, request):
    steps = store_module.MIGRATIONS
    monkeypatch.setattr(store_module, "MIGRATIONS", steps[:1])
    with Store(path) as store:
        store._db.execute(
            "INSERT INTO runs (started, host, pid, pid_started, argv, status, plan) "
            "VALUES ('2026-11-26', 'h', 1, '', '[]', 'finished', '{}')"
        )
        store.cells(1, [make_record()])
    monkeypatch.setattr(store_module, "MIGRATIONS", steps)
    request.getfixturevalue("nothing_can_be_written")
    with Store(path, read_only=True) as store:
        assert (
            len(store.records(1)) == 1
            and store.run().work == ""
            and store.reused_items(1) == {}
            and store.environments(1) == []
        )


def test_a_reader_cannot_write(path):
    Store(path).close()
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="cannot be written"):
        store.begin([], {})


def test_a_schema_that_is_no_text_any_more_is_damage(path):
    Store(path).close()
    data = bytearray(path.read_bytes())
    data[data.index(b"CREATE TABLE notes") + 7] = 0xC1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="--store"):
        Store(path, read_only=True).runs()


def test_a_run_is_found_and_counted_without_a_look_at_the_cells_of_others(path, make_record):
    with Store(path) as store:
        for cells in (3, 1):
            run = store.begin([], {})
            store.cells(run, [make_record(case=str(number)) for number in range(cells)])
        asked = []
        store._db.set_trace_callback(asked.append)
        assert [store.run(one).cells for one in (1, 2, None)] == [3, 1, 1]
        store.records(1)
        store._db.set_trace_callback(None)
        for statement in asked:
            plan = [row["detail"] for row in store._db.execute(f"EXPLAIN QUERY PLAN {statement}")]
            assert not any(
                "SCAN" in step and "cells" in step or "TEMP B-TREE" in step for step in plan
            ), plan
            assert (
                not any("runs" in step and "SCAN" in step for step in plan)
                or "LIMIT 1" in statement
            )


def test_a_number_that_no_run_can_have(path):
    Store(path).close()
    with Store(path) as store, pytest.raises((StoreError, UsageError)):
        store.run(10**40)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kernel", b"\xff"),
        ("seconds", "soon"),
        ("seconds", float("inf")),
        ("lane", "fast"),
        ("resources", "[" * 99_999),
        ("shims", "{}"),
    ],
)
def test_a_field_of_a_cell_that_was_not_written_so(path, make_record, field, value):
    with Store(path) as store:
        run = store.begin([], {})
        store.cells(run, [make_record()])
        store._db.execute(f'UPDATE cells SET "{field}" = ?', (value,))
        with pytest.raises(StoreError, match=f"not written by crosswarp: {field} is no"):
            store.records(run)


READERS = {
    "environments": Store.environments, "sessions": Store.planned, "taken": Store.reused_items,
    "notes": Store.notes,
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("environments", "seconds", "soon"),
        ("environments", "versions", "[1]"),
        ("environments", "overrides", "{}"),
        ("sessions", "lane", "fast"),
        ("sessions", "planned", "many"),
        ("taken", "source", "first"),
        ("notes", "text", b"\xff"),
    ],
)
def test_a_field_of_another_table_that_was_not_written_so(path, table, field, value):
    with Store(path) as store:
        run = store.begin([], {})
        store.environment(run, store_module.Environment("a", "", "ready", "", {}, (), 0.0))
        store.session(run, "a", "compile", {}, 1)
        store.take(run, "a", {"item": 1})
        store.note(run, "a", "text")
        store._db.execute(f'UPDATE {table} SET "{field}" = ?', (value,))
        with pytest.raises(StoreError, match=f"not written by crosswarp: {field} is no"):
            READERS[table](store, run)


def test_a_step_that_another_process_has_done_meanwhile_is_not_done_again(path, monkeypatch):
    class Late:
        """As if the other process had been quicker between the two looks at the format."""

        def __init__(self, db):
            self.db, self.looked = db, 0

        def execute(self, statement):
            if statement == "PRAGMA user_version":
                self.looked += 1
                if self.looked == 1:
                    return self.db.execute("SELECT 0")
            return self.db.execute(statement)

    with Store(path) as store:
        late = Late(store._db)
        store._migrate(late)
        assert late.looked > 1
        (version,) = store._db.execute("PRAGMA user_version").fetchone()
        assert version == len(store_module.MIGRATIONS)


def test_the_newest_run_with_a_key(path):
    place = ("sm_90", "compile", "bare", "softmax")
    with Store(path) as store:
        for key in ("old", "same", "same", "other"):
            store.keys(store.begin([], {}), "triton-3.2.0", {place: key})
        store.keys(store.begin([], {}), "triton-3.1.0", {place: "same"})
        assert store.with_keys("triton-3.2.0", {"same": place}) == {place: 3}
        # A kernel may have had several keys that count: of their runs the newest.
        both = {"old": place, "same": place}
        assert store.with_keys("triton-3.2.0", both) == {place: 3}
        assert store.newest_with_keys("triton-3.2.0") == {1, 3, 4}


def test_a_batch_that_fails_half_way_is_not_there_at_all(path, make_record):
    def batch():
        yield make_record(case="first")
        raise RuntimeError("half way")

    with Store(path) as store:
        run = store.begin([], {})
        with pytest.raises(RuntimeError):
            store.cells(run, batch())
        assert store.records(run) == [] and not store._db.in_transaction
        assert store.cells(run, [make_record(), make_record()]) == 1


def test_the_fields_of_a_record_are_those_of_the_table():
    from dataclasses import fields

    from crosswarp.matrix.results import rows
    from crosswarp.matrix.results.record import Record

    assert (*rows.CELL, "versions") == tuple(one.name for one in fields(Record))


def test_what_a_killed_host_had_not_read_is_read_back_by_whoever_comes_next(
    path, make_record, tmp_path
):
    """From another folder, and while its last line is torn."""
    script = """
        import os, pathlib, signal, sys
        from crosswarp.matrix.cell.protocol import Cell, line
        from crosswarp.matrix.results import journal
        from crosswarp.matrix.results.record import Record
        from crosswarp.matrix.results.store import Store
        os.chdir(sys.argv[2])
        store = Store(pathlib.Path(sys.argv[1]))
        run = store.begin([], {}, work=pathlib.Path("work"))
        folder = journal.folder(pathlib.Path("work"), store.path, store.run(run))
        folder.mkdir(parents=True)
        cells = [Cell("sm_90", "compile", "bare", "softmax", f"c{number}", "pass") for number in range(5)]
        (folder / "triton-3.2.0.jsonl").write_text("".join(map(line, cells)) + '{"event": "cell", "tar')
        store.cells(run, [Record("triton-3.2.0", "sm_90", "compile", "bare", "softmax", "c0", outcome="pass")])
        os.kill(os.getpid(), signal.SIGKILL)
    """
    words = [sys.executable, "-c", textwrap.dedent(script), str(path), str(tmp_path)]
    assert subprocess.run(words, check=False).returncode == -9
    with Store(path, read_only=True) as store:
        run = store.run()
        assert (run.status, run.cells) == ("cut off", 5)
        assert [record.case for record in store.records(run.id)] == [f"c{n}" for n in range(5)]
    # And not again.
    with Store(path, read_only=True) as store:
        assert store.run().cells == 5


def test_what_is_read_back_comes_by_column_whatever_a_folder_lists_first(
    path, tmp_path, monkeypatch
):
    monkeypatch.setattr(store_module, "_is_gone", lambda row: True)
    with Store(path) as store:
        run = store.run(store.begin([], {}, "2026-11-28T01:02:03+00:00", tmp_path))
        folder = journal.folder(tmp_path, path, run)
        # Another store of this name began at another time.
        assert folder.name.startswith("20261128010203-")
        folder.mkdir(parents=True)
        columns = ["triton-3.1.0", "triton-3.2.0", "triton-3.3.1"]
        cell = Cell("sm_90", "compile", "bare", "softmax", "c", "pass")
        files = [folder / f"{column}.jsonl" for column in columns]
        for file in files:
            file.write_text(line(cell))
        monkeypatch.setattr(Path, "glob", lambda self, pattern: files[::-1])
        journal.read_back(store)
        assert store.columns(run.id) == columns


def test_a_run_that_goes_on_is_left_alone_and_its_writing_does_not_stop_a_reader(path):
    with Store(path) as writer:
        writer.begin([], {})
        with writer.together():
            writer.note(1, "", "while it writes")
            with Store(path, read_only=True) as reader:
                assert reader.run().status == "running"


def test_what_a_run_stores_comes_back_and_goes_with_it(path, make_record):
    """Two runs with other values in each table: each is read by itself, and one is removed without the other."""
    environments = [
        store_module.Environment("a", "l", "ready", "m", {"triton": "1", "torch": None}, ("x>=1",), 1.5, ("y",)),
        store_module.Environment("b", "", "failed", "", {}, (), 0.0),
    ]  # fmt: skip
    place = ("sm_90", "compile", "bare", "softmax")

    def fill(store, number):
        run = store.begin(["run", str(number)], {"columns": ["a", "b"]}, "2026-01-01", path.parent)
        for environment in environments[:number]:
            store.environment(run, environment)
        store.session(run, "a", "compile", {"triton": str(number)}, number)
        store.session(run, "a", "compile", {"triton": str(number)}, 10 + number)
        store.target(run, "a", "sm_90", True, "")
        store.target(run, "a", "gfx942", False, f"too old {number}")
        store.cells(
            run, [make_record(column=column, seconds=number, message="m") for column in "ba"]
        )
        store.keys(run, "a", {place: f"key {number}"})
        store.take(run, "a", {"item": 1})
        store.note(run, "a", f"note {number}")
        store.note(run, "", "problem", "problem")
        return run

    def read(store, run, number):
        assert store.run(run).argv == ("run", str(number)) and store.run(run).plan == {
            "columns": ["a", "b"]
        }
        assert (store.run(run).started, store.run(run).work) == (
            "2026-01-01",
            str(path.parent.absolute()),
        )
        assert store.environments(run) == environments[:number]
        assert store.sessions(run) == {("a", "compile"): {"triton": str(number)}}
        assert store.planned(run) == {("a", "compile"): 10 + number}
        assert store.targets(run) == {
            ("a", "sm_90"): (True, ""),
            ("a", "gfx942"): (False, f"too old {number}"),
        }
        assert store.unsupported_targets(run) == [("a", "gfx942", f"too old {number}")]
        assert store.columns(run) == ["b", "a"] and store.kernels(run) == ["softmax"]
        assert [(record.column, record.seconds) for record in store.records(run)] == [
            ("b", number),
            ("a", number),
        ]
        assert [record.column for record in store.records(run, "a")] == ["a"]
        assert {record.message for record in store.records(run, brief=True)} == {""}
        assert store.counts(run)[("a", *place, "pass")] == 1 and store.counts(run).total() == 2
        assert store.keys_of(run) == {("a", *place): f"key {number}"}
        assert store.reused_items(run) == {("a", "item"): 1}
        assert [(note.column, note.kind, note.text) for note in store.notes(run)] == [
            ("a", "note", f"note {number}"), ("", "problem", "problem"),
        ]  # fmt: skip

    with Store(path) as store:
        assert (fill(store, 1), fill(store, 2)) == (1, 2)
        read(store, 1, 1), read(store, 2, 2)
        assert [run.id for run in store.runs()] == [2, 1] and store.run().id == 2
        assert store.newest_of_coordinates() == {1, 2} and store.newest_with_keys("b") == set()
        assert (
            store.with_keys("a", {"key 1": ("x",)}) == {("x",): 1}
            and store.with_keys("b", {"key 1": ("x",)}) == {}
        )
        store.finish(1, "done", 3, "2026-01-02")
        ended, going = store.run(1), store.run(2)
        assert (ended.status, ended.exit_code, ended.finished) == ("done", 3, "2026-01-02")
        assert (going.status, going.exit_code, going.finished) == ("running", None, None)
        before = store.size
        store.remove(2)
        read(store, 1, 1)
        for table in store_module.OF_A_RUN:
            assert (
                store._db.execute(f"SELECT count(*) FROM {table} WHERE run = 2").fetchone()[0] == 0
            )
        with pytest.raises(UsageError, match="has no run 2"):
            store.run(2)
        assert before > 0 and store.cut_off() == []


def test_nothing_of_a_transaction_that_fails_is_stored(path):
    with Store(path) as store:
        run = store.begin([], {})
        with pytest.raises(KeyError), store.together():
            store.note(run, "", "first")
            raise KeyError
        assert store.notes(run) == []
        with store.together():
            store.note(run, "", "second")
        assert [note.text for note in store.notes(run)] == ["second"]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("database or disk is full", "free space"), ("disk I/O error", "free space"),
        ("database is locked", "Wait for"),
        ("attempt to write a readonly database", "Change its rights"), ("file is not a database", "Move it away"),
        ("database disk image is malformed", "Move it away"), ("something else", "Check the path"),
    ],
)  # fmt: skip
def test_each_error_has_its_advice(text, advice):
    assert advice in store_module._what_to_do(sqlite3.OperationalError(text))
    assert "Change its rights" in store_module._what_to_do(PermissionError("x"))


def test_an_empty_store_has_no_newest_run(path):
    with Store(path) as store, pytest.raises(StoreError, match="holds no run yet"):
        store.run()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("database or disk is full", "the disk is full"), ("disk I/O error", "the disk is full"),
        ("No space left on device", "the disk is full"), ("database is locked", "another process holds it"),
        ("resource busy", "another process holds it"), ("attempt to write a readonly database", "cannot be written"),
        ("Read-only: read-only file system", "cannot be written"), (PermissionError("x"), "cannot be written"),
        ("file is not a database", "is not a crosswarp store"), ("image is malformed", "is not a crosswarp store"),
        ("odd", "it cannot be used (odd)"),
    ],
)  # fmt: skip
def test_what_to_do_about_an_error_of_a_store(error, words):
    error = error if isinstance(error, Exception) else sqlite3.OperationalError(error)
    assert words in _what_to_do(error)
