"""Matrix products: MFMA of CDNA, WMMA of RDNA."""

import re

from .. import matrix_products
from ..errors import Unknown
from ..lowering import NAMESPACE, PREFIXES
from ..small_floats import BITS
from ..sources import numbers

NAMESPACE["products"] = matrix_products
# End of the name -> (kinds of A and B, bits of an item).
_ITEMS = {
    "f32": ("f32", 32), "xf32": ("xf32", 32), "f16": ("f16", 16), "bf16": ("bf16", 16), "bf16_1k": ("bf16", 16),
    "f64": ("f64", 64), "i8": ("i8", 8), "fp8_fp8": ("fp8 fp8", 8), "fp8_bf8": ("fp8 bf8", 8),
    "bf8_fp8": ("bf8 fp8", 8), "bf8_bf8": ("bf8 bf8", 8),
}  # fmt: skip
_MFMA = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?(\w+)$")
_WMMA = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x(\d+)_(\w+)$")
_FORMATS = {"0": "fp8", "1": "bf8", "2": "fp6", "3": "bf6", "4": "fp4"}


def mfma(low, name, instruction):
    scaled = name.startswith("v_mfma_scale_")
    match = _MFMA.match(name.replace("v_mfma_scale_", "v_mfma_"))
    if match is None:
        raise Unknown("this form")
    form, m, n, k, _, kind = match.groups()
    m, n, k = int(m), int(n), int(k)
    destination, a, b, c = instruction.operands[:4]
    small = kind == "f8f6f4"
    if small:
        kinds = [_FORMATS[instruction.modifiers.get(key) or "0"] for key in ("cbsz", "blgp")]
        bits = BITS[kinds[0]]
    elif kind in _ITEMS:
        names, bits = _ITEMS[kind]
        kinds = (names.split() * 2)[:2]
    else:
        raise Unknown(f"items of {kind}")
    # How many blocks follows from the items that a lane holds.
    blocks = max(1, low.lanes * a.count * 32 // bits // (m * k))
    if blocks > 1 and m != 4:
        raise Unknown(f"{blocks} blocks of {m} x {n}")
    scales = ""
    if scaled:
        scales = f", ({', '.join(_scale(low, instruction, place) for place in (0, 1))})"
    elif small:
        scales = ", (None, None)"
    count = destination.count
    place = f"{low.file_of(destination)}[{destination.number}:{destination.number + count}]"
    # EXEC is not asked.
    low.emit(
        f"{place} = products.mfma(S, ({m}, {n}, {k}, {blocks}), {tuple(kinds)!r}, {low.words(a, a.count)}, "
        f"{low.words(b, b.count)}, {low.words(c, count)}, {place}, {low.fnuz}, {form!r}, m{scales})"
    )


def _scale(low, instruction, place):
    """The byte of the scale's register that op_sel and op_sel_hi choose."""
    operand = instruction.operands[4 + place]
    lower, upper = (numbers(instruction, key, 0, 3)[place] for key in ("op_sel", "op_sel_hi"))
    return f"products.scale_of(S.whole({low.word(operand)}), {lower + 2 * upper})"


def _write(low, destination):
    """Emits the results. EXEC is not asked."""
    file = low.file_of(destination)
    for place in range(destination.count):
        target = f"{file}[{destination.number + place}]"
        low.emit(f"{target} = t[{place}] if m is None else where(m, t[{place}], {target})")


def wmma(low, name, instruction):
    match = _WMMA.match(re.sub(r"_w32$", "", name))
    if match is None or low.lanes != 32:
        raise Unknown("this form")
    form, _, kind = match.groups()
    destination, a, b, c = instruction.operands[:4]
    if form in ("f16", "bf16") and low.generation[0] == 11:
        raise Unknown("16-bit accumulators of gfx11")
    if kind == "iu8":
        kinds = ["i8" if sign else "u8" for sign in numbers(instruction, "neg_lo", 0, 3)[:2]]
    elif kind in _ITEMS:
        kinds = (_ITEMS[kind][0].split() * 2)[:2]
    else:
        raise Unknown(f"items of {kind}")
    low.emit(
        f"t = products.wmma(S, {tuple(kinds)!r}, {low.words(a, a.count)}, {low.words(b, b.count)}, "
        f"{low.words(c, destination.count)}, {low.generation[0]}, {form!r})"
    )
    _write(low, destination)


PREFIXES.update({"v_mfma_": mfma, "v_wmma_": wmma})
