"""mma.sync, ldmatrix and stmatrix: how a matrix lies in the registers of a warp, and its product.

Products of 16-bit and 8-bit floats are exact in float32; their sums are made in float64 and rounded to float32 once.
Hardware adds in groups and cuts bits off, so results differ in the last places.
"""

from collections import OrderedDict

import numpy as np

from .errors import Unsupported
from .floats import FP4, FP8, from_bf16, product_in_order, scale_factors
from .types import f2, f4, f8, i1, i4, i8, u1, u2, u4

# Elements of a 32-bit register, by (shape, type of A).
FORMS = {
    ("m16n8k8", "f16"): 2, ("m16n8k8", "bf16"): 2, ("m16n8k16", "f16"): 2, ("m16n8k16", "bf16"): 2,
    ("m16n8k4", "tf32"): 1, ("m16n8k8", "tf32"): 1,
    ("m16n8k16", "s8"): 4, ("m16n8k16", "u8"): 4, ("m16n8k32", "s8"): 4, ("m16n8k32", "u8"): 4,
    ("m16n8k16", "e4m3"): 4, ("m16n8k16", "e5m2"): 4, ("m16n8k32", "e4m3"): 4, ("m16n8k32", "e5m2"): 4,
}  # fmt: skip
# Likewise with scale factors, by the kind as well.
SCALED_FORMS = {
    ("mxf8f6f4", "m16n8k32", "e4m3"): 4, ("mxf8f6f4", "m16n8k32", "e5m2"): 4,
    ("mxf4", "m16n8k64", "e2m1"): 8, ("mxf4nvf4", "m16n8k64", "e2m1"): 8,
}  # fmt: skip


def elements(raw, kind):
    """The values in 32-bit registers (…, n), as (…, n * elements): float32, or float64 for integers."""
    if kind == "f16":
        return raw.view(f2).astype(f4)
    if kind == "bf16":
        return from_bf16(raw.view(u2))
    if kind == "tf32":
        return (raw & u4(0xFFFFE000)).view(f4)
    if kind in ("s8", "u8"):
        return raw.view(i1 if kind == "s8" else u1).astype(f8)
    if kind in FP8:
        return FP8[kind][raw.view(u1)]
    if kind == "e2m1":
        pairs = raw.view(u1)
        return FP4[np.stack([pairs & u1(15), pairs >> u1(4)], -1).reshape(*pairs.shape[:-1], -1)]
    raise Unsupported(f"elements of type {kind}")


def multiplied(left, right):
    """left @ right, with the type of left.

    BLAS adds float32 in an order of the CPU and of the row's place in its matrix. Numbers must depend on neither.
    """
    if left.dtype != f4:
        return np.matmul(left, right)
    with np.errstate(over="ignore"):
        return np.matmul(left.astype(f8), right.astype(f8)).astype(f4)


def rounded_sum(product, c, kind):
    """product + c as the raw bits of an accumulator."""
    if kind == "f16":
        return np.ascontiguousarray((product + c.view(f2)).astype(f2))
    if kind == "s32":
        return (product.astype(i8) + c.view(i4)).astype(i8).astype(u4)
    return np.add(product, c.view(f4), order="C").view(u4)


