"""The one table of replacements with which inductor generates for an absent GPU.

`virtual_torch` answers for `torch.cuda`, here as in a library's tests; the rows here answer inductor's other queries.
Tensors keep their real device: those of a graph are fake and really on ``cuda:0``, inputs are on the CPU.
`Patches.undo` reverts everything.
"""

import functools
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Tuple

import torch

from crosswarp.compat import features
from crosswarp.compat.record import Patches
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target
from crosswarp.matrix.cell.standins.virtual_gpu.torch_device import properties_of
from crosswarp.matrix.cell.standins.virtual_torch import cuda, table
from crosswarp.matrix.cell.standins.virtual_torch.table import Gpu, Row

# The parts of `virtual_torch` that answer torch.cuda queries; none that concern tensors.
_SHARED = (
    "torch.cuda",
    "torch.cuda.memory",
    "torch.cuda.random",
    "torch._C",
    "torch.accelerator",
    "torch.version",
)

# While it is not empty, the GPU is hidden: patterns are traced with real tensors.
_hidden: List[bool] = []


class Replaced(NamedTuple):
    """A replacement in some releases of torch.

    Attributes:
        torch: the releases.
        what: the replaced thing.
        why: the failure without it.
        apply: makes the replacement.
    """

    torch: str
    what: str
    why: str
    apply: Callable[[Patches], None]


def _available(own: Any, gpu: Gpu) -> Callable:
    return lambda: not _hidden


_ROWS: Tuple[Row, ...] = (
    *(row for row in table.ROWS if row.owner in _SHARED),
    Row("torch.cuda", {"is_available": _available}, "a GPU that patterns do not see while they are traced"),
    Row("torch.accelerator", {"is_available": cuda.answer(False)}, "or else autograd and FakeTensor wake its C++ side"),
    Row(
        "torch._C",
        {name: cuda.answer(0) for name in dir(torch._C) if name.startswith("_accelerator_getDeviceIndex")},
        "asks the runtime of CUDA",
    ),
)  # fmt: skip


def pretend(target: Target, patches: Patches) -> None:
    """Makes torch and Triton of this process believe in `target`. Call it before torch._dynamo is imported.

    Raises:
        any error from names that this torch lacks; the replacements made by then are in `patches`.
    """
    properties = properties_of(target)
    # Properties that newer releases of torch also read.
    vars(properties).update(
        shared_memory_per_multiprocessor=target.shared_memory_per_multiprocessor or target.shared_memory_optin,
        clock_rate=1_000_000, memory_clock_rate=1_000_000, memory_bus_width=1024, uuid="virtual", pci_bus_id=0,
        pci_device_id=0, pci_domain_id=0,
    )  # fmt: skip
    table.replace(_ROWS, Gpu(target, properties, zeroed=False), patches)
    _only_one_driver(target, patches)
    for row in applicable(torch.__version__):
        row.apply(patches)


def applicable(version: str) -> Iterator[Replaced]:
    """The rows for a release of torch, in order."""
    return (row for row in REPLACED if in_window(row.torch, version))


def _only_one_driver(target: Target, patches: Patches) -> None:
    """Inductor asks Triton's registry of backends which of them is active."""
    import triton

    if features.has_backends():
        driver = virtual_gpu.driver.VirtualDriver
        backends = triton.backends.backends
        own = dict(backends)
        patches.on_undo(functools.partial(_refill, backends, own))
        wanted = "nvidia" if target.backend == "cuda" else "amd"
        for name, backend in own.items():
            if name == wanted:
                backends[name] = type(backend)(compiler=backend.compiler, driver=driver)
            else:
                del backends[name]
    virtual_gpu.activate(target, patches)


def _refill(mapping: Any, own: Any) -> None:
    mapping.clear()
    mapping.update(own)


def _no_device_guard(patches: Patches) -> None:
    import torch._subclasses.fake_tensor as fake

    # Breakpoint: by its older name up to torch 2.4.
    for name in ("init_gpu_context", "init_cuda_context"):
        if hasattr(fake, name):
            patches.set(fake, name, lambda *device: None)
    patches.set(fake.FakeTensorMode, "avoid_device_init", property(lambda mode: True))


def _patterns_of_the_cpu(patches: Patches) -> None:
    import torch._inductor.fx_passes.joint_graph as joint
    import torch._inductor.fx_passes.post_grad as post

    for module in (joint, post):
        patches.set(module, "lazy_init", _without_gpu(module.lazy_init))


