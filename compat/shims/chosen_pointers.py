"""A pointer that a kernel chooses kills the compiler for AMD from 3.6 on, at TritonAMDGPUCanonicalizePointers.

``tl.where`` of two pointers by a tile, and a pointer handed on beside an early return, up to 3.7; on 3.6 also one made
on both sides of an ``if``. Where one of the pointers is of a small tensor and the other is not, or was loaded, it is
every choice up to 3.8, and on 3.9 those of ``if`` and loops. The pass reads that a tensor is smaller than 2 GB, and
does not follow this through the choice. Such a kernel is compiled without that hint, as if its tensors were larger.

Cost: such a kernel loads and stores without instructions of a buffer. Every other kernel becomes what it was; those
with a choice or a loop in their source are asked, for AMD alone.
"""

from __future__ import annotations

import re
from typing import Optional

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim
from ..versions import in_window

_CHOICES = lazily(r"\b(where|if|for|while)\b")
# In the IR: %x: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}
_HINT = lazily(r"tt\.pointer_range = 32 : i32, |(?:, )?tt\.pointer_range = 32 : i32\b")
_ARGUMENT = lazily(r"%\w+: !tt\.ptr<[^>]*>(?: \{([^}]*)\})?")
_BY_TILE = lazily(
    r"= arith\.select [^\n]* : tensor<(?:\d+x)+i1>, tensor<(?:\d+x)+!tt\.ptr<"
    # ^bb5(%3: tensor<64xf32> loc(unknown), %4: !tt.ptr<f32> loc(unknown)):
    r"|^\s*\^bb\d+\([^\n]*!tt\.ptr<",
    re.MULTILINE,
)
_SELECTED = lazily(r"= arith\.select [^\n]*!tt\.ptr<")
# %3 = scf.if %2 -> (!tt.ptr<f32>) {
_BRANCHED = lazily(r"= scf\.if %[\w#]+ -> \([^\n]*!tt\.ptr<")
_HANDED_ON = lazily(r"= scf\.(?:for|while) [^\n]*!tt\.ptr<[^\n]*!tt\.ptr<")


def chooses(ir: str, release: str) -> bool:
    """Whether a kernel, as IR, chooses a pointer in a way that AMD's pass of this release of Triton does not follow."""
    early = in_window("<3.8", release)
    if early and _BY_TILE.search(ir):
        return True
    if in_window("<3.7", release) and _BRANCHED.search(ir):
        return True
    if not _mixed(ir):
        return False
    match = _BRANCHED.search(ir) or _HANDED_ON.search(ir)
    return bool(match or (in_window("<3.9", release) and _SELECTED.search(ir)))


def _mixed(ir: str) -> bool:
    """Whether some of a kernel's pointers are said to be of small tensors, and some are not."""
    if "tt.int_to_ptr" in ir:
        return True
    head = ir.split("tt.func public", 1)[-1].split("\n", 1)[0]
    hints = {"tt.pointer_range" in (argument[1] or "") for argument in _ARGUMENT.finditer(head)}
    return len(hints) == 2


def without_range(ir: str) -> str:
    """A kernel's IR without the hint that its tensors are small."""
    return _HINT.sub("", ir)


def _rewritten(ir: str) -> Optional[str]:
    import triton

    other = without_range(ir)
    return other if other != ir and chooses(ir, triton.__version__) else None


# See also triton-lang/triton#9859.
# Breakpoint: Triton 3.8 follows the hint where all have it; for the others none yet, #9859 is open.
SHIM = Shim(
    name="chosen_pointers",
    issue="triton-10381",
    tier="refused",
    window=">=3.6",
    symptom="a crash at TritonAMDGPUCanonicalizePointers, of a pointer that tl.where, if or an early return chooses\n"
    "Casting.h: cast<Ty>() argument of incompatible type!, for AMD\n"
    "ArrayRef.h: Invalid index!, for AMD",
    link="https://github.com/triton-lang/triton/issues/10381",
    delete_when="Triton follows the hint through each choice, and no column before that is left",
    revision=1,
    concerns=Concerned(source_says(_CHOICES)),
    changes=(Rewrite(_rewritten, ("amd",)),),
)
