"""Sources and results of vector arithmetic, with all that VOP3, DPP and SDWA may do to them."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import lanes
from .errors import Unknown
from .lowering import Lowering, bits_of, handles, view
from .operands import Operand
from .syntax import Instruction

Row = Tuple[str, str, str]
# Every opcode that is one expression: kind of the result, kinds of the sources, expression.
ROWS: Dict[str, Row] = {}
_PART = {
    "WORD_0": "({x} & u4(0xFFFF))", "WORD_1": "({x} >> u4(16))", "BYTE_0": "({x} & u4(255))",
    "BYTE_1": "(({x} >> u4(8)) & u4(255))", "BYTE_2": "(({x} >> u4(16)) & u4(255))", "BYTE_3": "({x} >> u4(24))",
}  # fmt: skip
_SIGNED_PART = {
    name: "(" + form + f".astype(u{size}).view(i{size}).astype(i4).view(u4))"
    for name, form in _PART.items()
    for size in (2 if name.startswith("WORD") else 1,)
}
# Opcodes of integers whose `clamp` is implemented.
_SATURATING = {
    "v_add_u32", "v_sub_u32", "v_subrev_u32", "v_add_i32", "v_sub_i32", "v_add_u16", "v_sub_u16", "v_subrev_u16",
    "v_add_i16", "v_sub_i16", "v_mad_u16", "v_add3_u32",
}  # fmt: skip


def numbers(instruction: Instruction, key: str, default: int, count: int) -> List[int]:
    """The values of a modifier such as `op_sel:[0,1]`, filled up to `count`."""
    text = instruction.modifiers.get(key, "").strip("[]")
    parts = [int(part) for part in text.split(",") if part]
    return parts + [default] * (count - len(parts))


def is_dpp(instruction: Instruction) -> bool:
    return any(key in lanes.DPP for key in instruction.modifiers)


def _dpp(low: Lowering, instruction: Instruction, operand: Operand) -> Tuple[str, str]:
    """Emits the first source from other lanes: (its name, the name of the lanes that write)."""
    modifiers = instruction.modifiers
    key = next(key for key in modifiers if key in lanes.DPP)
    source, valid = lanes.dpp(key, modifiers[key], low.lanes)
    lane = np.arange(low.lanes)
    rows, banks = (
        int(modifiers.get("row_mask", "0xf"), 0),
        int(modifiers.get("bank_mask", "0xf"), 0),
    )
    writes = ((rows >> (lane // 16)) & 1).astype(bool) & ((banks >> (lane % 16 // 4)) & 1).astype(
        bool
    )
    # Read by both ways below.
    zero = "bound_ctrl" in modifiers
    from_lanes = low.table(source)
    there = low.table(valid.reshape(1, -1))
    writing = low.table(writes.reshape(1, -1))
    value = low.temporary(f"S.gather({low.word(operand)}, {from_lanes})")
    if modifiers.get("fi", "0") in ("", "0"):
        # A lane that is switched off gives nothing.
        there = low.temporary(f"{there} if e is None else e[:, {from_lanes}] & {there}")
    mask = low.temporary(f"{writing} if e is None else e & {writing}")
    if zero:
        value = low.temporary(f"where({there}, {value}, u4(0))")
    else:
        # The destination stays.
        mask = low.temporary(f"{mask} & {there}")
    return value, low.temporary(f"np.broadcast_to({mask}, S.shape)")


def sources(
    low: Lowering, instruction: Instruction, kinds: Sequence[str], operands: Sequence[Operand]
) -> Tuple[List[str], str]:
    """(typed expressions of the sources, the name of the lanes that write)."""
    modifiers = instruction.modifiers
    parts: List[Optional[str]] = [modifiers.get("src0_sel"), modifiers.get("src1_sel"), None]
    halves = numbers(instruction, "op_sel", 0, 0)
    shuffled, e = None, "e"
    if is_dpp(instruction):
        shuffled, e = _dpp(low, instruction, operands[0])
    values = []
    for place, (kind, operand) in enumerate(zip(kinds, operands)):
        bits = bits_of(kind)
        half = halves[place] if place < len(halves) else 0
        if half and bits != 16:
            raise Unknown("op_sel of a source that is not of 16 bits")
        raw = shuffled if place == 0 else None
        if parts[place] not in (None, "DWORD"):
            table = _SIGNED_PART if operand.signed else _PART
            raw = "(" + table[str(parts[place])].format(x=raw or low.word(operand)) + ")"
        elif operand.signed:
            raise Unknown("sext of a whole register")
        if raw is None:
            values.append(
                low.read(operand, kind, half if place < len(halves) and bits == 16 else None)
            )
            continue
        if bits == 64:
            raise Unknown("DPP or SDWA of 64 bits")
        if bits == 16:
            raw = (
                f"({raw} >> u4(16)).astype(u2)"
                if half or operand.half == "h"
                else f"({raw}).astype(u2)"
            )
        typed = raw if kind[0] == "u" else f"{raw}.view({view(kind)})"
        values.append(low.modified(typed, kind, operand))
    return values, e


def finish(
    low: Lowering,
    instruction: Instruction,
    destination: Operand,
    expression: str,
    kind: str,
    e: str,
    count: int,
) -> None:
    """Write a result, with output modifiers. `count`: of sources, so that op_sel's last value is the result's."""
    modifiers = instruction.modifiers
    if kind[0] == "f":
        # Hardware ignores a factor of the result where denormals are kept, as in every text that is executed.
        modifiers.get("mul"), modifiers.get("div")
        if "clamp" in modifiers:
            expression = f"floats.clamp01({expression})"
    if modifiers.get("dst_sel", "DWORD") != "DWORD":
        _write_part(low, destination, expression, kind, modifiers, e)
        return
    modifiers.get("dst_unused")
    halves = numbers(instruction, "op_sel", 0, 0)
    half = None
    if len(halves) > count:
        if bits_of(kind) == 16:
            half = halves[count]
        elif halves[count]:
            raise Unknown("op_sel of a result that is not of 16 bits")
    low.write(destination, expression, kind, e, half)


def _write_part(
    low: Lowering,
    destination: Operand,
    expression: str,
    kind: str,
    modifiers: Dict[str, str],
    e: str,
) -> None:
    part = modifiers["dst_sel"]
    bits, place = (16, int(part[5])) if part.startswith("WORD") else (8, int(part[5]))
    raw = "" if kind[0] == "u" else f".view(u{bits_of(kind) // 8})"
    mask = (1 << bits) - 1
    value = f"((({expression}){raw}.astype(u4) & u4({mask})) << u4({bits * place}))"
    unused = modifiers.get("dst_unused", "UNUSED_PAD")
    if unused == "UNUSED_PRESERVE":
        keep = ~(mask << (bits * place)) & 0xFFFFFFFF
        value = f"({value} | ({low.word(destination)} & u4({keep})))"
    elif unused != "UNUSED_PAD":
        raise Unknown(f"dst_unused:{unused}")
    low.write_words(destination, [value], e)


def arithmetic(table: Dict[str, Row]) -> None:
    """Register opcodes that are one expression each, of the sources {a}, {b} and {c}."""
    ROWS.update(table)

    @handles(*table)
    def lower(low: Lowering, name: str, instruction: Instruction) -> Any:
        kind, all_kinds, expression = table[name]
        expression = low.of_generation(expression)
        kinds = all_kinds.split()
        destination, *operands = instruction.operands
        if len(operands) != len(kinds):
            raise Unknown(f"{len(operands)} sources")
        values, e = sources(low, instruction, kinds, operands)
        named = {letter: low.temporary(text) for letter, text in zip("abc", values)}
        value = expression.format(**named)
        if kind[0] != "f" and "clamp" in instruction.modifiers:
            value = _saturated(name, kind, expression, named)
        finish(low, instruction, destination, value, kind, e, len(kinds))


def _saturated(name: str, kind: str, expression: str, named: Dict[str, str]) -> str:
    if name not in _SATURATING:
        raise Unknown("clamp")
    bits = bits_of(kind)
    least, most = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    wide = expression.format(**{letter: f"{value}.astype(i8)" for letter, value in named.items()})
    return f"np.clip({wide}, {least}, {most}).astype({view(kind)})"
