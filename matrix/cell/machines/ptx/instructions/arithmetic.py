"""add, sub, mul, mad, fma, div, rem, min, max, abs, neg, and the approximate functions.

Approximate instructions are computed accurately: kinder than the device, whose errors the ISA states.
"""

from ..lowering import check_modifiers, lowers
from ..types import RAW, RAW_NAME, type_of
from .carries import with_carry

_PACKED = {
    "f16x2": ("floats.halves_f16", "floats.pack_f16"),
    "bf16x2": ("floats.halves_bf16", "floats.pack_bf16"),
    "f32x2": ("floats.halves_f32", "floats.pack_f32"),
}
_ROUNDINGS = ("rn", "rz", "rm", "rp")


def _operands(low, instruction, type_name, first=1):
    """The sources as expressions; packed ones with a last axis of two, denormals flushed where .ftz says so."""
    values = []
    for operand in instruction.operands[first:]:
        value = low.read(operand, type_name)
        if type_name in _PACKED:
            value = f"{_PACKED[type_name][0]}({value})"
        if "ftz" in instruction.modifiers:
            if type_name in ("f16", "f16x2"):
                raise instruction.unsupported("halves are not flushed here")
            if type_name in ("f32", "f32x2"):
                value = f"floats.flush({value})"
        values.append(value)
    return values


def _result(low, instruction, type_name, value):
    modifiers = instruction.modifiers
    if "sat" in modifiers:
        value = f"floats.clamp01({value})"
    if "relu" in modifiers:
        value = f"floats.relu({value})"
    if "ftz" in modifiers and type_name in ("f32", "f32x2"):
        value = f"floats.flush({value})"
    if type_name in _PACKED:
        low.write(
            instruction.operands[0],
            f"{_PACKED[type_name][1]}({value})",
            f"b{type_of(type_name).bits}",
        )
    else:
        low.write(instruction.operands[0], value, type_name)


def _rounding(instruction):
    return next((part for part in instruction.modifiers if part in _ROUNDINGS), "rn")


def _narrowed(low, wide, type_name, rounding):
    """A float64 expression (exact, or with an odd last bit) as one of the type."""
    if type_name == "f32":
        if rounding == "rn":
            return f"({wide}).astype(f4)"
        return f"floats.narrow({wide}, f4, '{rounding}')"
    if type_name in ("f16", "f16x2"):
        return f"({wide}).astype(f2)"
    return f"({wide})"


def _mixed(instruction):
    """Of add, sub and fma: the type of the first operands where it is narrower than the float32 of the rest."""
    modifiers = instruction.modifiers
    return (
        modifiers[-1] if modifiers[-2:-1] == ["f32"] and modifiers[-1] in ("f16", "bf16") else None
    )


def _mixed_precision(low, instruction, narrow):
    """add, sub and fma of f16 or bf16 with float32: all is computed and rounded once, as float32."""
    check_modifiers(instruction, ("f32", "sat") + _ROUNDINGS)
    *first, last = instruction.operands[1:]
    values = [low.read(operand, narrow) for operand in first]
    if narrow == "f16":
        values = [f"{value}.astype(f4)" for value in values]
    c = low.read(last, "f32")
    rounding = _rounding(instruction)
    if instruction.name == "fma":
        a, b = values
        exact = f"floats.fma_directed({a}, {b}, {c}, '{rounding}')"
        value = f"floats.fma_f32({a}, {b}, {c})"
    else:
        sign = "" if instruction.name == "add" else "-"
        exact = f"floats.sum_directed({values[0]}, {sign}{c}, '{rounding}')"
        value = f"({values[0]} {sign or '+'} {c})"
    if rounding != "rn":
        value = _narrowed(low, exact, "f32", rounding)
    if "sat" in instruction.modifiers:
        value = f"floats.clamp01({value})"
    low.write(instruction.operands[0], value, "f32")


