"""A kernel that declares num_warps and gets it otherwise than by keyword is launched with 4 warps all the same.

The kernel writes num_warps times its input, so that it is right with any launch; the launcher looks at the launch.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 128


@triton.jit
def _scale_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr, num_warps: tl.constexpr = 2):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) * num_warps, mask=mask)


def _by_position(x, y, grid):
    return _scale_kernel[grid](x, y, x.numel(), BLOCK, 2)


def _by_default(x, y, grid):
    return _scale_kernel[grid](x, y, x.numel(), BLOCK)


def _by_meta(x, y, grid):
    configs = [triton.Config({"BLOCK": BLOCK, "num_warps": 2})]
    return triton.autotune(configs=configs, key=[])(_scale_kernel)[grid](x, y, x.numel())


WAYS = {"position": _by_position, "default": _by_default, "meta": _by_meta}


def launch(x, way="position"):
    y = torch.empty_like(x)
    compiled = WAYS[way](x, y, (triton.cdiv(x.numel(), BLOCK),))
    # the interpreter returns None; metadata is a dict before Triton 3.0
    metadata = getattr(compiled, "metadata", None)
    if metadata is not None:
        launched = metadata["num_warps"] if isinstance(metadata, dict) else metadata.num_warps
        if launched != 2:
            msg = f"launched with {launched} warps, and the kernel was given num_warps=2"
            raise RuntimeError(msg)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("position", "fp32", {"N": 333}, targets=("sm_80", "gfx942")),
        Case(
            "default", "fp32", {"N": 333}, targets=("sm_80", "gfx942"), options={"way": "default"}
        ),
        Case(
            "meta",
            "fp32",
            {"N": 333},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80", "gfx942"),
            options={"way": "meta"},
            requires=("autotune",),
        ),
    ),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
