"""A histogram of what a reduction made counts some elements several times and others never, before Triton 3.5.

``tl.histogram(tl.argmin(x, 1), BINS)``: several lanes of a warp hold each element of such a tile. The lowering knows
how many lanes have elements of their own, and takes the first ones; but along a tile's last axis the copies of one
element lie side by side. So it is with what is computed of a reduced tile. Here what is counted is laid out first as a
loaded tile is, whose copies come last; so is its mask.

Cost: a conversion of layout, of one dimension, ahead of such a histogram. Every other becomes what it was; kernels with
a histogram are compiled once more, under a separate key.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Set

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim

_COUNTS = lazily(r"\bhistogram\b")
# The dialect is called ttg from Triton 3.3 on.
_BLOCKED = lazily(r"^(#\w+) = #(?:ttg|triton_gpu)\.blocked<", re.MULTILINE)
_MODULE = lazily(r'"(ttg|triton_gpu)\.(num-ctas|num-warps|threads-per-warp)" = (\d+)')
# "%5 = tt.histogram %2#1, %m : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<16xi32, #blocked1>"
_HISTOGRAM = lazily(
    r"(?P<indent>\s*)(?P<made>%\w+) = tt\.histogram (?P<operands>[^:]*?) : "
    r"tensor<(?P<length>\d+)x(?P<kind>\w+), (?P<layout>#.*)> -> (?P<result>tensor<.*?>)(?P<place> loc\(.*\))?$"
)


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel with layouts, as text, with conversions ahead of such histograms; None if it has none."""
    blocked = set(_BLOCKED.findall(ir))
    attributes = _MODULE.findall(ir)
    module = {name: int(number) for _, name, number in attributes}
    lines: List[str] = []
    count = 0
    for line in ir.splitlines():
        match = _HISTOGRAM.match(line)
        if match and not _is_plain(match["layout"], blocked):
            lines += _converted(match, module, attributes[0][0], f"%reduced_histogram_{count}")
            count += 1
        else:
            lines.append(line)
    return "\n".join(lines) + "\n" if count else None


def _is_plain(layout: str, blocked: Set[str]) -> bool:
    """Whether it is a one-dimensional layout, not a slice of another: its copies come last."""
    return layout in blocked or layout.startswith(("#ttg.blocked<", "#triton_gpu.blocked<"))


def _converted(
    match: "re.Match[str]", module: Dict[str, int], dialect: str, name: str
) -> List[str]:
    ctas, lanes = module["num-ctas"], module["threads-per-warp"]
    layout = f"sizePerThread = [1], threadsPerWarp = [{lanes}], warpsPerCTA = [{module['num-warps']}], order = [0]"
    if ctas > 1:
        layout += f", CTAsPerCGA = [{ctas}], CTASplitNum = [{ctas}], CTAOrder = [0]"
    indent, place = match["indent"], match["place"] or ""
    lines, given = [], []
    plain = f"#{dialect}.blocked<{{{layout}}}>"
    # The counted values, and their mask.
    for at, (operand, kind) in enumerate(zip(match["operands"].split(", "), (match["kind"], "i1"))):
        own, made = (
            f"tensor<{match['length']}x{kind}, {layout}>" for layout in (match["layout"], plain)
        )
        given.append(f"{name}_{at}")
        lines.append(
            f"{indent}{given[-1]} = {dialect}.convert_layout {operand} : {own} -> {made}{place}"
        )
    counted = f"tensor<{match['length']}x{match['kind']}, {plain}> -> {match['result']}{place}"
    lines.append(f"{indent}{match['made']} = tt.histogram {', '.join(given)} : {counted}")
    return lines


# Breakpoint: Triton 3.5 asks the layout which lanes and warps hold copies.
SHIM = Shim(
    name="reduced_histogram",
    issue="triton-6987",
    tier="silent",
    window=">=3.0,<3.5",
    symptom="wrong numbers from tl.histogram of what tl.argmin, tl.min or another reduction made",
    link="https://github.com/triton-lang/triton/issues/6987",
    delete_when="no column before Triton 3.5 is left",
    revision=1,
    concerns=Concerned(source_says(_COUNTS)),
    changes=(Rewrite(rewritten, ("nvidia", "amd"), laid_out=True),),
)
