"""``num_ctas`` above 1 on Hopper, with which many kernels do not compile before Triton 3.9, and some are wrong.

The pass that plans the blocks of a cluster gives all tiles the layout of one, and what does not fit it kills the
compiler or is refused: tiles of one and of two dimensions, sums of a whole tile, products of products, tl.join,
tl.trans, while loops that hand on a tile. How many blocks share a program's work changes nothing of what it computes:
a kernel that does not compile with several is compiled with one. Before Triton 3.2 each is: what compiles there may
compute something else. Later each is in which a block needs of a tile what lies in another block's shared memory and
is not fetched from there: a product whose operand is laid out by what else is done with it (before 3.7), a gather
(from 3.3 on, 3.9 included), and what 3.3 fetches by an instruction for a block's own memory; each that fetches
before the other block has met it, as products do on 3.8 and 3.9; and a product with eight columns a block (3.4).

A compilation for several goes through the guard. Cost: none for a launch without `num_ctas`.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .. import features, guard
from ..acts import note_acted
from ..errors import say_once
from ..launch import with_option
from ..patterns import lazily
from ..record import Patches, Shim
from ..seams.language import is_tritons_own
from ..seams.launches import around_compile

# A gather: along which axis, the mark of a pass where each column lies in one warp, and the layout of what it reads.
_GATHER = lazily(r"\btt\.gather\b.*\baxis = (\d+)\b([^}]*)\} : \(tensor<\S+, (#[\w.]+)")
# How blocks share a tile: how many have separate parts along each axis; from Triton 3.6 on as bases of a layout.
_SPLIT = lazily(r"^(#\w+) = .*\bCTASplitNum = \[(\d+), (\d+)\]", re.MULTILINE)
_BASES = lazily(r"^(#\w+) = .*\bCGALayout = \[((?:\[\d+, \d+\](?:, )?)*)\]", re.MULTILINE)
_BASIS = lazily(r"\[(\d+), (\d+)\]")
# A product of operands in shared memory, its first one perhaps in registers.
_PRODUCT = lazily(
    r"\bwarp_group_dot .* : (?:\S*memdesc<\w+, (#\w+)[^>]*>|tensor<.*?>) \* \S*memdesc<\w+, (#\w+)[^>]*> -> "
    r"tensor<\w+, (#\w+)>"
)
# An operand of so few columns in each block that its rows have 16 bytes.
_NARROW = lazily(r"^(#\w+) = #\w+\.nvmma_shared<\{swizzlingByteWidth = 0\b", re.MULTILINE)
# In PTX: a block's writes to its own memory, its reads of another's, and the barriers that all blocks reach.
_WRITTEN, _MET = lazily(r"\b(?:st\.shared(?!::cluster)|stmatrix\b)"), "barrier.cluster.wait"
_MAPPED, _FETCHED = lazily(r"\bmapa\."), lazily(r"\b(?:ld|st)\.\S*shared::cluster\b")
_Split = Tuple[int, ...]


def apply(patches: Patches) -> None:
    # See also triton-lang/triton#11877.
    # Breakpoint: Triton 3.9 plans clusters anew; no release reads what another block gathers from.
    guard.prepare(patches)
    around_compile(patches, _compile)


def _compile(compile_: Callable, src: Any, args: tuple, kwargs: dict) -> Any:
    options = kwargs.get("options") or {}
    asked = options.get("num_ctas")
    if not isinstance(asked, int) or asked < 2 or not is_tritons_own(src):
        return compile_(src, *args, **kwargs)
    error: Optional[Exception] = None
    several: Any = None
    if features.has_sound_clusters():
        try:
            several = guard.compile_guarded(compile_, src, args, kwargs)
        except Exception as raised:
            error = raised
        else:
            if not _reaches_into_others(getattr(several, "asm", None) or {}):
                return several
    arguments = dict(kwargs, options=dict(options, num_ctas=1))
    try:
        kernel = compile_(with_option(src, "num_ctas", asked, 1), *args, **arguments)
    except Exception as raised:
        if error is not None:
            # Its failure has another cause than the cluster.
            raise error from None
        if several is None:
            return guard.compile_guarded(compile_, src, args, kwargs)
        # Better a kernel that compiled than none: it may be written for a cluster of this size.
        say_once(
            f"{getattr(src, 'name', 'a kernel')}: num_ctas={asked} may compute something else on this Triton, and with "
            f"1 it does not compile ({_first_line(raised)}), launched with {asked}"
        )
        return several
    note_acted(SHIM.name)
    name = getattr(src, "name", "a kernel")
    why = "computes something else" if error is None else f"does not compile ({_first_line(error)})"
    say_once(f"{name}: num_ctas={asked} {why} on this Triton, launched with 1")
    return kernel


def _reaches_into_others(asm: Mapping[str, Any]) -> bool:
    """Whether a block needs data in another's shared memory, and reads its own instead."""
    laid_out, ptx = str(asm.get("ttgir") or ""), str(asm.get("ptx") or "")
    splits, narrow = _splits(laid_out), _NARROW.findall(laid_out)
    if any(
        # Data outside one warp's registers goes through shared memory; a vendor's pass marks parts of columns as well.
        "efficient_layout" not in mark or layout not in splits or splits[layout][int(axis)] > 1
        for axis, mark, layout in _GATHER.findall(laid_out)
    ):
        return True
    if _MAPPED.search(ptx) and not _FETCHED.search(ptx):
        return True
    if _fetches_early(ptx):
        return True
    return any(
        second in narrow or _shares_wrongly(first, second, made, splits)
        for first, second, made in _PRODUCT.findall(laid_out)
    )


def _fetches_early(ptx: str) -> bool:
    """Whether a block reads another's memory before that may have written: only its own threads waited."""
    written = False
    for line in ptx.splitlines():
        if _MET in line:
            written = False
        elif _WRITTEN.search(line):
            written = True
        elif written and "ld.shared::cluster" in line:
            return True
    return False


def _shares_wrongly(first: str, second: str, made: str, splits: Mapping[str, _Split]) -> bool:
    """Whether a block has less of an operand than its part of the product needs: whole rows, whole columns."""
    if made not in splits:
        return False
    rows, columns = splits[made]
    return splits.get(first, (rows, 1)) != (rows, 1) or splits.get(second, (1, columns)) != (1, columns)  # fmt: skip


def _splits(laid_out: str) -> Dict[str, _Split]:
    splits: Dict[str, _Split] = {
        name: (int(rows), int(columns)) for name, rows, columns in _SPLIT.findall(laid_out)
    }
    for name, bases in _BASES.findall(laid_out):
        along = [[int(number) for number in basis] for basis in _BASIS.findall(bases)]
        splits[name] = tuple(2 ** sum(basis[axis] > 0 for basis in along) for axis in (0, 1))
    return splits


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


SHIM = Shim(
    name="single_cta",
    issue="triton-11808",
    tier="silent",
    window=">=2.3",
    symptom='a kernel does not compile with num_ctas=2: Assertion `Index < Length && "Invalid index!"\' failed',
    link="https://github.com/triton-lang/triton/issues/11808",
    delete_when="no column before Triton 3.9 is left, and a release gathers across the blocks of a cluster",
    apply=apply,
    # Around compiler_crash, which looks for fewer warps.
    order=5,
)
