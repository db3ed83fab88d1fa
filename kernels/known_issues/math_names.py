"""rsqrt, exp2, erf, fma, clamp, flip, split, range and methods of tensors came to `triton.language` with Triton 3.0."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _math_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.fma(tl.rsqrt(x), tl.exp2(-x), tl.erf(x)))
    tl.store(y_ptr + BLOCK + at, tl.clamp(x, 0.5, 1.5) + tl.floor(x) * tl.ceil(x) + tl.log2(x))


@triton.jit
def _shape_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    even, odd = tl.split(tl.reshape(x, (BLOCK // 2, 2)))
    tl.store(y_ptr + at, tl.interleave(odd, even))
    total = tl.zeros((BLOCK,), tl.float32)
    for step in tl.range(0, BLOCK, BLOCK // 2, num_stages=2):
        total += tl.flip(x, 0) * (step + 1)
    tl.store(y_ptr + BLOCK + at, total + tl.exp(x))


KERNELS = {"math": _math_kernel, "shape": _shape_kernel}


def launch(x, names):
    y = x.new_empty(2, x.numel())
    KERNELS[names][(1,)](x, y, x.numel())
    return {"y": y}


def reference(x, names):
    x = x.double()
    if names == "math":
        first = x.rsqrt() * (-x).exp2() + torch.special.erf(x)
        return {"y": torch.stack([first, x.clamp(0.5, 1.5) + x.floor() * x.ceil() + x.log2()])}
    swapped = x.reshape(-1, 2).flip(1).reshape(-1)
    return {"y": torch.stack([swapped, x.flip(0) * (x.numel() // 2 + 2) + x.exp()])}


def inputs(case, device, generator):
    x = torch.rand(BLOCK, generator=generator, device=generator.device) * 3 + 0.1
    return {"x": x.to(device, case.torch_dtype), "names": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("math", "fp32", {"N": BLOCK}, targets=("sm_90",)),
        Case("shape", "fp32", {"N": BLOCK}, targets=("sm_90",)),
    ),
    # the fast approximations of exp2 and log2 on a GPU
    tolerance={"fp32": 1e-5},
)
