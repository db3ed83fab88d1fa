"""Decorating a kernel with triton.autotune where there is no GPU: here, while the driver is hidden."""

import contextlib

import torch
import triton
import triton.language as tl
from triton.runtime import driver

from crosswarp.kernels.case import Case, kernel_of


class _NoDriver:
    """The answer to every question to the driver on a machine without a GPU."""

    def __getattr__(self, name):
        msg = "0 active drivers ([]). There should only be one."
        raise RuntimeError(msg)


@contextlib.contextmanager
def _no_gpu():
    # before Triton 3.0 a driver cannot be set, and nothing asks for one here
    if not hasattr(driver, "set_active"):
        yield
        return
    before = driver.active
    driver.set_active(_NoDriver())
    try:
        yield
    finally:
        driver.set_active(before)


@triton.jit
def _halve_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) * 0.5, mask=mask)


def launch(x, tuned=False):
    y = torch.empty_like(x)
    if not tuned:
        _halve_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return {"y": y}
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    with _no_gpu():
        kernel = triton.autotune(configs=configs, key=["N"])(_halve_kernel)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, N=x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double() * 0.5}


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
            requires=("autotune",),
        ),
    ),
    tolerance={"fp32": 1e-7},
)
