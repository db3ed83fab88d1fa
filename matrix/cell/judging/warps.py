"""The same launch with other numbers of warps: each output's error and bits, for the report on consistency."""

import contextlib
from typing import Any, Callable, Dict, Iterator, Sequence

from .verdict import Verdict


def tried(counts: Sequence[int], launch: Callable[[], Verdict]) -> Dict[str, Any]:
    """For the record: by number of warps, as text, the errors and the bits of the outputs, or why there are none.

    Args:
        launch: one run of the case, from fresh inputs to the comparison.
    """
    runs: Dict[str, Any] = {}
    for count in counts:
        with forced(count):
            verdict = launch()
        errors = verdict.resources.get("error")
        if errors is None:
            why = verdict.fingerprint or verdict.reason
            runs[str(count)] = {"failed": f"{verdict.outcome}: {why}"[:300]}
            continue
        outputs = verdict.resources.get("outputs") or {}
        runs[str(count)] = {
            "error": errors,
            "inputs": verdict.resources.get("inputs", ""),
            "bits": {name: output["digest"] for name, output in outputs.items()},
            **({} if verdict.outcome == "pass" else {"outcome": verdict.outcome}),
        }
    return runs


@contextlib.contextmanager
def forced(count: int) -> Iterator[None]:
    """Launch every kernel with so many warps, whatever its launcher or its tuner asks."""
    from triton.runtime.jit import JITFunction

    run = JITFunction.run

    def with_warps(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run(self, *args, **{**kwargs, "num_warps": count})

    JITFunction.run = with_warps
    try:
        yield
    finally:
        JITFunction.run = run
