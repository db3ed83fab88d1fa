"""A scan along an axis that lies in single threads gives wrong numbers on Triton 2.3, without a word.

``tl.cumsum(x, 0)`` of a wide tile: each thread holds whole columns, several of them, and the scan's lowering adds up
across them. Here such a tile is laid out with its scanned axis in the lanes of a warp, as the last axis is, and back.

Cost: two conversions of layout for such a scan. Every other becomes what it was; kernels with a scan are compiled once
more, under a separate key.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim

_SCANS = lazily(r"\b(cumsum|cumprod|associative_scan)\b")
_WARP = 32
_LAYOUT = lazily(r"^(#\w+) = #triton_gpu\.blocked<\{(.*)\}>", re.MULTILINE)
_NUMBERS = lazily(r"(\w+) = \[([\d, ]*)\]")
# "%9:2 = "tt.scan"(%a, %b) <{axis = 0 : i32}> ({" … "}) : (tensor<8x512xf32, #blocked>, …) -> …"
_BEGINS = lazily(r'(\s*)(%\w+)(?::\d+)? = "tt\.scan"\(([^)]*)\) (<\{axis = (\d+) : i32.*\}>) \(\{')
_ENDS = lazily(r"\s*\}\) : \((.*)\) -> \(?(?:.*?)\)?( loc\(.*\))?$")
_TYPE = lazily(r"tensor<((?:\d+x)+)(\w+), (#\w+)>")
_Layouts = Dict[str, Dict[str, List[int]]]


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel with layouts, as text, with such scans between two conversions; None if it has none."""
    layouts: _Layouts = {
        name: {key: _integers(numbers) for key, numbers in _NUMBERS.findall(fields)}
        for name, fields in _LAYOUT.findall(ir)
    }
    lines: List[str] = []
    renamed: Dict[str, str] = {}
    begin: Optional["re.Match[str]"] = None
    begun, count = 0, 0
    for line in ir.splitlines():
        lines.append(line)
        begins = _BEGINS.match(line)
        if begins:
            begin, begun = begins, len(lines) - 1
            continue
        ends = _ENDS.match(line) if begin else None
        if not begin or not ends:
            continue
        kinds = _TYPE.findall(ends[1])
        other = _other(kinds, int(begin[5]), layouts)
        if other:
            lines[begun:] = _between(
                begin, lines[begun + 1 : -1], kinds, other, count, ends[2] or ""
            )
            if len(kinds) > 1:
                renamed.update(
                    (f"{begin[2]}#{at}", f"%wide_scans_{count}_{at}") for at in range(len(kinds))
                )
            count += 1
        begin = None
    if not count:
        return None
    text = "\n".join(lines) + "\n"
    for old, new in renamed.items():
        text = re.sub(rf"{re.escape(old)}(?!\d)", new, text)
    return text


def _other(kinds: Sequence[Tuple[str, str, str]], axis: int, layouts: _Layouts) -> str:
    """The layout in which the scan is right, if its own has the axis in single threads; else ""."""
    names = {name for _, _, name in kinds}
    if len(names) != 1 or not names <= set(layouts):
        return ""
    shape, layout = _integers(kinds[0][0].rstrip("x"), "x"), layouts[names.pop()]
    lanes, warps = layout["threadsPerWarp"], layout["warpsPerCTA"]
    if shape[axis] == 1 or lanes[axis] > 1 or warps[axis] > 1 or len(shape) == 1:
        return ""
    order = [axis, *(dimension for dimension in layout["order"] if dimension != axis)]
    spread, left = [1] * len(shape), _WARP
    for dimension in order:
        spread[dimension] = min(left, shape[dimension])
        left //= spread[dimension]
    # The remaining lanes, where there are fewer elements than lanes.
    spread[order[-1]] *= left
    made = {**layout, "sizePerThread": [1] * len(shape), "threadsPerWarp": spread, "order": order}
    return f"#triton_gpu.blocked<{{{', '.join(f'{key} = {numbers}' for key, numbers in made.items())}}}>"


def _between(
    match: "re.Match[str]",
    body: Sequence[str],
    kinds: Sequence[Tuple[str, str, str]],
    other: str,
    count: int,
    place: str,
) -> List[str]:
    indent, made, operands, attributes = match[1], match[2], match[3].split(", "), match[4]
    name = f"%wide_scans_{count}"
    own = [f"tensor<{shape}{kind}, {layout}>" for shape, kind, layout in kinds]
    new = [f"tensor<{shape}{kind}, {other}>" for shape, kind, _ in kinds]
    several = len(kinds) > 1
    back = f"({', '.join(new)})" if several else new[0]
    given = ", ".join(f"{name}_in{at}" for at in range(len(kinds)))
    return [
        *(
            f"{indent}{name}_in{at} = triton_gpu.convert_layout {operand} : ({own[at]}) -> {new[at]}{place}"
            for at, operand in enumerate(operands)
        ),
        f'{indent}{name}{f":{len(kinds)}" if several else ""} = "tt.scan"({given}) {attributes} ({{',
        *body,
        f"{indent}}}) : ({', '.join(new)}) -> {back}{place}",
        *(
            f"{indent}{f'{name}_{at}' if several else made} = triton_gpu.convert_layout "
            f"{name}{f'#{at}' if several else ''} : ({new[at]}) -> {own[at]}{place}"
            for at in range(len(kinds))
        ),
    ]


def _integers(text: str, between: str = ",") -> List[int]:
    return [int(number) for number in text.split(between)]


# Breakpoint: Triton 3.0 scans each column by itself.
SHIM = Shim(
    name="wide_scans",
    issue="triton-3017",
    tier="silent",
    window="<3.0",
    symptom="wrong numbers from tl.cumsum(x, 0) or tl.associative_scan along an outer axis of a wide tile",
    link="https://github.com/triton-lang/triton/issues/3017",
    delete_when="no column before Triton 3.0 is left",
    revision=1,
    concerns=Concerned(source_says(_SCANS)),
    changes=(Rewrite(rewritten, laid_out=True),),
)
