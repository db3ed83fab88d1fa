"""The driver object: all that any Triton from 2.3.1 to 3.9.0 asks of a driver before the launch."""

from typing import Any, Callable, Sequence

from .launching import Launcher, Utils
from .limits import Target


class VirtualDriver:
    """The driver for one target, with all functions that old and new versions of Triton call."""

    # Triton 2.3.1 asks for these two.
    binary_ext = "cubin"

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Sequence[Any]) -> Sequence[Any]:
        return args

    def __init__(self, target: Target, current_target: Any, returns_max_threads: bool):
        self._current_target = current_target
        self.utils = Utils(target, returns_max_threads)
        self.launcher_cls = type("VirtualLauncher", (Launcher,), {"target": target})

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> Any:
        return self._current_target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple:
        arch = (
            self._current_target[1]
            if isinstance(self._current_target, tuple)
            else self._current_target.arch
        )
        return divmod(arch, 10) if isinstance(arch, int) else (0, 0)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch

        return torch.cpu

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1)

    def clear_cache(self, cache: Any) -> None:
        pass

    def map_python_to_cpp_type(self, name: str) -> str:
        msg = "the virtual GPU builds no launcher in C"
        raise NotImplementedError(msg)

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        import torch

        return torch.zeros(size, dtype=torch.int8)

    def get_benchmarker(self) -> Callable:
        return run_once


def run_once(function: Callable, *args: Any, quantiles: Any = None, **kwargs: Any) -> Any:
    """In place of a benchmark: launch once, so that the configuration is compiled and checked. All are equally fast,
    so an autotuner keeps the first of those that launch."""
    function()
    return [1.0] * len(quantiles) if quantiles else 1.0
