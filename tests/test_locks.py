"""What runs share in a work folder: an environment, a cache. Nobody makes it anew under somebody who uses it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from crosswarp.matrix.environments import locks
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import EXIT_STORE, StoreError, WorkError

LONG = 60
ITEM = "sm_90/compile/bare/softmax/a"
CELL = {
    "event": "cell", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax", "case": "a",
    "config": "", "outcome": "pass",
}  # fmt: skip
GREEN = [
    {"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 1},
    {"event": "start", "item": ITEM}, CELL, {"event": "end", "item": ITEM},
]  # fmt: skip


def never():
    pytest.fail("nobody is in the way")


def hold_of(how, path):
    return how(path, never, lambda: False)


def test_many_use_one_changes(tmp_path):
    path = tmp_path / "lock"
    one, two = hold_of(locks.use, path), hold_of(locks.use, path)
    assert locks.try_change(path) is None
    one.release()
    one.release()
    assert locks.try_change(path) is None
    two.release()
    changing = locks.try_change(path)
    with pytest.raises(locks.Stopped):
        locks.use(path, lambda: None, lambda: True)
    changing.release()
    hold_of(locks.use, path).release()


def test_waiting_is_told_once_and_ends(tmp_path):
    path, told = tmp_path / "lock", []
    one, waits = hold_of(locks.use, path), threading.Event()

    def waiting():
        told.append("waiting")
        waits.set()

    found = []
    thread = threading.Thread(
        target=lambda: found.append(locks.change(path, waiting, lambda: False))
    )
    thread.start()
    assert waits.wait(LONG) and not found
    one.release()
    thread.join(LONG)
    assert told == ["waiting"] and len(found) == 1
    found[0].release()


def test_a_process_that_dies_holds_nothing(tmp_path):
    path = tmp_path / "lock"
    code = (
        "import os, pathlib, sys; from crosswarp.matrix.environments import locks;"
        "held = locks.use(pathlib.Path(sys.argv[1]), lambda: None, lambda: False);"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        assert locks.try_change(path) is None
        other.kill()
    locks.try_change(path).release()


def test_what_a_run_starts_does_not_hold_it(tmp_path):
    hold = hold_of(locks.use, tmp_path / "lock")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        hold.release()
        locks.try_change(tmp_path / "lock").release()
        child.stdin.write(b"\n")


class Held(locks.Hold):
    def __init__(self):
        super().__init__(None)  # the base lets go of it when it is collected, wherever that happens
        self.released = False

    def release(self):
        self.released = True


def test_an_environment_is_held_for_as_long_as_its_suite_runs(fake_run, tmp_path, monkeypatch):
    hold, seen = Held(), []

    class Prepare:
        def __call__(self, column):
            return Environment(
                Path(sys.executable), column.id, {}, {"triton": column.triton}, (), hold=hold
            )

        def cancel(self):
            seen.append(("cancelled", hold.released))

    from crosswarp.matrix.running import column_run

    account = column_run.ColumnRun.account

    def accounted(*arguments):
        seen.append(("accounted", hold.released))
        return account(*arguments)

    monkeypatch.setattr(column_run.ColumnRun, "account", accounted)
    assert fake_run(GREEN, prepare=Prepare()).exit_code == 0
    assert seen == [("accounted", False), ("cancelled", True)]


@pytest.mark.parametrize("in_use", [False, True])
def test_a_fresh_run_empties_no_cache_that_is_in_use(fake_run, in_use):
    cache = fake_run.work / "cache" / "triton-3.2.0"
    cache.mkdir(parents=True)
    (cache / "compiled").write_text("by another run")
    lock = cache.with_name("triton-3.2.0.lock")
    other = hold_of(locks.use, lock) if in_use else None
    assert fake_run(GREEN, fresh=True).exit_code == 0
    assert (cache / "compiled").exists() is in_use
    (spec,) = fake_run.work.glob("runs/*/triton-3.2.0.spec.json")
    used = Path(json.loads(spec.read_text())["cache"])
    # Either way it began with an empty one, and leaves none behind that is its own.
    assert (used != cache.resolve()) is in_use
    assert used.exists() is not in_use
    if other:
        other.release()
    locks.try_change(lock).release()


def test_a_run_that_is_not_fresh_keeps_others_from_emptying_its_cache(
    fake_run, tmp_path, monkeypatch
):
    free = []
    from crosswarp.matrix.running import column_run

    account = column_run.ColumnRun.account

    def accounted(*arguments):
        free.append(locks.try_change(fake_run.work / "cache" / "triton-3.2.0.lock"))
        return account(*arguments)

    monkeypatch.setattr(column_run.ColumnRun, "account", accounted)
    fake_run(GREEN)
    assert free == [None]
    locks.try_change(fake_run.work / "cache" / "triton-3.2.0.lock").release()


def test_a_broken_environment_is_told_how_to_be_built_anew(fake_run):
    script = [{"say": "No module named 'pytest'"}, {"exit": 1}]
    home = fake_run.work / "envs" / "triton-3.2.0"
    fake_run(script)
    # What crosswarp has not built is not to be deleted.
    assert not any("rm -r" in note for note in fake_run.notes())
    home.mkdir(parents=True)
    assert fake_run(script).exit_code == 3
    (note,) = fake_run.notes(2)
    assert note.endswith(f"delete it and run again, which builds it anew: rm -r {home}")


# The disk, when a column starts


def in_the_way(folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder")


@pytest.mark.parametrize("name", ["runs", "cache"])
def test_a_work_folder_that_cannot_be_written_when_a_column_starts(fake_run, name):
    in_the_way(fake_run.work / name)
    with pytest.raises(WorkError, match="--work") as caught:
        fake_run(GREEN)
    assert caught.value.exit_code == EXIT_STORE and "crosswarp report --run 1" in str(caught.value)
    with fake_run.store() as store:
        assert (store.run().status, store.run().exit_code) == ("failed", EXIT_STORE)


@pytest.mark.parametrize("name", ["triton-3.2.0.spec.json", "triton-3.2.0.log", "triton-3.2.0"])
def test_a_disk_that_is_full_when_a_column_starts(fake_run, monkeypatch, name):
    def full(method):
        def refused(path, *arguments, **options):
            if path.name == name and path.parent.name != "envs":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return method(path, *arguments, **options)

        return refused

    for method in ("write_text", "touch", "mkdir"):
        monkeypatch.setattr(Path, method, full(getattr(Path, method)))
    with pytest.raises(StoreError, match="the disk is full. Free space, or name another"):
        fake_run(GREEN)
    with fake_run.store() as store:
        assert (store.run().status, store.run().exit_code) == ("failed", EXIT_STORE)
