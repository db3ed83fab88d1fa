"""Internals of Triton, looked up where an earlier release keeps them, beside a kernel that is launched."""

import os

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < N) * 2, mask=at < N)


def _hooks(compiled):
    # As torch 2.7 asks for them.
    made = type(compiled)
    return made.launch_enter_hook is None and made.launch_exit_hook is None


def _key(compiled):
    from triton.compiler.compiler import triton_key

    return len(triton_key()) >= 32


def _folder(compiled):
    from triton.runtime.cache import default_cache_dir

    return os.path.basename(default_cache_dir()) == "cache"


def _clusters(compiled):
    # As torch 2.9 asks for them: of a kernel, as Triton 2.3 has them, or of its metadata.
    metadata = compiled if hasattr(compiled, "num_ctas") else compiled.metadata
    return tuple(metadata.cluster_dims) == (metadata.num_ctas, 1, 1)


def _options(compiled):
    # As cut-cross-entropy asks for them.
    config = triton.Config({"BLOCK": 64}, num_warps=2, num_stages=3)
    asked = {"BLOCK": 64, "num_warps": 2, "num_ctas": 1, "num_stages": 3}
    return asked.items() <= config.all_kwargs().items()


def launch(x, ask):
    y = torch.empty_like(x)
    compiled = _double_kernel[(1,)](x, y, x.numel(), BLOCK=64)
    if not ask(compiled):
        msg = f"{ask.__name__}: not what it is elsewhere"
        raise RuntimeError(msg)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(name, "fp32", {"N": 50}, ("compile", "device"), ("sm_80",), {"ask": ask})
        for name, ask in (
            ("hooks", _hooks),
            ("key", _key),
            ("folder", _folder),
            ("clusters", _clusters),
            ("options", _options),
        )
    ),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
