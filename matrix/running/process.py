"""The suite's process, below a supervisor that ends with us and leaves nothing behind (`supervisor.py`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosswarp.matrix.cell.kinds.suite.kernels import SUITE_BYTECODE_ENV

# Seconds within which a supervisor that was asked to has ended everything.
_ENDS_WITHIN = 10.0
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


def supervised(grace: float = 0.0) -> list[str]:
    """The words before those of a command that must not outlive this process, nor leave a process behind.

    `grace` is the time in seconds that the command has to end in good order when it is asked to.
    """
    return [sys.executable, "-I", "-S", str(_SUPERVISOR), str(os.getpid()), str(grace)]


class SuiteProcess:
    def __init__(
        self,
        argv: Sequence[str],
        log: Path,
        environ: Mapping[str, str],
        cwd: Path,
        grace: float = 0.0,
    ) -> None:
        self._grace = grace
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*supervised(grace), *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environ),
                cwd=cwd,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        # A kernel may stop every process that it finds.
        _signal(self._process, signal.SIGCONT)
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Ends it with all that it started: workers that outlive it would write on into a run that is over."""
        end_supervised(self._process, self._grace)


def end_supervised(process: subprocess.Popen[bytes], grace: float = 0.0) -> None:
    """Ends a process that was started with `supervised(grace)`, and all that it has started."""
    if process.poll() is not None:
        return
    for number in (signal.SIGCONT, signal.SIGTERM):
        _signal(process, number)
    try:
        process.wait(grace + _ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except (ProcessLookupError, PermissionError):
        pass


def cell_environ(environ: Mapping[str, str], *, here: bool) -> dict[str, str]:
    """The environment variables of a column's suite: none of ours may affect the measurement."""
    dropped = {"PYTHONHOME", "TRITON_INTERPRET", "TRITON_CACHE_DIR"}
    # Options and plugins of the user's, and what a pytest that started us says of itself: PYTEST_XDIST_WORKER makes the
    # suite's pytest look like somebody's worker.
    dropped |= {name for name in environ if name.startswith("PYTEST_")}
    if not here:
        # Containers often set the latter: torch and Triton would be compiled anew in each process, a second or two.
        dropped |= {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
        # A source build at hand may need its own; a published wheel is measured as published.
        dropped |= {name for name in environ if name.startswith("TRITON_")}
    inherited = {name: value for name, value in environ.items() if name not in dropped}
    if here:
        # A user's interpreter is left unchanged; our own starts faster with compiled files.
        inherited["PYTHONDONTWRITEBYTECODE"] = "1"
    elif environ.get("PYTHONDONTWRITEBYTECODE"):
        # In a user's folder nothing is written against their wish.
        inherited[SUITE_BYTECODE_ENV] = "0"
    # The order of a set must not decide: Triton 2.3.1 writes one into the key of its cache, and would find nothing in
    # it that another process has compiled.
    return {"PYTHONHASHSEED": "0", **inherited, "PYTHONUNBUFFERED": "1"}


def log_tail(log: Path, lines: int = 15) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
