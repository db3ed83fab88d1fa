"""Layer norm over the last dimension, forward and backward, one row in one block.

Both kernels declare the launch option num_warps as a parameter, and the launcher passes it by keyword. Triton 2.3.1
takes the option out of the keywords before it binds the rest to the kernel's signature, and fails with
"missing a required argument: 'num_warps'"; from 3.0.0 on the kernel sees it and the launch obeys it.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.rms_norm import backward_programs, column_sums


@triton.jit
def _forward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    mean_ptr,
    rstd_ptr,
    x_stride,
    y_stride,
    N,
    eps,
    BLOCK: tl.constexpr,
    num_warps: tl.constexpr,
):
    # every warp has at least one element
    tl.static_assert(BLOCK >= num_warps)
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / N
    rstd = 1.0 / tl.sqrt(variance + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    y = centred * rstd * weight + bias
    tl.store(y_ptr + row * y_stride + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _backward_kernel(
    x_ptr,
    weight_ptr,
    dy_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dsums_ptr,
    x_stride,
    dy_stride,
    dx_stride,
    M,
    N,
    BLOCK: tl.constexpr,
    num_warps: tl.constexpr,
):
    tl.static_assert(BLOCK >= num_warps)
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dweight = tl.zeros([BLOCK], dtype=tl.float32)
    dbias = tl.zeros([BLOCK], dtype=tl.float32)
    # every row is loaded while the one before is worked on, which waits for its sums
    next_x = tl.load(x_ptr + program * x_stride + cols, mask=mask, other=0.0)
    next_dy = tl.load(dy_ptr + program * dy_stride + cols, mask=mask, other=0.0)
    for row in range(program, M, programs):
        x = next_x.to(tl.float32)
        dy = next_dy.to(tl.float32)
        # after its last row a program loads the last row of all, and does not use it
        following = tl.minimum(row + programs, M - 1)
        next_x = tl.load(x_ptr + following * x_stride + cols, mask=mask, other=0.0)
        next_dy = tl.load(dy_ptr + following * dy_stride + cols, mask=mask, other=0.0)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
        scaled = dy * weight
        along = tl.sum(scaled * x_hat, axis=0) / N
        across = tl.sum(scaled, axis=0) / N
        dx = (scaled - across - x_hat * along) * rstd
        tl.store(dx_ptr + row * dx_stride + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * x_hat
        dbias += dy
    # side by side, so that one kernel adds up both
    sums = dsums_ptr + program * (2 * N) + cols
    tl.store(sums, dweight, mask=mask)
    tl.store(sums + N, dbias, mask=mask)


def warps_for(block):
    """Warps for a row of this block: more for long rows, up to what every target can launch."""
    if block < 2048:
        return 4
    return 8 if block < 8192 else 16


def launch(x, weight, bias, dy, eps=1e-5):
    rows, width = x.shape
    block = triton.next_power_of_2(width)
    # a block has to hold as many elements as there are warps
    block = max(block, 16)
    warps = warps_for(block)
    y = torch.empty_like(x)
    mean = torch.empty(rows, dtype=torch.float32, device=x.device)
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    _forward_kernel[(rows,)](
        x,
        weight,
        bias,
        y,
        mean,
        rstd,
        x.stride(0),
        y.stride(0),
        width,
        eps,
        BLOCK=block,
        num_warps=warps,
    )
    programs = backward_programs(rows, block)
    dx = torch.empty_like(x)
    dsums = torch.empty((programs, 2 * width), dtype=torch.float32, device=x.device)
    _backward_kernel[(programs,)](
        x,
        weight,
        dy,
        mean,
        rstd,
        dx,
        dsums,
        x.stride(0),
        dy.stride(0),
        dx.stride(0),
        rows,
        width,
        BLOCK=block,
        num_warps=warps,
    )
    dweight, dbias = column_sums(dsums, weight.dtype).split(width)
    return {"y": y, "dx": dx, "dweight": dweight, "dbias": dbias}


def reference(x, weight, bias, dy, eps=1e-5):
    # written out and not torch's own layer_norm, so that nothing is shared with a library that may use Triton
    x64, weight64, bias64, dy64 = (t.double() for t in (x, weight, bias, dy))
    centred = x64 - x64.mean(1, keepdim=True)
    rstd = (centred.square().mean(1, keepdim=True) + eps).rsqrt()
    x_hat = centred * rstd
    scaled = dy64 * weight64
    along = (scaled * x_hat).mean(1, keepdim=True)
    across = scaled.mean(1, keepdim=True)
    return {
        "y": x_hat * weight64 + bias64,
        "dx": (scaled - across - x_hat * along) * rstd,
        "dweight": (dy64 * x_hat).sum(0),
        "dbias": dy64.sum(0),
    }


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # rows with a mean, so that a variance computed without centring would show
    return {
        "x": normal(rows, width) + 2,
        "weight": normal(width),
        "bias": normal(width),
        "dy": normal(rows, width),
    }


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-7x100", "fp32", {"M": 7, "N": 100}),
        # 8 warps
        Case("fp16-19x3001", "fp16", {"M": 19, "N": 3001}),
        # 16 warps
        Case("bf16-1x8200", "bf16", {"M": 1, "N": 8200}),
    ),
    # measured: 1.4e-7, 2.1e-4; bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
    uses=("reserved-option",),
)
