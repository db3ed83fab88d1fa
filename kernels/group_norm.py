"""Group norm of (batch, channel, position), forward and backward; one group of one sample in each program.

A tile holds all channels of the group and some positions. If one tile is the whole group it is read once. Otherwise the
mean and the squared deviations of each tile are merged with those before it, and a second pass writes; it goes from the
last tile to the first, because the last is the likeliest to be in the cache of the GPU still.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.rms_norm import column_sums

# elements of a tile, measured on an H100: smaller ones forward, where more programs at once hide the wait for a sum
FORWARD_TILE = 8192
BACKWARD_TILE = 32768


@triton.jit
def _load_last(at, mask):
    """A load of elements that are not read again: the cache need not keep them."""
    return tl.load(at, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)


@triton.jit
def _store_last(at, value, mask):
    value = value.to(at.dtype.element_ty)
    tl.store(at, value, mask=mask, eviction_policy="evict_first")


@triton.jit
def _forward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    mean_ptr,
    rstd_ptr,
    groups,
    channels,
    L,
    eps,
    BLOCK_C: tl.constexpr,
    BLOCK_L: tl.constexpr,
    WHOLE: tl.constexpr,
):
    # 64 bits: all samples together may pass 2^31
    program = tl.program_id(0).to(tl.int64)
    group = tl.program_id(0) % groups
    c = tl.arange(0, BLOCK_C)
    t = tl.arange(0, BLOCK_L)
    weight = tl.load(weight_ptr + group * channels + c, mask=c < channels, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + group * channels + c, mask=c < channels, other=0.0).to(tl.float32)
    at = program * channels * L + c[:, None] * L + t[None, :]
    size = channels * L
    if WHOLE:
        mask = (c[:, None] < channels) & (t[None, :] < L)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(tl.sum(x, axis=1), axis=0) / size
        centred = tl.where(mask, x - mean, 0.0)
        rstd = 1.0 / tl.sqrt(tl.sum(tl.sum(centred * centred, axis=1), axis=0) / size + eps)
        y = centred * rstd * weight[:, None] + bias[:, None]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)
    else:
        mean = 0.0
        squares = 0.0
        for start in range(0, L, BLOCK_L):
            mask = (c[:, None] < channels) & (start + t[None, :] < L)
            x = tl.load(x_ptr + at + start, mask=mask, other=0.0).to(tl.float32)
            here = channels * tl.minimum(L - start, BLOCK_L)
            before = channels * start
            new_mean = tl.sum(tl.sum(x, axis=1), axis=0) / here
            centred = tl.where(mask, x - new_mean, 0.0)
            apart = new_mean - mean
            share = here / (before + here)
            squares += tl.sum(tl.sum(centred * centred, axis=1), axis=0)
            squares += apart * apart * before * share
            mean += apart * share
        rstd = 1.0 / tl.sqrt(squares / size + eps)
        for start in range(0, L, BLOCK_L):
            first = (L - 1) // BLOCK_L * BLOCK_L - start
            mask = (c[:, None] < channels) & (first + t[None, :] < L)
            x = _load_last(x_ptr + at + first, mask)
            y = (x - mean) * rstd * weight[:, None] + bias[:, None]
            _store_last(y_ptr + at + first, y, mask)
    tl.store(mean_ptr + program, mean)
    tl.store(rstd_ptr + program, rstd)


@triton.jit
def _backward_kernel(
    x_ptr,
    weight_ptr,
    dy_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dweight_ptr,
    dbias_ptr,
    groups,
    channels,
    L,
    BLOCK_C: tl.constexpr,
    BLOCK_L: tl.constexpr,
    WHOLE: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    group = tl.program_id(0) % groups
    c = tl.arange(0, BLOCK_C)
    t = tl.arange(0, BLOCK_L)
    weight = tl.load(weight_ptr + group * channels + c, mask=c < channels, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + program)
    rstd = tl.load(rstd_ptr + program)
    at = program * channels * L + c[:, None] * L + t[None, :]
    size = channels * L
    # dweight and dbias are sums of a channel each, and the sums over the group follow from them
    if WHOLE:
        mask = (c[:, None] < channels) & (t[None, :] < L)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
        dweight = tl.sum(dy * x_hat, axis=1)
        dbias = tl.sum(dy, axis=1)
        along = tl.sum(dweight * weight, axis=0) / size
        across = tl.sum(dbias * weight, axis=0) / size
        dx = (dy * weight[:, None] - across - x_hat * along) * rstd
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    else:
        dweight = tl.zeros([BLOCK_C], dtype=tl.float32)
        dbias = tl.zeros([BLOCK_C], dtype=tl.float32)
        for start in range(0, L, BLOCK_L):
            mask = (c[:, None] < channels) & (start + t[None, :] < L)
            x = tl.load(x_ptr + at + start, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dy_ptr + at + start, mask=mask, other=0.0).to(tl.float32)
            dweight += tl.sum(dy * (x - mean) * rstd, axis=1)
            dbias += tl.sum(dy, axis=1)
        # Triton 2.3.1 aborts on sm_90 if a sum of rows that a loop adds up is used twice
        # ("OptimizeThreadLocality.cpp: loopResult.hasOneUse()"), so it is used once, here
        dweight = tl.where(c < channels, dweight, 0.0)
        dbias = tl.where(c < channels, dbias, 0.0)
        along = tl.sum(dweight * weight, axis=0) / size
        across = tl.sum(dbias * weight, axis=0) / size
        for start in range(0, L, BLOCK_L):
            first = (L - 1) // BLOCK_L * BLOCK_L - start
            mask = (c[:, None] < channels) & (first + t[None, :] < L)
            x = _load_last(x_ptr + at + first, mask)
            dy = _load_last(dy_ptr + at + first, mask)
            x_hat = (x - mean) * rstd
            dx = (dy * weight[:, None] - across - x_hat * along) * rstd
            _store_last(dx_ptr + at + first, dx, mask)
    # (sample, channel): summed over the samples by the launcher
    tl.store(dweight_ptr + program * channels + c, dweight, mask=c < channels)
    tl.store(dbias_ptr + program * channels + c, dbias, mask=c < channels)


def launch(x, weight, bias, dy, groups, eps=1e-5, tile=None):
    """`tile`: elements of a tile at the most, instead of the best size for each pass."""
    batch, width, length = x.shape
    channels = width // groups
    programs = batch * groups
    y, dx = torch.empty_like(x), torch.empty_like(x)
    mean = torch.empty(programs, dtype=torch.float32, device=x.device)
    rstd = torch.empty(programs, dtype=torch.float32, device=x.device)
    sizes = (groups, channels, length)
    options = _options(channels, length, tile or FORWARD_TILE)
    _forward_kernel[(programs,)](x, weight, bias, y, mean, rstd, *sizes, eps, **options)
    dweight = torch.empty((batch, width), dtype=torch.float32, device=x.device)
    dbias = torch.empty((batch, width), dtype=torch.float32, device=x.device)
    options = _options(channels, length, tile or BACKWARD_TILE)
    _backward_kernel[(programs,)](x, weight, dy, mean, rstd, dx, dweight, dbias, *sizes, **options)
    return {
        "y": y,
        "dx": dx,
        "dweight": column_sums(dweight, weight.dtype),
        "dbias": column_sums(dbias, bias.dtype),
    }


def _options(channels, length, tile):
    block_c = triton.next_power_of_2(channels)
    block_l = min(triton.next_power_of_2(length), max(tile // block_c, 1))
    return {
        "BLOCK_C": block_c,
        "BLOCK_L": block_l,
        "WHOLE": block_l >= length,
        "num_warps": num_warps(block_c * block_l),
    }


def reference(x, weight, bias, dy, groups, eps=1e-5):
    # written out and not torch's own group_norm, so that nothing is shared with a library that may use Triton
    batch, width, length = x.shape
    with torch.enable_grad():
        x64, weight64, bias64 = (t.detach().double().requires_grad_() for t in (x, weight, bias))
        grouped = x64.reshape(batch, groups, -1)
        centred = grouped - grouped.mean(2, keepdim=True)
        rstd = (centred.square().mean(2, keepdim=True) + eps).rsqrt()
        y = (centred * rstd).reshape(x.shape) * weight64[:, None] + bias64[:, None]
        dx, dweight, dbias = torch.autograd.grad(y, (x64, weight64, bias64), dy.double())
    return {"y": y.detach(), "dx": dx, "dweight": dweight, "dbias": dbias}


def inputs(case, device, generator):
    batch, width, length = (case.shape[name] for name in "BCL")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # groups with a mean, so that a variance computed without centring would show
    return {
        "x": normal(batch, width, length) + 2,
        "weight": normal(width),
        "bias": normal(width),
        "dy": normal(batch, width, length),
        "groups": case.shape["G"],
    }


KERNEL = kernel_of(
    globals(),
    batch="B",
    cases=(
        Case("fp32-2x12x35-g4", "fp32", {"B": 2, "C": 12, "L": 35, "G": 4}),
        # several tiles
        Case(
            "fp32-1x10x300-g2-tiles",
            "fp32",
            {"B": 1, "C": 10, "L": 300, "G": 2},
            options={"tile": 512},
        ),
        # instance norm
        Case("fp16-3x5x77-g5", "fp16", {"B": 3, "C": 5, "L": 77, "G": 5}),
        # a single position; one group is layer norm
        Case("bf16-2x96x1-g1", "bf16", {"B": 2, "C": 96, "L": 1, "G": 1}),
        Case(
            "bf16-1x64x257-g2", "bf16", {"B": 1, "C": 64, "L": 257, "G": 2}, options={"tile": 4096}
        ),
    ),
    # measured: 2.6e-7, 3.8e-4; bf16 is the rounding of the output, 2.2e-3
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 8e-3},
)
