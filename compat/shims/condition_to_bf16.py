"""A condition cannot be made bfloat16, as in ``(x > 0).to(tl.bfloat16)``, before Triton 3.2.

The backends keep bfloat16 as integers of 16 bits, and no conversion makes these of a single bit. Here it becomes
float32 first, which is as exact.
"""

import functools
from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim
from ..tracing import value


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.2 compiles it.
    import triton.language as tl
    from triton.language import semantic

    cast = semantic.cast

    @functools.wraps(cast)
    def by_float32(input: Any, dst_ty: Any, builder: Any, *rounding: Any, **named: Any) -> Any:
        if input.type.scalar.is_int1() and value(dst_ty).scalar.is_bf16():
            note_acted(SHIM.name)
            input = cast(input, tl.float32, builder)
        return cast(input, dst_ty, builder, *rounding, **named)

    patches.set(semantic, "cast", by_float32)


SHIM = Shim(
    name="condition_to_bf16",
    issue="condition-to-bf16",
    tier="refused",
    window="<3.2",
    symptom="'llvm.uitofp' op result #0 must be floating point LLVM type",
    link="https://github.com/triton-lang/triton/blob/release/3.1.x/third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/ElementwiseOpToLLVM.cpp",
    delete_when="no column before Triton 3.2 is left",
    apply=apply,
)
