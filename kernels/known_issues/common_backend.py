"""A kernel compiled ahead and launched as inductor of torch 2.3 does it: a pair as target, all passed to the
launcher."""

import torch
import triton
import triton.language as tl

from crosswarp.compat.features import backend_and_arch, driver
from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < N) * 2, mask=at < N)


def launch(x):
    # The parts of torch 2.3's key for a kernel.
    from triton.common.backend import get_backend, get_cuda_version_key
    from triton.compiler import ASTSource
    from triton.compiler.compiler import AttrsDescriptor

    backend = get_backend("cuda")
    key = get_cuda_version_key() if backend is None else backend.get_version_key()
    y = torch.empty_like(x)
    attributes = AttrsDescriptor(divisible_by_16=(0, 1), equal_to_1=())
    source = ASTSource(_double_kernel, {0: "*fp32", 1: "*fp32", 2: "i32"}, {3: 64}, attributes)
    target = backend_and_arch(driver().get_current_target())
    options = {"num_warps": 4, "num_stages": 1, "debug": False}
    compiled = triton.compile(source, target=target, options=options)
    compiled._init_handles()
    # Of the kernel, or of its metadata: as torch 2.3 looks for them.
    meta = compiled if hasattr(compiled, "num_ctas") else compiled.metadata
    # Only for the hooks; Triton 2.3 itself passes them the kernel.
    last = compiled if meta is compiled else compiled.metadata
    compiled.run(
        1, 1, 1, meta.num_warps, meta.num_ctas, *meta.cluster_dims, meta.shared, 0, compiled.function,
        compiled.launch_enter_hook, compiled.launch_exit_hook, last, x, y, x.numel(),
    )  # fmt: skip
    if not key:
        msg = "the backend has no version"
        raise RuntimeError(msg)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


def _another_torch():
    if torch.__version__.startswith("2.3."):
        return None
    return f"torch {torch.__version__} has Triton compile and launch in another way"


KERNEL = kernel_of(
    globals(),
    cases=(Case("compiled", "fp32", {"N": 50}, ("compile", "device"), ("sm_80", "sm_90")),),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
    uses=("common-backend",),
    probes={"common-backend": _another_torch},
)
