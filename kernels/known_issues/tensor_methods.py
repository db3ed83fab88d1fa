"""Methods of tensors: functions of @triton.jit in `triton.language` (x.sum(1), tl.sum(x, 1)), and others (x.exp())."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _methods_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at)
    top = x.max(axis=1)
    y = tl.exp(x - top[:, None])
    tl.store(y_ptr + at, y / y.sum(1)[:, None] + x.sigmoid() + y.cumsum(axis=1))


@triton.jit
def _math_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x.abs().log() + x.exp().rsqrt() * x.floor())


KERNELS = {"jit": _methods_kernel, "math": _math_kernel}


def launch(x, methods):
    y = torch.empty_like(x)
    KERNELS[methods][(1,)](x, y, x.shape[0])
    return {"y": y}


def reference(x, methods):
    x = x.double()
    if methods == "math":
        return {"y": x.abs().log() + x.exp().rsqrt() * x.floor()}
    y = (x - x.amax(1, keepdim=True)).exp()
    return {"y": y / y.sum(1, keepdim=True) + x.sigmoid() + y.cumsum(1)}


def inputs(case, device, generator):
    x = torch.randn(SIZE, SIZE, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "methods": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("jit", "fp32", {"N": SIZE}, targets=("sm_90", "gfx942")),
        Case("math", "fp32", {"N": SIZE}, targets=("sm_90",)),
    ),
    tolerance={"fp32": 1e-5},
)