class TensorCores:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        self.warps = machine.ctas * machine.threads // 32
        # Fragments by the registers that they were made of: each is met by many products.
        self._fragments = OrderedDict()

    def registers(self, values):
        """Raw registers as (warps, 8 rows, 4 columns, n)."""
        stacked = np.empty((*self.shape, len(values)), values[0].dtype)
        for place, value in enumerate(values):
            stacked[..., place] = value
        return stacked.reshape(self.warps, 8, 4, len(values))

    def _fragment(self, values, kind, per, left):
        """A or B as (warps, rows, columns), ready to be multiplied."""
        key = (kind, left, *map(id, values))
        entry = self._fragments.get(key)
        if entry is not None:
            return entry[1]
        warps, count = self.warps, len(values)
        matrix = elements(self.registers(values), kind)
        if left:
            matrix = matrix.reshape(warps, 8, 4, count // 2, 2, per).transpose(0, 4, 1, 3, 2, 5)
            matrix = matrix.reshape(warps, 16, count // 2 * 4 * per)
        else:
            matrix = matrix.reshape(warps, 8, 4, count, per).transpose(0, 3, 2, 4, 1)
            matrix = matrix.reshape(warps, count * 4 * per, 8)
        # With the registers themselves, so that their ids are not given to others. Nothing changes them in place.
        self._fragments[key] = (values, matrix)
        if len(self._fragments) > 48:
            self._fragments.popitem(last=False)
        return matrix

    def mma(self, shape, kinds, a, b, c, saturate):
        """D = A * B + C; `kinds` are the types of D, A, B and C."""
        d_kind, a_kind, b_kind, c_kind = kinds
        per = FORMS[shape, a_kind]
        warps = self.warps
        left = self._fragment(a, a_kind, per, left=True)
        right = self._fragment(b, b_kind, per, left=False)
        product = multiplied(left, right)
        product = product.reshape(warps, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4)
        add = self.registers(c)
        if d_kind == "f16":
            add = add.view(f2).reshape(product.shape)
            result = np.ascontiguousarray((product + add).astype(f2)).view(u4)
        elif c_kind == "s32" and saturate:
            total = product.astype(i8) + add.view(i4).reshape(product.shape)
            result = np.clip(total, -(2**31), 2**31 - 1).astype(i4).view(u4)
        else:
            result = rounded_sum(product, add.reshape(product.shape), c_kind)
        result = np.ascontiguousarray(result.reshape(warps * 32, -1).T)
        return list(result.reshape(-1, *self.shape))

    def mma_scaled(self, form, kinds, a, b, c, scales, blocks, scale_kind):
        """D = (A * its factors) * (B * its factors) + C, of float32.

        Args:
            form: (kind, shape, type of A).
            kinds: types of A and B.
            scales: of A and of B, (register, first byte, thread): a row's factors are in the lane of its quad that is
                two times `thread`, and the next for the upper eight rows; a column's in lane `thread` of its quad.
            blocks: bytes of factors of a row or column, each for the same number of elements of K.
        """
        per, warps = SCALED_FORMS[form], self.warps
        left = self._fragment(a, kinds[0], per, left=True)
        right = self._fragment(b, kinds[1], per, left=False)
        quads = 4 * np.arange(8)
        rows = np.concatenate([quads, quads + 1]) + 2 * scales[0][2]
        factors = []
        for (value, first, _), at in zip(scales, (rows, quads + scales[1][2])):
            words = np.ascontiguousarray(
                np.broadcast_to(value, self.shape).reshape(warps, 32)[:, at]
            )
            raw = words[..., None].view(u1)[..., first : first + blocks]
            factors.append(np.repeat(scale_factors(raw, scale_kind), left.shape[2] // blocks, 2))
        product = np.matmul(left * factors[0], right * factors[1].transpose(0, 2, 1))
        product = product.reshape(warps, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4)
        add = self.registers(c).view(f4).reshape(product.shape)
        result = np.ascontiguousarray((product + add).astype(f4)).view(u4)
        result = np.ascontiguousarray(result.reshape(warps * 32, -1).T)
        return list(result.reshape(-1, *self.shape))

    def mma_f64(self, a, b, c):
        """m8n8k4 of float64."""
        warps = self.warps
        left = self.registers(a).view(f8).reshape(warps, 8, 4)
        right = self.registers(b).view(f8).reshape(warps, 8, 4).transpose(0, 2, 1)
        result = product_in_order(left, right).reshape(warps, 8, 4, 2)
        result = result + self.registers(c).view(f8)
        result = result.reshape(warps * 32, 2).view(np.uint64)
        return [np.ascontiguousarray(result[:, n]).reshape(self.shape) for n in range(2)]

    def _rows(self, at, what, address, condition, count):
        """Flat byte index of each row (CTAs, warps, rows): lane i has the address of row i."""
        shape = (self.shape[0], self.shape[1] // 32, 32)
        if address.shape != self.shape:
            address = np.broadcast_to(address, self.shape)
        rows, active, checked = address.reshape(shape)[:, :, : 8 * count], None, None
        if condition is not None:
            condition = np.broadcast_to(condition, self.shape)
            active = condition.reshape(shape)[:, :, : 8 * count]
            if not active.any():
                return None, active
            rows = np.where(active, rows, rows[active][0])
            # Only the lanes whose addresses are read.
            checked = np.zeros(shape, bool)
            checked[:, :, : 8 * count] = active
            checked = checked.reshape(self.shape)
        full = np.tile(rows, (1, 1, 4 // count)).reshape(self.shape)
        shared = self.machine.shared
        shared.check(at, what, full, checked, 16)
        if shared.cluster > 1:
            rows = rows & u4(0xFFFFFF)
        return shared.base[:, :, None] + rows.astype(i8), active

    def load_matrices(self, at, address, condition, count, transpose):
        """ldmatrix of `count` 8x8 matrices of 16 bits."""
        index, _ = self._rows(at, "ldmatrix", address, condition, count)
        if index is None:
            return [np.zeros((1, 1), u4)] * count
        rows = np.ascontiguousarray(self.machine.shared.data[16][index // 16].reshape(-1, count, 8))
        if transpose:
            halves = rows.view(u2).reshape(-1, count, 8, 8).transpose(0, 1, 3, 2)
            values = np.ascontiguousarray(halves).view(u4).reshape(-1, count, 32)
        else:
            values = rows.view(u4).reshape(-1, count, 32)
        values = np.ascontiguousarray(values.transpose(1, 0, 2))
        return list(values.reshape(count, *self.shape))

    def store_matrices(self, at, address, condition, values, transpose):
        """stmatrix."""
        count = len(values)
        self.machine.progress += 1
        index, active = self._rows(at, "stmatrix", address, condition, count)
        if index is None:
            return
        raw = np.stack([np.broadcast_to(value, self.shape).reshape(-1, 32) for value in values], 1)
        if transpose:
            halves = np.ascontiguousarray(raw).view(u2).reshape(-1, count, 8, 8)
            raw = np.ascontiguousarray(halves.transpose(0, 1, 3, 2))
        rows = np.ascontiguousarray(raw).view(u1).reshape(self.shape[0], -1, 8 * count, 16)
        rows = rows.view("V16")[..., 0]
        data = self.machine.shared.data[16]
        if active is None:
            data[index // 16] = rows
        else:
            data[(index // 16)[active]] = rows[active]
