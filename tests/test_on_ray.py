"""A run handed to a Ray cluster on this machine: the same store from 1, 2 and 8 workers, one of them killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest

from crosswarp.matrix.results.store import Store
from crosswarp.reports.commands import dispatched

FAKE = str(Path(__file__).with_name("fake_command.py"))
SHARDS = 3
WHAT = ("--columns", "3.2.0", "--targets", "sm_90", "--lanes", "compile", "--modes", "bare")


@pytest.fixture(scope="module")
def cluster():
    """For the whole module: it takes seconds to start."""
    import ray

    # Its sockets have no room for the name of a folder of pytest's.
    folder = tempfile.mkdtemp(prefix="cw-ray-")
    before = os.environ.get("RAY_USAGE_STATS_ENABLED")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        num_cpus=8, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
        object_store_memory=80 << 20, _temp_dir=folder,
        # A Python for each CPU before anybody asks for it: seconds of two cores.
        _system_config={"enable_worker_prestart": False},
    )  # fmt: skip
    yield ray
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
    if before is None:
        del os.environ["RAY_USAGE_STATS_ENABLED"]


def cell(number):
    return {
        "case": {
            "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax", "case": f"c{number}",
            "config": "", "outcome": "mismatch" if number == 3 else "pass", "seconds": 0.5,
        }
    }  # fmt: skip


@pytest.fixture
def go(cluster, tmp_path, command, monkeypatch):
    """`go("name", workers)`: exit status and what is said; its store is `name.db`."""
    script = tmp_path / "script.json"
    session = {"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 0}
    target = {"event": "target", "target": "sm_90", "supported": True, "message": ""}
    script.write_text(json.dumps([session, target, *map(cell, range(10))]))
    monkeypatch.chdir(tmp_path)
    real = dispatched.Task
    environ = {"FAKE_SCRIPT": str(script)}
    monkeypatch.setattr(dispatched, "Task", lambda *given: real(*given, environ=environ))
    monkeypatch.setattr(dispatched, "COMMAND", (FAKE,))

    def call(name, workers):
        status, out, err = command(
            "run", *WHAT, "--on", "ray", "--shards", str(SHARDS), "--workers", str(workers), "--store",
            str(tmp_path / f"{name}.db"), "--work", str(tmp_path / name),
        )  # fmt: skip
        return status, out + err

    call.folder, call.script = tmp_path, script
    return call


def content(path):
    """All that two runs of the same thing share: no dates, no durations."""
    with Store(path) as store:
        run = store.run()
        return {
            "run": (run.status, run.exit_code, run.plan),
            "environments": [(e.column, e.label, e.state) for e in store.environments(run.id)],
            "sessions": (store.sessions(run.id), store.planned(run.id), store.targets(run.id)),
            "cells": {r.id: {**vars(r), "seconds": 0} for r in store.records(run.id)},
            "keys": store.keys_of(run.id),
            "notes": sorted((n.column, n.kind, n.text) for n in store.notes(run.id)),
        }


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_the_same_store_from_1_2_and_8_workers_and_after_one_was_killed(go):
    for workers in (1, 2):
        status, said = go(str(workers), workers)
        assert status == 1 and f"{SHARDS} of {SHARDS} shards" in said, said
    found = content(go.folder / "1.db")
    assert found == content(go.folder / "2.db")
    assert found["run"][0] == "finished" and len(found["cells"]) == 10

    # The share with the last case waits, until its Ray worker is killed from outside.
    steps = json.loads(go.script.read_text())
    began, never = go.folder / "began", go.folder / "never"
    script = {"triton-3.2.0": steps}
    go.script.write_text(json.dumps(script))
    fake = go.folder / "fake.py"
    fake.write_text(
        "import json, os, runpy, sys, time\n"
        "from pathlib import Path\n"
        "words = sys.argv[1:]\n"
        f"mine = '2/{SHARDS}' in words and not Path({str(never)!r}).exists()\n"
        "if mine:\n"
        f"    with open({str(began)!r}, 'a') as file:\n"
        "        file.write(f'{os.getpid()}\\n')\n"
        "    time.sleep(600)\n"
        f"sys.path.insert(0, {str(Path(FAKE).parent)!r})\n"
        f"runpy.run_path({FAKE!r}, run_name='__main__')\n"
    )
    dispatched.COMMAND = (str(fake),)
    victims = []

    def kill():
        while not began.exists() or not began.read_text().endswith("\n"):
            time.sleep(0.05)
        share = int(began.read_text())
        # Between the two is the supervisor of what the share starts.
        worker = parent(parent(share))
        victims.append((share, worker))
        os.kill(worker, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    status, said = go("8", 8)
    killer.join(10)
    ((share, worker),) = victims
    assert (
        status == 1
        and f"{SHARDS - 1} of {SHARDS} shards came" in said
        and "its worker died" in said
    )
    # It was not tried again, and what the worker had begun is gone with it.
    assert len(began.read_text().split()) == 1
    deadline = time.monotonic() + 20
    while Path(f"/proc/{share}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert worker != os.getpid() and not Path(f"/proc/{share}").exists()
    short = content(go.folder / "8.db")
    assert short["run"][0] == "incomplete" and len(short["cells"]) == 10 - 3
    never.touch()
    status, said = go("8", 8)
    assert f"{SHARDS - 1} of {SHARDS} shards are there" in said
    assert content(go.folder / "8.db") == found
