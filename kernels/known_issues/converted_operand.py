"""A product in a loop whose left operand is int8 in memory and fp16 in the product, and whose right one is transposed.

Each iteration sums up sixteen columns. From 2.3 to 3.2 the conversion of such an operand is unpacked into twice as many
elements as it has, and the compiler dies of an index beyond them.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

M, N, BLOCK_K = 64, 16, 16


@triton.jit
def _product_kernel(
    a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr
):
    row, column, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.zeros([M, N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + row[:, None] * K + start + inner[None, :]).to(tl.float16)
        b = tl.load(b_ptr + column[:, None] * K + start + inner[None, :])
        total = tl.dot(a, tl.trans(b), total)
    tl.store(c_ptr + row[:, None] * N + column[None, :], total)


def launch(a, b):
    c = torch.empty(M, N, dtype=torch.float32, device=a.device)
    _product_kernel[(1,)](a, b, c, a.shape[1], M=M, N=N, BLOCK_K=BLOCK_K)
    return {"c": c}


def reference(a, b):
    return {"c": a.double() @ b.double().T}


def inputs(case, device, generator):
    k = case.shape["K"]
    a = torch.randint(-8, 8, (M, k), generator=generator, device=generator.device)
    b = torch.randint(-8, 8, (N, k), generator=generator, device=generator.device)
    return {"a": a.to(device, torch.int8), "b": b.to(device, torch.float16)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("int8-fp16", "fp16", {"K": 48}, targets=("sm_80",)),),
    # integers, summed up exactly
    tolerance={"fp16": 0.0},
)
