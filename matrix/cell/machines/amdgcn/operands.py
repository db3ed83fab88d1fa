"""Operands of AMD assembly: registers, register ranges and constants, with the modifiers of a source."""

import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Tuple

from .errors import Unknown

_REGISTER = re.compile(r"(?:([vsa])(\d+)|ttmp(\d+))(?:\.([lh]))?$")
_RANGE = re.compile(r"([vsa]|ttmp)\[(\d+):(\d+)\]$")
VCC, M0, NULL, EXEC, TTMP = 106, 124, 125, 126, 108
# Numbers of the special scalar registers, and how many there are; `null` reads as 0.
SPECIAL = {
    "vcc": (VCC, 2), "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1), "exec": (EXEC, 2), "exec_lo": (EXEC, 1),
    "exec_hi": (EXEC + 1, 1), "m0": (M0, 1), "null": (NULL, 2), "flat_scratch": (102, 2),
    "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1),
}  # fmt: skip
# Flags that are read like registers.
FLAGS = ("scc", "src_scc", "vccz", "src_vccz", "execz", "src_execz")
# 1 / (2 * pi), the inline constant that is written 0.15915494, by bits.
_TURN = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
_FORMATS = {16: "<e", 32: "<f", 64: "<d"}


@dataclass
class Operand:
    """A register range, or a constant.

    Attributes:
        kind: "v", "s" or "a" with `number` and `count`; "c" for a constant with its `text`.
        negated, absolute, signed: modifiers of the source: -x, |x|, sext(x).
        half: "l" or "h" of a register that is read as 16 bits (`v0.h`).
        modifiers_read: the modifiers have been applied. The lowering refuses modifiers that are never applied.
    """

    kind: str
    number: int = 0
    count: int = 1
    text: str = ""
    negated: bool = False
    absolute: bool = False
    signed: bool = False
    half: str = ""
    modifiers_read: bool = False


def parse(text: str) -> Operand:
    """The operand that `text` says."""
    return Operand(*_fields(text))


@lru_cache(maxsize=4096)
def _fields(text: str) -> Tuple[Any, ...]:
    """The fields of an `Operand`: a kernel names the same registers again and again."""
    text = text.strip()
    negated = absolute = signed = False
    while True:
        if text.startswith("-") and len(text) > 1 and not (text[1].isdigit() or text[1] == "."):
            negated, text = True, text[1:]
        elif text.startswith("neg(") and text.endswith(")"):
            negated, text = True, text[4:-1]
        elif text.startswith("abs(") and text.endswith(")"):
            absolute, text = True, text[4:-1]
        elif text.startswith("sext(") and text.endswith(")"):
            signed, text = True, text[5:-1]
        elif text.startswith("|"):
            absolute, text = True, text.strip("|")
        elif text.startswith("lit(") and text.endswith(")"):
            text = text[4:-1]
        else:
            break
    how = (text, negated, absolute, signed)
    match = _REGISTER.match(text)
    if match:
        if match.group(3):
            return ("s", TTMP + int(match.group(3)), 1, *how)
        return (match.group(1), int(match.group(2)), 1, *how, match.group(4) or "")
    match = _RANGE.match(text)
    if match:
        kind, first, last = match.group(1), int(match.group(2)), int(match.group(3))
        if kind == "ttmp":
            kind, first, last = "s", first + TTMP, last + TTMP
        return (kind, first, last - first + 1, *how)
    if text in SPECIAL:
        return ("s", *SPECIAL[text], *how)
    return ("c", 0, 1, *how)


def constant_bits(text: str, bits: int, floating: bool) -> int:
    """The value of a constant as an operand of `bits` bits reads it.

    Raises:
        Unknown: a name, such as a symbol's.
    """
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?", text):
        if text.startswith("0.159"):
            return _TURN[bits]
        return int.from_bytes(struct.pack(_FORMATS[bits], float(text)), "little")
    try:
        value = int(text, 0)
    except ValueError:
        raise Unknown(f"the constant {text}") from None
    if bits == 64 and floating and not -16 <= value <= 64:
        # A literal is the high half of a double.
        return (value & 0xFFFFFFFF) << 32 if value <= 0xFFFFFFFF else value
    return value & ((1 << bits) - 1)