@lowers("add", "sub")
def add(low, instruction):
    narrow = _mixed(instruction)
    if narrow:
        _mixed_precision(low, instruction, narrow)
        return
    sign = "+" if instruction.name == "add" else "-"
    type_name = instruction.modifiers[-1]
    kind = type_of(type_name).kind
    if "cc" in instruction.modifiers:
        with_carry(low, instruction)
        return
    check_modifiers(instruction, ("ftz", "sat") + _ROUNDINGS)
    if kind in "us":
        a, b = _operands(low, instruction, type_name)
        if "sat" in instruction.modifiers:
            if type_name != "s32":
                raise instruction.unsupported()
            low.write(
                instruction.operands[0],
                f"integers.saturated({a}.astype(i8) {sign} {b}, i4)",
                type_name,
            )
            return
        # Bits are added: signs make no difference, and nothing overflows loudly.
        bare = f"b{type_name[1:]}"
        a, b = (low.read(operand, bare) for operand in instruction.operands[1:])
        low.write(instruction.operands[0], f"({a} {sign} {b})", bare)
        return
    if kind in ("u16x2", "s16x2"):
        a, b = (f"integers.halves_u16({low.read(o, 'b32')}, 'u')" for o in instruction.operands[1:])
        low.write(instruction.operands[0], f"integers.pack_u16({a} {sign} {b})", "b32")
        return
    a, b = _operands(low, instruction, type_name)
    rounding = _rounding(instruction)
    if rounding != "rn":
        if type_name != "f32":
            raise instruction.unsupported()
        minus = "" if sign == "+" else "-"
        exact = f"floats.sum_directed({a}, {minus}{b}, '{rounding}')"
        value = _narrowed(low, exact, type_name, rounding)
    else:
        value = f"({a} {sign} {b})"
    _result(low, instruction, type_name, value)


@lowers("mul", "mul24")
def mul(low, instruction):
    type_name = instruction.modifiers[-1]
    bits, kind = type_of(type_name)
    form = instruction.modifiers[0]
    if instruction.name == "mul24":
        raise instruction.unsupported()
    if kind in "us":
        check_modifiers(instruction, ("wide", "hi", "lo"))
        if form == "wide":
            low.write(instruction.operands[0], _wide_product(low, instruction), f"{kind}{2 * bits}")
        elif form == "hi":
            a, b = _operands(low, instruction, type_name)
            low.write(instruction.operands[0], f"integers.multiply_high({a}, {b})", type_name)
        else:
            bare = f"b{bits}"
            a, b = (low.read(operand, bare) for operand in instruction.operands[1:])
            low.write(instruction.operands[0], f"({a} * {b})", bare)
        return
    check_modifiers(instruction, ("ftz", "sat") + _ROUNDINGS)
    a, b = _operands(low, instruction, type_name)
    rounding = _rounding(instruction)
    if rounding != "rn":
        if type_name != "f32":
            raise instruction.unsupported()
        value = _narrowed(low, f"{a}.astype(f8) * {b}", type_name, rounding)
    else:
        value = f"({a} * {b})"
    if "ftz" in instruction.modifiers and type_name == "f32":
        value = f"floats.flush_exact({value}, {a}.astype(f8) * {b})"
    _result(low, instruction, type_name, value)


def _wide_product(low, instruction):
    type_name = instruction.modifiers[-1]
    bits, kind = type_of(type_name)
    wide = f"{'i' if kind == 's' else 'u'}{bits // 4}"
    a, b = (low.read(operand, type_name) for operand in instruction.operands[1:3])
    return f"({a}.astype({wide}) * {b}.astype({wide}))"


@lowers("mad")
def mad(low, instruction):
    type_name = instruction.modifiers[-1]
    bits, kind = type_of(type_name)
    if kind == "f":
        fma(low, instruction)
        return
    if "cc" in instruction.modifiers:
        with_carry(low, instruction)
        return
    modifiers = check_modifiers(instruction, ("wide", "lo", "hi", "sat"))
    if "sat" in modifiers:
        raise instruction.unsupported()
    destination, a, b, c = instruction.operands
    if "wide" in modifiers:
        whole = f"b{2 * bits}"
        product = f"{_wide_product(low, instruction)}.view({RAW_NAME[2 * bits]})"
        low.write(destination, f"({product} + {low.read(c, whole)})", whole)
    elif "hi" in modifiers:
        high = f"integers.multiply_high({low.read(a, type_name)}, {low.read(b, type_name)})"
        bare = f"b{bits}"
        low.write(destination, f"({high}.view({RAW_NAME[bits]}) + {low.read(c, bare)})", bare)
    else:
        bare = f"b{bits}"
        low.write(
            destination, f"({low.read(a, bare)} * {low.read(b, bare)} + {low.read(c, bare)})", bare
        )


