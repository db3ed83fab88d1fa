"""Make an autotuner visit every configuration, and note how each one fared."""

import contextlib
from typing import Any, Callable, Dict, List, Optional

from crosswarp.matrix.cell.plain import below_decorators
from crosswarp.matrix.cell.protocol import DROPPED, LEFT_OUT

from .verdict import Verdict, of_error


class ConfigLog:
    """Verdicts of configurations, in the order of their visits.

    `started` is called before and `finished` after each visit, so that a process that dies names its victim.
    """

    def __init__(self, started: Callable[[str], None], finished: Callable[[str, Verdict], None]):
        self._started, self._finished = started, finished
        self._visited: List[str] = []
        # Whose configuration a description was first.
        self._owners: Dict[str, int] = {}
        # The first failure that Triton's autotuner would have passed on to the caller.
        self.fatal: Optional[Verdict] = None
        # Launches that only repeat the first say nothing about a configuration.
        self.closed = False
        self._swallowed: Optional[BaseException] = None

    def install(self) -> None:
        """Wrap Triton's autotuner. Call it after the shims are installed: their wrapper is watched too."""
        from triton.runtime.autotuner import Autotuner

        log, bench, run = self, Autotuner._bench, Autotuner.run

        def watched_bench(tuner, *args, config, **meta):
            return log._visit(tuner, config, lambda: bench(tuner, *args, config=config, **meta))

        def watched_run(tuner, *args, **kwargs):
            log._watch_function(tuner)
            if log.closed:
                return run(tuner, *args, **kwargs)
            visited = len(log._visited)
            result = run(tuner, *args, **kwargs)
            # A tuner with one configuration launches it without a measurement.
            if len(log._visited) == visited and len(tuner.configs) == 1:
                log._note(log._name(tuner, tuner.configs[0]), Verdict("pass"))
            return result

        Autotuner._bench, Autotuner.run = watched_bench, watched_run

    def _visit(self, tuner: Any, config: Any, bench: Callable[[], Any]) -> Any:
        from crosswarp.compat import acted

        if self.closed:
            return bench()
        name = self._name(tuner, config)
        self._started(name)
        self._swallowed = None
        before = acted()
        try:
            measured = bench()
        except Exception as error:
            verdict = of_error(error)
            self.fatal = self.fatal or verdict
            self._note(name, verdict)
            return [float("inf")] * 3
        except BaseException as error:
            # Goes through any autotuner, and ends the launch; the configuration gets its verdict first.
            self._note(name, of_error(error))
            raise
        if not finite(measured):
            new = [shim for shim in acted() if shim not in before] or acted()
            if self._swallowed is None or type(self._swallowed).__name__ == "CompilerCrashed":
                verdict = Verdict("pass", reason=DROPPED, shims=new)
            else:
                # Triton's own autotuner leaves out configurations that do not fit: no failure of the launch.
                error = of_error(self._swallowed)
                verdict = Verdict(
                    "unsupported",
                    reason=LEFT_OUT,
                    fingerprint=error.fingerprint,
                    message=error.message,
                )
        else:
            verdict = Verdict("pass", shims=[shim for shim in acted() if shim not in before])
        self._note(name, verdict)
        return measured

    def _name(self, tuner: Any, config: Any) -> str:
        """Return its description, made unique among the kernels and the earlier tunings of this case."""
        name = describe(config)
        if self._owners.setdefault(name, id(tuner)) != id(tuner):
            name = f"{_function_name(tuner)}: {name}"
        earlier = self._visited.count(name)
        while f"{name} #{earlier + 1}" in self._visited:
            earlier += 1
        return f"{name} #{earlier + 1}" if earlier else name

    def _watch_function(self, tuner: Any) -> None:
        """Record the exceptions that the autotuner swallows: they pass through the launch of the tuned kernel."""
        if getattr(tuner, "_crosswarp_watched", False):
            return
        tuner._crosswarp_watched = True
        function, own = tuner.fn, vars(tuner.fn).get("run")

        def watched(*args, **kwargs):
            try:
                if own is not None:
                    return own(*args, **kwargs)
                # Looked up now: whoever times launches replaces it later.
                return type(function).run(function, *args, **kwargs)
            except BaseException as error:
                self._swallowed = error
                raise

        # An error of its call names the launch.
        watched.__module__, watched.__qualname__ = "triton", f"{type(function).__name__}.run"
        with contextlib.suppress(AttributeError):
            tuner.fn.run = watched

    def _note(self, name: str, verdict: Verdict) -> None:
        self._visited.append(name)
        self._finished(name, verdict)


def use_first_configuration() -> None:
    """For the interpreter: every configuration means the same, so the first is launched and nothing is tuned.

    Launch options go only to a kernel that declares them: the interpreters of 3.2 refuse those of their autotuner.
    """
    from triton.runtime.autotuner import Autotuner

    def run_first(tuner, *args, **kwargs):
        config = tuner.configs[0]
        declared = getattr(tuner, "arg_names", None) or tuner.fn.arg_names
        options = {
            name: getattr(config, name) for name in ("num_warps", "num_stages") if name in declared
        }
        values = dict(kwargs, **config.kwargs, **options)
        if config.pre_hook:
            config.pre_hook(dict(zip(declared, args), **values))
        return tuner.fn.run(*args, **values)

    Autotuner.run = run_first


def describe(config: Any) -> str:
    """``BLOCK=64,num_stages=3,num_warps=8``: one configuration, sorted by name, defaults of rare options left out."""
    values: Dict[str, Any] = dict(
        config.kwargs, num_warps=config.num_warps, num_stages=config.num_stages
    )
    if getattr(config, "num_ctas", 1) != 1:
        values["num_ctas"] = config.num_ctas
    if getattr(config, "maxnreg", None) is not None:
        values["maxnreg"] = config.maxnreg
    return ",".join(f"{name}={values[name]}" for name in sorted(values))


def _function_name(tuner: Any) -> str:
    """Return the name of the function below all its decorators."""
    return getattr(below_decorators(tuner), "__name__", "another kernel")


def finite(measured: Any) -> bool:
    """Whether a benchmark says that its configuration can be launched."""
    first = measured[0] if isinstance(measured, (list, tuple)) else measured
    return first != float("inf")
