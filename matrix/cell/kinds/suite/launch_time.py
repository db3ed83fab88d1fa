"""How long a launch keeps the host: from the call of a compiled kernel until its launcher is called.

Seconds on a machine that does other things as well differ by a third from one time to the next. How many functions
are called, Python's and C's, does not: without more of them nothing is called slower (matrix/results/launch_time.py).
"""

import contextlib
import sys
import time
from typing import Any, Callable, Dict, Iterator, List

from crosswarp.compat.worker import processor_seconds
from crosswarp.matrix.cell.standins.virtual_gpu import launching

# The best of so many batches, each as often as `_SECONDS` allow, at most `_MOST` times.
_BATCHES, _MOST, _SECONDS = 10, 20, 0.003
_LONGEST = 0.1
_ROUNDS, _TIMES = 100, 10


def measured(launch: Callable[[], Any]) -> Dict[str, Any]:
    """For the record, of a launch by kernel: `launch_us`, microseconds of a CPU, and `launch_calls`, functions called.

    `pace_us` are microseconds of work that is always alike. Nothing for a launcher that cannot be called again.
    """
    try:
        # A tuner may have something left to do.
        launch()
        # Not by the clock, which goes on where the machine does something else.
        began = processor_seconds()
        launch()
        if processor_seconds() - began > _LONGEST:
            # It computes something as well, which would take too long ten times.
            return {}
        calls = _calls(launch)
        # In turn: a core that is shared is slow for both.
        batches, paces = zip(*((_batch(launch), _pace()) for _ in range(_BATCHES)))
    except Exception:
        return {}
    medians = {
        name: min(batch[name] for batch in batches)
        for name in batches[0]
        if all(name in batch for batch in batches)
    }
    if not medians:
        return {}
    return {
        "launch_us": {name: round(1e6 * value, 2) for name, value in medians.items()},
        "launch_calls": {name: calls[name] for name in medians if name in calls},
        "pace_us": round(1e6 * min(paces), 2),
    }


def _batch(launch: Callable[[], Any]) -> Dict[str, float]:
    """Seconds by kernel, of its quickest launch."""
    samples: Dict[str, List[float]] = {}
    ends = time.monotonic() + _SECONDS
    with _watched(time.process_time, samples):
        for _ in range(_MOST):
            launch()
            if time.monotonic() > ends:
                break
    return {name: min(values) for name, values in samples.items()}


def _calls(launch: Callable[[], Any]) -> Dict[str, int]:
    """Calls by kernel, of its launch with the most of them."""
    count = 0

    def called(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    samples: Dict[str, List[float]] = {}
    before = sys.getprofile()
    with _watched(lambda: count, samples):
        sys.setprofile(called)
        try:
            launch()
        finally:
            sys.setprofile(before)
    return {name: int(max(values)) for name, values in samples.items()}


@contextlib.contextmanager
def _watched(read: Callable[[], float], samples: Dict[str, List[float]]) -> Iterator[None]:
    """Adds to `samples`, by kernel, how much further `read` is where a launcher is called than where its kernel was."""
    from triton.runtime.jit import JITFunction

    before, launches_before = vars(JITFunction).get("run"), len(launching.launches)
    run: Any = JITFunction.run
    began: List[float] = []

    def watched(kernel: Any, *args: Any, **options: Any) -> Any:
        began.append(read())
        try:
            return run(kernel, *args, **options)
        finally:
            began.pop()

    def launched(handed: Any) -> None:
        # A kernel that was compiled ahead is launched by itself.
        if began:
            name = getattr(getattr(handed.source, "fn", None), "__name__", handed.function.name)
            samples.setdefault(name, []).append(read() - began[-1])

    JITFunction.run = watched  # type: ignore[method-assign]
    launching.run_with(launched)
    try:
        yield
    finally:
        launching.run_with(None)
        if before is None:
            del JITFunction.run
        else:
            JITFunction.run = before
        del launching.launches[launches_before:]


def _pace() -> float:
    """Seconds of work that is always alike, the quickest of several."""
    seconds_taken = []
    for _ in range(_TIMES):
        began = time.process_time()
        counters: Dict[int, Any] = {}
        for number in range(_ROUNDS):
            counters[number % 64] = (number, str(number), [number])
        seconds_taken.append(time.process_time() - began)
    return min(seconds_taken)
