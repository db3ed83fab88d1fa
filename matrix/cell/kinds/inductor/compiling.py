"""One program through torch.compile, in the calling process: its graphs, and the kernels that inductor wrote.

Without a GPU, `pretending.pretend` is called first, and `moving.Backend` is the backend. On a device the program runs
unchanged, and only inductor's output is collected.
"""

import contextlib
import importlib
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch

from crosswarp.compat.record import Patches

from . import pretending
from .moving import Backend, Graph, twin
from .programs.registry import Program

# To how near a program's own result the CPU's graphs must come, of the largest number in it.
_NEAR = {torch.bfloat16: 3e-2, torch.float16: 1e-2}


class NoKernel(RuntimeError):
    """Inductor wrote no kernel for a program."""


class NotTheProgram(RuntimeError):
    """The graphs compute something else than the program."""


@dataclass
class Written:
    """A kernel as inductor wrote it.

    Attributes:
        name: of the function.
        source: of the module that inductor made of it.
        tuner: the `CachingAutotuner` that the module holds; None where the source could not be imported.
        configs: of the tuner, which gives them up where it compiles them.
        error: why it could not be imported or compiled.
        choice: it is one of a template's choices that the program does not call.
    """

    name: str
    source: str
    tuner: Any = None
    configs: List[Any] = field(default_factory=list)
    error: Optional[BaseException] = None
    choice: bool = False


@dataclass
class Compiled:
    """The result of compiling a program."""

    graphs: List[Graph] = field(default_factory=list)
    kernels: List[Written] = field(default_factory=list)


def run(program: Program, device: str = "cpu", compile_kernels: bool = False) -> Compiled:
    """Compile `program` and, if requested, its backward pass.

    Args:
        device: the device of its inputs: ``cpu`` without a GPU.
        compile_kernels: have inductor compile its kernels, and note those that fail.

    Raises:
        NoKernel: there is none.
        NotTheProgram: the graphs that were moved to the GPU compute something else than the program does.
        any exception of torch.
    """
    import torch._dynamo
    import torch._inductor.config as config

    torch._dynamo.reset()
    pretending.chosen.clear()
    done = Compiled()
    function, inputs = program.make()
    patches = Patches()
    settings = {**pretending.settings(), **pretending.known(program.config)}
    try:
        _watch_kernels(done.kernels, compile_kernels, patches)
        with config.patch(settings), _wrappers(patches) as codes:
            backend = Backend(_compiler(codes)) if device == "cpu" else "inductor"
            compiled = torch.compile(function, backend=backend, dynamic=program.dynamic)
            expected = _called(function, _copies(inputs, device), program.backward)
            got = _called(compiled, _copies(inputs, device), program.backward)
            done.kernels += _choices(done.kernels)
        done.graphs = (
            backend.graphs if isinstance(backend, Backend) else [Graph(code) for code in codes]
        )
    finally:
        patches.undo()
    if not done.kernels:
        msg = f"inductor wrote no Triton kernel for {program.name}"
        raise NoKernel(msg)
    if not program.random:
        _same(program.name, got, expected)
    return done


