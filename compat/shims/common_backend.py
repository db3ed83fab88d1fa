"""How torch 2.3 has Triton compile and launch, which Triton 3.0 changed: `triton.common`, a target, a launcher.

Inductor of torch 2.3 takes the version of the backend from `triton.common.backend`, hands `triton.compile` a target
that is a pair, and a launcher what a kernel needs besides its arguments: warps, clusters, shared memory. Since 3.0 a
backend tells its own version, a target is a `GPUTarget`, and a launcher knows all that.

Beside a later torch nothing is replaced: who looks whether there is a `triton.common` finds what is true.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

from ..features import gpu_target
from ..record import Items, Patches, Shim
from ..seams.attribute import around_call
from ..versions import in_window, torch_version

_TORCH = ">=2.3,<2.4"
# The arguments of a launch that precede the kernel's: of torch 2.3, of which the last is the metadata, and of Triton
# since 3.0.
_BEFORE = 14


def apply(patches: Patches) -> None:
    # See also pytorch/pytorch#128357.
    # Breakpoint: none in Triton; delete with torch 2.3.
    if not in_window(_TORCH, torch_version() or "999"):
        return
    import types

    import triton
    from triton.compiler import CompiledKernel

    common = types.ModuleType("triton.common", "What torch 2.3 asks of it.")
    backend = types.ModuleType(
        "triton.common.backend", "The version of the backend that is active."
    )
    vars(common).update(__path__=[], backend=backend)
    vars(backend).update(get_backend=get_backend, get_cuda_version_key=get_cuda_version_key)
    modules = Items(sys.modules)
    patches.set(triton, "common", common)
    for module in (common, backend):
        patches.set(modules, module.__name__, module)
    around_call(patches, triton, "compile", _for_a_pair)
    around_call(patches, CompiledKernel, "_init_handles", _in_order)


def get_backend(device_type: str) -> None:
    """None, as in Triton 2.3 for CUDA: its backend is built in."""
    return None


def get_cuda_version_key() -> str:
    """Identifies the backend that is active."""
    from triton.compiler import make_backend
    from triton.runtime.driver import driver

    return str(make_backend(driver.active.get_current_target()).hash())


def _for_a_pair(
    own: Callable[..., Any], src: Any, target: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if isinstance(target, (tuple, list)):
        # For AMD's GPUs torch 2.3 also gives the threads of a wavefront.
        kind, arch, *warp_size = target
        target = gpu_target(kind, arch, *(warp_size or [32]))
    return own(src, target, *args, **kwargs)


def _in_order(own: Callable[..., Any], kernel: Any) -> Any:
    # Its module is loaded, and the launcher made, only once.
    loaded = kernel.module is not None
    result = own(kernel)
    if not loaded:
        # Breakpoint: Triton 3.3 keeps the launcher under the name that it is called by.
        name = "_run" if "_run" in vars(kernel) else "run"
        setattr(kernel, name, _InOrder(vars(kernel)[name], kernel))
    return result


class _InOrder:
    """A launcher that takes the arguments of torch 2.3 as well as Triton's."""

    def __init__(self, launcher: Any, kernel: Any) -> None:
        import weakref

        self._launcher, self._kernel = launcher, weakref.ref(kernel)

    def __call__(self, *args: Any) -> Any:
        kernel = self._kernel()
        if kernel is None or len(args) < _BEFORE or args[_BEFORE - 1] is not kernel.metadata:
            return self._launcher(*args)
        grid, stream, own = args[:3], args[9], args[_BEFORE:]
        # No metadata if there is no hook.
        metadata = kernel.launch_metadata(grid, stream, *own)
        # Stream and function, then the launcher's own arguments, then the hooks.
        return self._launcher(
            *grid, *args[9:11], kernel.packed_metadata, metadata, *args[11 : _BEFORE - 1], *own
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._launcher, name)


SHIM = Shim(
    name="common_backend",
    issue="pytorch-129639",
    tier="torch",
    window=">=3.0",
    symptom="No module named 'triton.common'\ntarget must be of GPUTarget type",
    link="https://github.com/pytorch/pytorch/issues/129639",
    delete_when="no torch 2.3 is left",
    apply=apply,
)
