"""An autotuner takes other arguments in each Triton; code written for a later one calls it with all of them.

That holds for ``triton.autotune`` and for its class, ``Autotuner``, from which libraries derive their own.
``do_bench`` is honoured everywhere (``triton.autotune`` of 3.2 takes it and drops it). Hooks too: they find arguments
by name, as from 3.2 on, and still by number, as before. What only saves time is dropped.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from typing import Any, Callable, Container, Dict, Iterator, List, Optional, Sequence, Tuple

from .. import features
from ..acts import note_acted
from ..errors import say_once
from ..launch import TIMINGS
from ..record import Patches, Shim
from ..seams.attribute import around_call

# Parameters of the constructor in Triton 3.9; `triton.autotune` takes the last of them by keyword.
ORDER: Tuple[str, ...] = (
    *("fn", "arg_names", "configs", "key", "reset_to_zero", "restore_value"),
    *("pre_hook", "post_hook", "prune_configs_by", "warmup", "rep"),
    *("use_cuda_graph", "do_bench", "cache_results"),
)
# The order in Triton 2.3, whose autotune() calls it by position.
OLD_ORDER = (*ORDER[:6], "prune_configs_by", "warmup", "rep")
ARGUMENTS = ("cache_results", "do_bench", "post_hook", "pre_hook", "use_cuda_graph")
# The quantiles requested of our benchmark, and of those of 3.2 and later.
QUANTILES = (0.5, 0.2, 0.8)

_swap = threading.RLock()


def apply(patches: Patches) -> None:
    import triton
    import triton.runtime
    import triton.runtime.autotuner as autotuner

    own, own_init = autotuner.autotune, autotuner.Autotuner.__init__
    known = inspect.signature(own).parameters
    known_to_class = inspect.signature(own_init).parameters
    old = not features.benchmark_of_its_own(own_init)

    # Breakpoint: Triton 3.4 has every argument; delete with the last column before it.
    @functools.wraps(own)
    def autotune(*args, **kwargs):
        extra = {name: kwargs.pop(name) for name in ARGUMENTS if name in kwargs.keys() - known}
        # Breakpoint: 3.2 takes `do_bench`, and does not hand it on.
        extra["do_bench"] = _benchmark({**kwargs, **extra})
        decorate = own(*args, **(_without_defaults(kwargs) if old else kwargs))

        def decorator(fn):
            tuner = decorate(fn)
            _equip(tuner, extra)
            return tuner

        return decorator

    def init(own_init, self, *args, **kwargs):
        given = _by_name(args, kwargs, known_to_class)
        extra = {
            name: given.pop(name) for name in ARGUMENTS if name in given.keys() - known_to_class
        }
        own_init(self, **(_without_defaults(given) if old else given))
        if old:
            extra["do_bench"] = _benchmark({**given, **extra})
            self.keys = given["key"]
            self.key_idx = _key_numbers(self)
            self.reset_to_zero = list(given.get("reset_to_zero") or ())
            self.restore_value = list(given.get("restore_value") or ())
            self.user_defined_pre_hook = bool(given.get("pre_hook"))
            self.user_defined_post_hook = bool(given.get("post_hook"))
        _equip(self, extra)

    for module in (autotuner, triton.runtime, triton):
        if vars(module).get("autotune") is own:
            patches.set(module, "autotune", autotune)
    around_call(patches, autotuner.Autotuner, "__init__", init)
    if old:
        _bench_as_later(patches, autotuner)


def _by_name(args: tuple, kwargs: Dict[str, Any], known: Container[str]) -> Dict[str, Any]:
    """An autotuner's arguments by name; by position they are Triton 3.9's, or, on 2.3, perhaps its own.

    Raises:
        TypeError: there are too many.
    """
    order, rest = ORDER, args[6:9]
    if "pre_hook" not in known and len(args) <= len(OLD_ORDER):
        numbers = [arg for arg in rest[1:] if isinstance(arg, (int, float))]
        if numbers or (rest and isinstance(rest[0], dict)):
            order = OLD_ORDER
    if len(args) > len(order):
        msg = f"Autotuner() takes at most {len(order)} arguments by position, {len(args)} given"
        raise TypeError(msg)
    return dict(zip(order, args), **kwargs)


def _key_numbers(tuner: Any) -> List[int]:
    """Positions of the key's arguments among those that a launch gives: all but those of the tuner or a heuristic.

    Before Triton 3.2 they count among all arguments: IndexError, or another argument's value in the key.
    """
    added = {name for config in tuner.configs for name in config.kwargs}
    fn = tuner.fn
    while fn is not None:
        added.update(getattr(fn, "values", ()))
        fn = getattr(fn, "fn", None)
    given = [name for name in tuner.arg_names if name not in added]
    return [given.index(name) for name in tuner.keys if name in given]


def _without_defaults(kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """`kwargs` without `warmup` and `rep` that are None, the later default, where this Triton needs a number."""
    return {
        name: value
        for name, value in kwargs.items()
        if value is not None or name not in ("warmup", "rep")
    }


def _benchmark(given: Dict[str, Any]) -> Optional[Callable]:
    """The `do_bench` in `given`; the deprecated ways to measure take precedence over it, as from Triton 3.3 on."""
    deprecated = (given.get("warmup"), given.get("rep"), given.get("use_cuda_graph") or None)
    return given.get("do_bench") if deprecated == (None, None, None) else None


def _equip(tuner: Any, extra: Dict[str, Any]) -> None:
    """Give `tuner` the arguments that its constructor did not take."""
    if not hasattr(tuner, "_bench"):
        # An autotuner of another library.
        return
    for name in ("pre_hook", "post_hook", "do_bench"):
        # In 3.3 the constructor has taken it.
        if extra.get(name) and getattr(tuner, name, None) is not extra[name]:
            note_acted(SHIM.name)
            setattr(tuner, name, extra[name])
            if name != "do_bench":
                setattr(tuner, f"user_defined_{name}", True)
    for name, why in (
        ("cache_results", "its timings are not kept on disk"),
        ("use_cuda_graph", "it is measured without a CUDA graph"),
    ):
        if extra.get(name):
            note_acted(SHIM.name)
            say_once(f"autotune({name}=…) is not known to this Triton: {why}")


class _Arguments(tuple):
    """The argument of a hook: a launch's arguments by name, as from Triton 3.2 on, and by number, as before.

    Arguments that were given by keyword also have numbers; Triton's own hooks for `reset_to_zero` did not find those.
    """

    arg_names: Sequence[str]
    named: Dict[str, Any]

    @classmethod
    def of(cls, tuner: Any, args: Sequence[Any], keywords: Dict[str, Any]) -> "_Arguments":
        made = cls(args)
        made.arg_names = tuner.arg_names
        made.named = {**tuner.nargs, **keywords}
        return made

    def __getitem__(self, key):
        if isinstance(key, int) and key >= len(self):
            key = self.arg_names[key]
        return self.named[key] if isinstance(key, str) else super().__getitem__(key)

    def __contains__(self, key):
        return key in self.named if isinstance(key, str) else super().__contains__(key)

    def __getattr__(self, name):
        if name in ("get", "items", "keys", "values"):
            return getattr(self.named, name)
        raise AttributeError(name)


class _Hook:
    """A hook of `tuner`, called by a Triton that passes it only the positional arguments."""

    def __init__(self, tuner: Any, hook: Callable, adds: Dict[str, Any]):
        self.tuner, self.hook, self.adds = tuner, hook, adds

    def __call__(self, args, **how):
        held = vars(self.tuner)
        if "_arguments" in held:
            args = held["_arguments"]
        elif how.get("reset_only"):
            # The last configuration was dropped, and its arguments with it.
            args = _Arguments.of(self.tuner, args, {})
        if how.get("reset_only"):
            # The last call after all configurations: keep no tensor alive.
            held.pop("_arguments", None)
        return self.hook(args, **{**self.adds, **how})


def _bench_as_later(patches: Patches, autotuner: Any) -> None:
    # Breakpoint: Triton 2.3 does not pass the exception to a hook.
    passes_error = "post_hook" in inspect.signature(autotuner.Autotuner.__init__).parameters

    def adapt(tuner, name):
        hook = getattr(tuner, name)
        if not isinstance(hook, _Hook):
            silent = passes_error or name == "pre_hook" or _module_of(hook) == autotuner.__name__
            setattr(tuner, name, _Hook(tuner, hook, {} if silent else {"exception": None}))

    def bench_as_later(bench, self, *args, config, **meta):
        self._arguments = _Arguments.of(self, args, {**meta, **config.kwargs})
        adapt(self, "pre_hook")
        adapt(self, "post_hook")
        own = vars(self).get("do_bench")
        try:
            if own is None and not self.post_hook.adds:
                return bench(self, *args, config=config, **meta)
            with _swapped(autotuner, own, self.post_hook):
                return bench(self, *args, config=config, **meta)
        except BaseException:
            vars(self).pop("_arguments", None)
            raise

    around_call(patches, autotuner.Autotuner, "_bench", bench_as_later, kind=TIMINGS)


@contextlib.contextmanager
def _swapped(autotuner: Any, own: Optional[Callable], post_hook: _Hook) -> Iterator[None]:
    """For one call of this thread: `_bench` calls the module's ``do_bench``, which is `own` now, or calls a hook."""
    me = threading.get_ident()

    def do_bench(call, **rest):
        if threading.get_ident() != me:
            return before(call, **rest)
        if post_hook.adds:
            call = _with_error(call, post_hook)
        return before(call, **rest) if own is None else own(call, quantiles=QUANTILES)

    with _swap:
        before = autotuner.do_bench
        autotuner.do_bench = do_bench
        try:
            yield
        finally:
            autotuner.do_bench = before


def _with_error(call: Callable, post_hook: _Hook) -> Callable:
    def with_error():
        try:
            call()
        except Exception as error:
            post_hook((), exception=error)
            raise

    return with_error


def _module_of(hook: Callable) -> str:
    return getattr(hook, "__module__", "")


SHIM = Shim(
    name="autotune_arguments",
    issue="autotune-arguments",
    tier="names",
    window="<3.4",
    symptom="TypeError: autotune() got an unexpected keyword argument 'cache_results'",
    link="https://github.com/triton-lang/triton/pull/5992",
    delete_when="no column before Triton 3.4 is left",
    apply=apply,
)
