"""Ctrl-C and SIGTERM as a flag that the run looks at, where it can stop in good order.

An exception out of nowhere could fall between reading a record and storing it. CI systems send SIGTERM, people Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
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
