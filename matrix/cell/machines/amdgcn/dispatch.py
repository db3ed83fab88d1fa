"""How a workgroup begins: its kernel's arguments in memory, the dispatch packet, and the first registers."""

import struct
from typing import Any, Sequence

import numpy as np

from .operands import TTMP
from .syntax import Kernel

u1, u4 = np.uint8, np.uint32
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
# User registers in the order in which they are filled: directive, registers.
_QUEUE = "user_sgpr_queue_ptr"


def pack(kernel: Kernel, values: Sequence[Any], grid: Sequence[int], threads: int) -> bytes:
    """The bytes of the argument segment: visible arguments in their order, then the hidden ones.

    Raises:
        ValueError: too many arguments, or one that does not fit.
    """
    visible = [parameter for parameter in kernel.arguments if not parameter.hidden]
    if len(values) > len(visible):
        msg = f"{kernel.name} takes {len(visible)} arguments, not {len(values)}"
        raise ValueError(msg)
    data = bytearray(kernel.directive("kernarg_size") or 8)
    # Missing pointers at the end are null: Triton's scratch memory.
    for place, argument in enumerate(visible):
        value = values[place] if place < len(values) else 0
        if place >= len(values) and argument.size != 8:
            msg = f"{kernel.name} takes {len(visible)} arguments: number {place} is missing"
            raise ValueError(msg)
        data[argument.offset : argument.offset + argument.size] = _bytes_of(
            value, argument.size, place
        )
    for argument in kernel.arguments:
        for axis, letter in enumerate("xyz"):
            if argument.kind == f"hidden_block_count_{letter}":
                struct.pack_into("<I", data, argument.offset, grid[axis])
            if argument.kind == f"hidden_group_size_{letter}":
                struct.pack_into("<H", data, argument.offset, threads if axis == 0 else 1)
        if argument.kind == "hidden_grid_dims":
            struct.pack_into("<H", data, argument.offset, 1 + (grid[1] > 1) + (grid[2] > 1))
    return bytes(data)


def _bytes_of(value: Any, size: int, place: int) -> bytes:
    if value is None:
        raw = bytes(size)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
    elif isinstance(value, np.generic):
        raw = value.tobytes()
    elif isinstance(value, float):
        raw = struct.pack(_FLOATS.get(size, "<d"), value)
    elif hasattr(value, "__index__"):
        raw = (value.__index__() % (1 << (8 * size))).to_bytes(size, "little")
    else:
        msg = f"argument {place} is a {type(value).__name__}: give an int, float, numpy scalar or bytes"
        raise ValueError(msg)
    if len(raw) != size:
        msg = f"argument {place} has {len(raw)} bytes, {size} are wanted"
        raise ValueError(msg)
    return raw


# Of a buffer's descriptor: each lane has its own bytes. The driver sets it in that of scratch memory.
SWIZZLED = 1 << 63


def packet(
    kernel: Kernel, grid: Sequence[int], threads: int, shared: int, arguments: int
) -> np.ndarray:
    """The HSA packet of a launch: older compilers read the size of a workgroup there."""
    scratch = kernel.directive("private_segment_fixed_size")
    items = [(size * (threads if axis == 0 else 1)) & 0xFFFFFFFF for axis, size in enumerate(grid)]
    raw = struct.pack("<6H5IQQ", 2, 3, threads, 1, 1, 0, *items, scratch, shared, 0, arguments)
    return np.frombuffer(raw.ljust(64, b"\0"), u1).copy()


def begin(machine: Any) -> None:
    """Fill the registers of a chunk as the dispatcher does."""
    launch, kernel = machine.launch, machine.program.kernel
    directive = kernel.directive
    whole = np.ones((machine.waves, 1), u4)
    place = 0

    def user(value: int, count: int) -> None:
        nonlocal place
        for part in range(count):
            machine.w(place, whole * u4(value >> (32 * part) & 0xFFFFFFFF), None)
            place += 1

    in_order = (
        ("user_sgpr_private_segment_buffer", 4, SWIZZLED), ("user_sgpr_dispatch_ptr", 2, launch.packet_address),
        (_QUEUE, 2, 0), ("user_sgpr_kernarg_segment_ptr", 2, launch.argument_address),
        ("user_sgpr_dispatch_id", 2, 0), ("user_sgpr_flat_scratch_init", 2, 0),
        ("user_sgpr_private_segment_size", 1, directive("private_segment_fixed_size")),
    )  # fmt: skip
    for name, count, value in in_order:
        if directive(name):
            user(value, count)
    start = 4 * directive("user_sgpr_kernarg_preload_offset")
    for word in range(directive("user_sgpr_kernarg_preload_length")):
        raw = launch.packed[start + 4 * word : start + 4 * word + 4].ljust(4, b"\0")
        user(int.from_bytes(raw, "little"), 1)
    place = directive("user_sgpr_count", place)
    _program_ids(machine, place)
    lane = np.arange(machine.lanes, dtype=u4).reshape(1, -1)
    own = (np.arange(machine.waves) % machine.waves_each).astype(u4).reshape(-1, 1)
    # x is in the low ten bits; y and z, above, are 0.
    machine.V[0] = own * u4(machine.lanes) + lane


def _program_ids(machine: Any, place: int) -> None:
    kernel, (columns, rows, _) = machine.program.kernel, machine.launch.grid
    numbers = machine.numbers[machine.group]
    ids = (numbers % columns, numbers // columns % rows, numbers // (columns * rows))
    x, y, z = (axis.astype(u4).reshape(-1, 1) for axis in ids)
    if kernel.generation[0] >= 12:
        own = (np.arange(machine.waves) % machine.waves_each).astype(u4).reshape(-1, 1)
        machine.w(TTMP + 9, x, None)
        machine.w(TTMP + 7, (z << u4(16)) | y, None)
        # The wave's number in its workgroup.
        machine.w(TTMP + 8, own << u4(25), None)
        return
    for letter, value in zip("xyz", (x, y, z)):
        if kernel.directive(f"system_sgpr_workgroup_id_{letter}", int(letter == "x")):
            machine.w(place, value, None)
            place += 1
