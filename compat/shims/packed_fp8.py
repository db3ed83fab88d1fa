"""In fp8 ptxas gets a tile that is stored as it is and transposed wrong: Triton 3.4 to 3.6, Ada and newer.

Two pairs of fp8 are made, ``cvt.rn.satfinite.e4m3x2.f32 %rs1, …`` and ``%rs2``, and packed with ``mov.b32 %r,
{%rs1, %rs2}``. The optimiser of ptxas 12.8 and 12.9 makes one instruction of both conversions, takes the pairs out of
its result again, and reads one of the two registers before it has written it: every second byte of the transposed tile
is whatever was in that register.

Here the two halves are put together by a shift and an or, which ptxas compiles to what is right, of as many
instructions. Triton 3.7 writes other PTX.

Cost: none. Kernels that make fp8 of something wider are compiled once more, under a separate key.
"""

from __future__ import annotations

import re
from typing import Optional

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, RewriteAssembly, Shim

_FP8 = lazily(r"float8|fp8|\.to\(|\bcast\b")
# In the IR: %9 = tt.fp_to_fp %8, rounding = rtne : tensor<32x32xf32> -> tensor<32x32xf8E4M3FN>
_NARROWS = lazily(r"tt\.fp_to_fp .*-> tensor<[^>]*f8E")
_MADE = lazily(r"\bcvt\.\S*\.e(?:4m3|5m2)x2\.\S+\s+(%\w+)")
_PACKED = lazily(r"mov\.b32\s+(%\w+), \{(%\w+), (%\w+)\};")


def makes_fp8(ir: str) -> bool:
    """Whether a kernel, as IR of Triton's, converts to fp8."""
    return _NARROWS.search(ir) is not None


def packed_otherwise(ptx: str) -> Optional[str]:
    """A kernel's PTX, with pairs of fp8 put together by a shift and an or; None if it packs none."""
    made = set(_MADE.findall(ptx))
    if not made:
        return None

    def instead(packed: "re.Match[str]") -> str:
        word, low, high = packed.groups()
        if low not in made and high not in made:
            return packed[0]
        upper = "%crosswarp_upper"
        return (
            f"{{ .reg .b32 {upper}; cvt.u32.u16 {word}, {low}; cvt.u32.u16 {upper}, {high};"
            f" shl.b32 {upper}, {upper}, 16; or.b32 {word}, {word}, {upper}; }}"
        )

    other = _PACKED.sub(instead, ptx)
    return None if other == ptx else other


# Breakpoint: Triton 3.7 writes other PTX, which ptxas 12.8 gets right.
SHIM = Shim(
    name="packed_fp8",
    issue="triton-11111",
    tier="silent",
    window=">=3.4,<3.7",
    symptom="bytes of something else in an fp8 tile that is stored transposed as well, on Ada and newer",
    link="https://github.com/triton-lang/triton/issues/11111",
    delete_when="no column of Triton 3.4 to 3.6 is left",
    revision=1,
    concerns=Concerned(source_says(_FP8)),
    changes=(RewriteAssembly(packed_otherwise, makes_fp8),),
)
