"""A process in a column: asked by a file, heard while it runs, and gone with all that it started."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.protocol import Event, Senseless
from crosswarp.matrix.results.stream import Tail
from crosswarp.matrix.running import process

_POLL = 0.2


@dataclass(frozen=True)
class Ended:
    """
    Attributes:
        status: None where it was ended from here.
        out_of_time: whether it was ended for that.
        seconds: that it ran.
        log: the file that has its output.
    """

    status: int | None
    out_of_time: bool
    seconds: float
    log: Path

    def log_end(self, lines: int = 15) -> str:
        """The end of its output."""
        return process.log_tail(self.log, lines)


class Process:
    """Runs from here on. Used as a context: what is left of it ends there.

    Args:
        argv: its command line, with the path of its SPEC.json.
        records: the stream that it writes, if it writes one.
        log: for its output.
        cwd: where it runs.
        here: whether it is an interpreter of the user's, whose surroundings are left as they are.
        environ: variables that it has besides.
    """

    def __init__(
        self,
        argv: list[str],
        log: Path,
        cwd: Path,
        *,
        here: bool,
        records: Path | None = None,
        **environ: str,
    ) -> None:
        self._log = log
        self._tail = Tail(records) if records else None
        self._began = time.monotonic()
        surroundings = {**process.cell_environ(os.environ, here=here), **environ}
        self._process = process.SuiteProcess(argv, log, surroundings, cwd)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.end()

    def heard(
        self,
        seconds: float,
        stop: Callable[[], bool] = lambda: False,
        hear: Callable[[Iterable[Event | Senseless]], None] = lambda events: None,
    ) -> Ended:
        """How it ended, at most `seconds` after its start. `hear` gets its output as it comes."""
        out_of_time = False
        try:
            while (status := self._process.wait(_POLL)) is None and not stop() and not out_of_time:
                if self._tail:
                    hear(self._tail.poll())
                out_of_time = time.monotonic() - self._began > seconds
        finally:
            self._process.end()
        if self._tail:
            hear(self._tail.finish())
        return Ended(status, out_of_time, time.monotonic() - self._began, self._log)


def write(asked: Asked, spec: Path) -> Path:
    """Writes the request to the process into the file `spec`."""
    spec.write_text(json.dumps(asdict(asked), indent=1), "utf-8")
    return spec
