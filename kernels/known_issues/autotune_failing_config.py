"""An autotuner with one configuration that ptxas refuses, beside one that compiles."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _copy_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    bits = tl.load(x_ptr + at, mask=mask).to(tl.int32, bitcast=True)
    if BLOCK > 64:
        # stands for what ptxas refuses: too many registers, an internal error
        bits = tl.inline_asm_elementwise(
            "refused.by.ptxas $0, $1;", "=r,r", [bits], dtype=tl.int32, is_pure=True, pack=1
        )
    tl.store(y_ptr + at, bits.to(tl.float32, bitcast=True), mask=mask)


def launch(x, tuned=False):
    y = torch.empty_like(x)
    if not tuned:
        _copy_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return {"y": y}
    configs = [triton.Config({"BLOCK": block}) for block in (128, 64)]
    kernel = triton.autotune(configs=configs, key=["N"])(_copy_kernel)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, N=x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double()}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("plain", "fp32", {"N": 333}, targets=("sm_80",)),
        Case(
            "tuned",
            "fp32",
            {"N": 333},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80",),
            options={"tuned": True},
            requires=("autotune", "inline-asm"),
        ),
    ),
    tolerance={"fp32": 1e-7},
)
