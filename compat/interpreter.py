"""What the shims of Triton's interpreter (``TRITON_INTERPRET=1``) share.

A value in the interpreter is a `TensorHandle`: a numpy array and a Triton element type. bf16 is kept as uint16 and
the 8-bit floats as uint8, as bit patterns.
"""

import importlib.util
from typing import Any, Callable, Optional


def module() -> Optional[Any]:
    """``triton.runtime.interpreter``, or None where it cannot be imported: it needs numpy, compiling does not."""
    if importlib.util.find_spec("numpy") is None:
        return None
    import triton.runtime.interpreter as interpreter

    return interpreter


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
        found = native.load(pointers[now], every, np.zeros(now.shape, values.dtype), values.dtype)
        before[now] = found
        native.store(pointers[now], add(found, values[now]).astype(values.dtype), every)
        left = np.delete(left, first)
    return interpreter.TensorHandle(before.reshape(shape), val.dtype.scalar)
