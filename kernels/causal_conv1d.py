"""Depthwise causal convolution along the tokens, with bias and SiLU, forward and backward.

A program walks down some tokens of some channels, four at a time. It keeps the rows that the next ones need (three of
x, three of the gradient before SiLU) in registers: x and dy are read once, but for three rows between programs. The
gradients of weight and bias are summed on the way, a part for each program.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.rms_norm import column_sums

MOST_TAPS = 4


@triton.jit
def _token(ptr, t, token_stride, T, in_d):
    """Token t of some channels, zeros outside of the sequence."""
    # one comparison of tensors: the interpreter of 3.9 refuses a mask computed with a Python number
    at = tl.where(in_d, t, -1)
    mask = (at >= 0) & (at < T)
    return tl.load(ptr + t * token_stride, mask=mask, other=0.0)


@triton.jit
def _row(ptr, t, token_stride, T, in_d):
    return _token(ptr, t, token_stride, T, in_d).to(tl.float32)


@triton.jit
def _four(ptr, t, token_stride, T, in_d):
    """Four tokens from t on, in the type that they have in memory."""
    x0 = _token(ptr, t, token_stride, T, in_d)
    x1 = _token(ptr, t + 1, token_stride, T, in_d)
    x2 = _token(ptr, t + 2, token_stride, T, in_d)
    x3 = _token(ptr, t + 3, token_stride, T, in_d)
    return x0, x1, x2, x3


@triton.jit
def _weights(weight_ptr, d, in_d, W: tl.constexpr, lag: tl.constexpr):
    """The contribution to a token of the one `lag` before it."""
    weight = tl.zeros([d.shape[0]], dtype=tl.float32)
    if lag < W:
        weight = tl.load(weight_ptr + d * W + (W - 1 - lag), mask=in_d, other=0.0).to(tl.float32)
    return weight


@triton.jit
def _taps(total, w0, w1, w2, w3, x0, x1, x2, x3, W: tl.constexpr):
    """Add the existing taps: a missing one must not turn an infinity into NaN."""
    total += w0 * x0
    if W > 1:
        total += w1 * x1
    if W > 2:
        total += w2 * x2
    if W > 3:
        total += w3 * x3
    return total


@triton.jit
def _put(ptr, value, t, token_stride, first, end, in_d):
    at = tl.where(in_d, t, -1)
    mask = (at >= first) & (at < end)
    tl.store(ptr + t * token_stride, value.to(ptr.dtype.element_ty), mask=mask)


@triton.jit
def _silu(total):
    return total / (1.0 + tl.exp(-total))


@triton.jit
def _step(total, dy):
    """The gradient before SiLU."""
    share = 1.0 / (1.0 + tl.exp(-total))
    return dy * share * (1.0 + total * (1.0 - share))


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
    first = tl.program_id(1) * BLOCK_T
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d = d < D
    bias = tl.load(bias_ptr + d, mask=in_d, other=0.0).to(tl.float32)
    w0 = _weights(weight_ptr, d, in_d, W, 0)
    w1 = _weights(weight_ptr, d, in_d, W, 1)
    w2 = _weights(weight_ptr, d, in_d, W, 2)
    w3 = _weights(weight_ptr, d, in_d, W, 3)
    x = x_ptr + batch * x_batch + d
    y = y_ptr + batch * T * D + d
    # before[1] is the token before t
    before1 = _row(x, first - 1, x_token, T, in_d)
    before2 = _row(x, first - 2, x_token, T, in_d)
    before3 = _row(x, first - 3, x_token, T, in_d)
    for t in range(first, tl.minimum(first + BLOCK_T, T), 4):
        x0 = _row(x, t, x_token, T, in_d)
        x1 = _row(x, t + 1, x_token, T, in_d)
        x2 = _row(x, t + 2, x_token, T, in_d)
        x3 = _row(x, t + 3, x_token, T, in_d)
        y0 = _silu(_taps(bias, w0, w1, w2, w3, x0, before1, before2, before3, W))
        y1 = _silu(_taps(bias, w0, w1, w2, w3, x1, x0, before1, before2, W))
        y2 = _silu(_taps(bias, w0, w1, w2, w3, x2, x1, x0, before1, W))
        y3 = _silu(_taps(bias, w0, w1, w2, w3, x3, x2, x1, x0, W))
        _put(y, y0, t, D, 0, T, in_d)
        _put(y, y1, t + 1, D, 0, T, in_d)
        _put(y, y2, t + 2, D, 0, T, in_d)
        _put(y, y3, t + 3, D, 0, T, in_d)
        before1 = x3
        before2 = x2
        before3 = x1


@triton.jit
def _backward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    dy_ptr,
    dx_ptr,
    sums_ptr,
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
    first = tl.program_id(1) * BLOCK_T
    end = tl.minimum(first + BLOCK_T, T)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d = d < D
    bias = tl.load(bias_ptr + d, mask=in_d, other=0.0).to(tl.float32)
    w0 = _weights(weight_ptr, d, in_d, W, 0)
    w1 = _weights(weight_ptr, d, in_d, W, 1)
    w2 = _weights(weight_ptr, d, in_d, W, 2)
    w3 = _weights(weight_ptr, d, in_d, W, 3)
    x = x_ptr + batch * x_batch + d
    dy = dy_ptr + batch * T * D + d
    dx = dx_ptr + batch * T * D + d
    before1 = _row(x, first - 1, x_token, T, in_d)
    before2 = _row(x, first - 2, x_token, T, in_d)
    before3 = _row(x, first - 3, x_token, T, in_d)
    # the steps before t; those before the first token of this program belong to another's dx
    last1 = tl.zeros([BLOCK_D], dtype=tl.float32)
    last2 = tl.zeros([BLOCK_D], dtype=tl.float32)
    last3 = tl.zeros([BLOCK_D], dtype=tl.float32)
    dw0 = tl.zeros([BLOCK_D], dtype=tl.float32)
    dw1 = tl.zeros([BLOCK_D], dtype=tl.float32)
    dw2 = tl.zeros([BLOCK_D], dtype=tl.float32)
    dw3 = tl.zeros([BLOCK_D], dtype=tl.float32)
    dbias = tl.zeros([BLOCK_D], dtype=tl.float32)
    next0, next1, next2, next3 = _four(x, first, x_token, T, in_d)
    next_dy0, next_dy1, next_dy2, next_dy3 = _four(dy, first, D, T, in_d)
    # dx of a token is known three tokens later
    for t in range(first, end + 3, 4):
        x0 = next0.to(tl.float32)
        x1 = next1.to(tl.float32)
        x2 = next2.to(tl.float32)
        x3 = next3.to(tl.float32)
        dy0 = next_dy0.to(tl.float32)
        dy1 = next_dy1.to(tl.float32)
        dy2 = next_dy2.to(tl.float32)
        dy3 = next_dy3.to(tl.float32)
        # loads the next four while these are worked on
        next0, next1, next2, next3 = _four(x, t + 4, x_token, T, in_d)
        next_dy0, next_dy1, next_dy2, next_dy3 = _four(dy, t + 4, D, T, in_d)
        s0 = _step(_taps(bias, w0, w1, w2, w3, x0, before1, before2, before3, W), dy0)
        s1 = _step(_taps(bias, w0, w1, w2, w3, x1, x0, before1, before2, W), dy1)
        s2 = _step(_taps(bias, w0, w1, w2, w3, x2, x1, x0, before1, W), dy2)
        s3 = _step(_taps(bias, w0, w1, w2, w3, x3, x2, x1, x0, W), dy3)
        zero = tl.zeros([BLOCK_D], dtype=tl.float32)
        _put(
            dx, _taps(zero, w0, w1, w2, w3, last3, last2, last1, s0, W), t - 3, D, first, end, in_d
        )
        _put(dx, _taps(zero, w0, w1, w2, w3, last2, last1, s0, s1, W), t - 2, D, first, end, in_d)
        _put(dx, _taps(zero, w0, w1, w2, w3, last1, s0, s1, s2, W), t - 1, D, first, end, in_d)
        _put(dx, _taps(zero, w0, w1, w2, w3, s0, s1, s2, s3, W), t, D, first, end, in_d)
        last1 = s3
        last2 = s2
        last3 = s1
        # BLOCK_T is a multiple of four: all of them are another program's, or none
        mine = t < first + BLOCK_T
        s0 = tl.where(mine, s0, 0.0)
        s1 = tl.where(mine, s1, 0.0)
        s2 = tl.where(mine, s2, 0.0)
        s3 = tl.where(mine, s3, 0.0)
        dbias += (s0 + s1) + (s2 + s3)
        dw0 += s0 * x0 + s1 * x1 + s2 * x2 + s3 * x3
        dw1 += s0 * before1 + s1 * x0 + s2 * x1 + s3 * x2
        dw2 += s0 * before2 + s1 * before1 + s2 * x0 + s3 * x1
        dw3 += s0 * before3 + s1 * before2 + s2 * before1 + s3 * x0
        before1 = x3
        before2 = x2
        before3 = x1
    sums = sums_ptr + part * (W + 1) * D + d
    tl.store(sums + W * D, dbias, mask=in_d)
    tl.store(sums + (W - 1) * D, dw0, mask=in_d)
    if W > 1:
        tl.store(sums + (W - 2) * D, dw1, mask=in_d)
    if W > 2:
        tl.store(sums + (W - 3) * D, dw2, mask=in_d)
    if W > 3:
        tl.store(sums + (W - 4) * D, dw3, mask=in_d)


def _walk(tokens, others):
    """Tokens that a program walks: it reads three more, but there must be programs for the whole GPU."""
    walked = 128
    while walked > 16 and triton.cdiv(tokens, walked) * others < 2048:
        walked //= 2
    return walked


def launch(x, weight, bias, dy, forward_tile=None, backward_tile=None):
    """A tile has BLOCK_T (a multiple of four), BLOCK_D and num_warps."""
    batch, tokens, width = x.shape
    taps = weight.shape[1]
    if taps > MOST_TAPS:
        raise ValueError(f"weight has {taps} taps: {MOST_TAPS} at most")
    block_d = max(16, min(256, triton.next_power_of_2(width)))
    walked = _walk(tokens, batch * triton.cdiv(width, block_d))
    tile = {"BLOCK_T": walked, "BLOCK_D": block_d, "num_warps": 4}

    def grid(meta):
        return (triton.cdiv(width, meta["BLOCK_D"]), triton.cdiv(tokens, meta["BLOCK_T"]), batch)

    # the gradient has the strides of dy, whatever those of x
    y, dx = torch.empty_like(dy), torch.empty_like(dy)
    sizes = (x.stride(0), x.stride(1), tokens, width)
    _forward_kernel[grid](x, weight, bias, y, *sizes, W=taps, **(forward_tile or tile))
    tile = backward_tile or tile
    parts = triton.cdiv(tokens, tile["BLOCK_T"]) * batch
    sums = torch.empty((parts, taps + 1, width), dtype=torch.float32, device=x.device)
    _backward_kernel[grid](x, weight, bias, dy, dx, sums, *sizes, W=taps, **tile)
    # one launch for all of them
    sums = column_sums(sums.view(parts, -1), weight.dtype).view(taps + 1, width)
    return {"y": y, "dx": dx, "dweight": sums[:taps].t(), "dbias": sums[taps]}


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
    wide = normal(batch, tokens, width + case.shape.get("wider", 5))
    return {
        "x": wide[:, :, :width],
        "weight": normal(width, case.shape["W"]),
        "bias": normal(width),
        "dy": normal(batch, tokens, width),
    }


KERNEL = kernel_of(
    globals(),
    batch="B",
    cases=(
        Case("fp32-2x45x70-w4", "fp32", {"B": 2, "T": 45, "D": 70, "W": 4}),
        # a single token and channel, shorter than the filter
        Case("fp16-1x1x1-w3", "fp16", {"B": 1, "T": 1, "D": 1, "W": 3}),
        Case("fp16-1x33x17-w2", "fp16", {"B": 1, "T": 33, "D": 17, "W": 2}),
        Case("bf16-1x64x128-w4", "bf16", {"B": 1, "T": 64, "D": 128, "W": 4}),
    ),
    # measured: 1.5e-7, 4.4e-4 (a single element); bf16 is the rounding of the output, 1.9e-3
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 8e-3},
)
