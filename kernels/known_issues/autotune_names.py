"""Names given to an autotuner: a key that is no argument; an argument to be zeroed or restored that is None."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _square_kernel(x_ptr, y_ptr, sum_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + at, x * x, mask=mask)
    if sum_ptr is not None:
        tl.atomic_add(sum_ptr, tl.sum(x, 0))


def launch(x, key=("N",), **arguments):
    y = torch.empty_like(x)
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    # Decorated here, not above: some refuse it then.
    tuned = triton.autotune(configs=configs, key=list(key), **arguments)(_square_kernel)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, None, x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double() ** 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


def _case(name, **options):
    lanes = ("compile", "device")
    return Case(name, "fp32", {"N": 333}, lanes, ("sm_80",), options, requires=("autotune",))


KERNEL = kernel_of(
    globals(),
    cases=(
        _case("key", key=("N", "CHUNKS")),
        _case("zero-none", reset_to_zero=["sum_ptr"]),
        _case("restore-none", restore_value=["sum_ptr"]),
    ),
    # one rounding
    tolerance={"fp32": 1e-6},
)
