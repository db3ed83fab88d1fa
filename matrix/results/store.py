"""The store: every run, environment and cell, in one SQLite file.

One writer, in WAL mode. A run is a row from before its first cell, so that a run which was killed leaves a trace: its
row says `running`, and its process is gone. Migrations are only ever appended; a database of a newer crosswarp is
refused, not guessed at.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from crosswarp.matrix.errors import StoreError, UsageError
from crosswarp.matrix.results import journal, rows
from crosswarp.matrix.results.described import Described
from crosswarp.matrix.results.record import LANES, MODES, OUTCOMES, Record, clean

T = TypeVar("T")

# The default folder of runs.
DEFAULT = Path(".crosswarp/store.db")

# Append only: a step that has been released is never edited.
MIGRATIONS = (
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, host TEXT NOT NULL, pid INTEGER NOT NULL,
        pid_started TEXT NOT NULL, argv TEXT NOT NULL, status TEXT NOT NULL, exit_code INTEGER, plan TEXT NOT NULL);
    CREATE TABLE environments (
        run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL, label TEXT NOT NULL, state TEXT NOT NULL,
        message TEXT NOT NULL, versions TEXT NOT NULL, requirements TEXT NOT NULL, seconds REAL NOT NULL,
        PRIMARY KEY (run, "column"));
    CREATE TABLE sessions (
        run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL, lane TEXT NOT NULL, versions TEXT NOT NULL,
        planned INTEGER NOT NULL, PRIMARY KEY (run, "column", lane));
    CREATE TABLE cells (
        run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL, target TEXT NOT NULL, lane TEXT NOT NULL,
        mode TEXT NOT NULL, kernel TEXT NOT NULL, "case" TEXT NOT NULL, config TEXT NOT NULL, outcome TEXT NOT NULL,
        reason TEXT NOT NULL, fingerprint TEXT NOT NULL, message TEXT NOT NULL, phase TEXT NOT NULL,
        seconds REAL NOT NULL, resources TEXT NOT NULL, shims TEXT NOT NULL, issue TEXT NOT NULL,
        PRIMARY KEY (run, "column", target, lane, mode, kernel, "case", config));
    CREATE TABLE targets (
        run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL, target TEXT NOT NULL,
        supported INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (run, "column", target));
    CREATE TABLE notes (
        id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL,
        kind TEXT NOT NULL, text TEXT NOT NULL);
    """,
    # The versions that a column outside of the official pairs was installed with, whatever its packages ask for.
    """
    ALTER TABLE environments ADD COLUMN overrides TEXT NOT NULL DEFAULT '[]';
    """,
    # The keys of a kernel's cells, and the source of those that did not run again.
    """
    CREATE TABLE keys (
        run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL, target TEXT NOT NULL, lane TEXT NOT NULL,
        mode TEXT NOT NULL, kernel TEXT NOT NULL, key TEXT NOT NULL,
        PRIMARY KEY (run, "column", target, lane, mode, kernel));
    CREATE TABLE taken (
        run INTEGER NOT NULL REFERENCES runs, "column" TEXT NOT NULL, item TEXT NOT NULL, source INTEGER NOT NULL,
        PRIMARY KEY (run, "column", item));
    """,
    # A run's cells in the order in which they came, and their number, without a look at those of other runs.
    """
    CREATE INDEX cells_of_run ON cells (run);
    """,
    # Where a run keeps its files, for reading back cells that its host could not store.
    """
    ALTER TABLE runs ADD COLUMN work TEXT NOT NULL DEFAULT '';
    """,
)
# The tables whose rows are each of one run.
OF_A_RUN = ("environments", "sessions", "cells", "targets", "notes", "keys", "taken")
# The format that the queries need; later formats only make them faster.
_READABLE = 3

_NAMES = ", ".join(f'"{name}"' for name in rows.CELL)
_BRIEF = _NAMES.replace('"resources"', "'{}' AS resources").replace('"message"', "'' AS message")
_INSERT_CELL = (
    f"INSERT INTO cells (run, {_NAMES}) VALUES (?{', ?' * len(rows.CELL)}) ON CONFLICT DO NOTHING"
)
_RUNS = "SELECT runs.*, (SELECT count(*) FROM cells WHERE run = runs.id) AS cells FROM runs"


