"""Matrix products of converted or computed operands are wrong on NVIDIA's GPUs before Triton 3.3, or kill the compiler.

``tl.dot(tl.trans(x), w.to(tl.float16))`` with `w` of int8, the same in float32 with `w` of float16, and
``tl.dot(tl.dot(a, b).to(tl.int8), v)``, ``tl.dot(tl.dot(a, b).to(tl.float16), v.to(tl.float16))`` with `v` of int8: the
compiler lays both operands out by the narrowest type that one of them comes of, and what is transposed, or made by
another product, is not read in that order. So is a product of float8 whose first operand another product made, but by
warp groups. ``tl.dot(x.to(tl.float32), w)`` with `x` of eight bits is laid out four to a register, as no float32 can be
read: the compiler dies.

Such an operand is hidden behind an addition of zero, in float32; a product of int8 or float8 whose first operand
another product made is computed in float16 and float32, which is exact for it (but on Triton 2.3 not of float8 beside a
transposed operand, whose conversion its compiler does not survive).

Cost: a conversion and back for that operand, and for the product of eight bits half of its speed. Every other kernel
becomes what it was; those with a product are compiled once more, under a separate key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Optional

from .. import features
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Rewrite, Shim
from ..seams.ir import meant

if TYPE_CHECKING:
    from ..origins import Origin

_DOTS = lazily(r"\bdot\b")
# In the IR: %9 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16> * tensor<32x16xf16> -> tensor<64x16xf32>
_DOT = lazily(
    r"(?P<indent>\s*)(?P<made>%[\w]+) = tt\.dot (?P<a>%[\w#]+), (?P<b>%[\w#]+), (?P<c>%[\w#]+)(?P<options>.*?) : "
    r"tensor<(?P<m>\d+)x(?P<k>\d+)x(?P<type>\w+)> \* tensor<\d+x(?P<n>\d+)x(?P<other>\w+)> -> "
    r"tensor<\d+x\d+x(?P<sum>\w+)>"
)
_FLOATS = ("f16", "bf16", "f32")
# The longest sum of products of int8 that float32 holds exactly: 2 to the power of 24 by 127 times 127.
_EXACT = 1024


def rewritten(ir: str) -> Optional[str]:
    """The IR of a kernel, as text, with such products written otherwise; None if it has none."""
    if " = tt.dot " not in ir:
        return None
    # Imported here: few programs have a kernel with such a product.
    from .. import origins

    lines: List[str] = []
    count = 0
    for function in origins.functions(ir):
        values = origins.Origins(function)
        for number, line in enumerate(function):
            dot = _DOT.match(line.split(" loc(")[0])
            instead: List[str] = []
            if dot:
                a, b = (values.of(number, dot[name]) for name in "ab")
                instead = _instead(dot, a, b, count)
                count += bool(instead)
            lines += instead or [line]
    return "\n".join(lines) + "\n" if count else None


def _instead(dot: "re.Match[str]", a: "Origin", b: "Origin", count: int) -> List[str]:
    """The lines of this product of `a` and `b`, written otherwise; none if it is right as it is."""
    from ..origins import bits_of

    name, indent = f"%operand_layouts_{count}", dot["indent"]
    if (dot["type"], dot["other"], dot["sum"]) == ("i8", "i8", "i32"):
        return _by_halves(dot, name) if a.product and int(dot["k"]) <= _EXACT else []
    if dot["type"] == dot["other"] and dot["type"].startswith("f8") and dot["sum"] == "f32":
        # float8e5 and float8e4nv; float16 holds the values of both.
        sound = meant().by_warp_groups and int(dot["m"]) >= 64
        # Breakpoint: before Triton 3.0 no transposed float8 is converted.
        refused = b.turned and not features.has_backends()
        return _in_halves(dot, name) if a.product and not (sound or refused) else []
    bits = bits_of(dot["type"])
    if dot["type"] != dot["other"] or dot["type"] not in _FLOATS:
        return []
    # A float32 product cannot read eight-bit operands. Nor operands narrower than itself beside a transposed one, nor
    # as the second beside the 16-bit result of another product, which stays in its threads' registers.
    eight = bits == 32 and _in_tensor_cores(dot["options"])
    stays = a.product and bits == 16
    hide = [
        which
        for which, operand, beside in (("a", a, b.turned), ("b", b, a.turned or stays))
        if (beside and operand.bits < bits) or (eight and operand.bits == 8)
    ]
    if not hide:
        return []
    shapes = {"a": f"{dot['m']}x{dot['k']}", "b": f"{dot['k']}x{dot['n']}"}
    hidden = [
        line
        for which in hide
        for line in _hidden(dot[which], f"{name}_{which}", shapes[which], dot["type"])
    ]
    named = [f"{name}_{side}" if side in hide else dot[side] for side in "ab"]
    types = "tensor<" + dot[0].partition(" : tensor<")[2]
    product = f"{dot['made']} = tt.dot {', '.join([*named, dot['c']])}{dot['options']} : {types}"
    return [indent + line for line in (*hidden, product)]


def _in_tensor_cores(options: str) -> bool:
    """Whether a float32 product is made of TF32's: ``inputPrecision = tf32``, or ``allowTF32 = true`` of Triton 2.3."""
    return "= tf32" in options or "allowTF32 = true" in options


