"""cvt: between integers, floats, and the small floats."""

from ..lowering import lowers
from ..types import type_of

_TO_FLOAT = ("rn", "rz", "rm", "rp", "rna")
_TO_INTEGER = {"rni": "np.rint", "rzi": "np.trunc", "rmi": "np.floor", "rpi": "np.ceil"}
_KNOWN = set(_TO_FLOAT) | set(_TO_INTEGER) | {"ftz", "sat", "relu", "satfinite"}
_FP8_PAIRS = {"e4m3x2": "e4m3", "e5m2x2": "e5m2"}


@lowers("cvt")
def cvt(low, instruction):
    *modifiers, to, source = instruction.modifiers
    for part in modifiers:
        if part not in _KNOWN:
            raise instruction.unsupported(f"modifier .{part}")
    if to == "pack" or "pack" in modifiers:
        raise instruction.unsupported()
    rounding = next((part for part in modifiers if part in _TO_FLOAT or part in _TO_INTEGER), None)
    if to in ("f16x2", "bf16x2") and source == "f32":
        _pair(low, instruction, to, rounding)
    elif to in _FP8_PAIRS or source in _FP8_PAIRS:
        _fp8(low, instruction, to, source)
    elif to == "ue8m0x2" and source == "f32":
        _ue8m0(low, instruction, rounding)
    elif to == "tf32":
        _tf32(low, instruction, rounding)
    else:
        _scalar(low, instruction, to, source, rounding)


def _floats(low, instruction, count):
    values = [low.read(operand, "f32") for operand in instruction.operands[1 : 1 + count]]
    if "relu" in instruction.modifiers:
        values = [f"floats.relu({value})" for value in values]
    return values


def _pair(low, instruction, to, rounding):
    """Two floats to packed halves: the first operand goes to the high half."""
    if "satfinite" in instruction.modifiers:
        raise instruction.unsupported()
    high, low_half = _floats(low, instruction, 2)
    if to == "bf16x2":
        function = f"floats.narrow_bf16({{}}, '{rounding}')"
    elif rounding == "rn":
        function = "({}).astype(f2).view(u2)"
    else:
        function = f"floats.narrow({{}}, f2, '{rounding}').view(u2)"
    value = f"(({function.format(high)}.astype(u4) << u4(16)) | {function.format(low_half)})"
    low.write(instruction.operands[0], value, "b32")


def _fp8(low, instruction, to, source):
    if source in _FP8_PAIRS:
        pairs = (
            f"floats.pairs_fp8({low.read(instruction.operands[1], 'b16')}, '{_FP8_PAIRS[source]}')"
        )
        if to != "f16x2":
            raise instruction.unsupported()
        if "relu" in instruction.modifiers:
            pairs = f"floats.relu({pairs})"
        low.write(instruction.operands[0], f"floats.pack_f16({pairs})", "b32")
        return
    kind = _FP8_PAIRS[to]
    if source == "f32":
        high, low_half = _floats(low, instruction, 2)
        value = f"((floats.to_fp8({high}, '{kind}').astype(u2) << u2(8)) | floats.to_fp8({low_half}, '{kind}'))"
    elif source == "f16x2":
        pair = f"floats.halves_f16({low.read(instruction.operands[1], 'b32')})"
        if "relu" in instruction.modifiers:
            pair = f"floats.relu({pair})"
        value = f"floats.pack_fp8({pair}, '{kind}')"
    else:
        raise instruction.unsupported()
    low.write(instruction.operands[0], value, "b16")


def _ue8m0(low, instruction, rounding):
    """Two floats to powers of two: the first operand goes to the high byte."""
    if rounding not in ("rz", "rp") or "satfinite" not in instruction.modifiers:
        raise instruction.unsupported()
    high, low_half = (
        f"floats.to_ue8m0({value}, '{rounding}')" for value in _floats(low, instruction, 2)
    )
    low.write(instruction.operands[0], f"(({high} << u2(8)) | {low_half})", "b16")


def _tf32(low, instruction, rounding):
    if "satfinite" in instruction.modifiers:
        raise instruction.unsupported()
    (value,) = _floats(low, instruction, 1)
    low.write(instruction.operands[0], f"floats.to_tf32({value}, '{rounding}')", "b32")


def _scalar(low, instruction, to, source, rounding):
    modifiers = instruction.modifiers
    destination, operand = instruction.operands
    to_bits, to_kind = type_of(to)
    bits, kind = type_of(source)
    value = low.read(operand, source)
    if "ftz" in modifiers and source == "f32":
        value = f"floats.flush({value})"
    numpy_to = f"{'i' if to_kind == 's' else 'u'}{to_bits // 8}"
    if kind in "usb" and to_kind in "usb":
        if "sat" in modifiers:
            low.write(destination, f"integers.saturated({value}, {numpy_to})", to)
        else:
            wide = f"{'i' if kind == 's' else 'u'}{max(bits, to_bits) // 8}"
            low.write(destination, f"{value}.astype({wide}).astype({numpy_to})", to)
        return
    if kind in ("f", "bf") and to_kind in "us":
        bounds = (
            (-(1 << to_bits - 1), (1 << to_bits - 1) - 1)
            if to_kind == "s"
            else (0, (1 << to_bits) - 1)
        )
        rounded = _TO_INTEGER[rounding]
        value = f"floats.to_integer({value}, {bounds[0]}, {bounds[1]}, {numpy_to}, {rounded})"
        low.write(destination, value, to)
        return
    if kind in "us":
        _from_integer(low, instruction, destination, value, to, bits, rounding)
        return
    _between_floats(low, instruction, destination, value, to, source, rounding)


def _from_integer(low, instruction, destination, value, to, bits, rounding):
    to_bits, to_kind = type_of(to)
    if rounding != "rn":
        if to == "f32" and bits <= 32:
            low.write(destination, f"floats.narrow({value}.astype(f8), f4, '{rounding}')", to)
            return
        raise instruction.unsupported()
    if to_kind == "bf" or to_bits == 16:
        # 64-bit integers are no float64 numbers; as float16 those that are none are infinite.
        if bits > 32 and to_kind == "bf":
            raise instruction.unsupported()
        value = f"{value}.astype(f8)" + ("" if to_kind == "bf" else ".astype(f2)")
    else:
        value = f"{value}.astype(f{to_bits // 8})"
    low.write(destination, value, to)


def _between_floats(low, instruction, destination, value, to, source, rounding):
    modifiers = instruction.modifiers
    to_bits, to_kind = type_of(to)
    bits = type_of(source).bits
    if rounding in _TO_INTEGER:
        value = f"{_TO_INTEGER[rounding]}({value})"
    if "sat" in modifiers:
        value = f"floats.clamp01({value})"
    if "relu" in modifiers:
        value = f"floats.relu({value})"
    if to_kind == "bf":
        if source == "f64":
            raise instruction.unsupported()
        value = f"floats.narrow_bf16({value}, '{rounding or 'rn'}')"
        low.write(destination, value, "b16")
        return
    if to_bits < bits and rounding in ("rz", "rm", "rp"):
        value = f"floats.narrow({value}, f{to_bits // 8}, '{rounding}')"
    else:
        value = f"({value}).astype(f{to_bits // 8})"
    if "ftz" in modifiers and to == "f32":
        value = f"floats.flush({value})"
    low.write(destination, value, to)
