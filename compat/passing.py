"""Add a note to an exception that ends the program, naming the known error (PEP 678): ``install(explain=True)``.

The answer is that of ``crosswarp why``, run in another process: this package has neither its data nor its rules. Where
crosswarp is not fully installed, or Python is older than 3.11, there is no note.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from typing import Any, List, Optional

# The beginning of a note: an exception gets one note only.
MARK = "crosswarp why: "
# Characters kept of the traceback's end; and seconds that a dying program waits.
_LONGEST = 200_000
_SECONDS = 20.0
_COMMAND = ("-P", "-m", "crosswarp.reports.cli", "why", "--format", "note", "-")


def note(text: str) -> str:
    """The answer of ``crosswarp why`` to `text`, in a few lines; "" if it knows nothing or cannot be asked."""
    name = os.path.basename(sys.executable or "")
    # In an embedded interpreter this names the host program.
    if sys.version_info < (3, 11) or not name.startswith("python"):
        return ""
    try:
        done = subprocess.run(
            [sys.executable, *_COMMAND],
            input=text[-_LONGEST:].encode("utf-8", "replace"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def explain(error: Optional[BaseException]) -> None:
    """Adds the note to `error`. Failures here are ignored: the exception itself matters more."""
    try:
        if not isinstance(error, Exception) or _noted(error) or not hasattr(error, "add_note"):
            return
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        text = note("".join(lines))
        if text:
            error.add_note(f"\n{MARK}{text}")
    except Exception:
        return


def _noted(error: BaseException) -> bool:
    return any(MARK in str(note) for note in getattr(error, "__notes__", ()))


class _Hooks:
    """Python's two hooks for uncaught exceptions: they add the note, then run the previous hooks."""

    def __init__(self) -> None:
        self.on = False
        self._before: List[Any] = []

    def start(self) -> None:
        if self.on:
            return
        self.on = True
        if self._before:
            return
        main, others = sys.excepthook, threading.excepthook
        self._before = [main, others]

        def of_main(kind: Any, error: Any, trace: Any) -> None:
            if self.on:
                explain(error)
            main(kind, error, trace)

        def of_threads(arguments: Any) -> None:
            if self.on:
                explain(arguments.exc_value)
            others(arguments)

        self._ours = of_main, of_threads
        sys.excepthook, threading.excepthook = of_main, of_threads

    def stop(self) -> None:
        """Puts the hooks back; if somebody else's lie on ours, ours only pass the call on."""
        self.on = False
        if self._before and (sys.excepthook, threading.excepthook) == self._ours:
            sys.excepthook, threading.excepthook = self._before
            self._before = []


HOOKS = _Hooks()
