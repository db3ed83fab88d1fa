"""The one table of replacements in torch, each row with its reason; `apply` replaces, its `Patches` put back."""

import importlib
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Tuple

import torch

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.standins.virtual_gpu import Target
from crosswarp.matrix.cell.standins.virtual_gpu.torch_device import HIP_VERSION, properties_of

from . import autocast, cuda, factories, generators, operators, streams, tensors

# make(torch's object of that name or None, Gpu) -> its replacement
Maker = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Gpu:
    """The arguments of the makers of the rows.

    Attributes:
        properties: what `torch.cuda.get_device_properties` returns.
        zeroed: fill uninitialised tensors.
    """

    target: Target
    properties: Any
    zeroed: bool


class Row(NamedTuple):
    """Names in one module or class that are replaced for one reason.

    Attributes:
        owner: dotted path, ``torch.Tensor``. A version of torch that lacks it, or a name in it, is left as it is.
        names: the name, and the maker of its replacement.
        why: the failure without the replacement.
        added: set the name also where torch does not have it.
    """

    owner: str
    names: Dict[str, Maker]
    why: str
    added: bool = False


_FACTORIES = """zeros ones full rand randn randint randperm arange range linspace logspace eye tensor as_tensor asarray
scalar_tensor normal tril_indices triu_indices zeros_like ones_like full_like rand_like randn_like randint_like
from_file frombuffer sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor
sparse_compressed_tensor hann_window hamming_window bartlett_window blackman_window kaiser_window""".split()
_UNINITIALISED = "empty empty_strided empty_permuted empty_like empty_quantized".split()
_NEW = "new_zeros new_ones new_full new_tensor".split()
_NEW_UNINITIALISED = "new_empty new_empty_strided".split()


def _each(names: Any, maker: Maker) -> Dict[str, Maker]:
    return dict.fromkeys(names, maker)


def _cuda_version(own: Any, gpu: Gpu) -> Optional[str]:
    # A build for ROCm has none; of a build for the CPU libraries expect one, beside a GPU.
    return (own or "12.8") if gpu.target.backend == "cuda" else None


def _hip_version(own: Any, gpu: Gpu) -> Optional[str]:
    return HIP_VERSION if gpu.target.backend == "hip" else None


ROWS: Tuple[Row, ...] = (
    Row(
        "torch",
        {
            **_each(_FACTORIES, factories.on_cpu),
            **_each(_UNINITIALISED, factories.uninitialised_on_cpu),
        },
        "device='cuda' asks for memory of a GPU",
    ),
    Row("torch.fft", _each(("fftfreq", "rfftfreq"), factories.on_cpu), "likewise"),
    Row(
        "torch.Tensor",
        {
            **_each(_NEW, factories.on_cpu),
            **_each(_NEW_UNINITIALISED, factories.uninitialised_on_cpu),
        },
        "likewise, from a tensor",
    ),
    Row(
        "torch.Tensor",
        {
            "device": tensors.device,
            "is_cuda": tensors.is_cuda,
            "is_cpu": tensors.is_cpu,
            "get_device": cuda.answer(0),
        },
        "libraries refuse tensors that are on no GPU, also in the backward pass, where no mode of torch is on",
    ),
    Row(
        "torch.Tensor",
        {
            "to": tensors.to,
            "cuda": tensors.cuda,
            "cpu": tensors.cpu,
            "type": tensors.type_,
            "pin_memory": tensors.itself,
            "is_pinned": cuda.answer(False),
            "record_stream": cuda.answer(None),
        },
        "moves between devices: to the GPU none is needed, to the CPU a copy",
    ),
    Row("torch", {"get_device": cuda.answer(0)}, "as the method"),
    Row(
        "torch.utils._device.DeviceContext",
        {"__init__": factories.device_context},
        "a default device reaches torch's own factories past their replacements",
    ),
    Row("torch", {"load": factories.load}, "a file may name a GPU for its tensors"),
    Row("torch.cuda", cuda.ANSWERS, "is there a device, which one, and what is it doing"),
    Row("torch.cuda", cuda.MEMORY, "memory is not counted"),
    Row("torch.cuda.memory", cuda.MEMORY, "likewise, by the module's name"),
    Row("torch.cuda", cuda.RANDOM, "seeds and states: the CPU's generator is the one that is used"),
    Row("torch.cuda.random", cuda.RANDOM, "likewise, by the module's name"),
    Row("torch.cuda", cuda.TYPES, "tensors by the name of their type"),
    Row(
        "torch",
        {"Stream": cuda.constant(streams.Stream), "Event": cuda.constant(streams.Event)},
        "the same of any device (torch 2.4)",
    ),
    Row("torch.cuda.nvtx", cuda.NVTX, "marks for a profiler of the GPU"),
    Row("torch._C", cuda.BINDINGS, "what libraries call below torch.cuda", added=True),
    Row("torch.backends.cuda", {"is_built": cuda.answer(True)}, "a CPU build of torch says no"),
    Row(
        "torch.version",
        {"cuda": _cuda_version, "hip": _hip_version},
        "libraries tell NVIDIA and AMD apart by these",
    ),
    Row("torch.accelerator", cuda.ACCELERATOR, "torch.cuda under its newer name (torch 2.6)"),
    Row(
        "torch",
        {"Generator": lambda own, gpu: generators.Generator},
        "Generator(device='cuda') needs the GPU's own",
    ),
    Row("torch.random", {"fork_rng": generators.fork_rng}, "saves the state of every GPU"),
    Row(
        "torch.amp.autocast_mode.autocast",
        {"__init__": autocast.init, "__enter__": autocast.enter, "__exit__": autocast.leave},
        "casts where tensors of the GPU are dispatched; ours are dispatched on the CPU",
    ),
    Row(
        "torch.library.Library",
        {"__init__": operators.library_init, "impl": operators.library_impl},
        "what is registered for CUDA is never called for a CPU tensor",
    ),
    Row(
        "torch",
        {"compile": operators.identity_compile},
        "Inductor would build C++ for the CPU, of what are no kernels of the library",
    ),
    Row(
        "torch.jit",
        {"script": operators.identity_compile},
        "TorchScript takes no function of Python's for a factory such as torch.empty",
    ),
)


def apply(target: Target, zeroed: bool) -> Patches:
    """Replace the names in the table, and the casts of autocast; if that fails, nothing stays replaced."""
    gpu = Gpu(target, properties_of(target), zeroed)
    patches = Patches()
    try:
        autocast.cast_as_cuda(patches)
        replace(ROWS, gpu, patches)
        _ask_anew()
        patches.on_undo(_ask_anew)
    except BaseException:
        patches.undo()
        raise
    return patches


def _ask_anew() -> None:
    """Clear torch's cached search for Triton (has_triton): the GPU was another, or none."""
    module = sys.modules.get("torch.utils._triton")
    for function in vars(module).values() if module is not None else ():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def replace(rows: Iterable[Row], gpu: Gpu, patches: Patches) -> None:
    """Replace the names in `rows` that this torch has."""
    for row in rows:
        owner = _find(row.owner)
        if owner is None:
            continue
        for name, make in row.names.items():
            own = getattr(owner, name, None)
            if row.added or hasattr(owner, name):
                patches.set(owner, name, make(own, gpu))


def _find(path: str) -> Any:
    """The module or class at a dotted path, or None where this torch has none."""
    owner: Any = torch
    at = "torch"
    for part in path.split(".")[1:]:
        at = f"{at}.{part}"
        if not hasattr(owner, part):
            try:
                importlib.import_module(at)
            except ImportError:
                return None
        owner = getattr(owner, part, None)
        if owner is None:
            return None
    return owner