@dataclass(frozen=True)
class Run:
    id: int
    started: str
    finished: str | None
    status: str
    exit_code: int | None
    argv: tuple[str, ...]
    plan: Mapping[str, Any]
    cells: int
    # The folder of `--work`; empty where it is unknown.
    work: str = ""

    @property
    def described(self) -> Described:
        return Described(self.plan)

    @property
    def name(self) -> str:
        """Returns its name in messages: the installed baseline is no run of anybody's."""
        baseline = self.plan.get("baseline")
        return baseline if isinstance(baseline, str) else f"run {self.id}"


@dataclass(frozen=True)
class Environment:
    column: str
    label: str
    state: str
    message: str
    versions: Mapping[str, Any]
    requirements: tuple[str, ...]
    seconds: float
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    column: str
    # "note": to be read once; "problem": the run is not what was planned.
    kind: str
    text: str


class Store:
    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Opens the store, and makes it where there is none; `read_only`: there must be one, and nothing is written.

        Raises:
            StoreError: it cannot be used, or `read_only` and it is not there.
        """
        self.path = path
        with self._plain_errors():
            # A folder that may not be entered raises here.
            there = path.exists()
        if read_only and not there:
            raise StoreError(
                f"{path}: there is no store. Run `crosswarp run` first, or name another with --store."
            )
        if there and not path.is_file():
            raise StoreError(f"{path}: it is no file. Name another with --store.")
        with self._plain_errors():
            self._db = self._readable() if read_only else self._writable()

    def _writable(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        with self._prepared(db):
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA foreign_keys = ON")
            self._migrate(db)
        return db

    def _readable(self) -> sqlite3.Connection:
        try:
            db = self._writable()
        except (sqlite3.OperationalError, OSError) as error:
            if "locked" in str(error):
                raise
            return self._from_what_cannot_be_written()
        self._db = db
        with suppress(StoreError):
            # A file that cannot be written now is read back another time.
            journal.read_back(self)
        with self._prepared(db):
            db.execute("PRAGMA query_only = ON")
            # One state of the store for all that a command asks: a run may be removed meanwhile.
            db.execute("BEGIN")
            db.execute("SELECT id FROM runs LIMIT 1").fetchone()
        return db

    def _from_what_cannot_be_written(self) -> sqlite3.Connection:
        """A store in a folder, or on a file system, that may only be read: SQLite would put its own files beside it."""
        log = Path(f"{self.path}-wal")
        if log.is_file() and log.stat().st_size:
            # The last writer left two files, which are joined where that is possible.
            with tempfile.TemporaryDirectory(prefix="crosswarp-store-") as folder:
                copy = Path(folder, "store.db")
                for suffix in ("", "-wal"):
                    shutil.copyfile(f"{self.path}{suffix}", f"{copy}{suffix}")
                return self._in_memory(sqlite3.connect(copy))
        name = urllib.parse.quote(os.fsencode(self.path.absolute()))
        db = sqlite3.connect(f"file:{name}?immutable=1", uri=True, isolation_level=None)
        with self._prepared(db):
            (version,) = db.execute("PRAGMA user_version").fetchone()
        if version < _READABLE:
            return self._in_memory(db)
        with self._prepared(db):
            self._refuse_newer(version)
        return db

    def _in_memory(self, source: sqlite3.Connection) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None)
        with closing(source), self._prepared(db):
            source.backup(db)
            self._migrate(db)
        return db

    @contextmanager
    def _prepared(self, db: sqlite3.Connection) -> Iterator[None]:
        db.row_factory = sqlite3.Row
        try:
            yield
        except BaseException:
            db.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        # A row that an exception's traceback still holds would keep a reader's transaction open.
        with suppress(sqlite3.Error):
            self._db.rollback()
        self._db.close()

    # Writing

    @contextmanager
    def together(self) -> Iterator[None]:
        """A transaction: all writes inside are stored, or none."""
        with self._write():
            yield

    def begin(
        self,
        argv: Sequence[str],
        plan: Mapping[str, Any],
        started: str | None = None,
        work: Path | None = None,
    ) -> int:
        """Stores that a run begins, which keeps its files below `work`; returns its number."""
        row = (
            started or _now(), _host(), os.getpid(), process_started(os.getpid()),
            _json(list(argv)), "running", _json(plan), str(work.absolute()) if work else "",
        )  # fmt: skip
        with self._write() as db:
            cursor = db.execute(
                "INSERT INTO runs (started, host, pid, pid_started, argv, status, plan, work) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        return int(cursor.lastrowid or 0)

    def finish(
        self, run: int, status: str, exit_code: int | None, finished: str | None = None
    ) -> None:
        with self._write() as db:
            db.execute(
                "UPDATE runs SET finished = ?, status = ?, exit_code = ? WHERE id = ?",
                (finished or _now(), status, exit_code, run),
            )

    def cut_off(self) -> list[Run]:
        """The unfinished runs whose process is gone, and which are not marked yet."""
        with self._plain_errors():
            running = self._db.execute("SELECT * FROM runs WHERE status = 'running'").fetchall()
            gone = [row["id"] for row in running if _is_gone(row)]
        return [self.run(run) for run in gone]

    def mark_cut_off(self) -> list[Run]:
        """Marks the runs whose process is gone without having finished, and returns them."""
        gone = self.cut_off()
        if gone:
            with self._write() as db:
                for run in gone:
                    db.execute("UPDATE runs SET status = 'cut off' WHERE id = ?", (run.id,))
        return gone

    def environment(self, run: int, environment: Environment) -> None:
        self._put("environments", [(run, *vars(environment).values())])

    def session(self, run: int, column: str, lane: str, versions: Mapping, planned: int) -> None:
        self._put("sessions", [(run, column, lane, versions, planned)])

    def target(self, run: int, column: str, target: str, supported: bool, message: str) -> None:
        self._put("targets", [(run, column, target, supported, message)])

    def cells(self, run: int, records: Iterable[Record]) -> int:
        """Stores the records in one transaction; returns how many were there already and were left as they are."""
        twice = 0
        with self._write() as db:
            for record in records:
                values = _stored([run, *(getattr(record, name) for name in rows.CELL)])
                twice += 1 - db.execute(_INSERT_CELL, values).rowcount
        return twice

    def keys(self, run: int, column: str, keys: Mapping[tuple[str, ...], str]) -> None:
        """Stores the key of each target, lane, mode and kernel of a column (`running.unchanged`)."""
        self._put("keys", [(run, column, *place, key) for place, key in keys.items()])

    def take(self, run: int, column: str, sources: Mapping[str, int]) -> None:
        """Stores which items did not run again, each with the run in which it had."""
        self._put("taken", [(run, column, item, source) for item, source in sources.items()])

    def note(self, run: int, column: str, text: str, kind: str = "note") -> None:
        with self._write() as db:
            db.execute(
                'INSERT INTO notes (run, "column", kind, text) VALUES (?, ?, ?, ?)',
                (run, column, kind, clean(text)),
            )

    def remove(self, run: int) -> None:
        """Removes a run with all that belongs to it, as a whole or not at all."""
        with self._write() as db:
            for table in OF_A_RUN:
                db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
            db.execute("DELETE FROM runs WHERE id = ?", (run,))

    def shrink(self, stopped: Callable[[], bool]) -> bool:
        """Frees the disk space of removed runs; False where `stopped` ended it early.

        Readers go on with the old contents. Writers have to wait.
        """
        with self._plain_errors():
            self._db.set_progress_handler(lambda: int(stopped()), 10_000)
            try:
                self._db.execute("VACUUM")
            except sqlite3.OperationalError:
                if stopped():
                    return False
                raise
            finally:
                self._db.set_progress_handler(None, 0)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return True

    # Reading

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        files = (self.path, Path(f"{self.path}-wal"))
        with self._plain_errors():
            return sum(file.stat().st_size for file in files if file.exists())

    def runs(self) -> list[Run]:
        """All runs, the latest first."""
        return self._fetched(_run, f"{_RUNS} ORDER BY id DESC")

    def run(self, run: int | None = None) -> Run:
        """The run with that id, or the latest."""
        chosen = "WHERE id = ?" if run is not None else "ORDER BY id DESC LIMIT 1"
        for row in self._fetched(_run, f"{_RUNS} {chosen}", *(() if run is None else (run,))):
            return row
        if run is not None:
            raise UsageError(f"{self.path} has no run {run}. `crosswarp runs` lists what it holds.")
        raise StoreError(f"{self.path} holds no run yet. Run `crosswarp run` first.")

    def records(self, run: int, column: str | None = None, brief: bool = False) -> list[Record]:
        """The cells of a run, or of one column of it, in the order in which they were stored.

        `brief`: without their resources and messages, which are most of a store; enough to see what fails where.
        """
        sessions = self.sessions(run)
        chosen, values = ('AND "column" = ?', (run, column)) if column is not None else ("", (run,))
        with self._plain_errors():
            fetched = self._db.execute(
                f"SELECT {_BRIEF if brief else _NAMES} FROM cells WHERE run = ? {chosen} ORDER BY rowid",
                values,
            )
            return rows.records(fetched, sessions)

    def columns(self, run: int) -> list[str]:
        """The columns that have cells in a run, in the order in which they were stored."""
        query = 'SELECT "column", min(rowid) AS first FROM cells WHERE run = ? GROUP BY "column" ORDER BY first'
        return [column for (column,) in self._named("column", query, run)]

    def kernels(self, run: int) -> list[str]:
        """The kernels that have cells in a run."""
        query = "SELECT DISTINCT kernel FROM cells WHERE run = ?"
        return [kernel for (kernel,) in self._named("kernel", query, run)]

    def counts(self, run: int) -> Counter[tuple[str, str, str, str, str, str]]:
        """How many cells ended how, by column, target, lane, mode, kernel and outcome."""
        names = ("column", "target", "lane", "mode", "kernel", "outcome")
        known = {"lane": LANES, "mode": MODES, "outcome": OUTCOMES}
        with self._plain_errors():
            chosen = ", ".join(f'"{name}"' for name in names)
            # Counted here, and not by SQLite, which would sort all cells by six texts before.
            fetched = self._db.execute(
                f"SELECT {chosen} FROM cells WHERE run = ? ORDER BY rowid", (run,)
            )
            fetched.row_factory = None
            counted = Counter(fetched)
            for cell in counted:
                for name, value in zip(names, cell, strict=True):
                    rows.text({name: value}, name, known.get(name, ()))
            return counted

    def sessions(self, run: int) -> dict[tuple[str, str], dict[str, Any]]:
        """The versions that each column's suite imported, by column and lane."""
        sessions = self._rows("sessions", "column lane versions", run)
        return {(column, lane): versions for column, lane, versions in sessions}

    def planned(self, run: int) -> dict[tuple[str, str], int]:
        """How many cases each column's suite said it would run, by column and lane."""
        sessions = self._rows("sessions", "column lane planned", run)
        return {(column, lane): planned for column, lane, planned in sessions}

    def environments(self, run: int) -> list[Environment]:
        names = "column label state message versions requirements seconds overrides"
        return [Environment(*row) for row in self._rows("environments", names, run, "rowid")]

    def targets(self, run: int) -> dict[tuple[str, str], tuple[bool, str]]:
        """Whether each column has the target, and why not."""
        targets = self._rows("targets", "column target supported message", run, "rowid")
        return {(column, target): (has == 1, message) for column, target, has, message in targets}

    def with_keys(
        self, column: str, wanted: Mapping[str, tuple[str, ...]]
    ) -> dict[tuple[str, ...], int]:
        """For each key that a run has, its coordinate, and the newest of those runs."""
        newest: dict[tuple[str, ...], int] = {}
        query = 'SELECT run, key FROM keys WHERE "column" = ? ORDER BY run'
        for key, run in self._named("key run", query, column):
            if key in wanted:
                newest[wanted[key]] = max(run, newest.get(wanted[key], 0))
        return newest

    def newest_with_keys(self, column: str) -> set[int]:
        """The runs that are the newest of any key of a column."""
        query = 'SELECT max(run) AS run FROM keys WHERE "column" = ? GROUP BY key'
        return {run for (run,) in self._named("run", query, column)}

    def newest_of_coordinates(self) -> set[int]:
        """The runs that are the newest with any key of a column, target, lane, mode and kernel, for each share."""
        share = "CASE instr(key, ' ') WHEN 0 THEN '' ELSE substr(key, instr(key, ' ')) END"
        place = '"column", target, lane, mode, kernel'
        query = f"SELECT DISTINCT max(run) AS run FROM keys GROUP BY {place}, {share}"
        return {run for (run,) in self._named("run", query)}

    def keys_of(self, run: int) -> dict[tuple[str, ...], str]:
        """The keys that a run has, by column, target, lane, mode and kernel."""
        keys = self._rows("keys", "column target lane mode kernel key", run)
        return {row[:-1]: row[-1] for row in keys}

    def reused_items(self, run: int) -> dict[tuple[str, str], int]:
        """The items that did not run in `run`, by column, and the run whose results they reuse."""
        items = self._rows("taken", "column item source", run)
        return {(column, item): source for column, item, source in items}

    def unsupported_targets(self, run: int) -> list[tuple[str, str, str]]:
        return [
            (column, target, message)
            for (column, target), (supported, message) in self.targets(run).items()
            if not supported
        ]

    def notes(self, run: int) -> list[Note]:
        return [Note(*row) for row in self._rows("notes", "column kind text", run, "id")]

    # Machinery

    def _fetched(self, read: Callable[[sqlite3.Row], T], query: str, *values: object) -> list[T]:
        """All rows of a query, each as `read` returns it."""
        with self._plain_errors():
            return [read(row) for row in self._db.execute(query, values).fetchall()]

    def _named(self, names: str, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The fields of these names of all rows of a query."""
        chosen = names.split()
        return self._fetched(lambda row: rows.fields(row, chosen), query, *values)

    def _rows(self, table: str, names: str, run: int, order: str = "run") -> list[tuple[Any, ...]]:
        """The fields of these names of a table's rows for a run."""
        return self._named(names, f"SELECT * FROM {table} WHERE run = ? ORDER BY {order}", run)

    def _put(self, table: str, chosen: Sequence[Sequence[Any]]) -> None:
        """Stores rows whose values are in the order of the table's columns, in place of earlier ones."""
        with self._write() as db:
            for row in chosen:
                marks = ", ".join("?" * len(row))
                db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", _stored(row))

    def _migrate(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        self._refuse_newer(version)
        for number in range(version, len(MIGRATIONS)):
            # Two runs may open a new store at the same time: the second finds the step done.
            db.execute("BEGIN IMMEDIATE")
            (now,) = db.execute("PRAGMA user_version").fetchone()
            if now == number:
                for statement in MIGRATIONS[number].split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")
            db.execute("COMMIT")

    def _refuse_newer(self, version: int) -> None:
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} was written by a newer crosswarp (format {version}, this one knows "
                f"{len(MIGRATIONS)}). Upgrade crosswarp, or name another file with --store."
            )

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        if self._db.in_transaction:
            with self._plain_errors():
                yield self._db
            return
        with self._plain_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            # A damaged page of the schema, of which SQLite gives the text as it is.
            raise StoreError(
                f"{self.path}: it is damaged (not UTF-8). Move it away, or name another with --store."
            ) from None
        except (sqlite3.Error, OSError, OverflowError) as error:
            raise StoreError(f"{self.path}: {_what_to_do(error)}") from error
        except rows.WrongRow as error:
            raise StoreError(
                f"{self.path}: what it holds was not written by crosswarp: {error}. Move it away, or name another with "
                "--store."
            ) from None


def _run(row: sqlite3.Row) -> Run:
    status = rows.text(row, "status")
    return Run(
        row["id"], rows.text(row, "started"), rows.optional(row, "finished", rows.text),
        "cut off" if status == "running" and _is_gone(row) else status,
        rows.optional(row, "exit_code", rows.whole), rows.texts(row, "argv"), rows.plan(row, "plan"), row["cells"],
        rows.text(row, "work") if "work" in row.keys() else "",  # noqa: SIM118
    )  # fmt: skip


def _what_to_do(error: Exception) -> str:
    text = str(error)
    if "disk is full" in text or "disk I/O" in text or "No space" in text:
        return f"the disk is full ({text}). Everything recorded so far is kept: free space and run again."
    if "locked" in text or "busy" in text:
        return f"another process holds it ({text}). Wait for that run to end, or name another with --store."
    if "readonly" in text or "read-only" in text or isinstance(error, PermissionError):
        return f"it cannot be written ({text}). Change its rights, or name another with --store."
    if "not a database" in text or "malformed" in text:
        return f"it is not a crosswarp store ({text}). Move it away, or name another with --store."
    return (
        f"it cannot be used ({text}). Check the path and its folder, or name another with --store."
    )


def _is_gone(row: sqlite3.Row) -> bool:
    """Whether the process of a run is no more. Another machine's processes cannot be asked about from here."""
    begun = rows.text(row, "pid_started")
    return row["host"] == _host() and process_started(rows.whole(row, "pid")) != begun


def process_started(pid: int) -> str:
    """When the process began, if the system reports it, so that a reused pid is not mistaken for the old process."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return ""
        # The name in parentheses may hold spaces; the start time is field 22.
        fields = stat.rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else f"{boot}:{fields[19].decode()}"
    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip()


def _host() -> str:
    return os.uname().nodename


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _stored(row: Iterable[Any]) -> list[Any]:
    """The values of a row as SQLite keeps them."""
    return [_json(v) if isinstance(v, (tuple, list, Mapping)) else clean(v) for v in row]


def _json(value: Any) -> str:
    return json.dumps(clean(value), allow_nan=False)
