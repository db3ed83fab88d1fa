"""Sums wider than a register: add.cc, addc, sub.cc, subc, mad.cc and madc. Libdevice's sin and cos multiply so."""

from ..lowering import check_modifiers, lowers
from ..types import RAW_NAME, type_of


@lowers("addc", "subc", "madc")
def with_carry(low, instruction):
    """Lower instructions that set the carry (.cc), use it (addc, subc, madc), or both; known within a basic block."""
    type_name = instruction.modifiers[-1]
    bits, kind = type_of(type_name)
    modifiers = check_modifiers(instruction, ("cc", "lo", "hi"))
    takes = instruction.name.endswith("c")
    if kind not in "us" or bits < 32 or low.guard:
        raise instruction.unsupported("carry under a predicate, or of a type that has none")
    if takes and low.carry is None:
        raise instruction.unsupported("carry of another basic block")
    bare = f"b{bits}"
    destination, *operands = instruction.operands
    if "hi" in modifiers:
        a, b = (low.read(operand, type_name) for operand in operands[:2])
        first = f"integers.multiply_high({a}, {b}).view({RAW_NAME[bits]})"
    elif "lo" in modifiers:
        first = " * ".join(low.read(operand, bare) for operand in operands[:2])
    else:
        first = low.read(operands[0], bare)
    function = "borrowed" if instruction.name.startswith("sub") else "carried"
    last = low.read(operands[-1], bare)
    both = low.temporary(f"integers.{function}({first}, {last}, {low.carry if takes else None})")
    low.write(destination, f"{both}[0]", bare)
    if "cc" in modifiers:
        low.carry = f"{both}[1]"
