"""Packed pairs of numbers, mixed precision, and dot products."""

from ..errors import Unknown
from ..lowering import handles
from ..operands import constant_bits
from ..sources import numbers

_PACKED16 = {
    "v_pk_add_f16": ("f16", "{a} + {b}"), "v_pk_mul_f16": ("f16", "{a} * {b}"),
    "v_pk_max_f16": ("f16", "floats.maximum({a}, {b})"), "v_pk_min_f16": ("f16", "floats.minimum({a}, {b})"),
    "v_pk_fma_f16": ("f16", "floats.fma16({a}, {b}, {c})"), "v_pk_add_u16": ("u16", "{a} + {b}"),
    "v_pk_sub_u16": ("u16", "{a} - {b}"), "v_pk_add_i16": ("i16", "{a} + {b}"), "v_pk_sub_i16": ("i16", "{a} - {b}"),
    "v_pk_mul_lo_u16": ("u16", "{a} * {b}"), "v_pk_mad_u16": ("u16", "{a} * {b} + {c}"),
    "v_pk_mad_i16": ("i16", "{a} * {b} + {c}"),
    "v_pk_lshlrev_b16": ("u16", "{b} << ({a} & u2(15))"), "v_pk_lshrrev_b16": ("u16", "{b} >> ({a} & u2(15))"),
    "v_pk_ashrrev_i16": ("i16", "{b} >> ({a} & i2(15))"), "v_pk_max_i16": ("i16", "np.maximum({a}, {b})"),
    "v_pk_min_i16": ("i16", "np.minimum({a}, {b})"), "v_pk_max_u16": ("u16", "np.maximum({a}, {b})"),
    "v_pk_min_u16": ("u16", "np.minimum({a}, {b})"),
    "v_pk_maximum3_f16": ("f16", "np.maximum(np.maximum({a}, {b}), {c})"),
    "v_pk_minimum3_f16": ("f16", "np.minimum(np.minimum({a}, {b}), {c})"),
}  # fmt: skip


@handles(*_PACKED16)
def _packed16(low, name, instruction):
    kind, expression = _PACKED16[name]
    expression = low.of_generation(expression)
    d, *operands = instruction.operands
    count = len(operands)
    low_half, high_half = (
        numbers(instruction, "op_sel", 0, count),
        numbers(instruction, "op_sel_hi", 1, count),
    )
    negative = numbers(instruction, "neg_lo", 0, count), numbers(instruction, "neg_hi", 0, count)
    halves = []
    for which, selected in enumerate((low_half, high_half)):
        names = {}
        for place, operand in enumerate(operands):
            if operand.kind == "c":
                bits = _packed_constant(operand, kind)
                value = low.constant((bits >> (16 * selected[place])) & 0xFFFF, kind)
            else:
                value = low.read(operand, kind, selected[place])
            if negative[which][place] and kind != "f16":
                raise Unknown("a negated source of integers")
            names["abc"[place]] = low.temporary(f"-{value}" if negative[which][place] else value)
        result = expression.format(**names)
        if "clamp" in instruction.modifiers and kind == "f16":
            result = f"floats.clamp01({result})"
        halves.append(low.temporary(f"({result}).view(u2).astype(u4)"))
    low.write_words(d, [f"{halves[0]} | ({halves[1]} << u4(16))"])


def _packed_constant(operand, kind):
    """Return the 32 bits of a constant: a half in the low half only, and among integers a float32."""
    text = operand.text
    if "." in text:
        return constant_bits(text, 16 if kind == "f16" else 32, True)
    value = int(text, 0)
    return value & 0xFFFFFFFF


_PACKED32 = {
    "v_pk_add_f32": "{a} + {b}",
    "v_pk_mul_f32": "{a} * {b}",
    "v_pk_fma_f32": "floats.fma32({a}, {b}, {c})",
}


@handles(*_PACKED32)
def _packed32(low, name, instruction):
    d, *operands = instruction.operands
    count = len(operands)
    low_half, high_half = (
        numbers(instruction, "op_sel", 0, count),
        numbers(instruction, "op_sel_hi", 1, count),
    )
    negative = numbers(instruction, "neg_lo", 0, count), numbers(instruction, "neg_hi", 0, count)
    results = []
    for which, selected in enumerate((low_half, high_half)):
        names = {}
        for place, operand in enumerate(operands):
            word = low.word(operand, selected[place] if operand.kind != "c" else 0)
            value = f"{word}.view(f4)"
            names["abc"[place]] = low.temporary(f"-{value}" if negative[which][place] else value)
        results.append(low.temporary(f"S.whole(({_PACKED32[name].format(**names)}).view(u4))"))
    low.write_words(d, results)


