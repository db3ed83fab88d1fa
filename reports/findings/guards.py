"""Whether a library still needs its version checks: its cases as they are, compared with one check inverted."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crosswarp.matrix import versions
from crosswarp.matrix.linting.guards import Guard
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.versions import Version
from crosswarp.matrix.work.library_guards import Trial


class Need(enum.Enum):
    """The results of one version check on one column and target."""

    NEEDED = "needed"
    NOT_NEEDED = "not needed"
    WRONG = "wrong way"
    BOTH_RED = "red either way"
    # It was evaluated, and both sides compile and launch the same: another case might need it.
    NO_EFFECT = "no launch hangs on it"
    # Too slow on this machine: says nothing.
    TIMEOUT = "timed out"
    NOT_REACHED = "not exercised"


_WEIGHED = (
    Need.NEEDED, Need.WRONG, Need.NOT_NEEDED, Need.BOTH_RED, Need.TIMEOUT, Need.NO_EFFECT,
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """One version check on one column and target.

    Attributes:
        held: the test's value there; both if it was evaluated several times with different values.
        cases: the number of cases with this result.
        red: the failure that shows it: of the inverted side where the check is needed, of this side where it is wrong.
    """

    column: str
    target: str
    need: Need
    held: tuple[bool, ...] = ()
    cases: int = 0
    red: tuple[Record, ...] = ()


@dataclass
class Answer:
    guard: Guard
    places: list[Place] = field(default_factory=list)

    def at(self, need: Need) -> list[Place]:
        return [place for place in self.places if place.need is need]

    @property
    def verdict(self) -> str:
        """In words: needed on …, not needed since …, never needed, not exercised."""
        needed, free = self.at(Need.NEEDED), self.at(Need.NOT_NEEDED)
        parts = []
        if needed:
            parts.append(f"needed on {_listed(needed)}")
            since = _since(needed, free)
            if since:
                parts.append(f"not needed since {since}")
            elif free:
                parts.append(f"not needed on {_listed(free)}")
        elif free:
            parts.append(f"never needed on any column tried ({_listed(free)})")
        if wrong := self.at(Need.WRONG):
            parts.append(f"goes the wrong way on {_listed(wrong)}: only the other side passes")
        if red := self.at(Need.BOTH_RED):
            parts.append(f"fails either way on {_listed(red)}")
        if late := self.at(Need.TIMEOUT):
            parts.append(f"timed out on {_listed(late)}, which says nothing")
        if idle := self.at(Need.NO_EFFECT):
            parts.append(f"asked on {_listed(idle)}, where no launch hangs on it")
        if not parts:
            return "not exercised" if self.places else "not tried"
        if silent := self.at(Need.NOT_REACHED):
            parts.append(f"not exercised on {_listed(silent)}")
        return "; ".join(parts)


def answers(
    guards: Sequence[Guard],
    chosen: Iterable[str],
    trials: Sequence[Trial],
    places: Sequence[tuple[str, str]],
) -> list[Answer]:
    """One for each guard, in their order; those that were not chosen have no places."""
    wanted = set(chosen)
    made = []
    for guard in guards:
        answer = Answer(guard)
        if guard.id in wanted:
            answer.places = [_place(guard.id, column, target, trials) for column, target in places]
        made.append(answer)
    return made


def _place(guard: str, column: str, target: str, trials: Sequence[Trial]) -> Place:
    here = [
        trial for trial in trials if trial.record.column == column and trial.record.target == target
    ]
    as_it_is = {_case(trial): trial for trial in here if not trial.turned}
    held: dict[bool, None] = {}
    needs: list[Need] = []
    other_red: list[Record] = []
    this_red: list[Record] = []
    for turned in (trial for trial in here if trial.turned == guard):
        whole = as_it_is.get(_case(turned))
        if whole is None or turned.record.outcome in ("unsupported", "not-run"):
            continue
        if "timeout" in (whole.record.outcome, turned.record.outcome):
            needs.append(Need.TIMEOUT)
            continue
        held |= dict.fromkeys(whole.reached.get(guard, ()))
        green, other_green = not whole.record.red, not turned.record.red
        if green and not other_green:
            needs.append(Need.NEEDED)
            other_red.append(turned.record)
        elif green:
            same = whole.launched and whole.launched == turned.launched
            needs.append(Need.NO_EFFECT if same else Need.NOT_NEEDED)
        else:
            needs.append(Need.WRONG if other_green else Need.BOTH_RED)
            this_red.append(whole.record)
    # One case that needs it is enough; a case that fails anyway says nothing.
    for need in _WEIGHED:
        if need in needs:
            red = {Need.NEEDED: other_red, Need.WRONG: this_red, Need.BOTH_RED: this_red}
            return Place(
                column, target, need, tuple(held), needs.count(need), tuple(red.get(need, ()))
            )
    return Place(column, target, Need.NOT_REACHED)


def _case(trial: Trial) -> str:
    return trial.record.item


def _version(place: Place) -> tuple[int, Version]:
    return versions.sort_key(versions.of_column(place.column))


def _since(needed: Sequence[Place], free: Sequence[Place]) -> str:
    """The first column from which on no target needs it; empty where needed and not needed are not in that order."""
    targets = {trial.target for trial in needed}
    last = max(map(_version, needed))
    if not free or any(trial.target not in targets or _version(trial) <= last for trial in free):
        return ""
    return min(free, key=_version).column


def _listed(places: Sequence[Place]) -> str:
    """`triton-3.2.0 (sm_90, gfx942), triton-3.6.0 (sm_90)`."""
    by_column: dict[str, list[str]] = {}
    for place in places:
        by_column.setdefault(place.column, []).append(place.target)
    return ", ".join(f"{column} ({', '.join(on)})" for column, on in by_column.items())