def _hidden(value: str, name: str, shape: str, kind: str) -> List[str]:
    """`value` plus zero, as `name`: exact but for the sign of a zero, and no conversion is seen behind it."""
    wide, own = f"tensor<{shape}xf32>", f"tensor<{shape}x{kind}>"
    zero = f"{name}_zero = arith.constant dense<0.000000e+00> : {wide}"
    if kind == "f32":
        return [zero, f"{name} = arith.addf {value}, {name}_zero : {wide}"]
    return [
        zero,
        f"{name}_wide = arith.extf {value} : {own} to {wide}",
        f"{name}_sum = arith.addf {name}_wide, {name}_zero : {wide}",
        f"{name} = arith.truncf {name}_sum : {wide} to {own}",
    ]


def _in_halves(dot: "re.Match[str]", name: str) -> List[str]:
    """A product of float8, in float16."""
    first, second = f"{dot['m']}x{dot['k']}", f"{dot['k']}x{dot['n']}"
    lines = []
    for which, shape in (("a", first), ("b", second)):
        own, half = f"tensor<{shape}x{dot['type']}>", f"tensor<{shape}xf16>"
        lines += [
            f"{name}_{which}h = tt.fp_to_fp {dot[which]} : {own} -> {half}",
            *_hidden(f"{name}_{which}h", f"{name}_{which}", shape, "f16"),
        ]
    product = (
        f"{dot['made']} = tt.dot {name}_a, {name}_b, {dot['c']}{dot['options']} : "
        f"tensor<{first}xf16> * tensor<{second}xf16> -> tensor<{dot['m']}x{dot['n']}xf32>"
    )
    return [dot["indent"] + line for line in (*lines, product)]


def _by_halves(dot: "re.Match[str]", name: str) -> List[str]:
    """A product of int8, in float16 with sums in float32."""
    first, second = f"{dot['m']}x{dot['k']}", f"{dot['k']}x{dot['n']}"
    made = f"{dot['m']}x{dot['n']}"
    lines = [
        f"{name}_a = arith.sitofp {dot['a']} : tensor<{first}xi8> to tensor<{first}xf16>",
        f"{name}_h = arith.sitofp {dot['b']} : tensor<{second}xi8> to tensor<{second}xf16>",
        *_hidden(f"{name}_h", f"{name}_b", second, "f16"),
        f"{name}_c = arith.constant dense<0.000000e+00> : tensor<{made}xf32>",
        f"{name}_d = tt.dot {name}_a, {name}_b, {name}_c{dot['options']} : "
        f"tensor<{first}xf16> * tensor<{second}xf16> -> tensor<{made}xf32>",
        f"{name}_i = arith.fptosi {name}_d : tensor<{made}xf32> to tensor<{made}xi32>",
        f"{dot['made']} = arith.addi {name}_i, {dot['c']} : tensor<{made}xi32>",
    ]
    return [dot["indent"] + line for line in lines]


# See also triton-lang/triton#1949, triton-lang/triton#2853.
# Breakpoint: Triton 3.3 lays each operand out by itself.
SHIM = Shim(
    name="operand_layouts",
    issue="triton-3580",
    tier="silent",
    window="<3.3",
    symptom="silent wrong numbers from a tl.dot of int8 that another made, or of a transposed or made operand and a "
    "converted one; SIGSEGV from a float32 one of an int8 operand",
    link="https://github.com/triton-lang/triton/issues/3580",
    delete_when="no column before Triton 3.3 is left",
    revision=1,
    concerns=Concerned(source_says(_DOTS)),
    changes=(Rewrite(rewritten),),
)
