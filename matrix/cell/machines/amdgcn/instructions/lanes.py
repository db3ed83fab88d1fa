"""Values across the lanes of a wave, and moves between registers and accumulators."""

import numpy as np

from ..errors import Unknown
from ..lowering import handles
from ..sources import numbers

u4, u8 = np.uint32, np.uint64


@handles("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32")
def _accumulator(low, name, instruction):
    d, a = instruction.operands
    low.write_words(d, [f"S.whole({low.word(a)})"])


@handles("v_readfirstlane_b32")
def _readfirst(low, name, instruction):
    d, a = instruction.operands
    low.write_scalar(d, f"S.readlane({low.word(a)}, S.first_active())", "u32")


@handles("v_readlane_b32")
def _readlane(low, name, instruction):
    d, a, lane = instruction.operands
    low.write_scalar(d, f"S.readlane({low.word(a)}, {low.read(lane, 'u32')})", "u32")


@handles("v_writelane_b32")
def _writelane(low, name, instruction):
    d, a, lane = instruction.operands
    # It does not ask EXEC.
    lanes = low.table(np.arange(low.lanes, dtype=u4).reshape(1, -1))
    here = low.temporary(f"{lanes} == ({low.read(lane, 'u32')} & u4({low.lanes - 1}))")
    here = low.temporary(f"{here} if m is None else {here} & m")
    low.write_words(d, [f"S.whole({low.word(a)})"], here)


@handles("v_permlane32_swap_b32", "v_permlane16_swap_b32")
def _permlane_swap(low, name, instruction):
    """gfx950: odd rows of the first operand change places with even ones of the second."""
    a, b = instruction.operands
    rows = 32 if "permlane32" in name else 16
    lane = np.arange(low.lanes)
    is_odd = (lane // rows) % 2 == 1
    odd = low.table(is_odd.reshape(1, -1))
    down = low.table(np.where(is_odd, lane - rows, lane))
    up = low.table(np.where(is_odd, lane, lane + rows))
    first = low.temporary(f"where({odd}, S.gather({low.word(b)}, {down}), {low.word(a)})")
    second = low.temporary(f"where({odd}, {low.word(b)}, S.gather({low.word(a)}, {up}))")
    low.write_words(a, [first])
    low.write_words(b, [second])


@handles("v_permlanex16_b32", "v_permlane16_b32")
def _permlane16(low, name, instruction):
    """RDNA: 16 selectors of four bits; x reads from the other row of the pair. op_sel holds FI and BOUND_CTRL."""
    d, a, first, second = instruction.operands
    lane = np.arange(low.lanes)
    shift = low.table((lane % 16 * 4).reshape(1, -1).astype(u8))
    row = low.table(((lane // 16 * 16) ^ (16 if "x16" in name else 0)).reshape(1, -1))
    whole = (
        f"({low.read(first, 'u32')}.astype(u8) | ({low.read(second, 'u32')}.astype(u8) << u8(32)))"
    )
    index = f"{row} + (({whole} >> {shift}) & u8(15)).astype(i8)"
    index = low.temporary(f"np.broadcast_to({index}, S.shape)")
    value = low.temporary(f"S.gather({low.word(a)}, {index})")
    inactive, zero = numbers(instruction, "op_sel", 0, 2)
    if inactive:
        low.write_words(d, [value])
        return
    # A lane that is switched off gives 0, or leaves the destination.
    there = low.temporary(
        f"np.broadcast_to(True, S.shape) if e is None else np.take_along_axis(e, {index}, 1)"
    )
    if zero:
        low.write_words(d, [f"where({there}, {value}, u4(0))"])
    else:
        low.write_words(d, [value], low.temporary(f"{there} if e is None else e & {there}"))


@handles("v_permlane64_b32")
def _permlane64(low, name, instruction):
    # With 32 lanes there is no other half, and nothing happens.
    if low.lanes == 64:
        raise Unknown("a wave of 64")


@handles("v_swap_b32")
def _swap(low, name, instruction):
    a, b = instruction.operands
    first, second = low.temporary(low.word(a)), low.temporary(low.word(b))
    low.write_words(a, [second])
    low.write_words(b, [first])
