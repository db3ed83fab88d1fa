"""A launch option that another backend knows, and arguments of triton.Config that other Tritons know."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 128


@triton.jit
def _negate_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    tl.store(y_ptr + at, -tl.load(x_ptr + at, mask=mask), mask=mask)


def launch(x, way="none"):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    if way == "config":
        # no Triton knows all three
        config = triton.Config(
            {"BLOCK": BLOCK},
            num_consumer_groups=0,
            enable_warp_specialization=False,
            ir_override=None,
        )
        triton.autotune(configs=[config], key=[])(_negate_kernel)[grid](x, y, x.numel())
    else:
        # an option of Intel's backend
        options = {"threads_per_warp": 32} if way == "launch" else {}
        _negate_kernel[grid](x, y, x.numel(), BLOCK=BLOCK, **options)
    return {"y": y}


def reference(x):
    return {"y": -x.double()}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("none", "fp32", {"N": 333}, targets=("sm_80", "gfx942")),
        Case(
            "launch",
            "fp32",
            {"N": 333},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80", "gfx942"),
            options={"way": "launch"},
        ),
        Case(
            "config",
            "fp32",
            {"N": 333},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80", "gfx942"),
            options={"way": "config"},
            requires=("autotune",),
        ),
    ),
    tolerance={"fp32": 1e-7},
)
