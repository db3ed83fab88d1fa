"""Put the virtual driver in place, in each generation of Triton."""

import inspect
from pathlib import Path
from typing import Any, Callable, List, Optional

from crosswarp.compat import features, guard
from crosswarp.compat.install import active
from crosswarp.compat.record import Patches

from .driver import VirtualDriver, run_once
from .launching import loading, set_active_target
from .limits import Target


def activate(target: Target, patches: Optional[Patches] = None, guarded: bool = True) -> None:
    """Make `target` the GPU of this process. Compilation is guarded from here on: an abort raises `CompilerCrashed`.

    Call it after `crosswarp.compat.install`, if that is wanted, and before kernels are imported (Triton 3.2 and 3.3
    ask for a driver when they decorate an autotuned kernel).

    Args:
        patches: notes the replacements, and its `undo` reverts them; by default they stay.
        guarded: False in a process that may die, and needs no forked child for each compilation.

    Raises:
        RuntimeError: this Triton has no backend for the target.
    """
    import triton
    from triton.runtime import driver

    patches = Patches() if patches is None else patches
    set_active_target(target)
    current = features.gpu_target(target.backend, target.arch, target.warp_size)
    if not features.has_backends():
        if target.backend != "cuda":
            msg = f"Triton {triton.__version__} has no backend for {target.name}"
            raise RuntimeError(msg)
        before = driver._obj
        patches.on_undo(lambda: setattr(driver, "_obj", before))
        driver._obj = VirtualDriver(target, current, returns_max_threads=False)
        _replace_launcher_stub(patches)
    else:
        state = dict(vars(driver))
        patches.on_undo(lambda: vars(driver).update(state))
        driver.set_active(VirtualDriver(target, current, features.returns_max_threads()))
        if target.backend == "hip" and not features.links_amd():
            _stop_before_linking(patches)
    _replace_benchmarks(patches)
    _tell_what_is_loaded(patches)
    if guarded:
        contain(patches)


def contain(patches: Optional[Patches] = None) -> None:
    """Isolate compiler crashes without fixing them, unless the shim for compiler crashes does so already."""
    if not any(shim.name == "compiler_crash" for shim in active()):
        guard.install(Patches() if patches is None else patches)


# Triton 2.3.1 makes a kernel of its files right after it asked for the stub, and does not keep what it compiled.
_asked_for: List[Any] = [None]


def _replace_launcher_stub(patches: Patches) -> None:
    """Triton 2.3.1 loads the launcher from a file that its backend names: name one of ours.

    It is in this package, where only we can have put it; any user can write into a folder for temporary files.
    """
    from triton.compiler.backends.cuda import CUDABackend
    from triton.compiler.compiler import CompiledKernel

    stub = str(Path(__file__).with_name("launcher_before_3_0.py"))

    def make_launcher_stub(backend: Any, src: Any, metadata: Any) -> str:
        _asked_for[:] = [src]
        return stub

    own = CompiledKernel.__init__

    def init(kernel: Any, *args: Any) -> None:
        own(kernel, *args)
        kernel.src = _asked_for[0]

    patches.set(CUDABackend, "make_launcher_stub", make_launcher_stub)
    if own.__module__ != __name__:
        patches.set(CompiledKernel, "__init__", init)


def _stop_before_linking(patches: Patches) -> None:
    """Triton 3.0 to 3.4 link AMD code with an external ld.lld, which the wheel does not hold: stop at the assembly.

    The backend's module is loaded under a second name there, so its class is taken from the registry.
    """
    import triton

    backend: Any = triton.backends.backends["amd"].compiler
    patches.set(backend, "hash", lambda self: f"virtual-{self.target}")
    as_it_is = staticmethod(
        lambda src, metadata, options: src.encode() if isinstance(src, str) else src
    )
    patches.set(backend, "make_hsaco", as_it_is)


def stop_before_assembling(patches: Patches) -> None:
    """Use PTX in place of a cubin: saves a third of the time of small kernels, of which only PTX is executed.

    Registers, stack and errors of ptxas are then unknown.
    """
    import triton

    backend: Any
    if features.has_backends():
        backend = triton.backends.backends["nvidia"].compiler

        def as_it_is(src: str, metadata: Any, options: Any, capability: Any) -> bytes:
            return src.encode()
    else:
        from triton.compiler.backends import cuda

        backend = cuda.CUDABackend

        def as_it_is(src: str, metadata: Any, options: Any, capability: Any) -> bytes:
            # Later it is known before there is any PTX.
            metadata["name"] = cuda.get_kernel_name(src, pattern="// .globl")
            return src.encode()

    patches.set(backend, "make_cubin", staticmethod(as_it_is))


def _replace_benchmarks(patches: Patches) -> None:
    import triton.runtime.autotuner as autotuner
    import triton.testing as testing

    for module in (autotuner, testing):
        for name in ("do_bench", "do_bench_cudagraph"):
            own = getattr(module, name, None)
            if own is not None and own.__module__ != __name__:
                patches.set(module, name, _in_place_of(own))


def _tell_what_is_loaded(patches: Patches) -> None:
    """Pass the assembly too, which is counted: the driver gets only a kernel's binary."""
    from triton.compiler.compiler import CompiledKernel

    own = CompiledKernel._init_handles
    if own.__module__ == __name__:
        return

    def init_handles(kernel: Any) -> Any:
        with loading(kernel):
            return own(kernel)

    patches.set(CompiledKernel, "_init_handles", init_handles)


def _in_place_of(own: Callable) -> Callable:
    """`run_once`, with arguments that are still Triton's to refuse, or a shim's around it to take."""
    signature = inspect.signature(own, follow_wrapped=False)

    def benchmark(function: Callable, *args: Any, **kwargs: Any) -> Any:
        signature.bind(function, *args, **kwargs)
        return run_once(function, *args, **kwargs)

    return benchmark
