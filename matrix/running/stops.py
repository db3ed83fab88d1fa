"""SIGTERM as Ctrl-C, for what has no records of its own to bring to a good end."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Stops:
    """While this is entered, SIGTERM raises KeyboardInterrupt, as SIGINT does."""

    def __init__(self) -> None:
        self._before: Any = None

    def __enter__(self) -> Stops:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, _interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
