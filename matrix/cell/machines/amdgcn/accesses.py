"""Forms of vector loads and stores that all memories share: names, sizes, and how a word becomes a register."""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from .lowering import Lowering
from .operands import Operand
from .syntax import Instruction


class Load(NamedTuple):
    """Bytes, how the first word becomes the register (None: as it is), and the half that is written (None: all)."""

    size: int
    how: Optional[str] = None
    half: Optional[int] = None


class Store(NamedTuple):
    """Bytes, and whether they come from the upper half of the register."""

    size: int
    high: bool = False


_I8 = "{x}.astype(u1).view(i1).astype(i4).view(u4)"
_I16 = "{x}.astype(u2).view(i2).astype(i4).view(u4)"
_I8_HALF = "{x}.astype(u1).view(i1).astype(i2).view(u2).astype(u4)"
LOADS: Dict[str, Load] = {
    "dword": Load(4), "dwordx2": Load(8), "dwordx3": Load(12), "dwordx4": Load(16), "b32": Load(4), "b64": Load(8),
    "b96": Load(12), "b128": Load(16), "ubyte": Load(1), "u8": Load(1), "ushort": Load(2), "u16": Load(2),
    "sbyte": Load(1, _I8), "i8": Load(1, _I8), "sshort": Load(2, _I16), "i16": Load(2, _I16),
    "short_d16": Load(2, None, 0), "d16_b16": Load(2, None, 0), "u16_d16": Load(2, None, 0),
    "short_d16_hi": Load(2, None, 1), "d16_hi_b16": Load(2, None, 1), "u16_d16_hi": Load(2, None, 1),
    "ubyte_d16": Load(1, None, 0), "d16_u8": Load(1, None, 0), "u8_d16": Load(1, None, 0),
    "ubyte_d16_hi": Load(1, None, 1), "d16_hi_u8": Load(1, None, 1), "u8_d16_hi": Load(1, None, 1),
    "sbyte_d16": Load(1, _I8_HALF, 0), "d16_i8": Load(1, _I8_HALF, 0), "i8_d16": Load(1, _I8_HALF, 0),
    "sbyte_d16_hi": Load(1, _I8_HALF, 1), "d16_hi_i8": Load(1, _I8_HALF, 1), "i8_d16_hi": Load(1, _I8_HALF, 1),
}  # fmt: skip
STORES: Dict[str, Store] = {
    "dword": Store(4), "dwordx2": Store(8), "dwordx3": Store(12), "dwordx4": Store(16), "b32": Store(4),
    "b64": Store(8), "b96": Store(12), "b128": Store(16), "byte": Store(1), "b8": Store(1), "short": Store(2),
    "b16": Store(2), "byte_d16_hi": Store(1, True), "b8_d16_hi": Store(1, True), "d16_hi_b8": Store(1, True),
    "short_d16_hi": Store(2, True), "b16_d16_hi": Store(2, True), "d16_hi_b16": Store(2, True),
}  # fmt: skip


def names(prefix: str, table: Iterable[str]) -> List[str]:
    return [f"{prefix}_{kind}" for kind in table]


def offset(instruction: Instruction, key: str = "offset") -> int:
    return int(instruction.modifiers.get(key) or "0", 0)


def arrives(low: Lowering, destination: Operand, words: str, kind: Any, counter: str) -> None:
    """Emits that words from memory are under way to the registers of `destination`.

    Args:
        words: an expression of a list of them.
        kind: the `Load`, or its name.
    """
    load = kind if isinstance(kind, Load) else LOADS[kind]
    if load.how is not None:
        words = f"[{load.how.format(x=low.temporary(words + '[0]'))}]"
    half = 1 if destination.half == "h" else 0 if destination.half == "l" else load.half
    file = low.file_of(destination)
    low.emit(
        f"S.counters.load({counter!r}, {file}, {destination.number}, {words}, e, m, {half}, {destination.kind!r})"
    )


def stored(low: Lowering, operand: Operand, store: Store) -> str:
    """A list of the words that a store takes from a register."""
    if store.high or operand.half == "h":
        return f"[({low.word(operand)} >> u4(16))]"
    return low.words(operand, max(1, store.size // 4))
