"""The launches of a wrapper: its `call`, run on the CPU with kernels that record and compute nothing.

Recorded are: the buffers that it allocates; its launches in order, with their arguments and, for each configuration,
the grid as this torch computes it; and the matmuls that it leaves to a GPU library. Anything else that torch computes
in between cannot be repeated from a record: the reason is recorded, and the launches stay for their arguments.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from crosswarp.compat.record import Patches

from .moving import Graph, twin

# Names in `extern_kernels` that a torch function of the same name can compute again.
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")


@dataclass
class Recorded:
    """One graph's launches, as plain data.

    A tensor is ``{"buffer", "shape", "strides", "offset", "dtype"}``, all counted in elements; any other argument is
    ``{"value"}``.

    Attributes:
        buffers: bytes of each; the first ones are the inputs that are tensors, in order.
        inputs: of the graph, by place: the buffer, or None.
        steps: ``{"kernel", "arguments", "grids"}``, the kernel by its source, or ``{"product", "arguments", "named"}``.
        outputs: of the graph.
        lack: why it cannot be repeated as a whole; empty where it can.
    """

    buffers: List[int] = field(default_factory=list)
    inputs: List[Any] = field(default_factory=list)
    steps: List[Dict[str, Any]] = field(default_factory=list)
    outputs: List[Any] = field(default_factory=list)
    lack: str = ""


def record(graph: Graph, tuners: Dict[str, Any]) -> Recorded:
    """Run the wrapper of `graph`; never raises for the wrapper's errors.

    Args:
        tuners: of the kernels that it calls, by their source: two graphs of a program may have kernels of one name.
    """
    recorder = _Recorder(tuners)
    if not graph.code or not graph.inputs:
        recorder.recorded.lack = "its graph was not called"
        return recorder.recorded
    try:
        recorder.run(graph)
    except Exception as error:
        recorder.recorded.lack = f"its wrapper cannot be followed: {type(error).__name__}: {error}"[
            :300
        ]
    return recorder.recorded


class _Recorder:
    def __init__(self, tuners: Dict[str, Any]) -> None:
        self.recorded = Recorded()
        self._tuners = tuners
        self._buffers: Dict[int, int] = {}
        # A storage that is freed would give its address to the next.
        self._alive: List[torch.Tensor] = []

    def run(self, graph: Graph) -> None:
        inputs = []
        for value in graph.inputs:
            own = twin(value) if isinstance(value, torch.Tensor) else value
            inputs.append(own)
            self.recorded.inputs.append(
                self._allocated(own) if isinstance(own, torch.Tensor) else None
            )
        space = self._module(graph.code)
        result = space["call"](list(inputs))
        self.recorded.outputs = [self._argument(output) for output in result]

    def _module(self, code: str) -> Dict[str, Any]:
        from torch._inductor import select_algorithm

        patches = Patches()
        try:
            asynchronous = _asynchronous()
            patches.set(
                asynchronous, "triton", lambda *args, **kwargs: _Kernel(self, *_asked(args, kwargs))
            )
            space: Dict[str, Any] = {"__name__": "crosswarp_wrapper", "__file__": "wrapper.py"}
            exec(compile(code, "wrapper.py", "exec", dont_inherit=True), space)
        finally:
            patches.undo()
        space["empty_strided_cuda"] = self._empty_strided
        space["empty_strided"] = self._empty_strided
        space["copy_if_misaligned"] = lambda tensor: tensor
        space["extern_kernels"] = _Products(self, select_algorithm.extern_kernels)
        space["aten"] = _Lacking(self, space.get("aten"), "aten")
        return space

    def _empty_strided(
        self, shape: Any, strides: Any, dtype: Any = None, **kwargs: Any
    ) -> torch.Tensor:
        made = torch.empty_strided(shape, strides, dtype=dtype or kwargs.get("dtype"))
        self._allocated(made)
        return made

    def _allocated(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        self._alive.append(tensor)
        self._buffers[storage.data_ptr()] = len(self.recorded.buffers)
        self.recorded.buffers.append(storage.nbytes())
        return len(self.recorded.buffers) - 1

    def _argument(self, value: Any) -> Dict[str, Any]:
        if not isinstance(value, torch.Tensor):
            return {"value": value if isinstance(value, (int, float, bool, str)) else None}
        at = self._buffers.get(value.untyped_storage().data_ptr())
        if at is None:
            self.lacks("it hands on a tensor that torch made in between")
            at = self._allocated(value)
        return {
            "buffer": at, "shape": list(value.shape), "strides": list(value.stride()),
            "offset": value.storage_offset(), "dtype": str(value.dtype).rpartition(".")[2],
        }  # fmt: skip

    def launched(self, name: str, source: str, args: Sequence[Any], grid: Any) -> None:
        tuner = self._tuners.get(source)
        if tuner is None:
            self.lacks(f"{name} is not known")
            return
        names = [argument for argument in tuner.fn.arg_names]
        grids = [_grid(tuner, config, names, args, grid) for config in tuner.configs]
        arguments = [self._argument(arg) for arg in args[: _own_arguments(tuner, len(args))]]
        self.recorded.steps.append({"kernel": source, "arguments": arguments, "grids": grids})

    def multiplied(self, name: str, args: Sequence[Any], named: Dict[str, Any]) -> None:
        self.recorded.steps.append(
            {
                "product": name,
                "arguments": [self._argument(arg) for arg in args],
                "named": {key: self._argument(value) for key, value in named.items()},
            }
        )

    def lacks(self, why: str) -> None:
        self.recorded.lack = self.recorded.lack or why


class _Kernel:
    """Stands for a kernel in a wrapper."""

    def __init__(self, recorder: _Recorder, name: str, source: str) -> None:
        self._recorder, self._name, self._source = recorder, name, source

    def run(self, *args: Any, grid: Any = None, stream: Any = None, **kwargs: Any) -> None:
        self._recorder.launched(self._name, self._source, args, grid)


class _Products:
    """Stands for `extern_kernels`."""

    def __init__(self, recorder: _Recorder, own: Any) -> None:
        self._recorder, self._own = recorder, own

    def __getattr__(self, name: str) -> Callable:
        function = getattr(self._own, name)

        def called(*args: Any, **kwargs: Any) -> Any:
            if name in PRODUCTS and "out" in kwargs:
                self._recorder.multiplied(name, args, kwargs)
            else:
                self._recorder.lacks(f"torch computes {name} in between")
            return function(*args, **kwargs)

        return called


class _Lacking:
    """Stands for ``torch.ops.aten``, and records that it was needed."""

    def __init__(self, recorder: _Recorder, own: Any, path: str) -> None:
        self._recorder, self._own, self._path = recorder, own, path

    def __getattr__(self, name: str) -> Any:
        return _Lacking(self._recorder, getattr(self._own, name), f"{self._path}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._recorder.lacks(f"torch computes {self._path} in between")
        return self._own(*args, **kwargs)


def _asked(args: Sequence[Any], kwargs: Dict[str, Any]) -> Tuple[str, str]:
    """Name and source of a kernel."""
    # The method is called as a plain function: the first is the compiler itself.
    given = {**dict(zip(("kernel_name", "source_code"), args[1:])), **kwargs}
    return given["kernel_name"], given["source_code"]


def _asynchronous() -> Any:
    from .compiling import async_compile

    return async_compile()


def _own_arguments(tuner: Any, given: int) -> int:
    extra = (getattr(tuner, "inductor_meta", None) or {}).get("extra_launcher_args") or ()
    return given - len(extra)


def _grid(tuner: Any, config: Any, names: List[str], args: Sequence[Any], grid: Any) -> List[int]:
    meta = getattr(tuner, "inductor_meta", None) or {}
    constants = dict(config.kwargs)
    if grid is not None:
        # Breakpoint: up to torch 2.6 the wrapper says it, as a function of the configuration or as numbers.
        sizes = grid(constants) if callable(grid) else grid
    else:
        from torch._inductor.runtime import triton_heuristics

        expression = triton_heuristics.GridExpr.from_meta(meta, config)
        extra = meta.get("extra_launcher_args") or ()
        own = [name for name in names if name not in constants]
        values = dict(zip([*own[: len(args) - len(extra)], *extra], args))
        sizes = expression.eval_slow({**values, **constants})
    return [*(int(size) for size in sizes), 1, 1][:3]
