"""One shard, on whichever machine it landed: `crosswarp run` in a separate process, and the store that it made.

This is all that an engine runs. It needs crosswarp installed where the engine's Python is.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import process

# How many lines of a failed shard's output are shown.
_LINES = 15


@dataclass(frozen=True)
class Task:
    """A shard to be run.

    Attributes:
        name: that of its part, fit for a file.
        words: the arguments of `crosswarp run`.
        cwd: the folder that their paths are relative to; the same on every machine.
        command: the command that the worker's Python runs as crosswarp.
        seed: a store, as bytes, with the results that need not run again.
        begun: the newest run of that store.
        cost: the estimated seconds of the shard; None: unknown.
        environ: variables that are set for it.
    """

    name: str
    words: tuple[str, ...]
    cwd: str
    command: tuple[str, ...] = ("-m", "crosswarp.reports.cli")
    seed: bytes = b""
    begun: int = 0
    cost: float | None = None
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """A shard that came to its end: the store with its run, empty where it has none, and how it ended."""

    name: str
    status: int
    store: bytes
    printed: str
    host: str
    seconds: float


@dataclass(frozen=True)
class Died:
    """A shard whose worker is gone, with the engine's message."""

    name: str
    why: str


def work(task: Task) -> Ended:
    """Runs it. The end of this process ends all that it has begun."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crosswarp-") as folder:
        store, log = Path(folder, "part.db"), Path(folder, "log")
        if task.seed:
            store.write_bytes(task.seed)
        argv = [sys.executable, *task.command, "run", *task.words, "--store", str(store)]
        running = process.SuiteProcess(argv, log, _environ(task), Path(task.cwd), grace=5.0)
        try:
            while (status := running.wait(1.0)) is None:
                pass
        finally:
            running.end()
        return Ended(
            task.name, status, _made(store, task.begun), process.log_tail(log, _LINES),
            socket.gethostname(), time.monotonic() - started,
        )  # fmt: skip


def _environ(task: Task) -> dict[str, str]:
    # Our parent may run under pytest, whose variables are for its own processes.
    environ = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return {**environ, **task.environ}


def _made(path: Path, begun: int) -> bytes:
    """The store, if it has a run that is not the seed's; written out to its one file."""
    if not path.is_file():
        return b""
    with Store(path) as store:
        if not any(run.id > begun for run in store.runs()):
            return b""
    return path.read_bytes()
