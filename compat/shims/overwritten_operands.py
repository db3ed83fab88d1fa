"""An atomic operation loses its operand where the old value takes its place: ``v = tl.atomic_add(x_ptr, v)`` in a loop.

Triton writes two instructions of PTX as one piece of inline assembly: zero into the register of the result, for threads
whose mask is false, then the operation. It does not tell LLVM that the result is written ahead of what is read, so LLVM
may give both one register, and does where a loop or the end of a branch joins them: ``mov.u32 %r1, 0x0; atom.add.u32
%r1, [%rd1], %r1;`` adds zero. A load of 64 bits has the same form: where a loop follows pointers that lie in memory,
it reads at address zero.

Here zero is written behind such an operation instead, by the threads whose mask is false.

Cost: none. Kernels with an atomic operation or an integer that is made a pointer are compiled once more, under a
separate key. Not fixed: pointers that are loaded with an ``other`` that is not constant.
"""

from __future__ import annotations

from typing import Dict, List, Optional

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, RewriteAssembly, Shim

_WORDS = lazily(r"\batomic_\w+|\bpointer_type\b|\bpi32_t\b")
# In the IR: tt.atomic_rmw, tt.atomic_cas, tt.int_to_ptr
_OPERATIONS = lazily(r"\btt\.(?:atomic_|int_to_ptr\b)")
# Triton's own zero: LLVM writes 0.
_ZERO = lazily(r"\s*mov\.[ub](?:16|32|64)\s+(%\w+), 0x0;\s*$")
# … @%p1 atom.global.gpu.acq_rel.add.f32 %r1, [ %rd1 + 0 ], %r1; or @%p1 ld.global.v2.b64 { %rd1, %rd2 }, [ %rd1 + 0 ];
_OPERATION = lazily(r"\s*(?:@(!?)(%\w+)\s+)?(?:atom|ld)\.\S+\s+([^\[]*)(\[.*);")
_REGISTER = lazily(r"%\w+")
# Lines without effect: source locations of the next one, and comments.
_SILENT = lazily(r"\s*(?:\.loc\b|//|$)")


def may_overwrite(ir: str) -> bool:
    """Whether a kernel, as IR of Triton's, has an operation whose operand may get the register of its result."""
    return _OPERATIONS.search(ir) is not None


def zero_behind(ptx: str) -> Optional[str]:
    """A kernel's PTX in which no operand is zeroed ahead of the operation that reads it; None if none was."""
    made: List[str] = []
    # For each register just zeroed: the line that did it.
    zeroed: Dict[str, int] = {}
    dropped = set()
    for line in ptx.split("\n"):
        made.append(line)
        zero, operation = _ZERO.match(line), _OPERATION.match(line)
        if zero:
            zeroed[zero[1]] = len(made) - 1
        elif operation:
            negated, mask, results, read = operation.groups()
            both = set(_REGISTER.findall(results)) & set(_REGISTER.findall(read))
            for name in sorted(both & set(zeroed)):
                dropped.add(zeroed[name])
                if mask:
                    others = f"@{'' if negated else '!'}{mask}"
                    made.append(f"\t{others} {made[zeroed[name]].strip()}")
            zeroed = {}
        elif not _SILENT.match(line):
            zeroed = {}
    if not dropped:
        return None
    return "\n".join(line for number, line in enumerate(made) if number not in dropped)


# Breakpoint: none yet, 3.9.0 is wrong.
SHIM = Shim(
    name="overwritten_operands",
    issue="overwritten-operand",
    tier="silent",
    window=">=2.3",
    symptom="tl.atomic_add of a tile, in a loop or a branch, adds nothing where its result replaces what it adds",
    link="https://github.com/triton-lang/triton/pull/10314",
    delete_when="every column has a Triton that tells LLVM that the result of its inline assembly is written early",
    revision=1,
    concerns=Concerned(source_says(_WORDS)),
    changes=(RewriteAssembly(zero_behind, may_overwrite),),
)
