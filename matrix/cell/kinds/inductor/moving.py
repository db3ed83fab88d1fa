"""The backend: graphs traced on the CPU are moved to the GPU for inductor, and computed on the CPU.

A program runs on real tensors of the CPU. Dynamo and AOTAutograd trace it there. Each graph that is meant for inductor
(forward, backward) is copied, its devices are rewritten, and its fake tensors are made anew on ``cuda:0``. The copy
goes through inductor's own `compile_fx_inner`. The returned function computes the original graph, so the program
continues.
"""

import copy
from dataclasses import dataclass, field
from typing import Any, Callable, List, Sequence

import torch
import torch.fx

GPU = torch.device("cuda", 0)


@dataclass
class Graph:
    """One graph that inductor compiled.

    Attributes:
        code: the wrapper that inductor wrote, with the kernels in it.
        inputs: those of its first call, on the CPU; None for anything but a tensor or a number.
        outputs: its results.
        after: its inputs afterwards, some of which it may have written.
        unmoved: operators whose fake result could not be recomputed, and was moved unchanged.
    """

    code: str = ""
    inputs: List[Any] = field(default_factory=list)
    outputs: List[Any] = field(default_factory=list)
    after: List[Any] = field(default_factory=list)
    unmoved: List[str] = field(default_factory=list)


class Backend:
    """For ``torch.compile(backend=...)``; `graphs` are the compiled ones, in order."""

    def __init__(self, compile_inner: Callable) -> None:
        self.graphs: List[Graph] = []
        self._compile_inner = compile_inner

    def __call__(self, module: Any, inputs: Sequence[Any], **kwargs: Any) -> Any:
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(module, inputs, inner_compile=self._inner)

    def _inner(
        self, module: torch.fx.GraphModule, inputs: Sequence[Any], **kwargs: Any
    ) -> Callable:
        graph = Graph()
        self.graphs.append(graph)
        moved, fakes = _moved(module, inputs, graph.unmoved)
        graph.code = self._compile_inner(moved, fakes, kwargs)

        def run(args: Any) -> Any:
            given = list(args)
            if isinstance(args, list):
                args.clear()
            first = not graph.inputs
            if first:
                graph.inputs = [_kept(value) for value in given]
            outputs = torch.fx.Interpreter(module).run(*given)
            if first:
                graph.outputs = [_kept(output) for output in outputs]
                graph.after = [_kept(value) for value in given]
            return outputs

        run._boxed_call = True  # type: ignore[attr-defined]
        return run


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return twin(value)
    return value if isinstance(value, (int, float, bool)) else None


def twin(value: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides, overlapping ones too: a wrapper asserts them, and `clone` changes them."""
    value = value.detach()
    storage = value.untyped_storage().clone()
    return torch.empty(0, dtype=value.dtype).set_(
        storage, value.storage_offset(), value.size(), value.stride()
    )


def _moved(module: torch.fx.GraphModule, inputs: Sequence[Any], unmoved: List[str]) -> Any:
    from torch._guards import detect_fake_mode

    # Not deepcopy, which fails on the symbols of torch 2.15.
    copied = torch.fx.Graph()
    nodes: Any = {}
    result = copied.graph_copy(module.graph, nodes)
    ending = copied.output(result)
    ending.meta = copy.copy(next(node for node in module.graph.nodes if node.op == "output").meta)
    for old, new in nodes.items():
        new.meta = copy.copy(old.meta)
    moved = torch.fx.GraphModule(module, copied)
    moved.meta = copy.copy(module.meta)
    places = [node for node in moved.graph.nodes if node.op == "placeholder"]
    mode = detect_fake_mode([node.meta.get("val") for node in places] + list(inputs))
    for node in moved.graph.nodes:
        if node.op == "call_function":
            _name_gpu(node)
    with mode:
        fakes = [to_gpu(mode, node.meta["val"]) for node in places]
        _Propagated(moved, mode, unmoved).run(*fakes)
    moved.recompile()
    return moved, fakes


def _name_gpu(node: torch.fx.Node) -> None:
    device = node.kwargs.get("device")
    if device is not None and torch.device(device).type == "cpu":
        node.kwargs = {**node.kwargs, "device": GPU}
    node.args = tuple(GPU if isinstance(arg, torch.device) else arg for arg in node.args)


def to_gpu(mode: Any, value: Any) -> Any:
    """A fake tensor on the GPU like `value`, or `value` itself if it is not a fake tensor of the CPU."""
    from torch._subclasses.fake_tensor import FakeTensor

    if not isinstance(value, FakeTensor) or value.device.type != "cpu":
        return value
    with mode:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=GPU)


class _Propagated(torch.fx.Interpreter):
    """Computes each node's fake result anew, on the GPU."""

    def __init__(self, module: torch.fx.GraphModule, mode: Any, unmoved: List[str]) -> None:
        super().__init__(module)
        self._mode, self._unmoved = mode, unmoved

    def run_node(self, node: torch.fx.Node) -> Any:
        from torch.utils import _pytree as pytree

        try:
            result = super().run_node(node)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            if node.op != "call_function" or "val" not in node.meta:
                raise
            self._unmoved.append(f"{node.target}: {type(error).__name__}: {str(error)[:120]}")
            result = pytree.tree_map(lambda value: to_gpu(self._mode, value), node.meta["val"])
        if node.op != "output":
            node.meta["val"] = result
            if isinstance(result, torch.Tensor):
                described = torch.fx.passes.shape_prop._extract_tensor_metadata(result)
                node.meta["tensor_meta"] = described
        return result
