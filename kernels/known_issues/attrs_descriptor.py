"""A kernel compiled before its launch, described to Triton as torch before 2.7 does it, and as inductor does."""

from typing import Any

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < N) * 2, mask=at < N)


def _described(divisible):
    # Where torch 2.6 looks, in this order.
    from triton.backends import compiler

    described: Any = getattr(compiler, "AttrsDescriptor", None)
    if described is None:
        from triton.compiler.compiler import AttrsDescriptor

        described = AttrsDescriptor
    properties = {"tt.divisibility": divisible, "tt.equal_to": ()}
    return described.from_dict({"arg_properties": properties, "cls": described.__name__})


def launch(x):
    from triton.compiler import ASTSource

    y = torch.empty_like(x)
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32"}
    source = ASTSource(_double_kernel, signature, {"BLOCK": 64}, _described((0, 1)))
    target = triton.runtime.driver.active.get_current_target()
    compiled = triton.compile(source, target=target, options={"num_warps": 4, "num_stages": 1})
    # A constexpr is not among the arguments that torch passes.
    compiled[(1, 1, 1)](x, y, x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


def _another_torch():
    if torch.__version__.startswith("2.6."):
        return None
    return f"torch {torch.__version__} tells Triton in another way what it knows of arguments"


KERNEL = kernel_of(
    globals(),
    cases=(Case("described", "fp32", {"N": 50}, ("compile", "device"), ("sm_80", "sm_90")),),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
    uses=("attrs-descriptor",),
    probes={"attrs-descriptor": _another_torch},
)