def _without_gpu(own: Callable) -> Callable:
    @functools.wraps(own)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        _hidden.append(True)
        try:
            return own(*args, **kwargs)
        finally:
            _hidden.pop()

    return hidden


def _decomposed(patches: Patches) -> None:
    from torch._decomp import decomposition_table as decompositions

    aten, prims = torch.ops.aten, torch.ops.prims
    ours: Dict[Any, Callable] = {
        aten.embedding.default: lambda weight, index, *rest: aten.index.Tensor(weight, [index]),
    }
    if hasattr(prims, "inductor_lookup_seed"):
        ours[prims.inductor_lookup_seed.default] = lambda seeds, index: aten.select.int(
            seeds, 0, index
        )
    for operator, decomposition in ours.items():
        before = decompositions.get(operator)
        decompositions[operator] = decomposition
        patches.on_undo(functools.partial(_put_back, decompositions, operator, before))


def _put_back(mapping: Any, key: Any, before: Any) -> None:
    if before is None:
        mapping.pop(key, None)
    else:
        mapping[key] = before


def _gradients_of_flex_attention(patches: Patches) -> None:
    import torch.nn.attention.flex_attention as flex

    patches.set(flex, "_validate_device", lambda *tensors: None)


def _no_timing(patches: Patches) -> None:
    """Chooses the first of Triton's choices: it is compiled, and the program calls its kernel."""
    from torch._inductor import select_algorithm

    cache = select_algorithm.AlgorithmSelectorCache
    templates = select_algorithm.TritonTemplateCaller

    def times(choices: Any, *args: Any, **kwargs: Any) -> Any:
        chosen.extend(choice for choice in choices if isinstance(choice, templates))
        return {
            choice: place + (1.0 if isinstance(choice, templates) else 1e6)
            for place, choice in enumerate(choices)
        }

    patches.set(cache, "make_benchmark_fn", classmethod(lambda cls, *args, **kwargs: times))
    for name in ("benchmark_choices", "benchmark_in_current_process", "benchmark_in_sub_process"):
        if hasattr(cache, name):
            patches.set(
                cache, name, classmethod(lambda cls, choices, *args, **kwargs: times(choices))
            )
    if hasattr(cache, "benchmark"):
        patches.set(cache, "benchmark", lambda self, choices, *args, **kwargs: times(choices))


# Every choice of a template that was looked at, as torch has it, since it was cleared.
chosen: List[Any] = []

REPLACED: Tuple[Replaced, ...] = (
    Replaced(
        ">=2.3",
        "FakeTensorMode.avoid_device_init, fake_tensor.init_gpu_context",
        "a fake tensor on cuda starts the runtime of CUDA, of which there is none",
        _no_device_guard,
    ),
    Replaced(
        ">=2.3",
        "lazy_init of the passes over joint and post-grad graphs",
        "they trace patterns with real tensors on the GPU, if there is one",
        _patterns_of_the_cpu,
    ),
    Replaced(
        ">=2.3,<2.10",
        "the decompositions of embedding and inductor_lookup_seed",
        "their meta kernels hold a device guard in C++ (no NVIDIA driver was found)",
        _decomposed,
    ),
    Replaced(
        ">=2.10",
        "flex_attention._validate_device",
        "it refuses gradients on the CPU, where the graph is traced; its kernels are a GPU's",
        _gradients_of_flex_attention,
    ),
    Replaced(
        ">=2.3",
        "AlgorithmSelectorCache's benchmarks",
        "max-autotune times its choices on the GPU",
        _no_timing,
    ),
)


def settings() -> Dict[str, Any]:
    """Patches of ``torch._inductor.config``: one process, no caches, no launches past Triton."""
    wanted = {
        "compile_threads": 1,
        "force_disable_caches": True,
        "fx_graph_cache": False,
        "use_static_cuda_launcher": False,
        "use_static_triton_launcher": False,
        "benchmark_epilogue_fusion": False,
        "worker_start_method": "fork",
        "autotune_in_subproc": False,
        # Before torch 2.6 every kernel is named triton_, so one kernel's launch was mistaken for another's.
        "triton.unique_kernel_names": True,
    }
    return known(wanted)


def known(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the settings that this torch's ``torch._inductor.config`` has."""
    import torch._inductor.config as config

    values = {}
    for name, value in wanted.items():
        *folders, last = name.split(".")
        if hasattr(functools.reduce(getattr, folders, config), last):
            values[name] = value
    return values
