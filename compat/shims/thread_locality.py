"""A pass that keeps a loop's sums of rows apart in each thread rewrites more loops than it is right for.

With rows that come straight from a `tl.load`, it makes `total -= tl.sum(x, 1)` add, adds in every turn what
`if wanted: total += tl.sum(x, 1)` adds in some, and lets whoever reads `total` inside the loop see what it was at the
start (both fixed in Triton 3.9): wrong numbers, without a word. It dies of `total = total * decay + tl.sum(x, 1)`, and
before 3.9 of a `total` that is used twice behind the loop (`total + total`; of two stores only before 3.3).

A kernel with such a loop is compiled without the pass (`compat/loop_sums.py` finds it in the IR); every other kernel
becomes what it was. What was compiled without the shim may be wrong, and is not taken from Triton's cache: kernels with
a loop and a reduction have a key of their own, and are compiled once more. Install before the first launch: what this
process has launched it keeps.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Iterable, Iterator, Tuple

from ..patterns import lazily
from ..record import Concerned, LeaveOut, Shim
from ..versions import in_window

# A function that reduces, or one that it consists of: its name is in the source of its user, or of tl.sum itself.
_REDUCES = lazily(r"\b(sum|max|min|reduce)\b")


def _adders() -> Iterator[Tuple[Any, str]]:
    """The functions that add the pass, as owner and name."""
    import triton._C.libtriton as module

    # Breakpoint: before Triton 3.0 passes are methods of the pass manager, and there is no AMD.
    if hasattr(module, "passes"):
        yield module.passes.ttgpuir, "add_optimize_thread_locality"
    else:
        yield module.triton.ir.pass_manager, "add_tritongpu_optimize_thread_locality_pass"


def _has_broken_sum(ir: str) -> bool:
    import triton

    from .. import loop_sums

    # Breakpoint: Triton 3.9 looks who uses a sum, and where (triton-lang/triton#11842, #11269).
    return loop_sums.has_broken_sum(ir, checks_uses=in_window(">=3.9", triton.__version__))


def _may_concern(reached: Iterable[Any]) -> bool:
    """Whether there is a loop, and a reduction. Only the IR shows whether one belongs to the other."""
    sources = [source for source in (getattr(item, "src", None) for item in reached) if source]
    # Parsing a source takes longest.
    return any(map(_REDUCES.search, sources)) and any(map(_loops, sources))


@functools.lru_cache(maxsize=None)
def _loops(source: str) -> bool:
    return "for" in source and any(
        isinstance(node, ast.For) and not _unrolled(node.iter)
        for node in ast.walk(ast.parse(source))
    )


def _unrolled(turns: ast.expr) -> bool:
    """Whether it is a call of tl.static_range, whose iterations leave no loop; tl.sort consists of them."""
    called = getattr(turns, "func", None)
    return getattr(called, "attr", getattr(called, "id", "")) == "static_range"


# See also triton-lang/triton#11269, triton-lang/triton#11305, triton-lang/triton#11682.
# Breakpoint: none yet for -= and decay, fixed on main by #11370.
SHIM = Shim(
    name="thread_locality",
    issue="triton-11836",
    tier="silent",
    window=">=2.3",
    symptom="wrong numbers from a sum of rows that a loop adds up and reads, subtracts, or adds in a branch; "
    "or an assertion, loopResult.hasOneUse(), where it is used twice",
    link="https://github.com/triton-lang/triton/issues/11836",
    delete_when="Triton rewrites only loops that add in every turn, and no column before that is left",
    revision=1,
    concerns=Concerned(_may_concern),
    changes=(LeaveOut(_has_broken_sum, _adders),),
)
