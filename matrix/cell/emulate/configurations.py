"""Execute and compare every configuration of an autotuner, one in each run of the case.

A tuner that may choose keeps the first configuration that launches, since all are equally fast here. So the case is
launched once with every tuner at its first configuration. It is launched again for each other configuration of each
tuner, with all other tuners unchanged: a failure is then due to that configuration.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from crosswarp.matrix.cell.judging.tuning import ConfigLog, describe, finite
from crosswarp.matrix.cell.judging.verdict import Verdict

from .machine import PHASE, Machine

# The phases that a launch must reach before each of its configurations is executed separately.
_EXECUTED = (PHASE, "compare")


class _Waiting(NamedTuple):
    """A configuration that compiled. `place`: of its tuner, in the order in which a launch comes to them."""

    name: str
    place: int
    config: str
    verdict: Verdict


class EveryConfiguration(ConfigLog):
    """A log that gives configurations their verdict after executing them.

    Args:
        machine: executes the launches.
        started: called before a configuration is compiled or executed.
        finished: called with its verdict.
    """

    def __init__(
        self,
        machine: Machine,
        started: Callable[[str], None],
        finished: Callable[[str, Verdict], None],
    ):
        super().__init__(started, finished)
        self.machine = machine
        self._of: Dict[str, Tuple[int, str]] = {}
        self._waiting: List[_Waiting] = []
        # The tuners of this go: a launcher may make its own each time.
        self._tuners: List[Any] = []
        # The configuration that each tuner must choose; empty in the first run, where it is free.
        self._choices: Dict[int, str] = {}

    def judge(self, launch: Callable[[], Verdict]) -> Verdict:
        """Return the verdict on the case: that of its first configurations.

        Args:
            launch: one run of the case, from fresh inputs to the comparison.
        """
        whole = launch()
        self.closed = True
        if whole.phase not in _EXECUTED:
            # The launch as a whole does not come so far, with any configuration.
            return whole
        chosen = self._chosen()
        verdicts: Dict[Tuple[int, str], Verdict] = {}
        for name, place, config, compiled in self._waiting:
            key = (place, config)
            if key not in verdicts:
                self._started(name)
                if chosen.get(place) == config:
                    # Its time is that of the whole.
                    verdicts[key] = whole
                else:
                    verdicts[key] = self._with({**chosen, place: config}, launch)
            verdict = verdicts[key]
            self._finished(name, _merged(verdict, compiled))
            if verdict.outcome in ("crash", "timeout"):
                # A device would not live to try another.
                self.fatal = self.fatal or verdict
        return whole

    def _with(self, choices: Dict[int, str], launch: Callable[[], Verdict]) -> Verdict:
        self._choices = choices
        for tuner in self._tuners:
            tuner.cache.clear()
        self._tuners = []
        verdict = launch()
        others = [place for place, config in self._chosen().items() if choices[place] != config]
        if not others or verdict.phase not in _EXECUTED:
            return verdict
        message = "the autotuner chose another configuration than this one, as from a cache that only the tuner has"
        return Verdict("unsupported", reason="autotuner", message=message, phase=PHASE)

    def _chosen(self) -> Dict[int, str]:
        return {
            place: describe(tuner.best_config)
            for place, tuner in enumerate(self._tuners)
            if getattr(tuner, "best_config", None) is not None
        }

    def _watch_function(self, tuner: Any) -> None:
        self._place(tuner)
        super()._watch_function(tuner)

    def _place(self, tuner: Any) -> int:
        for place, other in enumerate(self._tuners):
            if other is tuner:
                return place
        self._tuners.append(tuner)
        return len(self._tuners) - 1

    def _visit(self, tuner: Any, config: Any, bench: Callable[[], Any]) -> Any:
        with self.machine.paused():
            if not self.closed:
                return super()._visit(tuner, config, bench)
            try:
                # All of them, since a launcher may count; failures have been reported already.
                measured = bench()
            except Exception:
                return [float("inf")] * 3
        if not finite(measured):
            return measured
        return [0.0 if describe(config) == self._choices.get(self._place(tuner)) else 1.0] * 3

    def _name(self, tuner: Any, config: Any) -> str:
        name = super()._name(tuner, config)
        self._of[name] = (self._place(tuner), describe(config))
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
