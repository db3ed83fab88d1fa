"""CPU seconds of each of Triton's own stages (ttir, ttgir, llir, ptx, cubin, ...), noted in the metadata of a kernel.

The metadata goes wherever the kernel goes: out of the child that compiled it, and into Triton's cache.
"""

import contextlib
import json
from typing import Any, Callable, Dict, Iterator, Mapping

from crosswarp.compat import features, worker

# In the metadata of a kernel: a JSON object of seconds by stage, as text, which any reader of metadata can hash.
STAGES = "crosswarp_stages"


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


def _timed(add_stages: Callable[..., Any]) -> Callable[..., Any]:
    def add_timed_stages(
        self: Any, stages: Dict[str, Any], options: Any, *args: Any, **kwargs: Any
    ) -> Any:
        added = add_stages(self, stages, options, *args, **kwargs)
        seconds: Dict[str, float] = {}
        last = next(reversed(list(stages)), "")
        for name in list(stages):
            stages[name] = _stage(name, stages[name], seconds, name == last)
        return added

    return add_timed_stages


def _stage(
    name: str, compile_: Callable[..., Any], seconds: Dict[str, float], last: bool
) -> Callable[..., Any]:
    def timed(source: Any, metadata: Dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        began = worker.processor_seconds()
        made = compile_(source, metadata, *args, **kwargs)
        seconds[name] = round(worker.processor_seconds() - began, 3)
        # Not before: stored code of a kernel's TTGIR is looked up by its metadata, which must hold no time.
        if last:
            metadata[STAGES] = json.dumps(seconds)
        return made

    return timed
