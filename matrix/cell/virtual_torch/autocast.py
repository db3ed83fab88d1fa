"""``autocast("cuda")`` also turns on the CPU's, which is where the operators are dispatched."""

import functools
from typing import Any, Callable

import torch


def init(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def started(self: Any, device_type: Any, *args: Any, **kwargs: Any) -> None:
        own(self, device_type, *args, **kwargs)
        self._crosswarp_twin = None
        if device_type == "cuda":
            twin = object.__new__(torch.amp.autocast_mode.autocast)
            half = self.fast_dtype in (torch.float16, torch.bfloat16)
            # Off inside of on is off for the CPU as well.
            own(
                twin,
                "cpu",
                dtype=self.fast_dtype if half else None,
                enabled=self._enabled and half,
                cache_enabled=self._cache_enabled,
            )
            self._crosswarp_twin = twin

    return started


def enter(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def entered(self: Any) -> Any:
        result = own(self)
        twin = getattr(self, "_crosswarp_twin", None)
        if twin is not None:
            own(twin)
        return result

    return entered


def leave(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def left(self: Any, *error: Any) -> Any:
        twin = getattr(self, "_crosswarp_twin", None)
        if twin is not None:
            own(twin, *error)
        return own(self, *error)

    return left
