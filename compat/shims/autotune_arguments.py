"""``triton.autotune`` takes other arguments in each Triton; code written for a later one calls it with all of them.

``do_bench`` is honoured everywhere (Triton 3.2 takes it and drops it), hooks too; what only saves time is dropped.
"""

import functools
import inspect
import threading
from typing import Any, Callable, Dict, Optional

from ..errors import say_once
from ..record import Patches, Shim

ARGUMENTS = ("cache_results", "do_bench", "post_hook", "pre_hook", "use_cuda_graph")
# What a benchmark of ours or of 3.2 and later is asked for.
QUANTILES = (0.5, 0.2, 0.8)

_swap = threading.RLock()


def apply(patches: Patches) -> None:
    import triton
    import triton.runtime
    import triton.runtime.autotuner as autotuner

    own = autotuner.autotune
    known = inspect.signature(own).parameters

    # Symptom: TypeError: autotune() got an unexpected keyword argument 'cache_results' (before 3.4), 'do_bench' (before
    # 3.2), 'use_cuda_graph', 'pre_hook' or 'post_hook' (before 3.0); `do_bench` is never called (3.2).
    # Window: Triton < 3.4, every target. Link: triton-lang/triton#5992 (do_bench).
    # Breakpoint: Triton 3.4 has every argument; delete with the last column before it.
    @functools.wraps(own)
    def autotune(*args, **kwargs):
        extra = {
            name: kwargs.pop(name) for name in ARGUMENTS if name in kwargs and name not in known
        }
        do_bench = extra.get("do_bench") or kwargs.get("do_bench")
        decorate = own(*args, **kwargs)

        def decorator(fn):
            tuner = decorate(fn)
            _equip(tuner, extra, do_bench)
            return tuner

        return decorator

    for module in (autotuner, triton.runtime, triton):
        if vars(module).get("autotune") is own:
            patches.set(module, "autotune", autotune)
    # Breakpoint: from Triton 3.2 on each autotuner holds its own benchmark; before, the module held one.
    if "do_bench" not in inspect.signature(autotuner.Autotuner.__init__).parameters:
        _bench_with_its_own(patches, autotuner)


def _equip(tuner: Any, extra: Dict[str, Any], do_bench: Optional[Callable]) -> None:
    """Give `tuner` what its constructor did not take."""
    from ..install import note_acted

    if not hasattr(tuner, "_bench"):
        # The interpreter's or somebody else's autotuner.
        return
    if do_bench is not None and getattr(tuner, "do_bench", None) is not do_bench:
        note_acted(SHIM.name)
        tuner.do_bench = do_bench
        tuner.use_cuda_graph = False
    for name in ("pre_hook", "post_hook"):
        if extra.get(name):
            note_acted(SHIM.name)
            setattr(tuner, name, _hook(tuner, extra[name], name))
    for name, why in (
        ("cache_results", "its timings are not kept on disk"),
        ("use_cuda_graph", "it is measured without a CUDA graph"),
    ):
        if extra.get(name):
            note_acted(SHIM.name)
            say_once(f"autotune({name}=…) is not known to this Triton: {why}")


def _hook(tuner: Any, hook: Callable, name: str) -> Callable:
    """A hook for Triton 2.3, which calls it with the arguments alone and never tells of an exception."""
    if name == "pre_hook":
        return lambda args, reset_only=False: hook(_Arguments(tuner, args), reset_only=reset_only)
    return lambda args: hook(_Arguments(tuner, args), exception=None)


class _Arguments(dict):
    """A hook's arguments by name, as from Triton 3.2 on, and by number, as before."""

    def __init__(self, tuner: Any, args: tuple):
        super().__init__(zip(tuner.arg_names, args))
        self._args = args

    def __missing__(self, key):
        if isinstance(key, int):
            return self._args[key]
        raise KeyError(key)


def _bench_with_its_own(patches: Patches, autotuner: Any) -> None:
    bench = autotuner.Autotuner._bench

    def bench_with_its_own(self, *args, **kwargs):
        own = vars(self).get("do_bench")
        if own is None:
            return bench(self, *args, **kwargs)
        # This Triton's `_bench` calls the module's function: for this one call, ours.
        with _swap:
            before = autotuner.do_bench
            autotuner.do_bench = lambda call, **_: own(call, quantiles=QUANTILES)
            try:
                return bench(self, *args, **kwargs)
            finally:
                autotuner.do_bench = before

    patches.set(autotuner.Autotuner, "_bench", bench_with_its_own)


SHIM = Shim(
    name="autotune_arguments",
    issue="autotune-arguments",
    window="<3.4",
    symptom="TypeError: autotune() got an unexpected keyword argument 'cache_results'",
    link="https://github.com/triton-lang/triton/pull/5992",
    delete_when="no column before Triton 3.4 is left",
    apply=apply,
)
