"""``num_ctas`` above 1 on Hopper, with which many kernels do not compile before Triton 3.9, and some are wrong.

The pass that plans the blocks of a cluster gives all tiles the layout of one, and what does not fit it kills the
compiler or is refused: tiles of one and of two dimensions, sums of a whole tile, products of products, tl.join,
tl.trans, while loops that hand on a tile. How many blocks share a program's work changes nothing of what it computes:
a kernel that does not compile with several is compiled with one. Before Triton 3.2 each is: what compiles there may
compute something else. From 3.3 on, 3.9 included, each is that gathers by way of shared memory, in which a block has
its own part of the tile alone.

A compilation for several goes through the guard. Cost: none for a launch without `num_ctas`.
"""

import re
from typing import Any, Callable, Optional

from .. import features, guard
from ..acts import note_acted
from ..errors import say_once
from ..launch import around_compile, with_option
from ..record import Patches, Shim

# What the pass that lays a gather out marks it with, where each column lies in one warp.
_WITHIN_A_WARP = re.compile(r"\befficient_layout\b")


def apply(patches: Patches) -> None:
    # Symptom: PlanCTA.cpp, ReduceOpToLLVM.cpp, ArrayRef.h, StorageUniquerSupport.h, SmallVector.h … Assertion … failed;
    # LLVM ERROR: Invalid bases passed to LinearLayout; 'nvvm.mapa' op result; failed to legalize 'ttg.local_load'.
    # Before 3.2 wrong products (3.0, 3.1), and a tile transposed out of bounds (2.3); from 3.3 on gathers that are
    # refused or wrong, and on 3.9 products of a tile with itself that are refused.
    # Window: every release, sm_90, num_ctas 2 and more. Link: triton-lang/triton#11808, and PR 11877 of gathers.
    # Breakpoint: Triton 3.9 plans clusters anew; no release reads what another block gathers from.
    guard.prepare(patches)
    around_compile(patches, _compile)


def _compile(compile_: Callable, src: Any, args: tuple, kwargs: dict) -> Any:
    options = kwargs.get("options") or {}
    asked = options.get("num_ctas")
    if not isinstance(asked, int) or asked < 2:
        return compile_(src, *args, **kwargs)
    error: Optional[Exception] = None
    if features.has_sound_clusters():
        try:
            kernel = guard.compile_guarded(compile_, src, args, kwargs)
        except Exception as found:
            error = found
        else:
            if not _gathers_across_warps(kernel):
                return kernel
    one = dict(kwargs, options=dict(options, num_ctas=1))
    try:
        kernel = compile_(with_option(src, "num_ctas", asked, 1), *args, **one)
    except Exception:
        if error is None:
            raise
        # Whatever is the matter with it, it is not the cluster.
        raise error from None
    note_acted(SHIM.name)
    name = getattr(src, "name", "a kernel")
    why = "computes something else" if error is None else f"does not compile ({_first_line(error)})"
    say_once(f"{name}: num_ctas={asked} {why} on this Triton, launched with 1")
    return kernel


def _gathers_across_warps(kernel: Any) -> bool:
    """Whether it has a gather that is not made of one warp's registers, and so may reach into another block."""
    laid_out = (getattr(kernel, "asm", None) or {}).get("ttgir") or ""
    return any(
        "tt.gather" in line and not _WITHIN_A_WARP.search(line) for line in laid_out.splitlines()
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


SHIM = Shim(
    name="single_cta",
    issue="triton-11808",
    window=">=2.3",
    symptom='a kernel does not compile with num_ctas=2: Assertion `Index < Length && "Invalid index!"\' failed',
    link="https://github.com/triton-lang/triton/issues/11808",
    delete_when="no column before Triton 3.9 is left, and a release gathers across the blocks of a cluster",
    apply=apply,
    # Around compiler_crash, which looks for fewer warps.
    order=5,
)
