"""The answers of `torch.cuda` and `torch.accelerator` for the target."""

from typing import Any, Callable, Dict

import torch

from . import generators, streams
from .errors import NotOnVirtualGPU

_FREE, _TOTAL = 60 << 30, 64 << 30


def answer(value: Any) -> Callable:
    """A row's maker: a function that takes anything and returns `value`."""

    def make(own: Any, gpu: Any) -> Callable:
        def answered(*args: Any, **kwargs: Any) -> Any:
            return value

        return answered

    return make


def constant(value: Any) -> Callable:
    """A row's maker: `value` itself."""
    return lambda own, gpu: value


def of_gpu(read: Callable[[Any], Any]) -> Callable:
    """Return a row's maker: a function that returns the result of `read` on the target's properties."""

    def make(own: Any, gpu: Any) -> Callable:
        return lambda *args, **kwargs: read(gpu.properties)

    return make


def not_here(own: Any, gpu: Any) -> Callable:
    """A row's maker: a function or class that says that a test which calls it needs a real GPU."""
    name = getattr(own, "__name__", "this")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        msg = f"torch.cuda.{name} needs a real GPU: the virtual one executes nothing that could be captured"
        raise NotOnVirtualGPU(msg)

    # A class stays one: annotations say ``CUDAGraph | None``.
    return type(name, (), {"__init__": refuse}) if isinstance(own, type) else refuse


def cpu_tensor_type(own: Any, gpu: Any) -> Any:
    """`torch.cuda.FloatTensor`: the CPU's type of that name."""
    return getattr(torch, own.__name__.rpartition(".")[2])


def rng_state(own: Any, gpu: Any) -> Callable:
    return lambda device=None: torch.get_rng_state()


def rng_states(own: Any, gpu: Any) -> Callable:
    return lambda: [torch.get_rng_state()]


def set_rng_state(own: Any, gpu: Any) -> Callable:
    return lambda state, device=None: torch.set_rng_state(state)


def set_rng_states(own: Any, gpu: Any) -> Callable:
    return lambda states: torch.set_rng_state(states[0])


def default_generators(own: Any, gpu: Any) -> tuple:
    return (generators.PhiloxGenerator(),)


def a_stream(own: Any, gpu: Any) -> Callable:
    return lambda *args, **kwargs: streams.Stream()


def bf16_supported(properties: Any) -> bool:
    return bool(properties.gcnArchName) or properties.major >= 8


def _accelerator(check_available: bool = False) -> torch.device:
    return torch.device("cuda")


# Each name once: how it is answered. Those that a version of torch does not have are left out there.
ANSWERS: Dict[str, Callable] = {
    **dict.fromkeys(("is_available", "is_initialized", "can_device_access_peer"), answer(True)),
    **dict.fromkeys(("device_count", "_device_count_nvml", "_device_count_amdsmi"), answer(1)),
    **dict.fromkeys(("current_device", "_get_device_index", "_exchange_device"), answer(0)),
    **dict.fromkeys(("utilization", "memory_usage", "_maybe_exchange_device"), answer(0)),
    **dict.fromkeys(("set_device", "init", "_lazy_init", "_lazy_call", "_check_capability"), answer(None)),
    **dict.fromkeys(("synchronize", "set_stream", "ipc_collect", "set_sync_debug_mode"), answer(None)),
    "get_sync_debug_mode": answer(0),
    "get_device_name": of_gpu(lambda properties: properties.name),
    "get_device_capability": of_gpu(lambda properties: (properties.major, properties.minor)),
    "get_device_properties": of_gpu(lambda properties: properties),
    "get_arch_list": of_gpu(
        lambda properties: [properties.gcnArchName or f"sm_{properties.major}{properties.minor}"]
    ),
    "is_bf16_supported": of_gpu(bf16_supported),
    "is_tf32_supported": of_gpu(bf16_supported),
    "is_current_stream_capturing": answer(False),
    **dict.fromkeys(("device", "device_of", "_DeviceGuard"), constant(streams.on_device)),
    **dict.fromkeys(("Stream", "ExternalStream"), constant(streams.Stream)),
    "Event": constant(streams.Event),
    **dict.fromkeys(("current_stream", "default_stream", "stream", "get_stream_from_external"), a_stream),
    "default_generators": default_generators,
    **dict.fromkeys(("CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle"), not_here),
}  # fmt: skip

MEMORY: Dict[str, Callable] = {
    "mem_get_info": answer((_FREE, _TOTAL)),
    "memory_stats": answer({}),
    "memory_snapshot": answer([]),
    "memory_summary": answer(""),
    **dict.fromkeys(
        ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
         "memory_cached", "max_memory_cached"),
        answer(0),
    ),
    **dict.fromkeys(
        ("empty_cache", "reset_peak_memory_stats", "reset_max_memory_allocated",
         "reset_max_memory_cached", "reset_accumulated_memory_stats", "set_per_process_memory_fraction"),
        answer(None),
    ),
}  # fmt: skip

RANDOM: Dict[str, Callable] = {
    **dict.fromkeys(("manual_seed", "manual_seed_all", "seed", "seed_all"), answer(None)),
    "initial_seed": lambda own, gpu: torch.initial_seed,
    "get_rng_state": rng_state,
    "get_rng_state_all": rng_states,
    "set_rng_state": set_rng_state,
    "set_rng_state_all": set_rng_states,
}

TYPES: Dict[str, Callable] = dict.fromkeys(
    ("FloatTensor", "HalfTensor", "BFloat16Tensor", "DoubleTensor", "IntTensor", "LongTensor",
     "ByteTensor", "BoolTensor", "CharTensor", "ShortTensor"),
    cpu_tensor_type,
)  # fmt: skip

ACCELERATOR: Dict[str, Callable] = {
    "is_available": answer(True),
    "device_count": answer(1),
    "current_accelerator": constant(_accelerator),
    **dict.fromkeys(("current_device_index", "current_device_idx"), answer(0)),
    **dict.fromkeys(("set_device_index", "set_device_idx", "set_stream", "synchronize"), answer(None)),
    "current_stream": a_stream,
    "device_index": constant(streams.on_device),
    "get_memory_info": answer((_FREE, _TOTAL)),
    **{name: MEMORY[name] for name in (
        "empty_cache", "memory_stats", "memory_allocated", "max_memory_allocated", "memory_reserved",
        "max_memory_reserved", "reset_accumulated_memory_stats", "reset_peak_memory_stats")},
}  # fmt: skip

NVTX: Dict[str, Callable] = dict.fromkeys(("range_push", "range_pop", "mark"), answer(0))

BINDINGS: Dict[str, Callable] = {
    "_cuda_getCurrentRawStream": answer(0),
    "_cuda_getDevice": answer(0),
    "_cuda_getDeviceCount": answer(1),
    "_cuda_setDevice": answer(None),
    "_cuda_synchronize": answer(None),
    "_cuda_isCurrentStreamCapturing": answer(False),
}
