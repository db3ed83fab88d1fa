"""Ctrl-C, SIGTERM and SIGHUP, alike: people send the first, CI systems the second, a terminal that is lost the third.

A run has a flag, which it checks where it can stop in good order, because an exception could come between reading a
record and storing it. A process that stores no records gets the exception.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class StopRequested:
    def __init__(self) -> None:
        self._asked = False
        self._terminals: list[int] = []
        self._before: dict[signal.Signals, object] = {}

    def __bool__(self) -> bool:
        return self._asked

    def __enter__(self) -> StopRequested:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                # `nohup` has asked that a lost terminal ends nothing.
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._ask)
            self._terminals = [fd for fd in (1, 2) if os.isatty(fd)]
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
        if number == signal.SIGHUP and self._terminals:
            # Nobody reads any more, and writing there would fail between reading a record and storing it.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for fd in self._terminals:
                os.dup2(nowhere, fd)
            os.close(nowhere)


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt as well."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    ]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
