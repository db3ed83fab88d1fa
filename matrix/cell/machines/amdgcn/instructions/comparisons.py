"""Comparisons of vectors, which make lane masks, and selections by them."""

from ..lowering import handles
from ..operands import EXEC, VCC
from ..sources import finish, sources

_HOW = {
    "lt": "{a} < {b}", "le": "{a} <= {b}", "gt": "{a} > {b}", "ge": "{a} >= {b}", "eq": "{a} == {b}",
    "ne": "{a} != {b}", "neq": "~({a} == {b})", "lg": "({a} < {b}) | ({a} > {b})",
    "o": "~(np.isnan({a}) | np.isnan({b}))", "u": "np.isnan({a}) | np.isnan({b})", "nge": "~({a} >= {b})",
    "nlg": "~(({a} < {b}) | ({a} > {b}))", "ngt": "~({a} > {b})", "nle": "~({a} <= {b})", "nlt": "~({a} < {b})",
    "f": "({a} != {a}) & False", "t": "({a} == {a}) | True", "tru": "({a} == {a}) | True",
}  # fmt: skip
_KINDS = ("i16", "u16", "f16", "i32", "u32", "f32", "i64", "u64", "f64")


@handles(*(f"v_cmp{x}_{how}_{kind}" for x in ("", "x") for how in _HOW for kind in _KINDS))
def _compare(low, name, instruction):
    _, prefix, how, kind = name.split("_")
    operands = instruction.operands
    executes = prefix == "cmpx"
    destination = None
    if len(operands) == 3:
        destination, operands = operands[0], operands[1:]
    (a, b), e = sources(low, instruction, [kind, kind], operands)
    names = {"a": low.temporary(a), "b": low.temporary(b)}
    _finish_compare(low, _HOW[how].format(**names), destination, executes, e)


def _finish_compare(low, expression, destination, executes, e):
    value = low.temporary(f"S.whole({expression})")
    value = low.temporary(f"{value} if {e} is None else {value} & {e}")
    if destination is not None:
        low.write_mask(destination, value)
    if executes:
        low.emit(f"S.setmask({EXEC}, {value}, m)")
        low.emit("e = S.active(m)")


@handles(*(f"v_cmp{x}_class_{kind}" for x in ("", "x") for kind in ("f16", "f32", "f64")))
def _class(low, name, instruction):
    _, prefix, _, kind = name.split("_")
    *destination, a, b = instruction.operands
    value = f"floats.cmp_class({low.read(a, kind)}, {low.read(b, 'u32')})"
    _finish_compare(low, value, destination[0] if destination else None, prefix == "cmpx", "e")


@handles("v_cndmask_b32", "v_cndmask_b16")
def _cndmask(low, name, instruction):
    d, a, b, *rest = instruction.operands
    kind = "u32" if name.endswith("b32") else "u16"
    # The modifiers are of floats, on raw bits.
    (first, second), e = sources(low, instruction, [kind, kind], [a, b])
    mask = low.mask(rest[0]) if rest else f"S.mask({VCC})"
    finish(low, instruction, d, f"where({mask}, {second}, {first})", kind, e, 2)
