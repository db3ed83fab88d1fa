"""The descriptors of tcgen05: of a matrix in shared memory, and of an instruction.

Source: PTX ISA 8.7 and later, "Shared memory descriptor" and "Instruction descriptor" of tcgen05.
"""

from .errors import Unsupported

# Spans in bytes by bits 61 to 63; 1 is 128 bytes in pieces of 32.
_SPANS = {0: 0, 2: 128, 4: 64, 6: 32}
_TYPES = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": {0: "e4m3", 1: "e5m2", 5: "e2m1"},
    "i8": {0: "u8", 1: "s8"},
    "mxf8f6f4": {0: "e4m3", 1: "e5m2", 5: "e2m1"},
    "mxf4": {1: "e2m1"},
    "mxf4nvf4": {1: "e2m1"},
}
_RESULTS = {
    "f16": {0: "f16", 1: "f32"},
    "f8f6f4": {0: "f16", 1: "f32"},
    "tf32": {1: "f32"},
    "i8": {2: "s32"},
}
# Elements of K of one instruction.
_DEPTH = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}


class Descriptor:
    """A matrix in shared memory: its two offsets in bytes, and its swizzle. The address is left aside.

    Attributes:
        span: bytes of the swizzle; base: at which 128 bytes of 1,024 its pattern starts.
    """

    def __init__(self, raw: int):
        self.leading, self.stride = (raw >> 16 & 0x3FFF) << 4, (raw >> 32 & 0x3FFF) << 4
        mode = raw >> 61 & 7
        if mode not in _SPANS:
            raise Unsupported(f"a tcgen05 shared memory descriptor with swizzle mode {mode}")
        if raw >> 52 & 1:
            raise Unsupported("a tcgen05 shared memory descriptor with an absolute stride")
        self.span, self.base = _SPANS[mode], raw >> 49 & 7


class Shape:
    """A decoded instruction descriptor, for `.kind::` `kind` and as many CTAs as `group` says.

    Attributes:
        m: rows of the result in each CTA; n: its columns; depth: K.
        a, b, d: types of the operands and of the result.
        transposed: whether A and B are M-major and N-major.
        negated: whether the product changes its sign.
        scale_ids: the first byte of A's and B's scale factors in their columns; blocks: how many bytes, which the
            instruction's name says; scale_kind: ue8m0 or ue4m3.
        dense_fp4: two 4-bit floats a byte; else 16 in 16 bytes, the rest padding.
    """

    def __init__(self, kind: str, raw: int, group: int):
        self.kind = kind
        scaled = kind.startswith("mx")
        if raw & 0b1000 or raw >> 2 & 1:
            raise Unsupported(f"tcgen05.mma.kind::{kind} that is sparse or saturates")
        types = _TYPES[kind]
        a, b = raw >> 7 & 7, raw >> 10 & (3 if kind.startswith("mxf4") else 7)
        if a not in types or b not in types:
            raise Unsupported(f"tcgen05.mma.kind::{kind} of types {a} and {b}")
        self.a, self.b = types[a], types[b]
        self.negated = bool((raw >> 13 ^ raw >> 14) & 1)
        self.transposed = (raw >> 15 & 1, raw >> 16 & 1)
        self.n = (raw >> 17 & 63) << 3
        self.depth = _DEPTH[kind]
        self.dense_fp4 = kind.startswith("mxf4")
        self.scale_ids, self.blocks, self.scale_kind = (0, 0), 0, ""
        if scaled:
            self.d = "f32"
            self.m = (raw >> 27 & 3) << 7
            self.scale_ids = (raw >> 29 & 3, raw >> 4 & 3)
            self.scale_kind = "ue8m0" if raw >> 23 & 1 else "ue4m3"
        else:
            results = _RESULTS[kind]
            if raw >> 4 & 3 not in results:
                raise Unsupported(f"tcgen05.mma.kind::{kind} with a result of type {raw >> 4 & 3}")
            self.d = results[raw >> 4 & 3]
            self.m = (raw >> 24 & 31) << 4
        if self.m not in (64 * group, 128 * group) or not self.n or self.n > 256:
            raise Unsupported(f"tcgen05.mma.cta_group::{group} of M {self.m} and N {self.n}")
        self.m //= group
