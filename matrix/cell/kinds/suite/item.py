"""Run one item in a forked child, and return a verdict on it even if that child dies."""

import shutil
from dataclasses import replace
from typing import Any, Callable, Collection, Dict, List, Set, Tuple

from crosswarp.compat.isolate import Outcome, run_isolated
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_death, of_outcome
from crosswarp.matrix.cell.kinds.suite import in_child, prepared, whereabouts
from crosswarp.matrix.cell.starting import specification, turns

from .plan import Item


def run(item: Item, spec: Asked, emit: Callable[[str, Verdict, float], None]) -> Verdict:
    """Run `item` and call ``emit(config, verdict, seconds)`` for each of its cells; returns the verdict on the whole.

    A configuration that was being visited when the child died is named as the victim.
    """
    if item.broken is not None:
        verdict = Verdict(**item.broken)
        emit("", verdict, 0.0)
        return verdict
    if item.skip:
        verdict = Verdict("unsupported", reason="target", message=item.skip)
        emit("", verdict, 0.0)
        return verdict

    reported: Set[str] = set()

    def tell(config: str, verdict: Verdict, seconds: float) -> None:
        reported.add(config)
        emit(config, verdict, seconds)

    limit, again = spec.time_limit, spec.time_limit_alone
    if not again:
        verdict, seconds, _ = _isolated(item, spec, limit, reported, tell)
    else:
        with turns.beside(specification.turns(spec)):
            verdict, seconds, late = _isolated(item, spec, limit, reported, tell, keep_back=True)
        if late:
            # Others on the same cores, or a limit that is too short: no verdict before it had both to itself.
            with turns.alone(specification.turns(spec)):
                verdict, seconds, _ = _isolated(item, spec, again, reported, tell)
            verdict.resources["late"] = f"longer than {limit:g} s beside others"
            # Every retry is reported.
            verdict.message = verdict.message or f"{verdict.resources['late']}, not alone"
    if item.lane == "emulate" and list(spec.modes[-1:]) == [item.mode]:
        # The modes of a case are adjacent, so these are not needed any more.
        shutil.rmtree(
            specification.launches_of(spec, item.target, item.kernel, item.case), ignore_errors=True
        )
    tell("", verdict, seconds)
    return verdict


def _isolated(
    item: Item,
    spec: Asked,
    limit: float,
    reported: Collection[str],
    tell: Callable[[str, Verdict, float], None],
    keep_back: bool = False,
) -> Tuple[Verdict, float, bool]:
    """Run it in a child, each configuration within `limit` seconds, and report the configurations that are new.

    Returns:
        The verdict on the whole, its seconds, and whether anything took longer than `limit`. With `keep_back` such a
        timeout is not reported; without it the verdict says that it was alone.
    """
    visiting: List[str] = []
    late = False

    def judged(config: str, verdict: Verdict, seconds: float) -> None:
        nonlocal late
        if verdict.outcome == "timeout":
            late = True
            if keep_back:
                return
            _had_the_machine(verdict, spec, limit)
        if config not in reported:
            tell(config, verdict, seconds)

    def on_message(message: Any) -> None:
        config, verdict, seconds = message
        visiting[:] = [] if verdict is not None else [config]
        if verdict is not None:
            judged(config, Verdict(**verdict), seconds)

    heard: List[Any] = []
    outcome = None
    if item.lane == "compile" and not item.guarded and spec.time_limit_alone != limit:
        # Without crash isolation's child for each kernel, which costs as much as a small kernel.
        outcome = _run(item, spec, {"time_limit": limit, "in_place": True}, heard.append)
        if outcome.kind == "timeout" and keep_back:
            return of_death(outcome.kind, outcome.reason, outcome.output), outcome.seconds, True
    if outcome is not None and _is_green(outcome, heard):
        for message in heard:
            on_message(message)
    else:
        # A result that does not plainly pass is reported by crash isolation, which knows the victim.
        outcome = _run(item, spec, {"time_limit": limit}, on_message)
    # In the other lanes more than the compiler may die, or take its time.
    verdict = of_outcome(outcome, whereabouts.phase() if item.lane == "compile" else "")
    if visiting and outcome.kind != "returned" and outcome.raised is None:
        judged(visiting[0], replace(verdict, resources={}), outcome.seconds)
    if verdict.outcome == "timeout":
        late = True
        _had_the_machine(verdict, spec, limit)
    return verdict, outcome.seconds, late


def _run(
    item: Item, spec: Asked, limits: Dict[str, Any], on_message: Callable[[Any], None]
) -> Outcome:
    whereabouts.share()
    outcome = prepared.run(item, spec, in_child.prepare, in_child.run_prepared, limits, on_message)
    if outcome is not None:
        return outcome
    return run_isolated(
        lambda send: as_data(in_child.run(item, replace(spec, **limits), send)),
        time_limit=limits["time_limit"],
        memory_limit_mb=spec.memory_limit_mb,
        on_message=on_message,
        # The limit is for one configuration, and not for the whole tuning.
        anew=True,
    )


def _is_green(outcome: Outcome, heard: Collection[Any]) -> bool:
    """Whether nothing of it needs another look: it passed, with all its configurations, or compiled nothing."""
    if outcome.kind != "returned":
        return False
    verdicts = [outcome.value, *(verdict for _, verdict, _ in heard if verdict is not None)]
    return outcome.value["outcome"] == "unsupported" or all(
        verdict["outcome"] == "pass" and not verdict["reason"] for verdict in verdicts
    )


def _had_the_machine(verdict: Verdict, spec: Asked, limit: float) -> None:
    """Note on a timeout whether it was the second, alone and with more time."""
    if spec.time_limit_alone == limit:
        verdict.resources["alone"] = True
