"""Logic, shifts, bit fields, permutes and counts."""

import re

from ..lowering import lowers
from ..types import RAW, type_of


@lowers("and", "or", "xor")
def logic(low, instruction):
    type_name = instruction.modifiers[-1]
    sign = {"and": "&", "or": "|", "xor": "^"}[instruction.name]
    a, b = (low.read(operand, type_name) for operand in instruction.operands[1:])
    low.write(instruction.operands[0], f"({a} {sign} {b})", type_name)


@lowers("not")
def invert(low, instruction):
    type_name = instruction.modifiers[-1]
    low.write(
        instruction.operands[0], f"(~{low.read(instruction.operands[1], type_name)})", type_name
    )


@lowers("cnot")
def logical_not(low, instruction):
    type_name = instruction.modifiers[-1]
    value = low.read(instruction.operands[1], type_name)
    low.write(instruction.operands[0], f"({value} == 0).astype({value}.dtype)", type_name)


@lowers("lop3")
def lop3(low, instruction):
    if instruction.modifiers != ["b32"]:
        raise instruction.unsupported()
    destination, *sources, table = instruction.operands
    a, b, c = (low.read(operand, "b32") for operand in sources)
    low.write(destination, f"integers.lop3({a}, {b}, {c}, {low.integer(table)})", "b32")


@lowers("shl")
def shl(low, instruction):
    destination, value, count = instruction.operands
    bits = type_of(instruction.modifiers[-1]).bits
    bare = f"b{bits}"
    a = low.read(value, bare)
    if re.fullmatch(r"\d+", count) and int(count) < bits:
        low.write(destination, f"({a} << {low.constant(int(count), RAW[bits])})", bare)
    else:
        low.write(destination, f"integers.shift_left({a}, {low.read(count, 'u32')})", bare)


@lowers("shr")
def shr(low, instruction):
    destination, value, count = instruction.operands
    type_name = instruction.modifiers[-1]
    bits, kind = type_of(type_name)
    if re.fullmatch(r"\d+", count) and int(count) < bits and kind != "s":
        a = low.read(value, f"b{bits}")
        low.write(destination, f"({a} >> {low.constant(int(count), RAW[bits])})", f"b{bits}")
    else:
        a = low.read(value, type_name)
        low.write(destination, f"integers.shift_right({a}, {low.read(count, 'u32')})", type_name)


@lowers("shf")
def shf(low, instruction):
    direction, mode, _ = instruction.modifiers
    a, b = (low.read(operand, "b32") for operand in instruction.operands[1:3])
    count = low.read(instruction.operands[3], "u32")
    form = f"{direction == 'l'}, {mode == 'wrap'}"
    low.write(instruction.operands[0], f"integers.funnel_shift({a}, {b}, {count}, {form})", "b32")


@lowers("bfe")
def bfe(low, instruction):
    type_name = instruction.modifiers[-1]
    destination, a, position, length = instruction.operands
    where = f"{low.read(position, 'u32')}, {low.read(length, 'u32')}"
    low.write(destination, f"integers.bit_field({low.read(a, type_name)}, {where})", type_name)


@lowers("bfi")
def bfi(low, instruction):
    type_name = instruction.modifiers[-1]
    destination, a, b, position, length = instruction.operands
    values = f"{low.read(a, type_name)}, {low.read(b, type_name)}"
    where = f"{low.read(position, 'u32')}, {low.read(length, 'u32')}"
    low.write(destination, f"integers.insert_bit_field({values}, {where})", type_name)


@lowers("prmt")
def prmt(low, instruction):
    if instruction.modifiers != ["b32"]:
        raise instruction.unsupported()
    destination, a, b, selector = instruction.operands
    a, b = low.read(a, "b32"), low.read(b, "b32")
    if re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)U?", selector):
        value = f"integers.permute_constant({a}, {b}, {int(selector.rstrip('U'), 0)})"
    else:
        value = f"integers.permute({a}, {b}, {low.read(selector, 'b32')})"
    low.write(destination, value, "b32")


_COUNTS = {"popc": "population", "clz": "leading_zeros"}


@lowers("popc", "clz")
def count(low, instruction):
    value = low.read(instruction.operands[1], instruction.modifiers[-1])
    low.write(instruction.operands[0], f"integers.{_COUNTS[instruction.name]}({value})", "b32")


@lowers("bfind")
def bfind(low, instruction):
    type_name = instruction.modifiers[-1]
    value = f"integers.highest_bit({low.read(instruction.operands[1], type_name)})"
    if "shiftamt" in instruction.modifiers:
        value = f"integers.shift_to_top({value}, {type_of(type_name).bits})"
    low.write(instruction.operands[0], value, "b32")


@lowers("brev")
def brev(low, instruction):
    type_name = instruction.modifiers[-1]
    value = low.read(instruction.operands[1], type_name)
    low.write(instruction.operands[0], f"integers.reversed_bits({value})", type_name)
