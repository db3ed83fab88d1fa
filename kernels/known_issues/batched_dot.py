"""Matrix products of three dimensions: `tl.dot` of a batch, alone and added up in a loop."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _batched_kernel(
    a_ptr, b_ptr, c_ptr, K, BATCH: tl.constexpr, SIZE: tl.constexpr, PRECISION: tl.constexpr
):
    batch = tl.arange(0, BATCH)[:, None, None]
    row, col = tl.arange(0, SIZE)[None, :, None], tl.arange(0, SIZE)[None, None, :]
    total = tl.zeros([BATCH, SIZE, SIZE], dtype=tl.float32)
    for start in range(0, K, SIZE):
        a = tl.load(a_ptr + batch * SIZE * K + row * K + start + col)
        b = tl.load(b_ptr + batch * SIZE * K + (start + row) * SIZE + col)
        total += tl.dot(a, b, input_precision=PRECISION)
    tl.store(c_ptr + batch * SIZE * SIZE + row * SIZE + col, total)


def launch(a, b, precision, warps):
    batch, _, k = a.shape
    c = torch.empty(batch, SIZE, SIZE, dtype=torch.float32, device=a.device)
    _batched_kernel[(1,)](a, b, c, k, BATCH=batch, SIZE=SIZE, PRECISION=precision, num_warps=warps)
    return {"c": c}


def reference(a, b, precision, warps):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    batch, k = case.shape["batch"], case.shape["K"]
    dtype = {"fp32": torch.float32, "fp16": torch.float16}[case.dtype]
    a, b = (
        torch.randn(batch, *size, generator=generator, device=generator.device).to(dtype).to(device)
        for size in ((SIZE, k), (k, SIZE))
    )
    return {"a": a, "b": b, "precision": case.id.split("-")[0], "warps": case.shape["warps"]}


KERNEL = kernel_of(
    globals(),
    cases=(
        # aborts the compiler of 3.0 to 3.2
        Case("ieee-fp32", "fp32", {"batch": 2, "K": 64, "warps": 4}, targets=("sm_80", "sm_90")),
        # refused by 3.0 to 3.2 in a loop of more than one stage
        Case("ieee-fp16", "fp16", {"batch": 2, "K": 64, "warps": 4}, targets=("sm_80", "sm_90")),
        # aborts the compiler of 3.0 and 3.1
        Case("ieee-fp16-cdna", "fp16", {"batch": 2, "K": 64, "warps": 4}, targets=("gfx942",)),
    ),
    uses=("dot-3d",),
    tolerance={"fp32": 2e-6, "fp16": 2e-6},
)
