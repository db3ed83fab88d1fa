"""A matrix product of three dimensions kills the compiler of Triton 3.0 to 3.2, or is refused, for NVIDIA's targets.

Two faults. In full precision (``input_precision="ieee"`` with fp32) the compiler aborts: such a product is computed by
three passes of TF32 instead, whose error is that of fp32 (1.0e-7 of the result, measured on 3.2.0 for 64 summands). In
a loop of more than one stage any is refused: a kernel with such a product is compiled for one stage.

Cost: a kernel with such a product is not pipelined. Every other kernel becomes what it was; those with a product of any
kind are compiled once more, under a separate key.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, OtherOptions, Patches, Shim
from ..seams.attribute import around_traced

_DOT = lazily(r"\bdot\b")
# In the IR: tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<4x32x32xf16> * …
_BATCHED = lazily(r"\btt\.dot\b[^\n]*?: *tensor<\d+x\d+x\d+x")


def apply(patches: Patches) -> None:
    # See also triton-lang/triton#5620.
    # Breakpoint: Triton 3.3 takes both.
    from triton.language import semantic

    def dot_that_compiles(
        dot: Callable[..., Any],
        lhs: Any,
        rhs: Any,
        acc: Any,
        precision: Any,
        imprecise_acc: Any,
        out_dtype: Any,
        builder: Any,
    ) -> Any:
        if _is_batch(lhs) and _is_exact(precision) and lhs.dtype.is_fp32():
            if "tf32x3" in builder.options.allowed_dot_input_precisions:
                note_acted(SHIM.name)
                precision = "tf32x3"
        return dot(lhs, rhs, acc, precision, imprecise_acc, out_dtype, builder)

    around_traced(patches, semantic, "dot", dot_that_compiles)


def in_one_stage(ir: str, options: Any) -> Any:
    """The options with which a kernel with a product of three dimensions compiles; None where these do."""
    if options.num_stages > 1 and has_batched_dot(ir):
        return dataclasses.replace(options, num_stages=1)
    return None


def has_batched_dot(ir: str) -> bool:
    """Whether a kernel, as IR of Triton's, has a product of three dimensions."""
    return _BATCHED.search(ir) is not None


def _is_batch(operand: Any) -> bool:
    return operand.type.is_block() and len(operand.shape) == 3


def _is_exact(precision: Any) -> bool:
    return isinstance(precision, str) and precision.lower() == "ieee"


SHIM = Shim(
    name="batched_dot",
    issue="triton-6157",
    tier="refused",
    window=">=3.0,<3.3",
    symptom="Assertion `idx < size()' failed, or: offsets must have the same rank as input, from a 3-D tl.dot",
    link="https://github.com/triton-lang/triton/issues/6157",
    delete_when="no column before 3.3 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_DOT), acts=has_batched_dot),
    changes=(OtherOptions(in_one_stage),),
)
