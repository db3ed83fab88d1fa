"""Reading the cell side's records while they are being written.

The writer may die at any byte. A line counts once its newline is there; what is torn, is not UTF-8 or is no JSON
object becomes an event of its own kind, `broken-line`, so that nothing is lost without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_LINE = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


class Tail:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._rest = b""
        # Set while the rest of an endless line is being thrown away.
        self._skipping = False

    def poll(self) -> Iterator[dict[str, Any]]:
        """The events of all whole lines that have come since the last call."""
        while chunk := self._read():
            lines = (self._rest + chunk).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                if self._skipping:
                    self._skipping = False
                    continue
                yield from parse(line)
            if len(self._rest) > MAX_LINE:
                if not self._skipping:
                    yield _broken(self._rest, "longer than 8 MiB")
                self._skipping, self._rest = True, b""

    def finish(self) -> Iterator[dict[str, Any]]:
        """After the writer is gone: what is left, and the torn line at the end if there is one."""
        yield from self.poll()
        rest, self._rest = self._rest, b""
        if rest.strip() and not self._skipping:
            # A whole object that only lacks its newline was written; anything less is torn.
            yield from parse(rest, why="torn")

    def _read(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                chunk = file.read(_CHUNK)
        except FileNotFoundError:
            return b""
        self._offset += len(chunk)
        return chunk


def parse(line: bytes, why: str = "not a JSON object with an event") -> Iterator[dict[str, Any]]:
    if not line.strip():
        return
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        yield _broken(line, why)
        return
    if isinstance(event, dict) and isinstance(event.get("event"), str):
        yield event
    else:
        yield _broken(line, why)


def _broken(line: bytes, why: str) -> dict[str, Any]:
    return {"event": "broken-line", "why": why, "text": line[:200].decode("utf-8", "replace")}
