"""Tables of numbers beside a kernel's code, such as those of libdevice's Bessel functions.

Code takes its own address from `s_getpc_b64` and adds the way to a table: `NAME@rel32@lo+4`, then `NAME@rel32@hi+12`
with the carry. The number behind the plus is a place in the table, and the bytes of code since `s_getpc_b64`. Here
`s_getpc_b64` gives 0, so the way is the address.
"""

import re
from typing import Any, Dict, List

import numpy as np

from .errors import Unsupported

_WAY = re.compile(r"([\w.$]+)@rel32@(lo|hi)\+(\d+)$")
# Bytes of the instructions that may stand behind `s_getpc_b64`, with the number that the sums add.
_BYTES = {
    "s_sext_i32_i16": 4, "s_wait_alu": 4, "s_delay_alu": 4, "s_nop": 4, "s_add_u32": 8, "s_addc_u32": 8,
    "s_add_co_u32": 8, "s_add_co_ci_u32": 8,
}  # fmt: skip
_SIZES = {".byte": 1, ".short": 2, ".long": 4, ".quad": 8}


def read(lines: List[str], name: str) -> np.ndarray:
    """The bytes of a table of the text.

    Raises:
        Unsupported: the text has no such table, or a directive in it is not known.
    """
    start = next((place for place, line in enumerate(lines) if line.startswith(f"{name}:")), None)
    if start is None:
        raise Unsupported(name, why="no table of this name")
    data = bytearray()
    for place in range(start + 1, len(lines)):
        directive, *numbers = lines[place].split(";")[0].replace(",", " ").split() or [""]
        if directive == ".size":
            return np.frombuffer(bytes(data), np.uint8).copy()
        if directive in _SIZES:
            size = _SIZES[directive]
            for number in numbers:
                data += (int(number, 0) % (1 << 8 * size)).to_bytes(size, "little")
        elif directive == ".zero":
            data += bytes(int(numbers[0], 0))
        elif directive:
            raise Unsupported(directive, place + 1, f"in the table {name}")
    raise Unsupported(name, start + 1, "a table without an end")


def resolve(instructions: List[Any], lines: List[str]) -> Dict[str, np.ndarray]:
    """The tables that instructions name; their operands become numbers.

    Raises:
        Unsupported: see `read`; or the way does not begin at an `s_getpc_b64`.
    """
    tables: Dict[str, np.ndarray] = {}
    for place, instruction in enumerate(instructions):
        if "@rel32@" not in instruction.text:
            continue
        for operand in instruction.operands:
            way_to = _WAY.match(operand.text)
            if way_to is None:
                continue
            name, half, more = way_to.groups()
            if name not in tables:
                tables[name] = read(lines, name)
            way = int(tables[name].ctypes.data) + int(more) - _since_getpc(instructions, place)
            operand.text = str(way & 0xFFFFFFFF if half == "lo" else way >> 32)
    return tables


def _since_getpc(instructions: List[Any], place: int) -> int:
    """The bytes between an `s_getpc_b64` and the number of the instruction at `place`."""
    # The number is the second half of its instruction.
    count = 4
    for before in reversed(instructions[:place]):
        if before.name == "s_getpc_b64":
            return count
        if before.name not in _BYTES:
            break
        count += _BYTES[before.name]
    at = instructions[place]
    raise Unsupported(at.name, at.line, "a table's distance that does not begin at s_getpc_b64")
