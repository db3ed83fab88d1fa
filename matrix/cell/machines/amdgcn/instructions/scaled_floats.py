"""gfx950: conversions from and to small floats with a scale, which is the exponent of a float32."""

from ..lowering import NAMESPACE, handles
from ..small_floats import BITS, from_scaled, to_scaled
from ..sources import numbers

NAMESPACE.update(from_scaled=from_scaled, to_scaled=to_scaled)
_SMALL = ("fp8", "bf8", "fp4")
_WIDE = {"f32": 32, "f16": 16, "bf16": 16}


def _packed(low, values, kind):
    """The words of a pair of float32 values as `kind`."""
    if kind == "f32":
        return [f"{value}.view(u4)" for value in values]
    form = "floats.to_bf16({x})" if kind == "bf16" else "{x}.astype(f2).view(u2)"
    first, second = (f"{form.format(x=value)}.astype(u4)" for value in values)
    return [f"{first} | ({second} << u4(16))"]


@handles(*(f"v_cvt_scalef32_pk_{wide}_{small}" for wide in _WIDE for small in _SMALL))
def pair_from_small(low, name, instruction):
    wide, small = name.rsplit("_", 2)[1:]
    d, a, scale = instruction.operands
    first, second, _ = numbers(instruction, "op_sel", 0, 3)
    # A pair of fp4 is one of the four bytes, a wider pair one of the halves.
    start = 8 * (first + 2 * second) if small == "fp4" else 16 * first
    word = low.temporary(low.word(a))
    factor = low.temporary(low.read(scale, "f32"))
    mask = (1 << BITS[small]) - 1
    values = [
        low.temporary(
            f"from_scaled(({word} >> u4({start + place * BITS[small]})) & u4({mask}), {small!r}, {factor}, {wide!r})"
        )
        for place in (0, 1)
    ]
    low.write_words(d, [low.temporary(packed) for packed in _packed(low, values, wide)])


@handles(*(f"v_cvt_scalef32_{wide}_{small}" for wide in ("f32", "f16") for small in ("fp8", "bf8")))
def one_from_small(low, name, instruction):
    wide, small = name.rsplit("_", 2)[1:]
    d, a, scale = instruction.operands
    first, second, upper = numbers(instruction, "op_sel", 0, 3)
    code = f"({low.word(a)} >> u4({8 * (first + 2 * second)})) & u4(255)"
    value = low.temporary(f"from_scaled({code}, {small!r}, {low.read(scale, 'f32')}, {wide!r})")
    if wide == "f32":
        low.write(d, value, "f32")
    else:
        low.write(d, f"{value}.astype(f2)", "f16", half=upper)


@handles(*(f"v_cvt_scalef32_pk_{small}_{wide}" for wide in _WIDE for small in _SMALL))
def pair_to_small(low, name, instruction):
    small, wide = name.rsplit("_", 2)[1:]
    d, *operands, scale = instruction.operands
    if wide == "f32":
        values = [low.read(operand, "f32") for operand in operands]
    elif wide == "f16":
        values = [f"{low.read(operands[0], 'f16', half)}.astype(f4)" for half in (0, 1)]
    else:
        values = [f"floats.from_bf16({low.read(operands[0], 'u16', half)})" for half in (0, 1)]
    factor = low.temporary(low.read(scale, "f32"))
    codes = [f"to_scaled({value}, {small!r}, {factor})" for value in values]
    chosen = numbers(instruction, "op_sel", 0, 0)
    bits = 2 * BITS[small]
    # The last of op_sel choose the half or the byte of the destination that is written.
    if small == "fp4":
        start = 8 * (sum(chosen[2:3]) + 2 * sum(chosen[3:4]))
    else:
        start = 16 * chosen[len(operands) + 1] if chosen else 0
    keep = ~(((1 << bits) - 1) << start) & 0xFFFFFFFF
    both = f"({codes[0]} | ({codes[1]} << u4({BITS[small]})))"
    low.write_words(d, [f"({both} << u4({start})) | ({low.word(d)} & u4({keep}))"])
