"""Ctrl-C and SIGTERM, alike: CI systems send the one, people the other.

A run has a flag that it looks at where it can stop in good order, because an exception out of nowhere could fall
between reading a record and storing it. What keeps no records of its own gets the exception.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class StopRequested:
    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, object] = {}

    def __bool__(self) -> bool:
        return self._asked

    def __enter__(self) -> StopRequested:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _ask(self, number: int, frame: object) -> None:
        self._asked = True


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt as well."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
