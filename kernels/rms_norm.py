"""RMS norm over the last dimension, forward and backward, one row in one block."""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

# programs of the backward pass: one for every multiprocessor at the least, and enough elements on their way; rows of
# each, at least, since each leaves a row of sums to be added up
MULTIPROCESSORS = 132
BACKWARD_ELEMENTS = MULTIPROCESSORS * 8192
BACKWARD_ROWS = 4


@triton.jit
def _forward_kernel(
    x_ptr, weight_ptr, y_ptr, rstd_ptr, x_stride, y_stride, N, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N + eps)
    tl.store(rstd_ptr + row, rstd)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(
        y_ptr + row * y_stride + cols, (x * rstd * weight).to(y_ptr.dtype.element_ty), mask=mask
    )


@triton.jit
def _backward_kernel(
    x_ptr,
    weight_ptr,
    dy_ptr,
    rstd_ptr,
    dx_ptr,
    dweight_ptr,
    x_stride,
    dy_stride,
    dx_stride,
    M,
    N,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dweight = tl.zeros([BLOCK], dtype=tl.float32)
    # every row is loaded while the one before is worked on, which waits for its sum
    next_x = tl.load(x_ptr + program * x_stride + cols, mask=mask, other=0.0)
    next_dy = tl.load(dy_ptr + program * dy_stride + cols, mask=mask, other=0.0)
    for row in range(program, M, programs):
        x = next_x.to(tl.float32)
        dy = next_dy.to(tl.float32)
        # after its last row a program loads the last row of all, and does not use it
        following = tl.minimum(row + programs, M - 1)
        next_x = tl.load(x_ptr + following * x_stride + cols, mask=mask, other=0.0)
        next_dy = tl.load(dy_ptr + following * dy_stride + cols, mask=mask, other=0.0)
        rstd = tl.load(rstd_ptr + row)
        x_hat = x * rstd
        scaled = dy * weight
        along = tl.sum(scaled * x_hat, axis=0) / N
        dx = (scaled - x_hat * along) * rstd
        tl.store(dx_ptr + row * dx_stride + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * x_hat
    tl.store(dweight_ptr + program * N + cols, dweight, mask=mask)


@triton.jit
def _column_sum_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        mask = (start + rows[:, None] < M) & (cols[None, :] < N)
        total += tl.load(x_ptr + (start + rows[:, None]) * N + cols[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + cols, tl.sum(total, axis=0).to(y_ptr.dtype.element_ty), mask=cols < N)


def column_sums(x, dtype):
    """The sums of the columns of `x` [M, N] fp32, contiguous; [N] in `dtype`, rounded once."""
    rows, width = x.shape
    y = torch.empty(width, dtype=dtype, device=x.device)
    grid = (triton.cdiv(width, 16),)
    _column_sum_kernel[grid](x, y, rows, width, BLOCK_M=128, BLOCK_N=16, num_warps=8)
    return y


def backward_programs(rows, block):
    """Programs that share the rows of a backward pass."""
    programs = max(BACKWARD_ELEMENTS // block, MULTIPROCESSORS)
    return min(triton.cdiv(rows, BACKWARD_ROWS), programs)


def launch(x, weight, dy, eps=1e-6):
    rows, width = x.shape
    block = triton.next_power_of_2(width)
    warps = num_warps(block)
    y = torch.empty_like(x)
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    _forward_kernel[(rows,)](
        x, weight, y, rstd, x.stride(0), y.stride(0), width, eps, BLOCK=block, num_warps=warps
    )
    programs = backward_programs(rows, block)
    dx = torch.empty_like(x)
    dweight = torch.empty((programs, width), dtype=torch.float32, device=x.device)
    _backward_kernel[(programs,)](
        x,
        weight,
        dy,
        rstd,
        dx,
        dweight,
        x.stride(0),
        dy.stride(0),
        dx.stride(0),
        rows,
        width,
        BLOCK=block,
        num_warps=warps,
    )
    return {"y": y, "dx": dx, "dweight": column_sums(dweight, weight.dtype)}


def reference(x, weight, dy, eps=1e-6):
    x64, weight64, dy64 = (t.double() for t in (x, weight, dy))
    rstd = (x64.square().mean(1, keepdim=True) + eps).rsqrt()
    x_hat = x64 * rstd
    scaled = dy64 * weight64
    along = (scaled * x_hat).mean(1, keepdim=True)
    return {
        "y": x_hat * weight64,
        "dx": (scaled - x_hat * along) * rstd,
        "dweight": (dy64 * x_hat).sum(0),
    }


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # a row wider than the kernel may touch: a store outside the mask would change its neighbour
    wide = normal(rows, width + case.shape.get("wider", 3))
    x = wide[:, :width]
    # with a row of one and an epsilon near zero, dx is nothing but rounding error
    eps = 1.0 if width == 1 else 1e-6
    return {"x": x, "weight": normal(width), "dy": normal(rows, width), "eps": eps}


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-5x333", "fp32", {"M": 5, "N": 333}),
        # nothing but lanes of one, where an integer argument of 1 is made a constant
        Case("fp16-1x1", "fp16", {"M": 1, "N": 1}),
        Case("bf16-9x2050", "bf16", {"M": 9, "N": 2050}),
    ),
    # measured: 8.8e-8, 4.1e-4 (the row of one); bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 8e-3},
)
