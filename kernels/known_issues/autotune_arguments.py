"""Arguments of triton.autotune that came one by one: do_bench in 3.2 (where it is dropped), cache_results in 3.4.

"class" derives from triton's Autotuner itself.
"""

import torch
import triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _square_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, x * x, mask=mask)


class _Derived(Autotuner):
    """As libraries derive theirs (flash-linear-attention 0.6.0)."""


def launch(x, way="plain"):
    y = torch.empty_like(x)
    if way == "plain":
        _square_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return {"y": y}
    measured = []

    def do_bench(call, quantiles):
        call()
        measured.append(True)
        return [1.0] * len(quantiles)

    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    if way == "class":
        hooks = {"pre_hook": None, "post_hook": None}
        given = (configs, ["N"], None, None)
        kernel = _square_kernel
        tuned = _Derived(kernel, kernel.arg_names, *given, **hooks, cache_results=False)
    else:
        arguments = {"do_bench": do_bench} if way == "do_bench" else {"cache_results": False}
        tuned = triton.autotune(configs=configs, key=["N"], **arguments)(_square_kernel)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, N=x.numel())
    if way == "do_bench" and len(measured) != len(configs):
        msg = f"do_bench was called {len(measured)} times for {len(configs)} configurations"
        raise RuntimeError(msg)
    return {"y": y}


def reference(x):
    return {"y": x.double() ** 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("plain", "fp32", {"N": 333}, targets=("sm_80",)),
        *(
            Case(
                way,
                "fp32",
                {"N": 333},
                lanes=("compile", "emulate", "device"),
                targets=("sm_80",),
                options={"way": way.replace("-", "_")},
                requires=("autotune",),
            )
            for way in ("do-bench", "cache-results", "class")
        ),
    ),
    # one rounding
    tolerance={"fp32": 1e-6},
)
