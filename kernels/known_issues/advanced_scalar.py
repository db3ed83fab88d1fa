"""A loop that adds up products of two tiles, each scaled by a number behind a pointer that the loop advances.

Pipelined in three stages, it crashes the compiler of Triton 3.6 for AMD's GPUs.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE, TURNS = 32, 4
SHAPE = {"size": SIZE, "turns": TURNS}


@triton.jit
def _scaled_products_kernel(
    a_ptr, b_ptr, scale_ptr, y_ptr, turns, tile, SIZE: tl.constexpr, ADVANCE: tl.constexpr
):
    at = tl.arange(0, SIZE)
    places = at[:, None] * SIZE + at[None, :]
    a_ptrs, b_ptrs = a_ptr + places, b_ptr + places
    y = tl.zeros((SIZE, SIZE), tl.float32)
    for turn in range(turns):
        a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        if ADVANCE:
            y += tl.dot(a, b) * tl.load(scale_ptr)
            scale_ptr += 1
        else:
            y += tl.dot(a, b) * tl.load(scale_ptr + turn)
        a_ptrs += tile
        b_ptrs += tile
    tl.store(y_ptr + places, y)


def launch(a, b, scale, advance, num_stages):
    y = torch.empty(SIZE, SIZE, device=a.device)
    _scaled_products_kernel[(1,)](
        a, b, scale, y, TURNS, SIZE * SIZE,
        SIZE=SIZE, ADVANCE=advance, num_stages=num_stages,
    )  # fmt: skip
    return {"y": y}


def reference(a, b, scale):
    return {"y": (a.double() @ b.double() * scale.double()[:, None, None]).sum(0)}


def inputs(case, device, generator):
    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=generator.device)

    a, b = (normal(TURNS, SIZE, SIZE).to(device, case.torch_dtype) for _ in range(2))
    return {"a": a, "b": b, "scale": normal(TURNS).to(device)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("advanced-3stages", "fp16", SHAPE, options={"advance": True, "num_stages": 3}),
        Case("advanced-2stages", "fp16", SHAPE, options={"advance": True, "num_stages": 2}),
        Case("indexed-3stages", "fp16", SHAPE, options={"advance": False, "num_stages": 3}),
    ),
    # the sums are of fp32 on both sides
    tolerance={"fp16": 1e-3},
    uses=("dot",),
)
