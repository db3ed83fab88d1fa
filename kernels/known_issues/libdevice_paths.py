"""libdevice moved in Triton 3.0, from `tl.math` to `tl.extra`: each of the two is missing on one side."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _math_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.math.tanh(x) + tl.math.round(x) + tl.math.log1p(tl.math.fast_expf(x)))
    bits = tl.math.float_as_int(x)
    tl.store(y_ptr + BLOCK + at, (tl.math.popc(bits) + tl.math.ffs(bits)).to(tl.float32))


@triton.jit
def _extra_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.extra.cuda.libdevice.tanh(x) + tl.extra.cuda.libdevice.round(x)
    y += tl.extra.cuda.libdevice.log1p(tl.extra.cuda.libdevice.fast_expf(x))
    tl.store(y_ptr + at, y)
    bits = tl.extra.cuda.libdevice.float_as_int(x)
    count = tl.extra.cuda.libdevice.popc(bits) + tl.extra.cuda.libdevice.ffs(bits)
    tl.store(y_ptr + BLOCK + at, count.to(tl.float32))


KERNELS = {"math": _math_kernel, "extra": _extra_kernel}


def launch(x, path):
    y = x.new_empty(2, x.numel())
    KERNELS[path][(1,)](x, y, x.numel())
    return {"y": y}


def reference(x, path):
    words = [word & 0xFFFFFFFF for word in x.cpu().view(torch.int32).tolist()]
    counts = [bin(word).count("1") + (word & -word).bit_length() for word in words]
    x = x.double()
    # no halves among the inputs, which torch would round to even
    real = x.tanh() + x.round() + x.exp().log1p()
    return {"y": torch.stack([real, torch.tensor(counts, dtype=torch.float64, device=x.device)])}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device) * 3
    return {"x": x.to(device, case.torch_dtype), "path": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("math", "fp32", {"N": BLOCK}, targets=("sm_90", "gfx942")),
        Case("extra", "fp32", {"N": BLOCK}, targets=("sm_90",)),
    ),
    # fast_expf is an approximation
    tolerance={"fp32": 1e-5},
    uses=("libdevice",),
)
