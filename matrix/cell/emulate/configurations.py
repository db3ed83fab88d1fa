"""Every configuration of an autotuner is executed and compared, one a go.

A tuner that may choose keeps the first configuration that launches, since all are equally fast here. So the case is
launched once with every tuner at its first configuration, and again for each other configuration of each tuner, with
all other tuners as they were: what is wrong then is that configuration's own.
"""

import contextlib
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from crosswarp.matrix.suite.tuning import ConfigLog, describe
from crosswarp.matrix.suite.verdict import Verdict

from .machine import PHASE, Machine

# Where a launch has come to when its configurations are worth a go of their own.
_EXECUTED = (PHASE, "compare")


class _Waiting(NamedTuple):
    name: str
    tuner: Any
    config: Any
    verdict: Verdict


class EveryConfiguration(ConfigLog):
    """A log whose configurations have their verdict when they have been executed.

    Args:
        machine: executes the launches.
        started: told before a configuration is compiled or executed.
        finished: told its verdict.
    """

    def __init__(
        self,
        machine: Machine,
        started: Callable[[str], None],
        finished: Callable[[str, Verdict], None],
    ):
        super().__init__(started, finished)
        self.machine = machine
        self._of: Dict[str, Tuple[Any, Any]] = {}
        self._waiting: List[_Waiting] = []

    def judge(self, launch: Callable[[], Verdict]) -> Verdict:
        """The verdict on the case: that of its first configurations.

        Args:
            launch: one go at the case, from fresh inputs to the comparison.
        """
        whole = launch()
        self.closed = True
        verdicts: Dict[Tuple[int, str], Verdict] = {}
        for name, tuner, config, compiled in self._waiting:
            key = (id(tuner), describe(config))
            if key not in verdicts:
                if self._is_chosen(tuner, config):
                    # Its time is that of the whole.
                    self._started(name)
                    verdicts[key] = whole
                elif whole.phase not in _EXECUTED:
                    # Whatever its configuration, the launch as a whole does not come so far.
                    continue
                else:
                    self._started(name)
                    with _forced(tuner, config):
                        verdicts[key] = launch()
            found = verdicts[key]
            self._finished(name, _merged(found, compiled))
            if found.outcome in ("crash", "timeout"):
                # A device would not live to try another.
                self.fatal = self.fatal or found
        return whole

    def _is_chosen(self, tuner: Any, config: Any) -> bool:
        return len(tuner.configs) == 1 or describe(
            getattr(tuner, "best_config", config)
        ) == describe(config)

    def _visit(self, tuner: Any, config: Any, bench: Callable[[], Any]) -> Any:
        if self.closed:
            return bench()
        with self.machine.paused():
            return super()._visit(tuner, config, bench)

    def _name(self, tuner: Any, config: Any) -> str:
        name = super()._name(tuner, config)
        self._of[name] = (tuner, config)
        return name

    def _note(self, name: str, verdict: Verdict) -> None:
        if verdict.outcome == "pass" and not verdict.reason:
            self._visited.append(name)
            self._waiting.append(_Waiting(name, *self._of[name], verdict))
        else:
            super()._note(name, verdict)


def _merged(executed: Verdict, compiled: Verdict) -> Verdict:
    shims = sorted({*executed.shims, *compiled.shims})
    return Verdict(**{**vars(executed), "shims": shims})


@contextlib.contextmanager
def _forced(tuner: Any, config: Any) -> Iterator[None]:
    """Whatever this tuner was asked, `config` is its answer."""
    before = dict(tuner.cache)
    tuner.cache.update({key: config for key in before})
    try:
        yield
    finally:
        tuner.cache.clear()
        tuner.cache.update(before)
