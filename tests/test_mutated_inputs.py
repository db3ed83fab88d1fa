"""2,000 mutations of every file that crosswarp reads, and of the store: read, or refused in one error with what to do.

The mutations are the same every time: the seed is the number of the mutation.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sqlite3

import pytest

from crosswarp.matrix.errors import EXIT_STORE, EXIT_USAGE, ConfigError, StoreError, UsageError
from crosswarp.matrix.facts import columns, issues, language_table, targets
from crosswarp.matrix.facts.language_table import Name, Release
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.store import Environment, Store
from crosswarp.matrix.running import jobs, merge
from crosswarp.matrix.work import library_ops
from crosswarp.reports.findings.view import view
from crosswarp.reports.text.summary import summary

MANY = 2000 if os.environ.get("NIGHTLY") else 500
ODD = (
    None, True, False, 0, -1, 7, 2**70, 1.5, 1e308, float("nan"), float("inf"), "", "x", "\ud800", "\x1b[2J",
    "9" * 5000, "a/b", "*", "[", "(", [], {}, [None], {"": None}, [[]], "3.2.0", "2026-02-31", b"\xff\xfe",
)  # fmt: skip
PIECES = (
    b"\0", b"\xff", b'"', b"[", b"]", b"{", b"}", b"=", b",", b"\n", b"-", b"9" * 5000, b"'", b"[" * 2000, b"nan",
    b"\\ud800",
)  # fmt: skip


def mutated(text, number):
    """Bytes in which one to three places are changed, left out, doubled or put in."""
    dice, data = random.Random(number), bytearray(text)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(data))
        end = min(len(data), at + dice.choice((1, 1, 3, 20, 200)))
        how = dice.randrange(4)
        if how == 0:
            data[at] = dice.randrange(256)
        elif how == 1:
            del data[at:end]
        elif how == 2:
            data[at:at] = data[at:end]
        else:
            data[at:at] = dice.choice(PIECES)
        if not data:
            break
    return bytes(data)


def changed(document, number):
    """A copy in which one value is another, or one key is gone or another."""
    dice, document = random.Random(number), copy.deepcopy(document)
    node = document
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = dice.choice(list(keys))
        below = node[key]
        if not (isinstance(below, (dict, list)) and below) or dice.random() < 0.2:
            break
        node = below
    how = dice.randrange(4)
    if how == 0 and isinstance(node, dict):
        node[dice.choice(("", "x", "3.2.0", "triton-3.2.0"))] = node.pop(key)
    elif how == 1:
        del node[key]
    else:
        node[key] = dice.choice([one for one in ODD if not isinstance(one, bytes)])
    return json.dumps(document).encode("ascii")


def first(path, tables, count=4):
    """The beginning of one of our own files: `count` of its tables."""
    _, *rest = path.read_text("utf-8").split(f"\n{tables}")
    return "\n".join(tables + one for one in rest[:count]).encode()


@pytest.fixture
def documents(make_record, tmp_path):
    """Of each file a small good one, and what reads it."""
    figures = {"launches": [{"kernel": "_k", "num_warps": 4, "registers": 64, "stack": 0}]}
    records = [
        make_record(resources=figures, versions={"triton": "3.2.0"}),
        make_record(outcome="crash", fingerprint="SIGABRT", target="sm_80", shims=("one",)),
        make_record(column="triton-3.1.0", mode="shimmed"),
    ]
    table = {
        version: Release(
            {"triton": version, "checked": "2026-11-21"},
            {"tl.load": Name("function", "(pointer)")},
            {"tl.load": {"sm_90": "pass", "interpreter": "crash: SIGABRT"}},
        )
        for version in ("3.1.0", "3.2.0")
    }
    return {
        "columns.toml": (first(columns.DEFAULT_FILE, "[[column]]"), columns.load),
        "targets.toml": (first(targets.DEFAULT_FILE, "[sm_", 3), targets.load),
        "issues.toml": (first(issues.DEFAULT_FILE, "[[issue]]"), issues.load),
        "libraries.toml": (first(library_ops.DEFAULT_FILE, "[[library]]", 2), library_ops.load),
        "language.json": (language_table.dumped(table).encode(), language_table.load),
        "baseline.json": (baseline.dumped(records).encode(), baseline.read),
        "plan.json": (jobs.github(jobs.jobs(["triton-3.2.0", "main"], 2, [])).encode(), jobs.read),
    }  # fmt: skip


NAMES = (
    "columns.toml", "targets.toml", "issues.toml", "libraries.toml", "language.json", "baseline.json", "plan.json",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_mutated_file_is_read_or_refused(documents, tmp_path, name):
    text, read = documents[name]
    path = tmp_path / name
    path.write_bytes(text)
    # The good one is read.
    assert read(path)
    refused = 0
    for number in range(MANY):
        if name.endswith(".json") and number % 2:
            path.write_bytes(changed(json.loads(text), number))
        else:
            path.write_bytes(mutated(text, number))
        try:
            read(path)
        except (ConfigError, UsageError) as error:
            refused += 1
            assert error.exit_code == EXIT_USAGE
            told = str(error).strip()
            assert str(path) in told and told.endswith((".", "FILE.", "--write.")), told[-200:]
        except Exception as error:
            error.add_note(f"mutation {number} of {name}")
            raise
    assert MANY // 10 < refused < MANY


def test_a_signature_that_is_no_python_is_refused(documents, tmp_path):
    text, read = documents["language.json"]
    path = tmp_path / "language.json"
    for broken in (b"(pointer", b"(pointer).", b"(a=)", b"(" + b"[" * 5000 + b")"):
        path.write_bytes(text.replace(b"(pointer)", broken))
        with pytest.raises(ConfigError, match="tl.load has a signature that is no Python"):
            read(path)


def test_a_mutated_store_is_read_or_refused(make_record, make_issue, tmp_path):
    path = tmp_path / "store.db"
    plan = {
        "columns": ["triton-3.2.0"], "targets": ["sm_90"], "lanes": ["compile"], "modes": ["bare"], "kernels": ["*"],
        "suite": None, "commit": "abc", "shard": [1, 2],
    }  # fmt: skip
    red = make_record(outcome="crash", fingerprint="SIGABRT", case="b", shims=("one",))
    figures = {"launches": [{"kernel": "_k", "num_warps": 4, "registers": 64}]}
    with Store(path) as store:
        run = store.begin(["run", "--jobs", "1"], plan)
        store.session(run, "triton-3.2.0", "compile", {"triton": "3.2.0"}, 2)
        store.target(run, "triton-3.2.0", "sm_90", False, "no")
        store.cells(run, [make_record(resources=figures), red])
        at = ("triton-3.2.0", "triton-3.2.0", "ready", "", {"triton": "3.2.0"}, ("a",), 1.0, ())
        store.environment(run, Environment(*at))
        store.note(run, "triton-3.2.0", "read me", kind="problem")
        store.finish(run, "finished", 1)
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA synchronous = OFF")
    tables = {
        table: [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
        for table in ("runs", "environments", "sessions", "cells", "targets", "notes")
    }
    refused = 0
    with Store(path) as store:
        for number in range(MANY):
            dice = random.Random(number)
            table = dice.choice(list(tables))
            # Where a row belongs to is not its content.
            column = dice.choice([name for name in tables[table] if name not in ("run", "id")])
            old = raw.execute(f'SELECT rowid, "{column}" FROM {table}').fetchone()
            value = dice.choice(ODD)
            if column in (
                "plan",
                "argv",
                "versions",
                "requirements",
                "overrides",
                "resources",
                "shims",
            ):
                good = json.loads(old[1])
                if good and dice.random() < 0.6:
                    value = changed(good, number).decode()
            if isinstance(value, (list, dict)) or value == 2**70:
                value = json.dumps(value)
            if isinstance(value, str):
                value = value.encode("utf-8", "surrogatepass")
                value = value.decode("utf-8", "replace") if dice.random() < 0.7 else value
            try:
                raw.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (value, old[0]))
            except sqlite3.IntegrityError:
                continue
            try:
                summary(view(store, [make_issue()]))
                merge.read(path)
            except (StoreError, UsageError) as error:
                refused += 1
                assert error.exit_code in (EXIT_STORE, EXIT_USAGE) and str(path) in str(error)
                assert str(error).endswith(".")
            except Exception as error:
                error.add_note(f"mutation {number}: {table}.{column} = {value!r:.200}")
                raise
            finally:
                raw.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (old[1], old[0]))
        assert store.run().status == "finished"
    raw.close()
    assert MANY // 10 < refused < MANY
