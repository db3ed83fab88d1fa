"""A cumulative sum of one column fails an assertion of the compiler from Triton 3.3 to 3.6, or is silently wrong.

``tl.cumsum(scale[:, None], 0) * tl.dot(a, b)``, or the sums of a column written beside each other: a pass that removes
conversions of layouts lets the scan take on the layout of what the sums meet, where one column has copies in many
threads, which the scan's lowering counts wrong. A kernel with a scan of such a column is compiled without that pass and
keeps all its conversions.

Cost: such a kernel keeps conversions through shared memory that others lose; bare, most of them do not compile. Every
other kernel becomes what it was; those with a scan are compiled once more, under a separate key.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, Tuple

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, LeaveOut, Shim

_SCANS = lazily(r"\b(cumsum|cumprod|associative_scan)\b")
# In the IR: "tt.scan"(%x) <{axis = 0 …}> ({ … }) : (tensor<64x1xf32>) -> …
_SCAN = lazily(r'"tt\.scan"\(.*?\}\) : \(([^)]*)\)', re.DOTALL)
_COLUMN = lazily(r"tensor<(\d+x1|1x\d+)x")


def scans_a_column(ir: str) -> bool:
    """Whether a kernel, as IR of Triton's, has a scan of a single column or row."""
    return any(_COLUMN.search(types) for types in _SCAN.findall(ir))


def _adders() -> Iterator[Tuple[Any, str]]:
    import triton._C.libtriton as module

    yield module.passes.ttgpuir, "add_remove_layout_conversions"


# Breakpoint: Triton 3.7 compiles these kernels.
SHIM = Shim(
    name="scanned_product",
    issue="triton-7817",
    tier="silent",
    window=">=3.3,<3.7",
    symptom="ScanOpToLLVM.cpp: AddPartialReduce: Assertion failed, from a tl.cumsum of one column, or wrong sums",
    link="https://github.com/triton-lang/triton/issues/7817",
    delete_when="no column of Triton 3.3 to 3.6 is left",
    revision=1,
    concerns=Concerned(source_says(_SCANS)),
    changes=(LeaveOut(scans_a_column, _adders, ("nvidia",)),),
)
