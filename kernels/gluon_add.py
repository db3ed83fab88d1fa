"""Gluon: x + 1 on one blocked layout, four elements a thread."""

import torch
import triton

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, warp_size

BLOCK = 1024
TARGETS = ("sm_90", "sm_100", "gfx942")


@gluon.jit
def _add_kernel(x_ptr, y_ptr, n, BLOCK: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [WARP], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = at < n
    gl.store(y_ptr + at, gl.load(x_ptr + at, mask=inside, other=0.0) + 1.0, mask=inside)


def launch(x):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    _add_kernel[grid](x, y, x.numel(), BLOCK=BLOCK, WARP=warp_size(), num_warps=4)
    return {"y": y}


def reference(x):
    return {"y": x.double() + 1}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-3000", "fp32", {"N": 3000}, targets=TARGETS),
        Case("fp16-17", "fp16", {"N": 17}, targets=TARGETS),
    ),
    # measured in the lane emulate, three seeds: 2.9e-8 and 2.4e-4
    tolerance={"fp32": 1e-7, "fp16": 1e-3},
    uses=("gluon",),
)