@lowers("fma")
def fma(low, instruction):
    narrow = _mixed(instruction)
    if narrow:
        _mixed_precision(low, instruction, narrow)
        return
    type_name = instruction.modifiers[-1]
    check_modifiers(instruction, ("ftz", "sat", "relu") + _ROUNDINGS)
    a, b, c = _operands(low, instruction, type_name)
    rounding = _rounding(instruction)
    if type_name == "f64" and rounding == "rn":
        value = f"floats.fma_f64({a}, {b}, {c})"
    elif type_name in ("f32", "f32x2") and rounding == "rn":
        value = f"floats.fma_f32({a}, {b}, {c})"
        if "ftz" in instruction.modifiers:
            exact = f"floats.sum_to_odd({a}.astype(f8) * {b}, {c}.astype(f8))"
            value = f"floats.flush_exact({value}, {exact})"
    elif type_name == "f32":
        exact = f"floats.fma_directed({a}, {b}, {c}, '{rounding}')"
        value = _narrowed(low, exact, type_name, rounding)
    elif type_name in ("f16", "bf16", "f16x2", "bf16x2") and rounding == "rn":
        value = _narrowed(low, f"floats.fma_small({a}, {b}, {c})", type_name, rounding)
    else:
        raise instruction.unsupported()
    _result(low, instruction, type_name, value)


@lowers("div")
def div(low, instruction):
    type_name = instruction.modifiers[-1]
    a, b = _operands(low, instruction, type_name)
    if type_of(type_name).kind in "us":
        low.write(instruction.operands[0], f"integers.divide({a}, {b})", type_name)
        return
    modifiers = check_modifiers(instruction, ("full", "approx", "rn", "ftz"))
    if not modifiers & {"full", "approx", "rn"}:
        raise instruction.unsupported("a division without its rounding")
    _result(low, instruction, type_name, f"({a} / {b})")


@lowers("rem")
def rem(low, instruction):
    type_name = instruction.modifiers[-1]
    a, b = _operands(low, instruction, type_name)
    low.write(instruction.operands[0], f"integers.remainder({a}, {b})", type_name)


@lowers("min", "max")
def extreme(low, instruction):
    type_name = instruction.modifiers[-1]
    kind = type_of(type_name).kind
    which = "minimum" if instruction.name == "min" else "maximum"
    modifiers = check_modifiers(instruction, ("ftz", "NaN", "xorsign", "abs", "relu"))
    relu = "relu" in modifiers
    if modifiers & {"xorsign", "abs"}:
        _extreme_of_magnitudes(low, instruction, type_name, which, modifiers)
        return
    if kind in ("u", "s", "u16x2", "s16x2") and relu and type_name not in ("s32", "s16x2"):
        raise instruction.unsupported()
    if kind in "us":
        a, b = _operands(low, instruction, type_name)
        value = f"np.{which}({a}, {b})"
        low.write(instruction.operands[0], f"np.maximum({value}, 0)" if relu else value, type_name)
        return
    if kind in ("u16x2", "s16x2"):
        a, b = (
            f"integers.halves_u16({low.read(o, 'b32')}, '{kind}')" for o in instruction.operands[1:]
        )
        value = f"np.{which}({a}, {b})"
        value = f"np.maximum({value}, 0)" if relu else value
        low.write(instruction.operands[0], f"integers.pack_u16({value})", "b32")
        return
    values = _operands(low, instruction, type_name)
    function = f"floats.{which}{'_nan' if 'NaN' in modifiers else ''}"
    value = values[0]
    for other in values[1:]:
        value = f"{function}({value}, {other})"
    _result(low, instruction, type_name, value)


