"""``tl.dot(tl.where(tl.trans(tl.dot(a, b)) > 0, x, 0.0).to(tl.float16), w)`` is silently wrong, or refused, since 3.3.

The gradient of a ReLU inside of one kernel, for example: what one product decides, transposed, chooses the elements of
another product's operand, and `x` is loaded behind the first. The compiler brings the condition, one bit an element,
into the layout of that operand by way of shared memory, where no element is smaller than eight bits: 3.3 and 3.4 read
other elements' bits, and from 3.5 on a pass dies of it.

Such a choice is made of whole numbers: a mask of all bits or none, by way of float32, so that what is laid out anew is
no single bit. Exact for every number, NaN too.

Cost: four operations an element, in such a kernel. Those with two products, a choice and a transposition are compiled
once more, under a separate key; all others become what they were.
"""

from __future__ import annotations

import re
from typing import List, Optional

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim

_DOTS = lazily(r"\bdot\b")
# In the IR: %12 = arith.select %10, %11, %cst : tensor<16x64xi1>, tensor<16x64xf32>
_SELECT = lazily(
    r"(?P<indent>\s*)(?P<made>%\w+) = arith\.select (?P<mask>%[\w#]+), (?P<yes>%[\w#]+), (?P<no>%[\w#]+) : "
    r"tensor<(?P<shape>(?:\d+x)+)i1>, tensor<(?:\d+x)+(?P<type>b?f(?:16|32|64)|i(?:8|16|32|64))>$"
)


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel, as text, with such choices written otherwise; None if it has none."""
    if ir.count(" = tt.dot ") < 2:
        return None
    from .. import origins

    lines: List[str] = []
    count = 0
    for function in origins.functions(ir):
        values = origins.Origins(function)
        for number, line in enumerate(function):
            select = _SELECT.match(line.split(" loc(")[0].rstrip())
            mask = values.of(number, select["mask"]) if select else origins.UNKNOWN
            if select and mask.turned and mask.product:
                lines += _instead(select, f"%selected_operands_{count}")
                count += 1
            else:
                lines.append(line)
    return "\n".join(lines) + "\n" if count else None


def _instead(select: "re.Match[str]", name: str) -> List[str]:
    """The lines of this choice, bit by bit."""
    shape, own = select["shape"], select["type"]
    from ..origins import bits_of

    kind, wide = f"tensor<{shape}{own}>", f"tensor<{shape}i{bits_of(own)}>"
    flag = f"tensor<{shape}f32>"
    made = [
        f"{name}_flag = arith.uitofp {select['mask']} : tensor<{shape}i1> to {flag}",
        f"{name}_one = arith.fptosi {name}_flag : {flag} to {wide}",
        f"{name}_zero = arith.constant dense<0> : {wide}",
        f"{name}_mask = arith.subi {name}_zero, {name}_one : {wide}",
    ]
    yes, no = select["yes"], select["no"]
    if kind != wide:
        made += [
            f"{name}_yes = tt.bitcast {yes} : {kind} -> {wide}",
            f"{name}_no = tt.bitcast {no} : {kind} -> {wide}",
        ]
        yes, no = f"{name}_yes", f"{name}_no"
    made += [
        f"{name}_both = arith.xori {yes}, {no} : {wide}",
        f"{name}_part = arith.andi {name}_both, {name}_mask : {wide}",
    ]
    chosen = f"arith.xori {name}_part, {no} : {wide}"
    if kind == wide:
        made.append(f"{select['made']} = {chosen}")
    else:
        made += [
            f"{name}_bits = {chosen}",
            f"{select['made']} = tt.bitcast {name}_bits : {wide} -> {kind}",
        ]
    return [select["indent"] + line for line in made]


# Breakpoint: none yet, 3.9.0 refuses it.
SHIM = Shim(
    name="selected_operands",
    issue="selected-operand",
    tier="silent",
    window=">=3.3",
    symptom="tl.dot of what tl.where chooses by a transposed product is silently wrong, or refused",
    link="https://github.com/triton-lang/triton/pull/10285",
    delete_when="every column has a Triton that keeps conditions of one bit out of shared memory",
    revision=1,
    concerns=Concerned(source_says(_DOTS)),
    changes=(Rewrite(rewritten),),
)
