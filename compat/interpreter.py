"""Helpers shared by the shims of Triton's interpreter (``TRITON_INTERPRET=1``).

A value in the interpreter is a `TensorHandle`: a numpy array and a Triton element type. bf16 is kept as uint16 and
the 8-bit floats as uint8, as bit patterns.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

from .after_import import after_execution, found_by_others, has_run
from .copies import COMMON
from .record import Patches

NAME = "triton.runtime.interpreter"


def once_imported(apply: Callable[[Patches, Any], None]) -> Callable[[Patches], None]:
    """Make ``apply(patches, interpreter)`` a shim's `apply` that waits for Triton to import its interpreter.

    Triton does so when it first decorates a kernel with TRITON_INTERPRET=1 (2.3 always). Who only compiles pays
    nothing: neither the interpreter nor numpy, which it needs, is imported, and nothing is replaced.
    """

    @functools.wraps(apply)
    def wait_and_apply(patches: Patches) -> None:
        if not waits(patches, apply):
            apply(patches, sys.modules[NAME])

    return wait_and_apply


def waits(patches: Patches, apply: Callable[[Patches, Any], None]) -> bool:
    """Whether ``apply(patches, interpreter)`` waits for the interpreter from now on; False where it is imported."""
    entry = (patches, apply)
    with COMMON.interpreter_lock:
        if imported():
            return False
        COMMON.waiting.append(entry)
        patches.on_undo(lambda: _forget(entry))
        # One for all copies: each would ask the others.
        if COMMON.finder is None:
            COMMON.finder = _AfterInterpreter()
            sys.meta_path.insert(0, COMMON.finder)
    return True


def imported() -> bool:
    """Whether Triton's interpreter has been imported, to its end."""
    return has_run(NAME)


def _forget(entry: Any) -> None:
    with COMMON.interpreter_lock:
        if entry in COMMON.waiting:
            COMMON.waiting.remove(entry)
            if not COMMON.waiting:
                sys.meta_path[:] = [
                    finder for finder in sys.meta_path if finder is not COMMON.finder
                ]
                COMMON.finder = None


class _AfterInterpreter:
    """A finder on ``sys.meta_path`` that applies what waits, in order, as soon as the interpreter has been imported."""

    def find_spec(self, name, path=None, target=None):
        if name != NAME:
            return None
        return after_execution(found_by_others(self, name, path, target), _apply_all)


def _apply_all(module: Any) -> None:
    with COMMON.interpreter_lock:
        for patches, apply in list(COMMON.waiting):
            _forget((patches, apply))
            patches.attempt(apply, patches, module)


def has_type(value: Any, interpreter: Any, dtype: Any) -> bool:
    """Whether `value` is a handle whose elements are of `dtype`."""
    return isinstance(value, interpreter.TensorHandle) and value.dtype.scalar == dtype


def with_data(tensor: Any, data: Any, dtype: Any, interpreter: Any) -> Any:
    """A tensor of the shape of `tensor`, a scalar if that is one, that holds `data` of `dtype`."""
    import triton.language as tl

    kind = tl.block_type(dtype, tensor.type.shape) if tensor.type.is_block() else dtype
    return tl.tensor(interpreter.TensorHandle(data, dtype), kind)


def add_in_memory(
    interpreter: Any, ptr: Any, val: Any, mask: Any, add: Callable[[Any, Any], Any]
) -> Any:
    """An atomic addition by load and store; returns what was there before.

    The programs of a grid run one after the other in the interpreter, so only pointers that occur more than once in
    this very block need care: each round takes the first occurrence of every pointer that is left.
    """
    import numpy as np

    native = interpreter._interpreter
    pointers, values, wanted = np.broadcast_arrays(ptr.data, val.data, mask.data)
    shape = pointers.shape
    pointers, values, wanted = pointers.ravel(), values.ravel(), wanted.ravel()
    before = np.zeros(pointers.shape, values.dtype)
    left = np.flatnonzero(wanted)
    while left.size:
        _, first = np.unique(pointers[left], return_index=True)
        now = left[first]
        every = np.ones(now.shape, bool)
        loaded = native.load(pointers[now], every, np.zeros(now.shape, values.dtype), values.dtype)
        before[now] = loaded
        native.store(pointers[now], add(loaded, values[now]).astype(values.dtype), every)
        left = np.delete(left, first)
    return interpreter.TensorHandle(before.reshape(shape), val.dtype.scalar)
