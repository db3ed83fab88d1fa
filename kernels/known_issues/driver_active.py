"""A library that asks `triton.runtime.driver.active` for its target, to choose its launch.

Triton 2.3 has no such driver.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 128


@triton.jit
def _double_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


def launch(x):
    y = torch.empty_like(x)
    active = triton.runtime.driver.active
    target = active.get_current_target()
    if active.utils.get_device_properties(active.get_current_device())["max_shared_mem"] <= 0:
        msg = "a device without shared memory"
        raise RuntimeError(msg)
    num_warps = BLOCK // target.warp_size if target.backend in ("cuda", "hip") else 1
    _double_kernel[(1,)](x, y, x.numel(), num_warps=num_warps)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    # The interpreter needs no driver.
    cases=(
        Case(
            "target",
            "fp32",
            {"N": BLOCK},
            lanes=("compile", "emulate", "device"),
            targets=("sm_90",),
        ),
    ),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
