"""A matrix product that is added to memory by atomics, whose old values are read: a split product that goes on."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _fetched_kernel(a_ptr, b_ptr, c_ptr, old_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    product = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    tl.store(old_ptr + at, tl.atomic_add(c_ptr + at, product))


@triton.jit
def _flat_kernel(a_ptr, b_ptr, c_ptr, old_ptr, SIZE: tl.constexpr):
    """The same with one dimension at the atomics, which every release compiles."""
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    product = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    flat = tl.arange(0, SIZE * SIZE)
    tl.store(old_ptr + flat, tl.atomic_add(c_ptr + flat, tl.reshape(product, [SIZE * SIZE])))


def launch(a, b, c, flat=False):
    c, old = c.clone(), torch.zeros_like(c)
    (_flat_kernel if flat else _fetched_kernel)[(1,)](a, b, c, old, SIZE=SIZE)
    return {"c": c, "old": old}


def reference(a, b, c):
    return {"c": c.double() + a.double() @ b.double(), "old": c.double()}


def inputs(case, device, generator):
    def drawn(dtype):
        made = torch.randint(-8, 8, (SIZE, SIZE), generator=generator, device=generator.device)
        return made.to(device, dtype)

    sums = torch.int32 if case.dtype == "int8" else torch.float32
    return {"a": drawn(case.torch_dtype), "b": drawn(case.torch_dtype), "c": drawn(sums)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("int8", "int8", {}, targets=("sm_80", "sm_90")),
        Case("int8-flat", "int8", {}, targets=("sm_80", "sm_90"), options={"flat": True}),
        Case("fp16", "fp16", {}, targets=("sm_80", "sm_90")),
    ),
    uses=("dot",),
    # integers, all of them exact
    tolerance={"int8": 0.0, "fp16": 0.0},
)
