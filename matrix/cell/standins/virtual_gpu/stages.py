"""CPU seconds of each of Triton's own stages (ttir, ttgir, llir, ptx, cubin, ...), noted in the metadata of a kernel.

Beside them is the pace: the CPU milliseconds of work that is always alike, done before and after each stage. Where
others use the machine, both take longer: a core is shared by two threads, and so are caches.

The metadata goes wherever the kernel goes: out of the child that compiled it, and into Triton's cache.
"""

import contextlib
import json
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from crosswarp.compat import features, worker

# In the metadata of a kernel: a JSON object of seconds by stage, as text, which any reader of metadata can hash.
STAGES = "crosswarp_stages"
# Likewise the pace, in milliseconds.
PACE = "crosswarp_pace"
# Rounds of the constant work: 2 to 3 ms.
_ROUNDS = 6000


def time_all() -> None:
    """From now on note the time of each stage. This cannot be undone: only in a child.

    Call it after all other replacements of stages, so that they are timed too.
    """
    for backend in backends():
        if "add_stages" in vars(backend):
            backend.add_stages = _timed(backend.add_stages)


def backends() -> Iterator[Any]:
    """The class of each of Triton's back ends."""
    # Breakpoint: backends are plugins from Triton 3.0 on.
    if features.has_backends():
        import triton

        for backend in triton.backends.backends.values():
            yield backend.compiler
    else:
        from triton.compiler.backends.cuda import CUDABackend

        yield CUDABackend


def seconds_of(metadata: Any) -> Dict[str, float]:
    """By stage, in the order of the compiler; empty for a kernel that was compiled before anybody noted them."""
    noted = (
        metadata.get(STAGES) if isinstance(metadata, Mapping) else getattr(metadata, STAGES, None)
    )
    with contextlib.suppress(TypeError, ValueError, AttributeError):
        return {str(name): float(value) for name, value in json.loads(noted).items()}  # type: ignore[arg-type]
    return {}


def pace_of(metadata: Any) -> Optional[float]:
    """The milliseconds of the constant work while the kernel was compiled; None if nobody noted them."""
    noted = metadata.get(PACE) if isinstance(metadata, Mapping) else getattr(metadata, PACE, None)
    return noted if isinstance(noted, float) else None


def _timed(add_stages: Callable[..., Any]) -> Callable[..., Any]:
    def add_timed_stages(
        self: Any, stages: Dict[str, Any], options: Any, *args: Any, **kwargs: Any
    ) -> Any:
        added = add_stages(self, stages, options, *args, **kwargs)
        seconds: Dict[str, float] = {}
        paces: List[float] = []
        last = next(reversed(list(stages)), "")
        for name in list(stages):
            stages[name] = _stage(name, stages[name], seconds, paces, name == last)
        return added

    return add_timed_stages


def _stage(
    name: str,
    compile_: Callable[..., Any],
    seconds: Dict[str, float],
    paces: List[float],
    last: bool,
) -> Callable[..., Any]:
    def timed(source: Any, metadata: Dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if not paces:
            paces.append(_milliseconds())
        began = worker.processor_seconds()
        made = compile_(source, metadata, *args, **kwargs)
        seconds[name] = round(worker.processor_seconds() - began, 3)
        paces.append(_milliseconds())
        # Not before: stored code of a kernel's TTGIR is looked up by its metadata, which must hold no time.
        if last:
            metadata[STAGES] = json.dumps(seconds)
            metadata[PACE] = _mean(list(seconds.values()), paces)
        return made

    return timed


def _mean(seconds: List[float], paces: List[float]) -> float:
    """The pace of a stage is that of its two ends; a stage counts by its seconds."""
    # The clock has steps of ten milliseconds: a stage may have taken none of them.
    weights = [spent + 0.01 for spent in seconds]
    ends = (sum(both) / 2 for both in zip(paces, paces[1:]))
    weighted = sum(weight * end for weight, end in zip(weights, ends))
    return round(weighted / sum(weights), 3)


def _milliseconds() -> float:
    """CPU milliseconds of work that is always alike."""
    began = time.process_time()
    counters: Dict[int, Any] = {}
    for number in range(_ROUNDS):
        counters[number % 64] = (number, str(number), [number])
    return 1e3 * (time.process_time() - began)
