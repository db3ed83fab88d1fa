"""Running sums down the rows of a tile so wide that each thread holds whole columns of it."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _wide_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0))


@triton.jit
def _reshaped_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, PLANES: tl.constexpr, COLUMNS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, ROWS * PLANES * COLUMNS))
    x = tl.reshape(x, [ROWS, PLANES, COLUMNS])
    at = tl.arange(0, PLANES)[None, :, None] * COLUMNS + tl.arange(0, COLUMNS)[None, None, :]
    at += tl.arange(0, ROWS)[:, None, None] * (PLANES * COLUMNS)
    tl.store(y_ptr + at, tl.cumsum(x, 0))


def launch(x, warps):
    y = torch.empty_like(x)
    if x.ndim == 3:
        rows, planes, columns = x.shape
        _reshaped_kernel[(1,)](x, y, ROWS=rows, PLANES=planes, COLUMNS=columns, num_warps=warps)
    else:
        _wide_kernel[(1,)](x, y, ROWS=x.shape[0], COLUMNS=x.shape[1], num_warps=warps)
    return {"y": y}


def reference(x, warps):
    return {"y": x.double().cumsum(0)}


def inputs(case, device, generator):
    shape = [case.shape[name] for name in ("M", "P", "N") if name in case.shape]
    x = torch.randint(-50, 50, shape, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "warps": case.shape["warps"]}


LANES, TARGETS = ("compile", "emulate", "device"), ("sm_80", "sm_90")

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("8x512", "fp32", {"M": 8, "N": 512, "warps": 4}, LANES, TARGETS),
        Case("8x128-1-warp", "fp32", {"M": 8, "N": 128, "warps": 1}, LANES, TARGETS),
        Case("4x2x64", "fp32", {"M": 4, "P": 2, "N": 64, "warps": 4}, LANES, TARGETS),
        # two warps share each column
        Case("8x256", "fp32", {"M": 8, "N": 256, "warps": 4}, LANES, TARGETS),
    ),
    # sums of integers, which are exact
    tolerance={"fp32": 0.0},
)
