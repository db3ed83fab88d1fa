"""Depthwise causal convolution along the tokens, with bias and SiLU, forward and backward.

A tile holds some tokens of some channels. What it needs of the tokens before (backward: after) it, it reads again.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, Kernel

BLOCK_T = 32
LARGEST_BLOCK_D = 64


@triton.jit
def _convolved(x_ptr, weight_ptr, bias, t, d, x_token, T, D, W: tl.constexpr):
    """The convolution at tokens t, before SiLU."""
    total = tl.zeros([t.shape[0], d.shape[0]], dtype=tl.float32) + bias[None, :]
    for tap in tl.static_range(0, W):
        source = t - (W - 1 - tap)
        mask = (source[:, None] >= 0) & (source[:, None] < T) & (d[None, :] < D)
        at = source[:, None] * x_token + d[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + d * W + tap, mask=d < D, other=0.0).to(tl.float32)
        total += x * weight[None, :]
    return total


@triton.jit
def _forward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    x_batch,
    x_token,
    T,
    D,
    W: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    # 64 bits: a whole batch may pass 2^31
    batch = tl.program_id(2).to(tl.int64)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    bias = tl.load(bias_ptr + d, mask=d < D, other=0.0).to(tl.float32)
    x_ptr += batch * x_batch
    total = _convolved(x_ptr, weight_ptr, bias, t, d, x_token, T, D, W)
    y = total / (1.0 + tl.exp(-total))
    mask = (t[:, None] < T) & (d[None, :] < D)
    y_ptr += batch * T * D
    tl.store(y_ptr + t[:, None] * D + d[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _backward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    dy_ptr,
    dx_ptr,
    dweight_ptr,
    dbias_ptr,
    x_batch,
    x_token,
    T,
    D,
    W: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    batch = tl.program_id(2).to(tl.int64)
    part = batch * tl.num_programs(1) + tl.program_id(1)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    bias = tl.load(bias_ptr + d, mask=d < D, other=0.0).to(tl.float32)
    x_ptr += batch * x_batch
    dy_ptr += batch * T * D
    dx_ptr += batch * T * D
    dweight_ptr += part * W * D
    dbias_ptr += part * D
    inside = (t[:, None] < T) & (d[None, :] < D)
    x = tl.load(x_ptr + t[:, None] * x_token + d[None, :], mask=inside, other=0.0).to(tl.float32)
    dx = tl.zeros([BLOCK_T, BLOCK_D], dtype=tl.float32)
    for ahead in tl.static_range(0, W):
        # token t goes into token t + ahead by tap W - 1 - ahead
        to = t + ahead
        mask = (to[:, None] < T) & (d[None, :] < D)
        total = _convolved(x_ptr, weight_ptr, bias, to, d, x_token, T, D, W)
        share = 1.0 / (1.0 + tl.exp(-total))
        dy = tl.load(dy_ptr + to[:, None] * D + d[None, :], mask=mask, other=0.0).to(tl.float32)
        step = dy * share * (1.0 + total * (1.0 - share))
        weight = tl.load(weight_ptr + d * W + (W - 1 - ahead), mask=d < D, other=0.0)
        dx += step * weight.to(tl.float32)[None, :]
        dweight = tl.sum(step * x, axis=0)
        tl.store(dweight_ptr + (W - 1 - ahead) * D + d, dweight, mask=d < D)
        if ahead == 0:
            tl.store(dbias_ptr + d, tl.sum(step, axis=0), mask=d < D)
    tl.store(dx_ptr + t[:, None] * D + d[None, :], dx.to(dx_ptr.dtype.element_ty), mask=inside)


def launch(x, weight, bias, dy):
    batch, tokens, width = x.shape
    taps = weight.shape[1]
    block_d = min(LARGEST_BLOCK_D, triton.next_power_of_2(width))
    grid = (triton.cdiv(width, block_d), triton.cdiv(tokens, BLOCK_T), batch)
    options = {
        "W": taps,
        "BLOCK_T": BLOCK_T,
        "BLOCK_D": block_d,
        "num_warps": num_warps(BLOCK_T * block_d),
    }
    # the gradient has the order of dy, whatever that of x
    y, dx = torch.empty_like(dy), torch.empty_like(dy)
    sizes = (x.stride(0), x.stride(1), tokens, width)
    _forward_kernel[grid](x, weight, bias, y, *sizes, **options)
    parts = grid[1] * batch
    dweight = torch.empty((parts, taps, width), dtype=torch.float32, device=x.device)
    dbias = torch.empty((parts, width), dtype=torch.float32, device=x.device)
    _backward_kernel[grid](x, weight, bias, dy, dx, dweight, dbias, *sizes, **options)
    return {
        "y": y,
        "dx": dx,
        "dweight": dweight.sum(0).t().to(weight.dtype),
        "dbias": dbias.sum(0).to(bias.dtype),
    }


def reference(x, weight, bias, dy):
    taps = weight.shape[1]
    with torch.enable_grad():
        x64, weight64, bias64 = (t.detach().double().requires_grad_() for t in (x, weight, bias))
        before = torch.zeros_like(x64[:, :1]).expand(-1, taps - 1, -1)
        padded = torch.cat([before, x64], 1)
        total = bias64 + sum(
            padded[:, tap : tap + x.shape[1]] * weight64[:, tap] for tap in range(taps)
        )
        y = total * torch.sigmoid(total)
        dx, dweight, dbias = torch.autograd.grad(y, (x64, weight64, bias64), dy.double())
    return {"y": y.detach(), "dx": dx, "dweight": dweight, "dbias": dbias}


def inputs(case, device, generator):
    batch, tokens, width = (case.shape[name] for name in "BTD")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # part of a wider projection
    wide = normal(batch, tokens, width + 5)
    return {
        "x": wide[:, :, :width],
        "weight": normal(width, case.shape["W"]),
        "bias": normal(width),
        "dy": normal(batch, tokens, width),
    }


KERNEL = Kernel(
    name="causal_conv1d",
    cases=(
        Case("fp32-2x45x70-w4", "fp32", {"B": 2, "T": 45, "D": 70, "W": 4}),
        # a single token and channel, shorter than the filter
        Case("fp16-1x1x1-w3", "fp16", {"B": 1, "T": 1, "D": 1, "W": 3}),
        Case("fp16-1x33x17-w2", "fp16", {"B": 1, "T": 33, "D": 17, "W": 2}),
        Case("bf16-1x64x128-w4", "bf16", {"B": 1, "T": 64, "D": 128, "W": 4}),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # measured: 1.5e-7, 4.4e-4 (a single element); bf16 is the rounding of the output, 1.9e-3
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 8e-3},
)
