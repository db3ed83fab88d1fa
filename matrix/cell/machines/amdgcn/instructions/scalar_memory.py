"""Loads of scalars."""

from ..errors import Unknown
from ..lowering import handles

_WORDS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16, "b32": 1, "b64": 2,
          "b96": 3, "b128": 4, "b256": 8, "b512": 16}  # fmt: skip
# Name -> (bytes, how the word becomes the register).
_SMALL = {
    "u8": (1, "{x}"), "i8": (1, "{x}.astype(u1).view(i1).astype(i4).view(u4)"), "u16": (2, "{x}"),
    "i16": (2, "{x}.astype(u2).view(i2).astype(i4).view(u4)"),
}  # fmt: skip


def _address(low, instruction):
    _, base, *rest = instruction.operands
    parts = [low.read(base, "u64")]
    for offset in rest:
        if offset.kind == "s":
            parts.append(f"{low.read(offset, 'u32')}.astype(u8)")
        else:
            parts.append(low.constant(int(offset.text, 0) % 2**64, "u64"))
    if "offset" in instruction.modifiers:
        parts.append(low.constant(int(instruction.modifiers["offset"], 0) % 2**64, "u64"))
    return f"({' + '.join(parts)})"


@handles(*(f"s_load_{size}" for size in _WORDS))
def load(low, name, instruction):
    destination = instruction.operands[0]
    count = _WORDS[name[len("s_load_") :]]
    if destination.kind != "s" or destination.count != count:
        raise Unknown(f"the destination {destination.text}")
    # The lowest two bits are not looked at.
    address = f"{_address(low, instruction)} & u8({2**64 - 4})"
    words = low.temporary(f"S.memory.scalar_load({low.at}, {address}, {4 * count}, m)")
    low.emit(f"S.counters.scalar({destination.number}, {words}, m)")


@handles(*(f"s_load_{kind}" for kind in _SMALL))
def load_small(low, name, instruction):
    size, how = _SMALL[name[len("s_load_") :]]
    word = low.temporary(
        f"S.memory.scalar_load({low.at}, {_address(low, instruction)}, {size}, m)[0]"
    )
    low.emit(f"S.counters.scalar({instruction.operands[0].number}, [{how.format(x=word)}], m)")
