"""wgmma: operands by descriptors of shared memory, accumulators in the registers of 128 threads."""

import re

import numpy as np

from .errors import Unsupported
from .operands import offsets, swizzled
from .tensor_cores import elements, multiplied
from .types import f2, f4, f8, i4, i8, u4, u8

_BITS = {"f16": 16, "bf16": 16, "tf32": 32}
# Span of the swizzle in bytes, by the descriptor's mode.
_SPAN = {0: 0, 1: 128, 2: 64, 3: 32}


class Warpgroups:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        self.groups = machine.threads // 128

    def _operand(self, at, descriptor, rows, depth, kind, transposed, active):
        """The elements (CTAs, groups, rows, depth) that a descriptor means."""
        machine, size = self.machine, _BITS.get(kind, 8) // 8
        words = np.broadcast_to(descriptor, self.shape).reshape(self.shape[0], -1, 128)[:, :, 0]
        words = words.astype(u8)
        if active is not None:
            # Descriptors of those who take no part hold anything.
            words = np.where(active, words, words[active][0])
        form = int(words.flat[0] >> u8(16))
        if ((words >> u8(16)) != u8(form)).any():
            raise Unsupported("wgmma with descriptors of different layouts")
        leading, stride, mode = (form & 0x3FFF) << 4, (form >> 16 & 0x3FFF) << 4, form >> 46 & 3
        # Without a swizzle it means nothing, and Triton leaves bits there (PTX ISA, "Matrix Descriptor Format").
        base = form >> 33 & 7
        start = ((words & u8(0x3FFF)) << u8(4)).astype(i8)
        span = _SPAN[mode]
        address = start[:, :, None, None] + offsets(
            rows, depth, size, bool(transposed), leading, stride, span
        )
        address = swizzled(address, span, base)
        who = None if active is None else active[:, :, None, None]
        machine.shared.check(at, "wgmma", address.astype(u4), who, size, (0, 0))
        index = (machine.shared.base[:, :, None, None] + address) // size
        raw = machine.shared.data[size][index]
        if kind == "tf32":
            return elements(raw, kind)
        return elements(np.ascontiguousarray(raw), kind)

    def multiply(self, at, shape, kinds, d, a, b, scale_d, signs, transposed, mask):
        """wgmma.mma_async: D = A * B + D, or without D where `scale_d` is false."""
        d_kind, a_kind, b_kind = kinds
        count, depth = map(int, re.findall(r"\d+", shape)[1:])
        ctas, groups = self.shape[0], self.groups
        active = None
        if mask is not None:
            active = np.broadcast_to(mask, self.shape).reshape(ctas, -1, 128)[:, :, 0]
            if not active.any():
                return [np.zeros((1, 1), u4)] * len(d)
        right = self._operand(at, b, count, depth, b_kind, transposed[1], active)
        if isinstance(a, tuple):
            stacked = self.machine.tensor_cores.registers(a)
            left = elements(stacked.reshape(ctas, groups, 4, 8, 4, 4), a_kind)
            per = 32 // _BITS.get(a_kind, 8)
            left = left.reshape(ctas, groups, 4, 8, 4, 2, 2, per).transpose(0, 1, 2, 6, 3, 5, 4, 7)
            left = left.reshape(ctas, groups, 64, depth)
        else:
            left = self._operand(at, a, 64, depth, a_kind, transposed[0], active)
        if active is not None and not active.all():
            # Contents of the inactive ones' shared memory must not cause warnings or cost time: use zeros.
            left = np.where(active[:, :, None, None], left, left.dtype.type(0))
        product = multiplied(left, right.transpose(0, 1, 3, 2))
        if signs != (1, 1):
            product = product * product.dtype.type(signs[0] * signs[1])
        product = product.reshape(ctas, groups, 4, 2, 8, count // 8, 4, 2)
        product = product.transpose(0, 1, 2, 4, 6, 5, 3, 7)
        return self._accumulated(product, d, d_kind, scale_d)

    def _accumulated(self, product, d, kind, scale):
        ctas, groups = self.shape[0], self.groups
        if scale is not None and scale.size == 1:
            scale = None if scale.flat[0] else False
        if scale is False:
            total = product
        else:
            raw = self.machine.tensor_cores.registers(d)
            if kind == "f16":
                old = raw.view(f2).reshape(product.shape).astype(f4)
            elif kind == "s32":
                old = raw.view(i4).reshape(product.shape).astype(f8)
            else:
                old = raw.view(f4).reshape(product.shape)
            if scale is not None:
                by_lane = np.broadcast_to(scale, self.shape).reshape(ctas, groups, 4, 8, 4)
                old = np.where(by_lane[..., None, None, None], old, old.dtype.type(0))
            total = product + old
        if kind == "f16":
            result = np.ascontiguousarray(total.astype(f2)).view(u4)
        elif kind == "s32":
            result = total.astype(i8).astype(u4)
        else:
            result = total.astype(f4).view(u4)
        result = result.reshape(ctas, self.shape[1], len(d)).transpose(2, 0, 1)
        return list(np.ascontiguousarray(result))
