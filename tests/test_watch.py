"""`crosswarp run --watch`: an edited kernel runs again, alone, and Ctrl-C ends it in good order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crosswarp.matrix.results.store import Store

FAKE = Path(__file__).with_name("fake_command.py")
KERNEL = "from crosswarp.kernels import Kernel\nKERNEL = Kernel()\n"
SECONDS = 90


def cell(kernel, **changes):
    return {
        "case": {
            "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": kernel, "case": "a", "config": "",
            "outcome": "pass", "seconds": 0.5, **changes,
        }
    }  # fmt: skip


@pytest.fixture
def watching(tmp_path):
    """`watching(script)`: `crosswarp run --watch` of a suite of two kernels, in a process group of its own."""
    suite = tmp_path / "suite"
    suite.mkdir()
    for name in ("one", "two"):
        (suite / f"{name}.py").write_text(KERNEL)
    begun = []

    def call(script):
        path = tmp_path / "script.json"
        session = {
            "event": "session",
            "lane": "compile",
            "versions": {"triton": "3.2.0"},
            "planned": 0,
        }
        path.write_text(json.dumps([session, *script]))
        environ = {
            name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")
        }
        arguments = (
            "run", "--watch", "--columns", "3.2.0", "--targets", "sm_90", "--lanes", "compile", "--modes", "bare",
            "--suite", str(suite), "--store", str(tmp_path / "store.db"), "--work", str(tmp_path / "work"),
        )  # fmt: skip
        with (tmp_path / "said").open("wb") as said:
            begun.append(
                subprocess.Popen(
                    [sys.executable, str(FAKE), *arguments],
                    stdout=said,
                    stderr=said,
                    cwd=tmp_path,
                    env={**environ, "FAKE_SCRIPT": str(path)},
                    start_new_session=True,
                    # A job that a shell put into the background ignores Ctrl-C, and so do its children.
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                )  # fmt: skip
            )
        return begun[0]

    yield call
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def until(true):
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come to that")


def ended(path, count):
    """The runs of the store, once so many have ended."""

    def runs():
        if not path.is_file():
            return None
        with Store(path) as store:
            found = store.runs()
        return found if len(found) >= count and all(r.finished for r in found) else None

    return until(runs)


def test_an_edited_kernel_runs_again_alone(watching, tmp_path):
    running = watching([cell("one"), cell("two")])
    store, said = tmp_path / "store.db", tmp_path / "said"
    ended(store, 1)
    until(lambda: "Ctrl-C to end" in said.read_text())
    (tmp_path / "suite/two.py").write_text(KERNEL + "# faster\n")
    ended(store, 2)
    with Store(store) as opened:
        assert list(opened.reused_items(2)) == [("triton-3.2.0", "sm_90/compile/bare/one/a")]
    until(lambda: said.read_text().count("Ctrl-C to end") == 2)
    # Nothing changes, nothing runs.
    time.sleep(1.5)
    assert len(ended(store, 2)) == 2
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(SECONDS) == 130
    assert "no longer watching" in said.read_text() and "Traceback" not in said.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_cancelled_keeps_what_it_had(watching, tmp_path, number):
    item = "sm_90/compile/bare/one/a"
    touched = tmp_path / "pid"
    script = [
        {"event": "start", "item": item},
        {"touch": str(touched)},
        {"wait": str(tmp_path / "never")},
    ]
    running = watching([cell("two"), *script])
    suite = int(until(lambda: touched.exists() and touched.read_text()))
    # A terminal tells the whole group of Ctrl-C, `kill` the one process.
    (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
    assert running.wait(SECONDS) == 130
    (run,) = ended(tmp_path / "store.db", 1)
    assert (run.status, run.exit_code) == ("cancelled", 130)
    # The supervisor of what ran there sees to it, a moment later.
    assert until(lambda: not Path(f"/proc/{suite}").exists())
    assert "Traceback" not in (tmp_path / "said").read_text()


def test_what_goes_together(command, tmp_path, monkeypatch):
    for option in (["--on", "ray"], ["--dry-run"], ["--fresh"], ["--shard", "1/2"]):
        status, _, said = command("run", "--watch", *option)
        assert status == 2 and option[0] in said
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    status, _, said = command("run", "--watch", "--columns", "3.2.0")
    assert status == 2 and "crosswarp[watch]" in said
