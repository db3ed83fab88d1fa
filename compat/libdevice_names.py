"""libdevice's functions under one name, wherever this Triton keeps them: dispatched while a kernel is traced.

On NVIDIA, and in the interpreter, the function is Triton's binding of libdevice. On AMD it is that of OCML where Triton
has one, else one built here from Triton's operations.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from typing import Any, Callable, Dict, List

from .tracing import backend_of, builtin, handed_on

# Where the bindings are. Breakpoint: Triton 3.0 moved them here from triton.language.math.
LIBRARIES = {
    "cuda": "triton.language.extra.cuda.libdevice",
    "hip": "triton.language.extra.hip.libdevice",
}


def names() -> List[str]:
    """Every function of libdevice that this Triton, 3.0 or later, binds for NVIDIA."""
    return sorted(
        name
        for name, function in vars(_module("cuda")).items()
        if inspect.isfunction(function) and getattr(function, "__triton_builtin__", False)
    )


def missing_from_math() -> Dict[str, Callable]:
    """The functions of `tl.math` on Triton 2.3 that this one lacks."""
    import triton.language as tl

    functions = {name: dispatched(name) for name in names() if not hasattr(tl.math, name)}
    # Of pairs of tensors; the reductions are tl.max and tl.min.
    for name, function in (("max", tl.maximum), ("min", tl.minimum)):
        if not hasattr(tl.math, name):
            functions[name] = function
    return functions


@functools.lru_cache(maxsize=None)
def dispatched(name: str) -> Callable:
    """The function `name` of libdevice as a builtin for kernels of every target."""

    def function(*args, _builder=None, _semantic=None, **kwargs):
        hidden = handed_on(_builder, _semantic)
        backend = backend_of(hidden)
        native = getattr(_module("cuda" if backend == "interpreter" else backend), name, None)
        if native is not None:
            return native(*args, **kwargs, **hidden)
        built = BUILT.get(name)
        if built is None:
            msg = f"Triton's library for {backend} has no {name}, nor can crosswarp build it: compute it otherwise"
            raise NotImplementedError(msg)
        # libdevice's parameters are called arg0, arg1 …: keywords follow the positional arguments.
        named = [kwargs[f"arg{number}"] for number in range(len(args), len(args) + len(kwargs))]
        return built(_Operations(hidden), *args, *named)

    function.__name__ = name
    return builtin(function)


@functools.lru_cache(maxsize=None)
def _module(backend: str) -> Any:
    return importlib.import_module(LIBRARIES[backend])


class _Operations:
    """Triton's operations on the tensors of the kernel that is traced."""

    def __init__(self, hidden: dict):
        import triton.language as tl

        self.tl, self.hidden = tl, hidden

    def __getattr__(self, name: str) -> Callable:
        function = getattr(self.tl.core, name, None) or getattr(self.tl.math, name)
        return functools.partial(function, **self.hidden)

    def do(self, operator: str, left: Any, *right: Any) -> Any:
        """An operator of a tensor by its name: ``add``, ``sub``, ``gt``, ``lshift`` …"""
        return getattr(self.tensor(left), f"__{operator}__")(*right, **self.hidden)

    def tensor(self, item: Any) -> Any:
        if isinstance(item, self.tl.tensor):
            return item
        if "_semantic" in self.hidden:
            return self.hidden["_semantic"].to_tensor(item)
        # Breakpoint: Triton 3.2 renamed it.
        convert = getattr(self.tl.core, "_to_tensor", None)
        return convert(item, self.hidden["_builder"]) if convert else self.to_tensor(item)

    def to(self, item: Any, dtype: Any, bitcast: bool = False) -> Any:
        return self.tensor(item).to(dtype, bitcast=bitcast, **self.hidden)


def _signed(op: _Operations, magnitude: Any, x: Any) -> Any:
    """`magnitude`, which is not negative, with the sign of `x`; also for zeros."""
    integer = op.tl.int32 if x.dtype.primitive_bitwidth == 32 else op.tl.int64
    top = -(2 ** (x.dtype.primitive_bitwidth - 1))
    sign = op.do("and", op.to(x, integer, True), op.to(top, integer))
    return op.to(op.do("or", op.to(magnitude, integer, True), sign), x.dtype, True)


