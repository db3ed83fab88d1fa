"""Convert the arguments of Triton's launcher to the parameters of the PTX, for each of Triton's generations.

The arguments that are omitted or unpacked differ by version. The code is in C, in the launcher that Triton would
build:

- up to 3.2 the arguments are those that are not declared `tl.constexpr`. Specialised ones (to 1, to None) are among
  them, though the compiled kernel has no parameter for them;
- from 3.3 all are passed, and the signature says `constexpr` for those that the kernel has no parameter for;
- a tuple is passed as its members;
- a host's tensor descriptor is its tensor map, or, on a target without maps, its base, shape and strides; then its
  shape and strides once more;
- the last are one or two buffers of scratch memory, which every kernel of 3.3 and later has a parameter for.
"""

from typing import Any, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from crosswarp.matrix.cell.standins.virtual_gpu.launching import Handed

from .tensor_map import tensor_map


class Argument(NamedTuple):
    """One parameter of the PTX.

    Attributes:
        name: of the kernel's parameter, for messages.
        value: for the emulator: an int, a numpy scalar, or the bytes of a tensor map.
        owner: the object whose memory it points to; None if it is no pointer.
    """

    name: str
    value: Any
    owner: Any = None


def flattened(handed: Handed) -> List[Argument]:
    """The arguments of a launch as parameters of the PTX, without the scratch buffers.

    Raises:
        ValueError: they do not fit the kernel's signature.
    """
    metas = iter(_metadata(handed, "tensordesc_meta") or ())
    arguments: List[Argument] = []
    for name, kind, value in _pairs(handed):
        arguments += _one(name, kind, value, metas)
    return arguments


def _pairs(handed: Handed) -> Iterator[Tuple[str, Any, Any]]:
    """Name, type and value of each argument that the compiled kernel has a parameter for."""
    source, arguments = handed.source, handed.arguments
    names = list(getattr(getattr(source, "fn", None), "arg_names", ()))

    def number(key: Any) -> Any:
        if isinstance(key, str):
            return names.index(key)
        return key[0] if isinstance(key, tuple) and len(key) == 1 else key

    signature = {number(key): kind for key, kind in source.signature.items()}
    constants = {number(key) for key in getattr(source, "constants", None) or {}}
    if len(signature) != len(arguments):
        msg = f"{len(arguments)} arguments for a signature of {len(signature)}: {signature}"
        raise ValueError(msg)
    for (place, kind), value in zip(signature.items(), arguments):
        if kind != "constexpr" and place not in constants:
            yield names[place] if place < len(names) else f"argument {place}", kind, value


def _one(name: str, kind: Any, value: Any, metas: Iterator[Any]) -> List[Argument]:
    if isinstance(kind, tuple):
        return [
            argument
            for place, (inner, member) in enumerate(zip(kind, value))
            if inner != "constexpr"
            for argument in _one(f"{name}[{place}]", inner, member, metas)
        ]
    if kind.startswith("tensordesc"):
        return _descriptor(name, value, next(metas, None))
    if kind.startswith("*"):
        return [_pointer(name, value)]
    return [Argument(name, _scalar(kind, value))]


def _pointer(name: str, value: Any) -> Argument:
    if value is None:
        return Argument(name, 0)
    if isinstance(value, int):
        return Argument(name, value)
    return Argument(name, value.data_ptr(), value)


_FLOATS = {"fp16": np.float16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64}


def _scalar(kind: str, value: Any) -> Any:
    if kind in _FLOATS:
        return _FLOATS[kind](value)
    if kind == "bf16":
        # Cut off, as Triton's own launchers do.
        return np.float32(value).tobytes()[2:]
    return int(value)


def _descriptor(name: str, value: Any, meta: Any) -> List[Argument]:
    shape = [Argument(f"{name}.shape[{axis}]", int(n)) for axis, n in enumerate(value.shape)]
    strides = [Argument(f"{name}.strides[{axis}]", int(n)) for axis, n in enumerate(value.strides)]
    if meta is not None:
        return [Argument(name, tensor_map(value, meta), value.base), *shape, *strides]
    # Breakpoint: Triton 3.5 adds the padding, 3.8 the rounding to TF32; a descriptor has the field from then on.
    flags = [
        Argument(f"{name}.{field}", int(getattr(value, field) in (True, "nan")))
        for field in ("padding", "round_f32_to_tf32")
        if hasattr(value, field)
    ]
    base = _pointer(name, value.base)
    return [base, *shape, *strides, *flags, *shape, *strides]


def needs_scratch(handed: Handed) -> bool:
    """Whether `scratch` is more than null pointers."""
    return any(_metadata(handed, f"{which}_scratch_size") for which in ("global", "profile"))


def scratch(handed: Handed, count: int, blocks: int) -> List[Argument]:
    """Return the last `count` parameters of the kernel: its scratch memory, from Triton's allocator.

    Args:
        handed: the launch.
        count: of the parameters that no argument is for.
        blocks: of the whole grid, clusters multiplied in.

    Raises:
        RuntimeError: Triton's own, where memory is needed and no allocator was set.
    """
    buffers = []
    for which, allocator in (("global", "_allocator"), ("profile", "_profile_allocator"))[:count]:
        size = int(_metadata(handed, f"{which}_scratch_size") or 0)
        if size == 0:
            buffers.append(Argument(f"{which} scratch", 0))
            continue
        from triton.runtime import _allocation

        allocate = getattr(_allocation, allocator)
        # Breakpoint: a context variable from Triton 3.4 on, the function itself before.
        allocate = allocate.get() if hasattr(allocate, "get") else allocate
        align = int(_metadata(handed, f"{which}_scratch_align") or 1)
        # Breakpoint: from Triton 3.8 on its driver has memory for the profile's where no allocator was set.
        if which == "profile" and not getattr(_allocation, "has_profile_allocator", lambda: True)():
            from triton.runtime import driver

            allocate = driver.active.allocate_default_profile_scratch
        buffer = allocate(size * blocks, align, 0)
        buffers.append(Argument(f"{which} scratch", buffer.data_ptr(), buffer))
    if count > len(buffers):
        msg = f"{count} parameters of the PTX have no argument: {handed.function.name}"
        raise ValueError(msg)
    return buffers


def blocks_in_a_cluster(handed: Handed) -> int:
    return int(_metadata(handed, "num_ctas") or 1)


def _metadata(handed: Handed, name: str) -> Any:
    metadata: Mapping[str, Any] = handed.metadata
    return metadata.get(name)


def describe(arguments: Sequence[Argument]) -> str:
    """For messages: names in order."""
    return ", ".join(argument.name for argument in arguments)
