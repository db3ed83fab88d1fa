"""Bytes are compared with their neighbours on Triton 2.3: ``x < y`` and ``x == y`` of int8 or uint8 are silently wrong.

Four of them lie in a register, and the first is compared as the register whole: LLVM's, of that time. `tl.argmin`,
`tl.argmax` and `tl.sort` compare likewise. Here they are compared as float32, which holds every byte.

Cost: two conversions for such a comparison, and four instructions more where there is a sign. Kernels without one
become what they were; those with such a parameter, or whose source names such a type, are compiled once more, under a
key of their own.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Optional

from ..patterns import lazily
from ..record import Concerned, Rewrite, Shim

_NAMED = lazily(r"\bu?int8\b")
_PARAMETER = lazily(r"[iu]8\b")
_COMPARED = lazily(
    r"(\s*)(%\w+) = arith\.cmpi (\w+), (%[\w#]+), (%[\w#]+) : (tensor<(?:\d+x)+i8>|i8)(?![\w])(.*)"
)
# An integer comparison, as floats are compared.
_ORDERED = {
    "eq": "oeq", "ne": "one", "slt": "olt", "ult": "olt", "sle": "ole", "ule": "ole", "sgt": "ogt", "ugt": "ogt",
    "sge": "oge", "uge": "oge",
}  # fmt: skip


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel, as text, with comparisons of bytes turned into those of floats; None if it has none."""
    lines: List[str] = []
    count = 0
    for line in ir.splitlines():
        match = _COMPARED.match(line)
        if match is None or match[3] not in _ORDERED:
            lines.append(line)
            continue
        indent, made, how, left, other, kind, rest = match.groups()
        name, wide = f"%byte_comparisons_{count}", kind.replace("i8", "f32")
        count += 1
        for side, value in (("a", left), ("b", other)):
            lines.append(f"{indent}{name}_{side} = arith.uitofp {value} : {kind} to {wide}{rest}")
        if how.startswith("s"):
            lines += _signed(indent, name, wide, rest)
            name += "_s"
        lines.append(
            f"{indent}{made} = arith.cmpf {_ORDERED[how]}, {name}_a, {name}_b : {wide}{rest}"
        )
    return "\n".join(lines) + "\n" if count else None


def _signed(indent: str, name: str, wide: str, rest: str) -> List[str]:
    """Subtract 256 from values of 128 and more: a signed conversion is wrong for some bytes as well."""
    tile = wide.startswith("tensor")
    half, whole = (
        f"dense<{value}>" if tile else value for value in ("1.280000e+02", "2.560000e+02")
    )
    kinds = f"{wide.replace('f32', 'i1')}, {wide}" if tile else wide
    lines = [
        f"{indent}{name}_h = arith.constant {half} : {wide}",
        f"{indent}{name}_w = arith.constant {whole} : {wide}",
    ]
    for side in "ab":
        value = f"{name}_{side}"
        lines += [
            f"{indent}{value}n = arith.cmpf oge, {value}, {name}_h : {wide}{rest}",
            f"{indent}{value}l = arith.subf {value}, {name}_w : {wide}{rest}",
            f"{indent}{name}_s_{side} = arith.select {value}n, {value}l, {value} : {kinds}{rest}",
        ]
    return lines


def _names_bytes(reached: Iterable[Any]) -> bool:
    """Whether a kernel makes bytes by itself: its source says so, or it is given their type."""
    for item in reached:
        source = getattr(item, "src", None)
        if _NAMED.search(source if isinstance(source, str) else str(getattr(item, "name", ""))):
            return True
    return False


# Breakpoint: Triton 3.0 brings an LLVM that cuts a byte out before it compares it.
SHIM = Shim(
    name="byte_comparisons",
    issue="compared-int8",
    tier="silent",
    window="<3.0",
    symptom="wrong numbers from x < y, x == y, tl.argmin or tl.argmax of int8 or uint8",
    link="https://github.com/llvm/llvm-project/pull/81308",
    delete_when="no column before Triton 3.0 is left",
    revision=1,
    concerns=Concerned(_names_bytes, _PARAMETER),
    changes=(Rewrite(rewritten),),
)
