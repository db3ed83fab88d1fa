"""``tl.arange(0, N) == 0`` is silently true in more than one place on Triton 2.3, and ``!=`` false.

Of a range of consecutive numbers beside one that 2, 4, ... divide, the compiler takes 2, 4, ... neighbours to compare
alike: so it is for ``<`` and ``>=``, and not for equality. Here three times the one is compared with three times the
other, which is the same of integers that wrap around, and of which no neighbours are consecutive.

Cost: one or two instructions for such a comparison. Kernels without one become what they were;
those whose source has ``==`` or ``!=`` are compiled once more, under a separate key.
"""

from __future__ import annotations

from typing import List, Optional, Set

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim

# The last three ask so where they come from `language_names`.
_EQUALITY = lazily(r"[=!]=|\b(join|interleave|split)\b")
_COMPARED = lazily(
    r"(\s*)(%\w+) = arith\.cmpi (eq|ne), (%[\w#]+), (%[\w#]+) : (tensor<(?:\d+x)+i(?:8|16|32|64)>)(.*)"
)
_RESULT = lazily(r"\s*(%\w+)(?::\d+)? = \"?([\w.]+)")
_VALUE = lazily(r"%[\w#]+")
# The results of these are not consecutive numbers, whatever their operands are.
_LOADED = ("tt.load", "tt.reduce", "tt.scan", "tt.dot", "tt.atomic_rmw", "tt.atomic_cas")


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel, as text, with such comparisons written otherwise; None if it has none."""
    plain: Set[str] = set()
    lines: List[str] = []
    count = 0
    for line in ir.splitlines():
        text = line.split(" loc(")[0]
        match = _COMPARED.match(line)
        if match and not {match[4], match[5]} <= plain:
            indent, made, how, left, other, kind, rest = match.groups()
            name = f"%range_equality_{count}"
            count += 1
            lines += [
                f"{indent}{name} = arith.constant dense<3> : {kind}",
                f"{indent}{name}_a = arith.muli {left}, {name} : {kind}{rest}",
                f"{indent}{name}_b = arith.muli {other}, {name} : {kind}{rest}",
                f"{indent}{made} = arith.cmpi {how}, {name}_a, {name}_b : {kind}{rest}",
            ]
        else:
            lines.append(line)
        result = _RESULT.match(text)
        if result and _plain(text, result[2], plain):
            plain.add(result[1])
    return "\n".join(lines) + "\n" if count else None


def _plain(text: str, operation: str, plain: Set[str]) -> bool:
    """Whether the result of `operation` certainly comes from no range: only from numbers, memory, or plain values."""
    if operation == "tt.make_range":
        return False
    operands = _VALUE.findall(text)[1:]
    # Other operands of an operation with a region are elsewhere.
    return operation in _LOADED or ("scf." not in operation and plain.issuperset(operands))


# Breakpoint: Triton 3.0 takes equality for what it is.
SHIM = Shim(
    name="range_equality",
    issue="triton-3214",
    tier="silent",
    window="<3.0",
    symptom="wrong numbers from tl.arange(0, N) == 0: it is true in more than one place",
    link="https://github.com/triton-lang/triton/issues/3214",
    delete_when="no column before Triton 3.0 is left",
    revision=1,
    concerns=Concerned(source_says(_EQUALITY)),
    changes=(Rewrite(rewritten),),
)
