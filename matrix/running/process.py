"""The suite's process: started in a group of its own, tied to our life, ended as a group.

What it starts in turn (pytest, its workers, their children) ties itself to its own parent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosswarp.matrix.cell.kinds.suite.kernels import SUITE_BYTECODE_ENV

_GRACE = 5.0

# Between us and the suite: asks the kernel to kill it when we die, however we die, and becomes it. Done in a small
# program of its own, because code between fork and exec is not safe in a process that has threads.
_TIED = """
import ctypes, os, signal, sys
parent = int(sys.argv[1])
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


def tied() -> list[str]:
    """What stands before the words of a command that is to die with this process."""
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid())]


class SuiteProcess:
    def __init__(
        self, argv: Sequence[str], log: Path, environ: Mapping[str, str], cwd: Path
    ) -> None:
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*tied(), *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environ),
                cwd=cwd,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Ends the whole group. Workers that outlive their parent would write on into a run that is over."""
        end_group(self._process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process, which leads a group of its own, and whoever is in it."""
    _signal(process, signal.SIGTERM)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()
    # The leader is gone; whoever is left of its group has no business any more.
    _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def cell_environ(environ: Mapping[str, str], *, here: bool) -> dict[str, str]:
    """The environment variables that a column's suite gets: nothing of ours may leak into what is measured."""
    dropped = {"PYTHONHOME", "TRITON_INTERPRET", "TRITON_CACHE_DIR"}
    # Options and plugins of the user's, and what a pytest that started us says of itself: PYTEST_XDIST_WORKER makes the
    # suite's pytest look like somebody's worker.
    dropped |= {name for name in environ if name.startswith("PYTEST_")}
    if not here:
        # Containers often set the latter: torch and Triton would be compiled anew in each process, a second or two.
        dropped |= {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
        # A source build at hand may need its own; a published wheel is measured as published.
        dropped |= {name for name in environ if name.startswith("TRITON_")}
    kept = {name: value for name, value in environ.items() if name not in dropped}
    if here:
        # Somebody else's interpreter is left as it was found; our own starts quicker with what it has compiled.
        kept["PYTHONDONTWRITEBYTECODE"] = "1"
    elif environ.get("PYTHONDONTWRITEBYTECODE"):
        # In a user's folder nothing is written against their wish.
        kept[SUITE_BYTECODE_ENV] = "0"
    # The order of a set must not decide: Triton 2.3.1 writes one into the key of its cache, and would find nothing in
    # it that another process has compiled.
    return {"PYTHONHASHSEED": "0", **kept, "PYTHONUNBUFFERED": "1"}


def log_tail(log: Path, lines: int = 15) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
