"""mma.sync, ldmatrix, stmatrix."""

import re

from ..lowering import lowers
from ..tensor_cores import FORMS, SCALED_FORMS


@lowers("mma")
def mma(low, instruction):
    modifiers = instruction.modifiers
    shape = next(part for part in modifiers if re.fullmatch(r"m\d+n\d+k\d+", part))
    if "block_scale" in modifiers:
        _scaled(low, instruction, shape)
        return
    kinds = modifiers[-4:]
    d, a, b, c = instruction.operands[:4]
    if shape == "m8n8k4" and kinds == ["f64"] * 4:
        values = ", ".join(low.values(part, "b64") for part in (a, b, c))
        product = low.temporary(f"S.tensor_cores.mma_f64({values})")
        low.scatter(d, product, "b64")
        return
    known = {"sync", "aligned", "row", "col", "satfinite", shape, *kinds}
    if (shape, kinds[1]) not in FORMS or set(modifiers) - known or len(instruction.operands) > 4:
        raise instruction.unsupported()
    if kinds[0] not in ("f16", "f32", "s32") or kinds[0] != kinds[3]:
        raise instruction.unsupported()
    values = ", ".join(low.values(part, "b32") for part in (a, b, c))
    saturate = "satfinite" in modifiers
    product = low.temporary(f"S.tensor_cores.mma('{shape}', {tuple(kinds)}, {values}, {saturate})")
    low.scatter(d, product, "b32")


# Factors of a row or column, by the name of their number.
_BLOCKS = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4}
_SCALED = {("mxf8f6f4", 1, "ue8m0"), ("mxf4", 2, "ue8m0"), ("mxf4nvf4", 2, "ue8m0"), ("mxf4nvf4", 4, "ue8m0"),
           ("mxf4nvf4", 4, "ue4m3")}  # fmt: skip


def _scaled(low, instruction, shape):
    """mma.sync with a factor for each block of K (sm_120)."""
    modifiers, operands = instruction.modifiers, instruction.operands
    *kinds, scale_kind = modifiers[-5:]
    vector = next((part for part in modifiers if part in _BLOCKS), "")
    kind = next(part for part in modifiers if part.startswith("kind::"))[len("kind::") :]
    known = {
        "sync",
        "aligned",
        "row",
        "col",
        "block_scale",
        f"kind::{kind}",
        vector,
        shape,
        *modifiers[-5:],
    }
    if (kind, _BLOCKS.get(vector), scale_kind) not in _SCALED or set(modifiers) - known:
        raise instruction.unsupported()
    d_kind, a_kind, b_kind, c_kind = kinds
    if {(kind, shape, a_kind), (kind, shape, b_kind)} - SCALED_FORMS.keys() or (d_kind, c_kind) != (
        "f32",
        "f32",
    ):
        raise instruction.unsupported()
    a, b, c = (low.values(part, "b32") for part in operands[1:4])
    scales = []
    for value, which in (operands[4:6], operands[6:8]):
        byte, thread = map(low.integer, low.registers(which))
        scales.append(f"({low.read(value, 'b32')}, {byte}, {thread})")
    loaded = low.temporary(
        f"S.tensor_cores.mma_scaled({(kind, shape, a_kind)}, {(a_kind, b_kind)}, {a}, {b}, {c}, ({', '.join(scales)}), "
        f"{_BLOCKS[vector]}, '{scale_kind}')"
    )
    low.scatter(operands[0], loaded, "b32")


def _count(instruction):
    modifiers = instruction.modifiers
    known = {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta", "b16"}
    if set(modifiers) - known or modifiers[-1] != "b16" or "m8n8" not in modifiers:
        raise instruction.unsupported()
    return int(next(part for part in modifiers if re.fullmatch(r"x\d", part))[1])


@lowers("ldmatrix")
def ldmatrix(low, instruction):
    count, transpose = _count(instruction), "trans" in instruction.modifiers
    address = low.address(instruction.operands[1], 32)
    moved = low.temporary(
        f"S.tensor_cores.load_matrices({instruction.index}, {address}, {low.condition}, {count}, {transpose})"
    )
    low.scatter(instruction.operands[0], moved, "b32")


@lowers("stmatrix")
def stmatrix(low, instruction):
    _count(instruction)
    address = low.address(instruction.operands[0], 32)
    values = low.values(instruction.operands[1], "b32")
    transpose = "trans" in instruction.modifiers
    low.emit(
        f"S.tensor_cores.store_matrices({instruction.index}, {address}, {low.condition}, {values}, {transpose})"
    )
