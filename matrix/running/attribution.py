"""Which of Triton, torch, numpy and Python carries a regression from one column to another.

All here is pure. A combination of the two columns A (good) and B (bad) is the set of axes that it takes from B, so A is
the empty set and B is all of them. Each axis is swapped both ways: A with B's, and B with A's.

| A with B's | B with A's | conclusion about the axis                                                         |
| ---------- | ---------- | --------------------------------------------------------------------------------- |
| bad        | good       | it carries the regression                                                         |
| bad        | bad        | it is enough to break A, and something else breaks B as well                      |
| good       | good       | B is bad only with it, and it is not enough: it takes another axis along          |
| good       | bad        | it has no part that a swap of one axis could show                                 |

A combination that could not be tried, or failed in another way than B, is neither good nor bad, and no conclusion rests
on it: each `Verdict` but the open ones holds for either answer of it (tested over all patterns of answers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crosswarp.matrix import versions
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns as columns_module
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results.cause import cause_of, words
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running.bisection import Answer, Seen

AXES = ("triton", *versions.SWAPPED)
Combination = frozenset[str]
Verdict = Literal["carries", "enough", "together", "needed", "open"]


@dataclass(frozen=True)
class Swapped:
    """The results of both swaps of one axis."""

    axis: str
    # A with B's.
    alone: Answer
    # B with A's.
    without: Answer


@dataclass(frozen=True)
class Found:
    """
    carries:  the axes break A and fix B, each by itself; more than one only where they also undo each other
    enough:   each of the axes breaks A by itself; B without it is bad too, or was not decided
    together: no axis breaks A by itself; B is good without any one of `axes` (none: no single swap fixes it)
    needed:   B is good without any one of `axes`; whether one of them is enough was not decided
    open:     nothing was decided
    """

    verdict: Verdict
    axes: tuple[str, ...]
    swapped: tuple[Swapped, ...]
    # together: whether A with all of `axes` from B is bad, and so needs none of the others.
    whole: bool = False

    @property
    def answered(self) -> bool:
        return self.verdict in ("carries", "enough", "together")


def attribute(axes: Sequence[str], ask: Callable[[Combination], Answer]) -> Found:
    """Find the axis among `axes`, those on which A and B differ. Each combination is asked at most once.

    `ask` is not asked about A, which is good, and B, which is bad. Raises ValueError without an axis.
    """
    if not axes:
        raise ValueError("the columns differ in no axis")
    everything = frozenset(axes)
    answers: dict[Combination, Answer] = {frozenset(): "good", everything: "bad"}

    def verdict_of(combination: Combination) -> Answer:
        if combination not in answers:
            answers[combination] = ask(combination)
        return answers[combination]

    swapped = tuple(
        Swapped(axis, verdict_of(frozenset({axis})), verdict_of(everything - {axis}))
        for axis in axes
    )
    result = _conclude(swapped)
    if result.verdict == "together" and len(result.axes) > 1:
        return replace(result, whole=verdict_of(frozenset(result.axes)) == "bad")
    return result


def _conclude(swapped: tuple[Swapped, ...]) -> Found:
    enough = [swap for swap in swapped if swap.alone == "bad"]
    fixing = tuple(swap.axis for swap in swapped if swap.without == "good")
    carries = tuple(swap.axis for swap in enough if swap.without == "good")
    if carries:
        return Found("carries", carries, swapped)
    if enough:
        return Found("enough", tuple(swap.axis for swap in enough), swapped)
    if all(swap.alone == "good" for swap in swapped):
        return Found("together", fixing, swapped)
    return Found("needed" if fixing else "open", fixing, swapped)


# From the records of a combination to an answer


def symptom(bad: Seen, good: Seen) -> tuple[Record, ...]:
    """The failures of B that A does not have, or where nothing ran the cells declared unsupported.

    Where A has nothing of it green, all that is wrong with B.
    """
    nothing_ran = all(record.outcome == "unsupported" for record in bad.records)
    wrong = bad.records if nothing_ran else bad.red
    green = {record.item for record in good.records if record.ran}
    green -= {record.item for record in good.red}
    return tuple(record for record in wrong if record.item in green) or wrong


def answer(seen: Seen, symptom: Sequence[Record]) -> tuple[Answer, str]:
    """Whether the cases of B's `symptom` show the same on a combination, and why.

    A combination is bad if it fails as B does. Another failure is no answer, because torch and Triton of different
    years may not go together at all; nor does green count where cases were declared unsupported instead of run.
    """
    items = {record.item for record in symptom}
    causes = {cause_of(record).symptom for record in symptom}
    here = [record for record in seen.records if record.item in items]
    shown = [record for record in here if cause_of(record).symptom in causes]
    if shown:
        return "bad", f"{shown[0].outcome}: {words(shown[0])}"
    red = [record for record in here if record.red]
    if red:
        return "cannot say", f"fails in another way: {red[0].outcome}: {words(red[0])}"
    if seen.answer == "cannot say":
        return "cannot say", seen.why
    ran = {record.item for record in here if record.ran}
    missing = [
        record.case
        for record in symptom
        if record.item not in ran and not _imported(record, seen.records)
    ]
    if missing:
        return "cannot say", f"{missing[0]} was not run"
    return "good", f"passes where B fails ({seen.why})" if seen.red else seen.why


def _imported(record: Record, there: Sequence[Record]) -> bool:
    """Whether the module whose import failed in `record` could be imported: some of its cases ran."""
    place = (record.target, record.lane, record.mode)
    return record.phase == "import" and any(
        other.ran and other.phase != "import" and (other.target, other.lane, other.mode) == place
        for other in there
    )


# The columns


@dataclass(frozen=True)
class Side:
    """One of the two columns, and the version on each axis that it ran on."""

    column: Column
    versions: Mapping[str, str]


def side(column: Column, seen: Seen) -> Side:
    installed: Mapping[str, object] = next((r.versions for r in seen.records if r.versions), {})
    # Triton and torch have their pinned versions, without the local part (+cu124) that names the build.
    pins = {"triton": column.triton, "torch": column.torch}
    return Side(column, {axis: str(pins.get(axis) or installed.get(axis) or "") for axis in AXES})


def differing(good: Side, bad: Side) -> tuple[str, ...]:
    return tuple(
        axis for axis in AXES if not versions.same(good.versions[axis], bad.versions[axis])
    )


def combined(table: Sequence[Column], good: Side, bad: Side, from_bad: Combination) -> Column:
    """The column that has the axes `taken` from `bad` and the others from `good`. Raises UsageError where none can."""
    sides = {axis: bad if axis in from_bad else good for axis in AXES}
    own = sides["triton"]
    name, _ = versions.split_id(own.column.id)
    base = next((column for column in table if column.id == name), None)
    if base is None:
        raise UsageError(f"the table holds no {name}. Add it to columns.toml.")
    wanted = {axis: sides[axis].versions[axis] for axis in versions.SWAPPED}
    wanted = {
        axis: version
        for axis, version in wanted.items()
        if axis in own.column.swapped or not versions.same(version, own.versions[axis])
    }
    if "python" in wanted and _minor(good) != _minor(bad):
        # Any patch will do, as long as the column was not asked for with one.
        asked = sides["python"].column.swapped.get("python")
        wanted["python"] = asked or _minor(sides["python"])
    return columns_module.swap(base, **wanted)


def _minor(which: Side) -> str:
    return ".".join(which.versions["python"].split(".")[:2])
