"""On RDNA 4 a register is copied while some lanes are switched off, and these lanes lose its value: Triton 3.6.

LLVM's register allocation puts copies at the head of a block where the lanes of a branch meet again. They belong behind
``s_or_b32 exec_lo, exec_lo, s2``, which switches the lanes on. But where it has put a copy of a scalar ahead of that
instruction before, it takes that copy for the end of the block's prologue, and vector copies go ahead of it as well.

Here such copies are moved behind the instruction. The other instructions between are scalar, and read no vector.

Cost: none. Kernels with a matmul are compiled once more if they change, under a separate key.
"""

from __future__ import annotations

from typing import List, Optional, Set

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, RewriteAssembly, Shim

_DOTS = lazily(r"\bdot")
_RDNA4 = lazily(r'\.amdgcn_target "amdgcn-amd-amdhsa--gfx12[0-4]')
# In TTGIR: ttg.target = "hip:gfx1201"; TTIR has none.
_TARGET = lazily(r'ttg\.target = "(?!hip:gfx12[0-4])')
# Blocks that a branch enters with no lane, and `; %bb.4:`, which nothing enters but the block above it.
_SKIPPED = lazily(r"\ts_cbranch_execz (\.LBB\w+)")
_LABEL = lazily(r"(\.LBB\w+):|; %bb\.")
_RESTORES = lazily(r"\ts_or_b32 exec_lo, exec_lo, s\d+")
_COPY = r"v_(?:dual_)?mov_b(?:32|64)(?:_e32)? v\S+, v\S+"
_COPIES = lazily(rf"\t{_COPY}(?: :: {_COPY})?\s*(?:;.*)?$")
_SCALAR_COPY = lazily(r"\ts_mov_b(?:32|64) s\S+, s\S+")
# Scalar instructions that leave EXEC as it is, and lines without effect.
_SCALAR = lazily(r"\ts_(?:mov_b(?:32|64) s|wait|delay_alu|nop)|\t\.loc\b|\s*(?:;|$)|\.Ltmp")


def moved(text: str) -> Optional[str]:
    """A kernel's assembly with such copies behind the instruction that switches lanes on; None if it has none."""
    if not _RDNA4.search(text):
        return None
    skipped = set(_SKIPPED.findall(text))
    lines = text.split("\n")
    changed = False
    for at, line in enumerate(lines):
        if _RESTORES.match(line):
            head = _head(lines, at, skipped)
            copies = [other for other in head if _COPIES.match(other)]
            if copies and any(map(_SCALAR_COPY.match, head)):
                rest = [other for other in head if not _COPIES.match(other)]
                lines[at - len(head) : at + 1] = [*rest, line, *copies]
                changed = True
    return "\n".join(lines) if changed else None


def _head(lines: List[str], at: int, skipped: Set[str]) -> List[str]:
    """The lines from the block's label to line `at`; none where the block is no such meeting of lanes, or others than
    copies and scalar instructions are among them."""
    start = at
    while start and (_COPIES.match(lines[start - 1]) or _SCALAR.match(lines[start - 1])):
        start -= 1
    label = _LABEL.match(lines[start - 1])
    return lines[start:at] if label and label[1] in skipped else []


def _may_act(ir: str) -> bool:
    return "tt.dot" in ir and _TARGET.search(ir) is None


# See also llvm/llvm-project#166657.
# Breakpoint: Triton 3.7 has an LLVM that makes no such copy in the suite.
SHIM = Shim(
    name="copied_lanes",
    issue="llvm-117544",
    tier="silent",
    window=">=3.6,<3.7",
    symptom="wrong numbers on RDNA 4 from attention with tensor descriptors, heads of 128, float16",
    link="https://github.com/llvm/llvm-project/pull/117544",
    delete_when="no column of Triton 3.6 is left",
    revision=1,
    concerns=Concerned(source_says(_DOTS)),
    changes=(RewriteAssembly(moved, _may_act, "amdgcn"),),
)
