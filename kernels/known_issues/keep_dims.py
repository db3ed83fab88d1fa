"""Arguments that came with Triton 3.0: keep_dims of reductions, reverse of scans, input_precision of dot, *shape, and
fp_downcast_rounding of casts."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _reduce_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at)
    x = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    tl.store(y_ptr + at, x / tl.sum(x, axis=-1, keep_dims=True) + tl.argmin(x, 0, keep_dims=True))


@triton.jit
def _scan_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + at), axis=1, reverse=True))


@triton.jit
def _dot_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.dot(x, tl.reshape(x, SIZE, SIZE), input_precision="ieee"))


@triton.jit
def _cast_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.float16, fp_downcast_rounding="rtne"))


KERNELS = {"reduce": _reduce_kernel, "scan": _scan_kernel, "dot": _dot_kernel, "cast": _cast_kernel}


def launch(x, names):
    y = torch.empty_like(x)
    KERNELS[names][(1,)](x, y, x.shape[0])
    return {"y": y}


def reference(x, names):
    x = x.double()
    if names == "cast":
        return {"y": x.half().double()}
    if names == "dot":
        return {"y": x @ x}
    if names == "scan":
        return {"y": x.flip(1).cumsum(1).flip(1)}
    x = (x - x.amax(1, keepdim=True)).exp()
    return {"y": x / x.sum(1, keepdim=True) + x.argmin(0, keepdim=True)}


def inputs(case, device, generator):
    x = torch.randn(SIZE, SIZE, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "names": case.id}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            names,
            "fp32",
            {"N": SIZE},
            targets=("sm_90",),
            requires=("dot",) if names == "dot" else (),
        )
        for names in KERNELS
    ),
    tolerance={"fp32": 1e-5},
)
