"""setp, set, selp, slct, testp."""

from ..lowering import lowers
from ..types import is_type, type_of

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">",
          "hs": ">="}  # fmt: skip
# An unordered comparison is the opposite of the opposite ordered one.
_OPPOSITE = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}
_HALVES = {"f16x2": "floats.halves_f16", "bf16x2": "floats.halves_bf16"}
# 1.0 in the low and in the high half.
_ONES = {"f16x2": (0x3C00, 0x3C000000), "bf16x2": (0x3F80, 0x3F800000)}


def _comparison(low, instruction, operator, type_name, a, b):
    kind = type_of(type_name).kind
    x, y = low.read(a, type_name), low.read(b, type_name)
    if type_name in _HALVES:
        x, y = (low.temporary(f"{_HALVES[type_name]}({value})") for value in (x, y))
    if "ftz" in instruction.modifiers and type_name == "f32":
        x, y = (low.temporary(f"floats.flush({value})") for value in (x, y))
    if kind in ("f", "bf", "f16x2", "bf16x2"):
        nan = f"(np.isnan({x}) | np.isnan({y}))"
        if operator == "ne":
            return f"(({x} != {y}) & ~{nan})"
        if operator == "neu":
            return f"({x} != {y})"
        if operator == "equ":
            return f"(({x} == {y}) | {nan})"
        if operator in _OPPOSITE:
            return f"(~({x} {_OPPOSITE[operator]} {y}))"
        if operator == "nan":
            return nan
        if operator == "num":
            return f"(~{nan})"
    if operator not in _SIGNS:
        raise instruction.unsupported(f"comparison .{operator}")
    return f"({x} {_SIGNS[operator]} {y})"


@lowers("setp")
def setp(low, instruction):
    """`setp p|q`: on packed halves q is the high half; else it is the negation."""
    modifiers = instruction.modifiers
    if is_type(modifiers[0]):
        # ptxas takes the type ahead of the comparison too (setp.u32.eq, from inline assembly).
        modifiers = [*modifiers[1:], modifiers[0]]
    operator, type_name = modifiers[0], modifiers[-1]
    join = next((part for part in modifiers[1:-1] if part in ("and", "or", "xor")), None)
    for part in modifiers[1:-1]:
        if part not in ("and", "or", "xor", "ftz"):
            raise instruction.unsupported(f"modifier .{part}")
    value = _comparison(low, instruction, operator, type_name, *instruction.operands[1:3])
    destinations = [part.strip() for part in instruction.operands[0].split("|")]
    other = f"(~{value})"
    if len(destinations) > 1 or type_name in _HALVES:
        value = low.temporary(value)
        other = f"(~{value})"
    if type_name in _HALVES:
        value, other = f"{value}[..., 0]", f"{value}[..., 1]"
    if join is not None:
        with_ = low.temporary(low.read(instruction.operands[3], "pred"))
        sign = {"and": "&", "or": "|", "xor": "^"}[join]
        value, other = f"({value} {sign} {with_})", f"({other} {sign} {with_})"
    if destinations[0] != "_":
        low.write(destinations[0], value, "pred")
    if len(destinations) > 1 and destinations[1] != "_":
        low.write(destinations[1], other, "pred")


@lowers("set")
def set_(low, instruction):
    operator, to, type_name = (
        instruction.modifiers[0],
        instruction.modifiers[-2],
        instruction.modifiers[-1],
    )
    for part in instruction.modifiers[1:-2]:
        if part != "ftz":
            raise instruction.unsupported(f"modifier .{part}")
    value = _comparison(low, instruction, operator, type_name, *instruction.operands[1:3])
    if type_name in _HALVES and to == type_name:
        value = low.temporary(value)
        low_one, high_one = _ONES[type_name]
        number = f"(np.where({value}[..., 0], u4({low_one}), u4(0)) | np.where({value}[..., 1], u4({high_one}), u4(0)))"
        low.write(instruction.operands[0], number, "b32")
        return
    if type_name in _HALVES or to not in ("u32", "s32", "f32"):
        raise instruction.unsupported()
    number = (
        f"np.where({value}, f4(1), f4(0)).view(u4)"
        if to == "f32"
        else f"np.where({value}, ~u4(0), u4(0))"
    )
    low.write(instruction.operands[0], number, "b32")


@lowers("selp")
def selp(low, instruction):
    bare = f"b{type_of(instruction.modifiers[-1]).bits}"
    destination, a, b, condition = instruction.operands
    which = low.read(condition, "pred")
    low.write(destination, f"np.where({which}, {low.read(a, bare)}, {low.read(b, bare)})", bare)


@lowers("slct")
def slct(low, instruction):
    type_name, of = instruction.modifiers[-2:]
    bare = f"b{type_of(type_name).bits}"
    destination, a, b, condition = instruction.operands
    which = low.read(condition, of)
    low.write(
        destination, f"np.where({which} >= 0, {low.read(a, bare)}, {low.read(b, bare)})", bare
    )


_TESTS = {
    "finite": "np.isfinite({})", "infinite": "np.isinf({})", "number": "(~np.isnan({}))", "notanumber": "np.isnan({})",
}  # fmt: skip


@lowers("testp")
def testp(low, instruction):
    test, type_name = instruction.modifiers
    value = low.read(instruction.operands[1], type_name)
    if test in ("normal", "subnormal"):
        # Zero counts as normal (PTX ISA, testp).
        normal = f"((np.abs({value}) >= np.finfo({value}.dtype).tiny) | ({value} == 0))"
        text = (
            f"({normal} & np.isfinite({value}))"
            if test == "normal"
            else f"(~{normal} & ~np.isnan({value}))"
        )
    else:
        text = _TESTS[test].format(value)
    low.write(instruction.operands[0], text, "pred")
