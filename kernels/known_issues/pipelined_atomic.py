"""A loop of products that adds to memory in every iteration: AMD's pipeliner could not handle the atomic operation."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _sums_kernel(a_ptr, b_ptr, y_ptr, sums_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tile = at[:, None] * SIZE + at[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for turn in range(turns):
        a = tl.load(a_ptr + turn * SIZE * SIZE + tile)
        b = tl.load(b_ptr + turn * SIZE * SIZE + tile)
        product = tl.dot(a, b)
        tl.atomic_add(sums_ptr + turn * SIZE + at, tl.sum(product, 1))
        total += product
    tl.store(y_ptr + tile, total)


def launch(a, b, num_stages):
    y = torch.empty(SIZE, SIZE, device=a.device)
    sums = torch.zeros(len(a), SIZE, device=a.device)
    _sums_kernel[(1,)](a, b, y, sums, len(a), SIZE=SIZE, num_stages=num_stages)
    return {"y": y, "sums": sums}


def reference(a, b):
    products = a.double() @ b.double()
    return {"y": products.sum(0), "sums": products.sum(2)}


def inputs(case, device, generator):
    def tiles():
        x = torch.randn(
            case.shape["TURNS"], SIZE, SIZE, generator=generator, device=generator.device
        )
        return x.to(device, case.torch_dtype)

    return {"a": tiles(), "b": tiles()}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(name, "fp16", {"TURNS": 5}, targets=("sm_90", "gfx*"), options={"num_stages": stages})
        for name, stages in (("one-stage", 1), ("two-stages", 2))
    ),
    # Measured: sums of products in float32.
    tolerance={"fp16": 2e-6},
)
