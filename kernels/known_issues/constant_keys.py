"""One kernel's text with two values of the constant that it reads, as a file before it was edited and afterwards."""

import importlib.util
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

_SOURCE = Path(__file__).with_name("_scaled_by_a_global.py")


def loaded(factor):
    """The module, with that FACTOR."""
    spec: Any = importlib.util.spec_from_file_location(f"scaled_by_{factor}", _SOURCE)
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FACTOR = tl.constexpr(factor)
    return module


def launch(x):
    found = {}
    for factor in (3, 5):
        y = found[f"times_{factor}"] = torch.empty_like(x)
        loaded(factor).scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return found


def reference(x):
    return {f"times_{factor}": x.double() * factor for factor in (3, 5)}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device)}


KERNEL = Kernel(
    name="constant_keys",
    # an interpreter compiles nothing
    cases=(Case("two", "fp32", {"N": 333}, ("emulate", "device"), ("sm_80",)),),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # measured: the rounding of a product
    tolerance={"fp32": 2e-7},
)
