"""Where the largest element of a tile lies, asked of the tile as one dimension, is silently another place.

``tl.argmax(tl.reshape(x, [N]), 0)``: a reshape whose result is only reduced may put the elements in any order, says a
pass; but the places beside them are counted in order. It is the same with every reduction of two tensors or more, of
which one was reshaped (``tl.argmin``, ``return_indices=True``, ``tl.reduce`` of a tuple), and with a ``tl.histogram``
that has a mask. What such an operation reads keeps its order.

Cost: such a kernel may move its elements between threads ahead of it. Every other becomes what it was; one whose source
has such an operation is compiled once more, under a separate key.
"""

from __future__ import annotations

import re
from typing import Optional

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim

_PLACES = lazily(r"\b(argmax|argmin|reduce|return_indices|histogram)\b")
_REDUCED = lazily(r'(?:"tt\.reduce"\(|tt\.histogram )([^):]*)')
_LOOSE = lazily(r"^(\s*(%\w+) = tt\.reshape %\S+) allow_reorder\b", re.MULTILINE)


def in_order(ir: str) -> Optional[str]:
    """A kernel's IR with reshapes in order that are reduced beside something else; None where there are none."""
    beside = {
        name.strip()
        for operands in _REDUCED.findall(ir)
        if "," in operands
        for name in operands.split(",")
    }
    if not any(match[2] in beside for match in _LOOSE.finditer(ir)):
        return None
    return _LOOSE.sub(lambda match: match[1] if match[2] in beside else match[0], ir)


# Breakpoint: none yet, 3.9.0 is wrong.
SHIM = Shim(
    name="flattened_argmax",
    issue="flattened-argmax",
    tier="silent",
    window=">=3.3",
    symptom="wrong numbers from tl.argmax or tl.argmin of a tile that tl.reshape made one dimension\n"
    "wrong numbers from tl.histogram, with a mask, of a tile that tl.reshape made one dimension",
    link="https://github.com/triton-lang/triton/pull/5748",
    delete_when="every column has a Triton that keeps what such a reduction reads in order",
    revision=1,
    concerns=Concerned(source_says(_PLACES)),
    changes=(Rewrite(in_order, ("nvidia", "amd")),),
)
