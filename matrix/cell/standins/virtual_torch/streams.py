"""Streams, events and device contexts: there is one device, and it has done everything at once."""

import abc
import contextlib
import time
from typing import Any, Optional

import torch._streambase

from .devices import GPU

# Milliseconds; a benchmark divides by the elapsed time.
_LEAST = 1e-3


class Event:
    def __init__(self, *args: Any, **kwargs: Any):
        self.cuda_event = 0
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def elapsed_time(self, end: "Event") -> float:
        return max(_LEAST, (end._at - self._at) * 1e3)

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass


class Stream(contextlib.ContextDecorator):
    cuda_stream = 0
    stream_id = 0
    device_index = 0
    priority = 0
    device = GPU

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Optional[Event] = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0


class on_device(contextlib.ContextDecorator):
    """`torch.cuda.device(…)`, `device_of(…)` and the forms of them that torch's own modules use."""

    def __init__(self, device: Any = None):
        self.idx = self.prev_idx = 0

    def __enter__(self) -> "on_device":
        return self

    def __exit__(self, *error: Any) -> None:
        pass


# Breakpoint: until torch 2.4 these are abstract classes, of which Dynamo wants a GPU's streams and events to be.
for _base, _ours in (("_StreamBase", Stream), ("_EventBase", Event)):
    _own = getattr(torch._streambase, _base, None)
    if isinstance(_own, abc.ABCMeta):
        _own.register(_ours)
