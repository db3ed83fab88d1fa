"""A pipelined load reads what its mask leaves out on NVIDIA's GPUs before Triton 3.2, without a word.

``tl.load(p + at, mask=at < 61, other=0.0)`` in a loop with a product, or in ``tl.range(…, num_stages=2)``: the copy
to shared memory takes 16 bytes a thread where pointers allow it, and asks the mask of the first element alone. Here
copies whose masks are not known to be the same for all of those bytes get the hint that their pointers lie beside each
other for four bytes and no more, which is what the pipeline asks of every load: each four bytes ask for their own.

Cost: such a copy takes four instructions where it took one. Loads whose masks are the same along 16 bytes (an outer
axis, or a length that divides by 16, as arguments do that Triton specializes) become what they were; kernels with a
loop that loads under any other mask are compiled once more, under a separate key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Optional

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim

if TYPE_CHECKING:
    from ..alignment import Alignment

_LOOPS = lazily(r"\b(for|while)\b")
# The most and the fewest bits that one instruction copies.
_MOST, _LEAST = 128, 32
_ORDER = lazily(r"^(#\w+) = #triton_gpu\.blocked<\{.*?\border = \[(\d+)", re.MULTILINE)
_POINTERS = (
    r"(?P<type>tensor<(?P<shape>(?:\d+x)+)!tt\.ptr<(?P<of>\w+)(?:, \d+)?>(?:, (?P<layout>#.*?))?>)"
)
# Triton 3: %9 = triton_gpu.async_copy_global_to_local %p, %to mask %m other %o : tensor<…> -> …
# Triton 2: %9 = triton_gpu.insert_slice_async %p, %to, %at, %m, %o {axis = …} : tensor<…> -> …
_COPY = lazily(
    r"(?P<indent>\s*)%[\w:]+ = triton_gpu\.(?:async_copy_global_to_local|insert_slice_async) (?P<pointer>%[\w#]+), "
    r"(?:%[\w#]+ mask |%[\w#]+, %[\w#]+, )(?P<mask>%[\w#]+).*? : " + _POINTERS + r" -> "
)


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel with layouts, as text, with such copies of four bytes each; None if it has none."""
    if "triton_gpu.async_copy_global_to_local" not in ir and "insert_slice_async" not in ir:
        return None
    from ..alignment import Alignment

    known = Alignment(ir)
    orders: Dict[str, int] = {name: int(first) for name, first in _ORDER.findall(ir)}
    lines: List[str] = []
    count = 0
    for line in ir.splitlines():
        copy = _COPY.match(line)
        if copy and _is_ragged(copy, known, orders):
            name = f"%ragged_masks_{count}"
            lines += _with_contiguity(copy, name)
            line = line.replace(f"{copy['pointer']},", f"{name},", 1)
            count += 1
        lines.append(line)
    return "\n".join(lines) + "\n" if count else None


def _is_ragged(copy: "re.Match[str]", known: "Alignment", orders: Dict[str, int]) -> bool:
    rank = copy["shape"].count("x")
    # Where the layout has no order, the worst axis counts.
    inner = orders.get(copy["layout"])
    axes = range(rank) if inner is None else [inner]
    return any(known.equal_along(copy["mask"], axis) < _together(copy["of"]) for axis in axes)


def _together(kind: str) -> int:
    """How many elements one instruction copies at most."""
    from ..origins import bits_of

    return max(1, _MOST // bits_of(kind))


def _with_contiguity(copy: "re.Match[str]", name: str) -> List[str]:
    from ..origins import bits_of

    rank, indent, pointers = copy["shape"].count("x"), copy["indent"], copy["type"]
    beside = max(1, _LEAST // bits_of(copy["of"]))
    layout = f", {copy['layout']}" if copy["layout"] else ""
    offsets = f"tensor<{copy['shape']}i32{layout}>"
    attribute = f"{{tt.contiguity = dense<{beside}> : tensor<{rank}xi32>}}"
    return [
        f"{indent}{name}_0 = arith.constant dense<0> : {offsets}",
        f"{indent}{name} = tt.addptr {copy['pointer']}, {name}_0 {attribute} : {pointers}, {offsets}",
    ]


# Breakpoint: Triton 3.2 splits a copy by its mask.
SHIM = Shim(
    name="ragged_masks",
    issue="ragged-mask",
    tier="silent",
    window="<3.2",
    symptom="wrong numbers from a pipelined load under a mask that ends within 16 bytes",
    link="https://github.com/triton-lang/triton/pull/1289",
    delete_when="no column before Triton 3.2 is left",
    revision=1,
    concerns=Concerned(source_says(_LOOPS)),
    changes=(Rewrite(rewritten, laid_out=True),),
)
