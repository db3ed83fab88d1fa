"""Where Triton's interpreter can be trusted as a reference, and where not, with the reason.

Measured on the published wheels with 97 small kernels (facts of 2026-11, section 4). A case that needs a feature that
its interpreter gets wrong is `unsupported` there, unless a shim fixes it: a wrong oracle accuses right kernels.
"""

from typing import NamedTuple, Optional, Sequence

from crosswarp.compat.versions import in_window


class Gap(NamedTuple):
    """A thing that the interpreters of some versions cannot do.

    Attributes:
        uses: the feature (`Kernel.uses`, a dtype, or "*" for every kernel).
        triton: the versions.
        why: for the record.
        shim: the shim that fixes it, if any.
        numpy: the versions of numpy that cause it, if it depends on numpy.
    """

    uses: str
    triton: str
    why: str
    shim: str = ""
    numpy: str = ""


GAPS = (
    Gap("*", "<3.0", "the interpreter of Triton 2.3 fails on reductions and indexing, and takes every `if` as true; "
        "the lane emulate compares this column's numbers"),
    Gap("*", "<3.2", "this interpreter reads wrong memory with numpy 2, without an error; pin numpy<2", numpy=">=2"),
    Gap("*", "<3.7", "this interpreter fails on run-time loop bounds with numpy 2.4 and later; pin numpy<2.4",
        numpy=">=2.4"),
    Gap("bf16", ">=3.0,<3.10", "the interpreter computes on the bit patterns of bf16 and truncates when it rounds to "
        "it", shim="interpreter_bf16"),
    Gap("reserved-option", "<3.3", "the interpreter drops a launch option that the kernel declares (num_warps)",
        shim="interpreter_reserved_options"),
    Gap("fp8", ">=3.0,<3.10", "the interpreter loses the carry when it rounds to an 8-bit float, and its NaN and "
        "infinity", shim="interpreter_fp8"),
    Gap("nan", ">=3.0,<3.8", "the interpreter takes NaN for the maximum or minimum where a compiled kernel takes the "
        "number", shim="interpreter_nan"),
    Gap("fp16-atomic", ">=3.0,<3.3", "the interpreter has no atomic addition of fp16", shim="interpreter_atomics"),
    Gap("float-argument", ">=3.2,<3.10", "the interpreter rounds products of 16-bit floats with a float argument to "
        "16 bits", shim="interpreter_float_arguments"),
    Gap("bool-sum", ">=3.0,<3.3", "the interpreter says whether any is true where the compiled kernel adds in one bit",
        shim="interpreter_bool_sum"),
    Gap("math-method", ">=3.0,<3.9", "the interpreter calls the mathematical methods of tensors (x.exp()) without its "
        "builder", shim="interpreter_tensor_methods"),
    Gap("argmax", ">=3.0,<3.3", "the interpreter stores each index of argmax and argmin as 8 bytes, over what lies "
        "next to it"),
    Gap("dot-scaled", ">=3.3,<3.8", "the interpreter fails on tl.dot_scaled: it hands on the formats as plain strings"),
    Gap("libdevice", ">=3.0,<3.10", "the interpreter has no libdevice", shim="interpreter_libdevice"),
    Gap("gluon", ">=3.0", "the interpreter has no Gluon: gluon.jit ignores TRITON_INTERPRET"),
    Gap("tlx", ">=3.0", "the interpreter has no TLX"),
    Gap("inline-asm", ">=3.0,<3.10", "the interpreter has no inline assembly"),
    Gap("descriptor-atomic", ">=3.4", "the interpreter has no atomics of tensor descriptors"),
)  # fmt: skip


def gap(uses: Sequence[str], triton: str, numpy: str, shims: Sequence[str] = ()) -> Optional[Gap]:
    """The first gap that a kernel using `uses` falls into, or None.

    Args:
        uses: the kernel's `uses` and the case's dtype.
        triton, numpy: versions.
        shims: names of the active shims.
    """
    for candidate in GAPS:
        if candidate.uses != "*" and candidate.uses not in uses:
            continue
        if candidate.shim in shims or not in_window(candidate.triton, triton):
            continue
        if candidate.numpy and not in_window(candidate.numpy, numpy):
            continue
        return candidate
    return None