@handles("v_pk_mov_b32")
def _packed_move(low, name, instruction):
    """The low word comes from the first source, the high one from the second; op_sel chooses a word of each."""
    d, *operands = instruction.operands
    chosen = numbers(instruction, "op_sel", 0, 2)
    # Of the high word it is the same bit.
    numbers(instruction, "op_sel_hi", 1, 2)
    places = [place if operand.kind != "c" else 0 for operand, place in zip(operands, chosen)]
    words = [low.temporary(low.word(operand, place)) for operand, place in zip(operands, places)]
    low.write_words(d, words)


@handles("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
def _fma_mix(low, name, instruction):
    """Each source is float32, or a half of it float16, as op_sel_hi and op_sel say."""
    d, *operands = instruction.operands
    lows, highs = numbers(instruction, "op_sel", 0, 3), numbers(instruction, "op_sel_hi", 0, 3)
    values = []
    for place, operand in enumerate(operands):
        if highs[place]:
            value = low.read(operand, "f16", lows[place], plain=True) + ".astype(f4)"
        else:
            value = low.read(operand, "f32", plain=True)
        values.append(low.modified(value, "f32", operand))
    result = f"floats.fma32({', '.join(values)})"
    if "clamp" in instruction.modifiers:
        result = f"floats.clamp01({result})"
    if name == "v_fma_mix_f32":
        low.write(d, result, "f32")
    else:
        # The other half stays, on every generation.
        low.write(d, f"({result}).astype(f2)", "f16", half=int(name == "v_fma_mixhi_f16"))


@handles(
    "v_dot2_f32_f16", "v_dot2c_f32_f16", "v_dot2acc_f32_f16", "v_dot2_f32_bf16", "v_dot2c_f32_bf16"
)
def _dot2(low, name, instruction):
    d, a, b, *rest = instruction.operands
    c = rest[0] if rest else d
    if "bf16" in name:
        halves = [
            [f"floats.from_bf16({low.read(operand, 'u16', half)})" for operand in (a, b)]
            for half in (0, 1)
        ]
    else:
        halves = [[low.read(operand, "f16", half) for operand in (a, b)] for half in (0, 1)]
    terms = [f"{first}.astype(f8) * {second}" for first, second in halves]
    low.write(d, f"({terms[0]} + {terms[1]} + {low.read(c, 'f32')}).astype(f4)", "f32")


@handles("v_dot2_bf16_bf16")
def _dot2_bf16(low, name, instruction):
    """float32 sums in the order of AMD's text, rounded to bfloat16 at the end: the text gives no width of the sum."""
    d, a, b, c = instruction.operands
    first, second, third, upper = numbers(instruction, "op_sel", 0, 4)
    if first or second:
        raise Unknown("op_sel of a pair")
    if c.kind == "c":
        # A float is written as a number, other bits as they are.
        bits = constant_bits(c.text, 32, True) >> (16 if "." in c.text else 0)
        total = low.constant(bits & 0xFFFF, "u16")
    else:
        total = low.read(c, "u16", third)
    total = low.temporary(f"floats.from_bf16({total})")
    for half in (0, 1):
        left, right = (f"floats.from_bf16({low.read(operand, 'u16', half)})" for operand in (a, b))
        total = low.temporary(f"{total} + {left} * {right}")
    low.write(d, f"floats.to_bf16({total})", "u16", half=upper)


@handles("v_dot4_i32_i8", "v_dot4c_i32_i8", "v_dot4_i32_iu8")
def _dot4(low, name, instruction):
    d, a, b, *rest = instruction.operands
    c = rest[0] if rest else d
    signs = numbers(instruction, "neg_lo", 0, 3) if name == "v_dot4_i32_iu8" else [1, 1]
    parts = []
    for byte in range(4):
        factors = []
        for operand, sign in zip((a, b), signs):
            view = ".view(i1)" if sign else ""
            factors.append(f"({low.word(operand)} >> u4({8 * byte})).astype(u1){view}.astype(i4)")
        parts.append(" * ".join(factors))
    low.write(d, f"{' + '.join(parts)} + {low.read(c, 'i32')}", "i32")