def _extreme_of_magnitudes(low, instruction, type_name, which, modifiers):
    """`.abs` compares magnitudes; with `.xorsign` the result has the product of the signs, unless it is NaN."""
    values = _operands(low, instruction, type_name)
    two = len(values) == 2
    if type_of(type_name).kind in ("u", "s", "u16x2", "s16x2") or "relu" in modifiers:
        raise instruction.unsupported()
    if "abs" not in modifiers or ("xorsign" in modifiers) != two:
        # PTX has .xorsign.abs of two operands, and .abs of three.
        raise instruction.unsupported()
    values = [low.temporary(value) for value in values]
    function = f"floats.{which}{'_nan' if 'NaN' in modifiers else ''}"
    value = f"np.abs({values[0]})"
    for other in values[1:]:
        value = f"{function}({value}, np.abs({other}))"
    if two:
        value = f"floats.with_signs({value}, {values[0]}, {values[1]})"
    _result(low, instruction, type_name, value)


@lowers("abs", "neg")
def sign(low, instruction):
    """On floats the sign bit alone changes, of NaN too."""
    type_name = instruction.modifiers[-1]
    bits, kind = type_of(type_name)
    check_modifiers(instruction, ("ftz",))
    destination, operand = instruction.operands
    if kind == "s":
        value = low.read(operand, type_name)
        low.write(
            destination,
            f"(-{value})" if instruction.name == "neg" else f"np.abs({value})",
            type_name,
        )
        return
    if kind == "u":
        raise instruction.unsupported()
    raw = low.read(operand, f"b{bits}")
    if "ftz" in instruction.modifiers and type_name == "f32":
        raw = f"floats.flush({low.read(operand, 'f32')}).view(u4)"
    mask = 1 << (bits - 1)
    if kind in ("f16x2", "bf16x2"):
        mask |= 1 << 15
    whole = RAW[bits]
    if instruction.name == "neg":
        value = f"({raw} ^ {low.constant(mask, whole)})"
    else:
        value = f"({raw} & {low.constant((1 << bits) - 1 - mask, whole)})"
    low.write(destination, value, f"b{bits}")


@lowers("copysign")
def copysign(low, instruction):
    type_name = instruction.modifiers[-1]
    destination, sign_of, size = instruction.operands
    value = f"np.copysign({low.read(size, type_name)}, {low.read(sign_of, type_name)})"
    low.write(destination, value, type_name)


_FUNCTIONS = {
    "ex2": "np.exp2({})", "lg2": "np.log2({})", "sqrt": "np.sqrt({})", "sin": "np.sin({})", "cos": "np.cos({})",
    "tanh": "np.tanh({})", "rcp": "(f4(1) / {})", "rsqrt": "(f4(1) / np.sqrt({}))",
}  # fmt: skip
# Their float32 results differ with numpy's release and the processor, and a half rounded from them does; rounded from
# float64 they do not.
_BY_FLOAT64 = frozenset({"ex2", "lg2", "sin", "cos", "tanh"})


@lowers(*_FUNCTIONS)
def function(low, instruction):
    type_name = instruction.modifiers[-1]
    modifiers = check_modifiers(instruction, ("approx", "ftz", "rn", "ftz64"))
    if not modifiers & {"approx", "rn"}:
        raise instruction.unsupported("without its rounding")
    (value,) = _operands(low, instruction, type_name)
    if type_name == "f64":
        text = _FUNCTIONS[instruction.name].replace("f4(1)", "f8(1)").format(value)
    elif instruction.name in _BY_FLOAT64:
        narrow = "f2" if type_name == "f16" else "f4"
        text = _FUNCTIONS[instruction.name].format(f"{value}.astype(f8)") + f".astype({narrow})"
    else:
        text = _FUNCTIONS[instruction.name].format(value)
    _result(low, instruction, type_name, text)


@lowers("dp4a")
def dp4a(low, instruction):
    a_type, b_type = instruction.modifiers
    a, b, c = (low.read(operand, "b32") for operand in instruction.operands[1:])
    signs = f"{a_type == 's32'}, {b_type == 's32'}"
    low.write(instruction.operands[0], f"integers.dot_product({a}, {b}, {c}, {signs})", "b32")


@lowers("sad")
def sad(low, instruction):
    type_name = instruction.modifiers[-1]
    a, b, c = _operands(low, instruction, type_name)
    low.write(instruction.operands[0], f"(integers.absolute_difference({a}, {b}) + {c})", type_name)
