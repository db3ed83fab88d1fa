"""Two results of one cell, compared: a column with another, a run with an earlier one or with a baseline.

`compare` is a pure function of a pair of records, either of which may be absent:

| before \\ after | absent | passed | left out           | red             |
| -------------- | ------ | ------ | ------------------ | --------------- |
| absent         | same   | new    | new                | new             |
| passed         | gone   | same*  | resource-regressed | regressed       |
| left out       | gone   | same   | same               | regressed       |
| red            | gone   | fixed  | fixed              | changed-failure |

`not-run` on either side is `unknown`, whatever the other says, and so is a timeout after a pass, unless it was run
again alone with more time. `unsupported` counts as absent: a column that comes to lack what a case needs, or no longer
lacks it, declares so, and that is no verdict on the kernel. "left out" is a configuration that an autotuner or a shim
passed over: nothing is red, but there is one configuration less to choose from. Red twice is `same` when outcome and
fingerprint are the same. (*) A cell that passed twice can be `resource-regressed` (see `resources`), `slower` (see
`slower`), or `changed`, which is shown and not judged; leaner or faster is `same`. Some outcomes are reported beside
that and are no failure (`REPORTED`): `predicted-slower` and `predicted-faster` (see `predicted`), `slower-to-compile`
(see `compile_time`), `slower-to-launch` (see `launch_time`) and `numbers-changed` (see `numbers`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from crosswarp.matrix.cell.protocol import DROPPED, LEFT_OUT, RED
from crosswarp.matrix.results import compile_time, launch_time, numbers, predicted, traffic
from crosswarp.matrix.results.figures import MOST_LISTS
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import METRICS, THRESHOLDS, Change, Threshold, grown
from crosswarp.matrix.results.vocabulary import COMPARED, Compared

__all__ = [
    "HEAVIER",
    "METRICS",
    "OUTCOMES",
    "THRESHOLDS",
    "WORSE",
    "Change",
    "Comparison",
    "Pair",
    "Threshold",
    "compare",
    "grown",
    "pairs",
    "slower",
]

HEAVIER = ("resource-regressed", "slower")
WORSE = ("regressed", *HEAVIER)
# Reported and no failure, each with the metric of its changes. A pair may be several of them, beside its outcome.
REPORTED: Mapping[Compared, str] = {
    "predicted-slower": predicted.SLOWER,
    "predicted-faster": predicted.FASTER,
    "slower-to-compile": compile_time.METRIC,
    "slower-to-launch": launch_time.METRIC,
    "numbers-changed": numbers.METRIC,
}
OUTCOMES = tuple(COMPARED)

_RULES: Mapping[tuple[str, str], Compared] = {
    ("absent", "absent"): "same",
    ("absent", "passed"): "new",
    ("absent", "left out"): "new",
    ("absent", "red"): "new",
    ("passed", "absent"): "gone",
    ("passed", "passed"): "same",
    ("passed", "left out"): "resource-regressed",
    ("passed", "red"): "regressed",
    ("left out", "absent"): "gone",
    ("left out", "passed"): "same",
    ("left out", "left out"): "same",
    ("left out", "red"): "regressed",
    ("red", "absent"): "gone",
    ("red", "passed"): "fixed",
    ("red", "left out"): "fixed",
    ("red", "red"): "changed-failure",
}


HURRIED = "took too long beside other jobs, and was not run again alone with more time (--time-limit-alone)"
UNREACHED = "the run did not come to them on one side"

# Relative, and in ms: see `slower`. On an H200, 61 cases timed twice: none slower (tests/bench/README.md).
SLOWER_BY = 0.10
SLOWER_BY_MS = 0.005
# An H100 copies at 3.0 TB/s and an H200 at 4.3.
SAME_BANDWIDTH = 0.10


@dataclass(frozen=True, slots=True)
class Comparison:
    outcome: Compared
    changes: tuple[Change, ...] = ()
    # Metrics that could not be compared, and why.
    note: str = ""
    # Reported beside the outcome.
    also: tuple[Compared, ...] = ()
    # How many times as long it is predicted to take on its GPU, however near to 1; None where nothing is.
    predicted: float | None = None

    @property
    def outcomes(self) -> tuple[Compared, ...]:
        """All that it is: a pair can be heavier and slower to compile."""
        return (self.outcome, *self.also)

    def changes_of(self, outcome: str) -> tuple[Change, ...]:
        """The changes by which it is `outcome`."""
        metric = REPORTED.get(outcome)  # type: ignore[call-overload]
        others = REPORTED.values()
        return tuple(
            change
            for change in self.changes
            if (change.metric == metric if metric else change.metric not in others)
        )


# Without details; most comparisons of a run are one of these.
_plain = cache(Comparison)
_SAME = _plain("same")
_COMPARED: dict[tuple[Any, ...], tuple[Mapping[str, Any], Mapping[str, Any], Comparison]] = {}


class Pair(NamedTuple):
    before: Record | None
    after: Record | None
    comparison: Comparison

    @property
    def record(self) -> Record:
        """The newer of the two."""
        record = self.after or self.before
        assert record is not None
        return record

    @property
    def sides(self) -> int:
        """How many of the two have this cell: one that is unsupported counts as absent."""
        return sum(_shows(record) != "absent" for record in (self.before, self.after))


def compare(
    before: Record | None,
    after: Record | None,
    machines: compile_time.Machines = compile_time.ALIKE,
) -> Comparison:
    """The comparison of two results of one cell, which were made on `machines`."""
    shown = _shows(before), _shows(after)
    if "not run" in shown:
        return _plain("unknown")
    outcome = _RULES[shown]
    if outcome == "regressed" and after is not None and _was_hurried(after):
        return Comparison("unknown", note=HURRIED)
    if before is None or after is None:
        return _plain(outcome)
    if shown == ("red", "red"):
        cause = (before.outcome, before.fingerprint)
        return _plain("same" if cause == (after.outcome, after.fingerprint) else outcome)
    if shown == ("passed", "left out"):
        what = after.config or "the case"
        return Comparison(outcome, (Change("configs", what, "kept", "left out"),))
    if shown != ("passed", "passed"):
        return _plain(outcome)
    return _of_passes(before, after, machines)


def _state(record: Record) -> Any:
    """Equal for two records of one cell that are the same, however closely they are compared."""
    if record.red:
        return record.outcome, record.fingerprint
    if record.outcome == "unsupported":
        return record.outcome, record.reason
    if record.outcome == "pass" and not record.reason and "timing" not in record.resources:
        # As most cells of a baseline: equal cells are one object.
        return id(record.resources)
    # Equal to nothing.
    return object()


def _of_passes(before: Record, after: Record, machines: compile_time.Machines) -> Comparison:
    if "outputs" in before.resources:
        return _both_passed(before, after, machines)
    # Without numbers their resources say all, and many cells of a run are couples of the same two.
    key = (id(before.resources), id(after.resources), after.target, machines)
    known = _COMPARED.get(key)
    if known is None:
        if len(_COMPARED) >= MOST_LISTS:
            _COMPARED.clear()
        # With both, so that no others come to have their ids.
        compared = _both_passed(before, after, machines)
        known = _COMPARED[key] = (before.resources, after.resources, compared)
    return known[2]


def _both_passed(before: Record, after: Record, machines: compile_time.Machines) -> Comparison:
    if before.resources.keys() == after.resources.keys() == {"launches"}:
        # As in a baseline: nothing was timed, estimated or computed.
        judged = _of_changes(grown(before, after))
        return _with_reported(judged, compile_time.slower(before, after, machines))
    other_numbers, note = numbers.changed(before, after)
    prediction = predicted.prediction(before, after)
    changes = grown(before, after)
    if prediction is None:
        changes = (*changes, *traffic.grown(before, after))
    judged = _judged(before, after, changes)
    if note and not judged.note:
        judged = replace(judged, note=note)
    slow = (*compile_time.slower(before, after, machines), *launch_time.slower(before, after))
    if prediction is None:
        return _with_reported(judged, (*slow, *other_numbers))
    change = prediction.change()
    judged = replace(judged, predicted=round(prediction.ratio, 4))
    return _with_reported(judged, (*((change,) if change else ()), *slow, *other_numbers))


def _judged(before: Record, after: Record, changes: tuple[Change, ...]) -> Comparison:
    judged = _of_changes(changes)
    if judged.outcome == "resource-regressed":
        return judged
    change, note = slower(before, after)
    if change:
        return Comparison("slower", (change, *judged.changes))
    return replace(judged, note=note) if note else judged


def _of_changes(changes: tuple[Change, ...]) -> Comparison:
    if not changes:
        return _SAME
    explained = all(change.remark for change in changes)
    return Comparison("changed" if explained else "resource-regressed", changes)


def _with_reported(judged: Comparison, changes: tuple[Change, ...]) -> Comparison:
    """`judged` with the reported outcomes beside it; one of these is the outcome itself where nothing is worse."""
    if not changes:
        return judged
    metrics = {change.metric for change in changes}
    outcomes = [outcome for outcome, metric in REPORTED.items() if metric in metrics]
    everything = (*judged.changes, *changes)
    if judged.outcome in HEAVIER:
        return replace(judged, changes=everything, also=tuple(outcomes))
    return replace(judged, outcome=outcomes[0], changes=everything, also=tuple(outcomes[1:]))


def pairs(
    before: Iterable[Record],
    after: Iterable[Record],
    *,
    across_columns: bool = False,
    unreached: tuple[Collection[str], Collection[str]] = ((), ()),
) -> list[Pair]:
    """Every cell of either side with its twin. `across_columns` compares one column with another.

    `unreached` names the columns of each side that did not reach all of their cells: a cell that is absent there is
    `unknown`, neither `gone` nor `new`.
    """

    numbers: dict[tuple[str, ...], int] = {}
    old, new = (Cells(records, across_columns, numbers) for records in (before, after))
    return paired(old, new, unreached)


class Cells:
    """Records by a number for their coordinates, equal for twins: a number is faster to look up than seven texts.

    A side that is compared several times is made once. `numbers`: shared with the sides that it is compared with.
    """

    def __init__(
        self,
        records: Iterable[Record],
        across_columns: bool,
        numbers: dict[tuple[str, ...], int],
    ) -> None:
        self.across_columns = across_columns
        self.records = {
            numbers.setdefault(_cell(record, across_columns), len(numbers)): record
            for record in records
        }

    @cached_property
    def states(self) -> Set[tuple[int, Any]]:
        """Each cell with its state. A cell is the same on two sides where the states are equal; else it may be."""
        return {(cell, _state(record)) for cell, record in self.records.items()}

    @cached_property
    def seconds(self) -> Mapping[int, float]:
        """CPU seconds of the cells of which all was compiled anew."""
        totals = ((cell, compile_time.total(record)) for cell, record in self.records.items())
        return {cell: total for cell, total in totals if total}

    @cached_property
    def pace(self) -> float | None:
        """The usual pace of the machine that compiled them."""
        return compile_time.usual_pace(self.records.values())


def paired(
    before: Cells,
    after: Cells,
    unreached: tuple[Collection[str], Collection[str]] = ((), ()),
    differing: bool = False,
) -> list[Pair]:
    """As `pairs`. `differing`: without cells of equal states, which are most, and are the same."""
    old, new = before.records, after.records
    slower = compile_time.pace(before.seconds, after.seconds)
    machines = compile_time.Machines(before.pace, after.pace, slower)
    across = before.across_columns
    equal = {cell for cell, _ in before.states & after.states}
    made = []
    for cell, now in new.items():
        if cell in equal:
            if not differing:
                made.append(Pair(old[cell], now, _SAME))
        elif (was := old.get(cell)) is None:
            made.append(_of_one_side(None, now, across, unreached[0]))
        else:
            made.append(Pair(was, now, compare(was, now, machines)))
    made += [
        _of_one_side(was, None, across, unreached[1])
        for cell, was in old.items()
        if cell not in new
    ]
    return made


def _of_one_side(
    was: Record | None, now: Record | None, across_columns: bool, unreached: Collection[str]
) -> Pair:
    """A cell that the other side lacks, of whose columns `unreached` did not reach all of their cells."""
    record = was or now
    assert record is not None
    if unreached if across_columns else record.column in unreached:
        return Pair(was, now, Comparison("unknown", note=UNREACHED))
    return Pair(was, now, compare(was, now))


def _cell(record: Record, across_columns: bool) -> tuple[str, ...]:
    column = "" if across_columns else record.column
    return (
        column, record.target, record.lane, record.mode, record.kernel, record.case, record.config,
    )  # fmt: skip


def slower(before: Record, after: Record) -> tuple[Change | None, str]:
    """The median's change when it is beyond noise, and else why two times could not be compared.

    Slower: the new median is a tenth and 5 µs above the old one, and the new lower quartile is above the old upper
    one. The quartiles are the noise of this kernel on this day. Clocks and temperature move a tenth between two runs.
    A launch itself may vary by 5 µs, and a small kernel's time is all launch.
    Times beside other jobs, times in which the GPU waited for the host, and those on GPUs whose copies differ by more
    than a tenth are not compared.
    """
    old, new = _timing(before), _timing(after)
    if old is None or new is None:
        return None, ""
    if not (old["alone"] and new["alone"]):
        return None, "timed beside other jobs (--jobs 1 times each case alone)"
    if old["host_bound"] or new["host_bound"]:
        return None, "timed with the host's pace in it (the launch waits for the GPU in between)"
    if abs(old["copy"] - new["copy"]) > SAME_BANDWIDTH * max(old["copy"], new["copy"]):
        return None, "timed on GPUs of different bandwidth"
    beyond = max(old["median"] * (1 + SLOWER_BY), old["median"] + SLOWER_BY_MS)
    if new["median"] < beyond or new["low"] <= old["high"]:
        return None, ""
    return Change("time", "a launch", old["median"], new["median"], "ms"), ""


def _was_hurried(record: Record) -> bool:
    """A timeout that others on the same cores may have caused: no verdict on the kernel."""
    return record.outcome == "timeout" and record.resources.get("alone") is not True


def _shows(record: Record | None) -> str:
    return "absent" if record is None else _showing(record.outcome, record.reason)


@cache
def _showing(outcome: str, reason: str) -> str:
    if outcome == "not-run":
        return "not run"
    if outcome in RED:
        return "red"
    if reason in (DROPPED, LEFT_OUT):
        return "left out"
    return "absent" if outcome == "unsupported" else "passed"


def _timing(record: Record) -> dict[str, Any] | None:
    timing = record.resources.get("timing")
    if not isinstance(timing, Mapping):
        return None
    figures: dict[str, Any] = {}
    for name in ("median", "low", "high", "bytes", "of_copy"):
        value = timing.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        if not math.isfinite(value) or value <= 0:
            return None
        figures[name] = value
    figures["alone"] = timing.get("alone") is True
    figures["host_bound"] = timing.get("host_bound") is True
    # The bandwidth of the GPU's memory, which distinguishes one kind of GPU from another.
    figures["copy"] = figures["bytes"] / figures["median"] / figures["of_copy"]
    return figures
