"""Reading the cell side's records while they are being written.

The writer may die at any byte. A line counts once its newline is there. A torn or endless line is `Senseless`, like one
that the protocol refuses, so that no loss goes unreported.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.protocol import Event, Senseless

MAX_LINE = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


class Tail:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._rest = b""
        # Set while the rest of an endless line is being thrown away.
        self._skipping = False

    def poll(self) -> Iterator[Event | Senseless]:
        """The events of all whole lines that have come since the last call."""
        while chunk := self._read():
            lines = (self._rest + chunk).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                if self._skipping:
                    self._skipping = False
                    continue
                yield from _parse(line)
            if len(self._rest) > MAX_LINE:
                if not self._skipping:
                    yield protocol.senseless(self._rest, "longer than 8 MiB")
                self._skipping, self._rest = True, b""

    def finish(self) -> Iterator[Event | Senseless]:
        """After the writer is gone: the remaining events, and the torn line at the end if there is one."""
        yield from self.poll()
        rest, self._rest = self._rest, b""
        if rest.strip() and not self._skipping:
            # A whole event that only lacks its newline was written; anything less is torn.
            event = protocol.read(rest)
            yield protocol.senseless(rest, "torn") if isinstance(event, Senseless) else event

    def _read(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                chunk = file.read(_CHUNK)
        except FileNotFoundError:
            return b""
        self._offset += len(chunk)
        return chunk


def _parse(line: bytes) -> Iterator[Event | Senseless]:
    if line.strip():
        yield protocol.read(line)
