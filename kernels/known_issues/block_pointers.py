"""Block pointers, which Triton 3.9 removed: a matrix product that advances two, and a copy padded to whole blocks."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 32


@triton.jit
def _matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_row, b_row, c_row, BLOCK: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    a = tl.make_block_ptr(a_ptr, (M, K), (a_row, 1), (row, 0), (BLOCK, BLOCK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (b_row, 1), (0, col), (BLOCK, BLOCK), (1, 0))
    total = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    for _ in range(0, K, BLOCK):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        total += tl.dot(x, y)
        a = tl.advance(a, (0, BLOCK))
        b = tl.advance(b, (BLOCK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (c_row, 1), (row, col), (BLOCK, BLOCK), (1, 0))
    tl.store(c, total.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def _pad_kernel(a_ptr, y_ptr, M, N, a_row, y_row, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    a = tl.make_block_ptr(a_ptr, (M, N), (a_row, 1), (row, 0), (BLOCK, BLOCK), (1, 0))
    y = tl.make_block_ptr(y_ptr, (rows, cols), (y_row, 1), (row, 0), (BLOCK, BLOCK), (1, 0))
    for _ in range(0, cols, BLOCK):
        tl.store(y, tl.load(a, boundary_check=(0, 1), padding_option="zero"))
        a = tl.advance(a, (0, BLOCK))
        y = tl.advance(y, (0, BLOCK))


def launch(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    rows, cols = (triton.cdiv(size, BLOCK) * BLOCK for size in (m, k))
    padded = torch.empty((rows, cols), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, BLOCK), triton.cdiv(n, BLOCK))
    _matmul_kernel[grid](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), BLOCK=BLOCK, num_warps=4
    )
    _pad_kernel[grid[:1]](
        a, padded, m, k, a.stride(0), padded.stride(0), rows, cols, BLOCK=BLOCK, num_warps=4
    )
    return {"c": c, "padded": padded}


def reference(a, b):
    m, k = a.shape
    right, below = -k % BLOCK, -m % BLOCK
    padded = torch.nn.functional.pad(a.double(), (0, right, 0, below))
    return {"c": a.double() @ b.double(), "padded": padded}


def inputs(case, device, generator):
    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    m, n, k = (case.shape[name] for name in "MNK")
    return {"a": normal(m, k), "b": normal(k, n)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case(
            "fp16-37x50x41",
            "fp16",
            {"M": 37, "N": 50, "K": 41},
            targets=("sm_90", "sm_80", "gfx942"),
        ),
        Case(
            "fp16-64x32x96",
            "fp16",
            {"M": 64, "N": 32, "K": 96},
            targets=("sm_90", "sm_80", "gfx942"),
        ),
    ),
    # measured: 2.1e-4, the rounding of the output
    tolerance={"fp16": 1e-3},
    uses=("dot",),
)