def _round(op: _Operations, x: Any) -> Any:
    """To nearest, halves away from zero."""
    x = op.tensor(x)
    size = op.abs(x)
    whole = op.floor(size)
    up = op.do("ge", op.do("sub", size, whole), 0.5)
    return _signed(op, op.where(up, op.do("add", whole, 1.0), whole), x)


def _rint(op: _Operations, x: Any) -> Any:
    """To nearest, halves to even."""
    x = op.tensor(x)
    size = op.abs(x)
    whole = op.floor(size)
    rest = op.do("sub", size, whole)
    half = op.do("mul", whole, 0.5)
    odd = op.do("ne", op.floor(half), half)
    up = op.do("or", op.do("gt", rest, 0.5), op.do("and", op.do("eq", rest, 0.5), odd))
    return _signed(op, op.where(up, op.do("add", whole, 1.0), whole), x)


def _popc(op: _Operations, x: Any) -> Any:
    """How many bits are set."""
    x = op.tensor(x)
    tl, wide = op.tl, x.dtype.primitive_bitwidth == 64
    bits = op.to(x, tl.uint64 if wide else tl.uint32, True)
    total = None
    # 32 at a time, by halves: pairs, nibbles, bytes; the bytes are summed by a multiplication.
    for low in (0, 32) if wide else (0,):
        part = op.to(op.do("rshift", bits, low), tl.uint32) if wide else bits
        part = op.do("sub", part, op.do("and", op.do("rshift", part, 1), 0x55555555))
        part = op.do(
            "add",
            op.do("and", part, 0x33333333),
            op.do("and", op.do("rshift", part, 2), 0x33333333),
        )
        part = op.do("and", op.do("add", part, op.do("rshift", part, 4)), 0x0F0F0F0F)
        part = op.do("rshift", op.do("mul", part, 0x01010101), 24)
        total = part if total is None else op.do("add", total, part)
    return op.to(total, tl.int32)


def _ffs(op: _Operations, x: Any) -> Any:
    """Number of the lowest bit that is set, from 1; 0 for 0."""
    x = op.tensor(x)
    lowest = op.do("and", x, op.do("neg", x))
    number = op.do("add", _popc(op, op.do("sub", lowest, 1)), 1)
    return op.where(op.do("eq", x, 0), 0, number)


def _byte_perm(op: _Operations, x: Any, y: Any, selector: Any) -> Any:
    """Four bytes out of the eight of `x` and `y`, chosen by the nibbles of `selector`; bit 3 repeats the sign."""
    x, y, selector = (op.to(item, op.tl.int32) for item in (x, y, selector))
    result = None
    for number in range(4):
        nibble = op.do("and", op.do("rshift", selector, 4 * number), 15)
        shift = op.do("mul", op.do("and", nibble, 3), 8)
        word = op.where(op.do("ne", op.do("and", nibble, 4), 0), y, x)
        byte = op.do("and", op.do("rshift", word, shift), 255)
        sign = op.where(op.do("ge", byte, 128), 255, 0)
        byte = op.where(op.do("ge", nibble, 8), sign, byte)
        byte = op.do("lshift", byte, 8 * number)
        result = byte if result is None else op.do("or", result, byte)
    return result


def _bits(source: str, target: str) -> Callable:
    def function(op: _Operations, x: Any) -> Any:
        x = op.tensor(x)
        if x.dtype != getattr(op.tl, source):
            msg = f"input arg type does not match: expected {source}, got {x.dtype}"
            raise ValueError(msg)
        return op.to(x, getattr(op.tl, target), True)

    return function


# Functions that AMD's library lacks in some version of Triton.
BUILT: Dict[str, Callable] = {
    "round": _round,
    "rint": _rint,
    "nearbyint": _rint,
    "llrint": lambda op, x: op.to(_rint(op, x), op.tl.int64),
    "popc": _popc,
    "ffs": _ffs,
    "byte_perm": _byte_perm,
    "fast_expf": lambda op, x: op.exp(x),
    "fast_dividef": lambda op, x, y: op.do("truediv", x, y),
    "finitef": lambda op, x: op.to(op.do("lt", op.abs(x), math.inf), op.tl.int32),
    "float_as_int": _bits("float32", "int32"),
    "int_as_float": _bits("int32", "float32"),
    "float_as_uint": _bits("float32", "uint32"),
    "uint_as_float": _bits("uint32", "float32"),
    "double_as_longlong": _bits("float64", "int64"),
    "longlong_as_double": _bits("int64", "float64"),
}