def _copies(inputs: Sequence[Any], device: str) -> List[Any]:
    """Copies the tensors: a program may write to its inputs."""

    def copied(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [copied(part) for part in value]
        if not isinstance(value, torch.Tensor):
            return value
        made = twin(value)
        if device != "cpu":
            # With the same strides, where they do not overlap.
            made = made.to(device)
        return made.requires_grad_(value.requires_grad)

    return [copied(value) for value in inputs]


def _called(function: Callable, inputs: List[Any], backward: bool) -> List[torch.Tensor]:
    """Returns the function's outputs, the inputs it wrote, and the gradients."""
    result = list(_tensors(function(*inputs)))
    if backward:
        total = sum(_loss(tensor) for tensor in result if tensor.requires_grad)
        assert isinstance(total, torch.Tensor)
        total.backward()
    given = list(_tensors(inputs))
    return result + given + [tensor.grad for tensor in given if tensor.grad is not None]


def _loss(result: torch.Tensor) -> torch.Tensor:
    """Weighted squares: the gradient of a plain sum through a norm or a softmax is nothing but noise."""
    weights = torch.linspace(0.5, 1.5, result.numel(), device=result.device)
    return (result.float().square() * weights.view(result.shape)).sum()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _same(name: str, got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> None:
    for place, (actual, other) in enumerate(zip(got, expected)):
        actual, other = actual.detach(), other.detach()
        near = _NEAR.get(other.dtype, 1e-3)
        scale = max(float(other.double().abs().max()), 1e-6) if other.numel() else 1.0
        if actual.shape != other.shape or (
            actual.numel() and float((actual.double() - other.double()).abs().max()) > near * scale
        ):
            msg = f"{name}: result {place} of the graphs is not what the program computes"
            raise NotTheProgram(msg)


@contextlib.contextmanager
def _wrappers(patches: Patches) -> Iterator[List[str]]:
    """The wrappers that inductor writes meanwhile."""
    from torch._inductor.graph import GraphLowering

    codes: List[str] = []
    if hasattr(GraphLowering, "save_output_code"):
        patches.set(GraphLowering, "save_output_code", staticmethod(codes.append))
    else:
        # Breakpoint: torch 2.3 has no such door; a kernel's module is written the same way, and has no wrapper in it.
        from torch._inductor.codecache import PyCodeCache

        own = PyCodeCache.write

        def write(source_code: str, *args: Any, **kwargs: Any) -> Any:
            if "AsyncCompile()" in source_code:
                codes.append(source_code)
            return own(source_code, *args, **kwargs)

        patches.set(PyCodeCache, "write", staticmethod(write))
    yield codes


def _compiler(codes: List[str]) -> Callable:
    def compiled(module: Any, fakes: Any, options: Dict[str, Any]) -> str:
        from torch._inductor.compile_fx import compile_fx_inner

        before = len(codes)
        compile_fx_inner(module, fakes, **options)
        return codes[-1] if len(codes) > before else ""

    return compiled


def _watch_kernels(kernels: List[Written], compile_kernels: bool, patches: Patches) -> None:
    """Note each kernel where the wrapper has it compiled; a kernel that fails must not hide the others."""
    from torch._inductor.codecache import PyCodeCache

    own = async_compile().triton

    def triton(self: Any, kernel_name: str, source_code: str, *args: Any, **kwargs: Any) -> Any:
        written = Written(kernel_name, source_code)
        kernels.append(written)
        try:
            if compile_kernels:
                written.tuner = own(self, kernel_name, source_code, *args, **kwargs)
                if hasattr(written.tuner, "result"):
                    written.tuner = written.tuner.result()
            else:
                _take(written, getattr(PyCodeCache.load(source_code), kernel_name))
        except Exception as error:
            written.error = error
        return written.tuner

    patches.set(async_compile(), "triton", triton)


def _take(written: Written, tuner: Any) -> None:
    if not hasattr(tuner, "triton_meta"):
        msg = f"{written.name} is no kernel with heuristics of inductor, of which alone is known what it takes"
        raise TypeError(msg)
    written.tuner, written.configs = tuner, list(tuner.configs)


def async_compile() -> Any:
    """The class through which a wrapper compiles its kernels."""
    try:
        from torch._inductor.async_compile import AsyncCompile
    except ImportError:
        # Breakpoint: torch 2.4 has a module for it.
        from torch._inductor.codecache import AsyncCompile
    return AsyncCompile


def _choices(called: Sequence[Written]) -> List[Written]:
    """The choices of templates that were looked at and are not called, each source once."""
    from torch._inductor.codecache import PyCodeCache

    seen = {kernel.source for kernel in called}
    kernels = []
    for choice in pretending.chosen:
        request = getattr(choice, "bmreq", None)
        path, name = getattr(request, "module_path", None), getattr(request, "kernel_name", None)
        if not path or not name:
            continue
        with open(path, encoding="utf-8") as file:
            source = file.read()
        if source in seen:
            continue
        seen.add(source)
        written = Written(name, source, choice=True)
        try:
            _take(written, getattr(PyCodeCache.load(source), name))
        except Exception as error:
            written.error = error
        kernels.append(written)
    return kernels


def warm() -> None:
    """Does the work that each program's process would repeat: imports inductor and traces its patterns.

    Without it each program waits two seconds for half a second's work.
    """
    for name in (
        "_dynamo",
        "_inductor.compile_fx",
        "_inductor.select_algorithm",
        "_inductor.codecache",
    ):
        importlib.import_module(f"torch.{name}")
    # Without a backward pass: its threads do not outlive a fork. Each program reports a failure here itself.
    with contextlib.suppress(Exception):
        run(Program("warm", lambda: (_warming, [torch.ones(2, 8)])))


def _warming(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1) + 1
