"""Put the virtual driver in place, in each generation of Triton."""

import inspect
import os
import tempfile
from pathlib import Path
from typing import Any, Callable, List

from crosswarp.compat import guard
from crosswarp.compat.install import active
from crosswarp.compat.record import Patches
from crosswarp.compat.versions import base_version

from .driver import VirtualDriver, run_once
from .launching import loading, set_active_target
from .limits import Target


def activate(target: Target) -> None:
    """Make `target` the GPU of this process. Compilation is guarded from here on: an abort raises `CompilerCrashed`.

    Call it after `crosswarp.compat.install`, if that is wanted, and before kernels are imported (Triton 3.2 and 3.3
    ask for a driver when they decorate an autotuned kernel).

    Raises:
        RuntimeError: this Triton has no backend for the target.
    """
    import triton
    from triton.runtime import driver

    set_active_target(target)
    version = base_version(triton.__version__)
    # Breakpoint: Triton 3.0 has pluggable backends and GPUTarget; before, CUDA only and a plain tuple.
    if not hasattr(triton, "backends"):
        if target.backend != "cuda":
            msg = f"Triton {triton.__version__} has no backend for {target.name}"
            raise RuntimeError(msg)
        driver._obj = VirtualDriver(
            target, (target.backend, target.arch), returns_max_threads=False
        )
        _replace_launcher_stub()
    else:
        from triton.backends.compiler import GPUTarget

        current = GPUTarget(target.backend, target.arch, target.warp_size)
        returns_max_threads = version >= base_version("3.4.0")
        driver.set_active(VirtualDriver(target, current, returns_max_threads))
        if target.backend == "hip" and version < base_version("3.5.0"):
            _stop_before_linking()
    _replace_benchmarks()
    _tell_what_is_loaded()
    contain()


def contain() -> None:
    """Guard compilation without healing, unless the shim for compiler crashes guards it already."""
    if not any(shim.name == "compiler_crash" for shim in active()):
        guard.install(Patches())


# Triton 2.3.1 makes a kernel of its files right after it asked for the stub, and does not keep what it compiled.
_asked_for: List[Any] = [None]


def _replace_launcher_stub() -> None:
    """Triton 2.3.1 loads the launcher from a file that its backend names: name one of ours."""
    from triton.compiler.backends.cuda import CUDABackend
    from triton.compiler.compiler import CompiledKernel

    folder = Path(os.environ.get("TRITON_CACHE_DIR") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    stub = folder / "virtual_launcher.py"
    text = "from crosswarp.matrix.virtual_gpu.launching import launch_before_3_0 as launch\n"
    if not stub.exists():
        partial = stub.with_suffix(f".{os.getpid()}")
        partial.write_text(text, "utf-8")
        os.replace(partial, stub)

    def make_launcher_stub(backend: Any, src: Any, metadata: Any) -> str:
        _asked_for[:] = [src]
        return str(stub)

    own = CompiledKernel.__init__

    def init(kernel: Any, *args: Any) -> None:
        own(kernel, *args)
        kernel.src = _asked_for[0]

    CUDABackend.make_launcher_stub = make_launcher_stub
    if own.__module__ != __name__:
        CompiledKernel.__init__ = init


def _stop_before_linking() -> None:
    """Triton 3.0 to 3.4 link AMD code with an external ld.lld, which the wheel does not hold: stop at the assembly.

    The backend's module is loaded under a second name there, so its class is taken from the registry.
    """
    import triton

    backend: Any = triton.backends.backends["amd"].compiler
    backend.hash = lambda self: f"virtual-{self.target}"
    backend.make_hsaco = staticmethod(
        lambda src, metadata, options: src.encode() if isinstance(src, str) else src
    )


def _replace_benchmarks() -> None:
    import triton.runtime.autotuner as autotuner
    import triton.testing as testing

    for module in (autotuner, testing):
        for name in ("do_bench", "do_bench_cudagraph"):
            own = getattr(module, name, None)
            if own is not None and own.__module__ != __name__:
                setattr(module, name, _in_place_of(own))


def _tell_what_is_loaded() -> None:
    """The driver is handed a kernel's binary alone; its assembly is counted as well."""
    from triton.compiler.compiler import CompiledKernel

    own = CompiledKernel._init_handles
    if own.__module__ == __name__:
        return

    def init_handles(kernel: Any) -> Any:
        with loading(kernel):
            return own(kernel)

    CompiledKernel._init_handles = init_handles


def _in_place_of(own: Callable) -> Callable:
    """`run_once`, with arguments that are still Triton's to refuse, or a shim's around it to take."""
    signature = inspect.signature(own, follow_wrapped=False)

    def benchmark(function: Callable, *args: Any, **kwargs: Any) -> Any:
        signature.bind(function, *args, **kwargs)
        return run_once(function, *args, **kwargs)

    return benchmark
