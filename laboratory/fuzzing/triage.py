"""From a suspect to a finding: confirmed, known or new, made small, and tried in every column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from crosswarp.matrix.facts.issues import Issue

from . import costs, exploring, judging, known, shrinking
from .choices import Choices
from .exploring import Programs
from .judging import CRASH, NUMBERS, REFUSAL, RESOURCES, SLOW, Suspect
from .places import Place, Workers
from .program import Program
from .ran import Cell

# Programs of one column that are made small although they may share a cause: no text distinguishes wrong numbers.
_ALIKE = 4
# Programs that are tried to make one finding smaller. Seconds alone would give another one on a slower machine.
SHRINK_PROGRAMS = 400


@dataclass(frozen=True)
class Finding:
    """A root cause.

    Attributes:
        name: such as ``crash-s7-12``.
        kind: as in Suspect.
        program: the smallest that shows it.
        begun: the name of the program that showed it first.
        suspect: from the smallest program.
        cells: the smallest program's cells in every column that has its language; they give the affected releases.
        issue: the known issue that explains it, or an empty text.
    """

    name: str
    kind: str
    program: Program
    begun: str
    suspect: Suspect
    cells: Sequence[Cell]
    issue: str = ""

    @property
    def bad(self) -> list[Cell]:
        """The cells that show it."""
        return [cell for cell in self.cells if shows(cell, self.suspect, self.cells)]


@dataclass
class Triage:
    """The findings so far.

    Attributes:
        findings: one for each root cause.
        seen: how many programs showed each, by its name.
        doubted: suspects that were not believed, by reason.
        keys: names of findings, of earlier runs as well, by `Suspect.key`.
    """

    programs: Programs
    workers: Workers
    targets: Sequence[str]
    issues: Sequence[Issue]
    said: Callable[[str], None]
    shrink_seconds: float = 120.0
    findings: list[Finding] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    doubted: Counter[str] = field(default_factory=Counter)
    keys: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    def __call__(self, number: int, program: Program, suspects: Sequence[Suspect]) -> list[Finding]:
        """The findings that are new with these suspects of one program."""
        new = []
        looked: set[tuple[str, str]] = set()
        for suspect in suspects:
            # The other columns that show it are affected releases of the same finding.
            description = (
                suspect.kind,
                suspect.bad.cause if suspect.kind in (CRASH, REFUSAL) else "",
            )
            if description in looked:
                continue
            found = self._one(number, program, suspect)
            if found is not None:
                looked.add(description)
                new += found
        return new

    def explained(self, program: Program, cell: Cell) -> str:
        """The known issue, or the finding of this seed, that `cell` is of, without a look at the other columns."""
        suspect = Suspect(judging.kind(cell), cell, None)
        issue = self._known(program, suspect)
        if issue or not suspect.kind:
            return issue
        alike = self.keys.get(suspect.key, [])
        return alike[0] if self._enough(suspect, alike) else ""

    def _enough(self, suspect: Suspect, alike: Sequence[str]) -> bool:
        return len(alike) >= (_ALIKE if suspect.kind in (NUMBERS, SLOW) else 1)

    def _one(self, number: int, program: Program, suspect: Suspect) -> list[Finding] | None:
        """None where the next suspect may still say something."""
        place = self._place(suspect.bad.column)
        issue = self._known(program, suspect)
        if issue:
            self.seen[issue] += 1
            return []
        alike = self.keys.setdefault(suspect.key, [])
        if self._enough(suspect, alike):
            self.seen[alike[0]] += 1
            return []
        suspect = exploring.confirmed(suspect, program, place, self.workers)
        if suspect.doubt:
            self.doubted[suspect.doubt] += 1
            return None
        bad = suspect.bad
        self.said(
            f"{program.name}: {suspect.kind} in {bad.column}, {bad.target}; making it smaller"
        )
        small = self.smaller(number, program, suspect)
        finding = self.measured(small, program.name, suspect)
        alike.append(finding.name)
        same = [one for one in self.findings if same_cause(one, finding)]
        self.seen[same[0].name if same else finding.name] += 1
        if same:
            return []
        self.findings.append(finding)
        return [finding]

    def smaller(self, number: int, program: Program, suspect: Suspect) -> Program:
        bad = self._place(suspect.bad.column)
        good = None if suspect.good is None else self._place(suspect.good.column)

        def make(choices: Choices) -> Program:
            return self.programs.make(number, program.name, choices)

        def still(candidate: Program) -> bool:
            cells = [
                self.workers.run(bad, candidate, suspect.bad.target, dict(suspect.bad.options))
            ]
            if not shows(cells[0], suspect, ()):
                return False
            if suspect.kind == CRASH or good is None or suspect.good is None:
                return True
            if not candidate.needs <= self.programs.language([good]):
                return False
            other = self.workers.run(good, candidate, suspect.good.target)
            if suspect.kind == RESOURCES:
                return bool(costs.more(cells[0], other))
            return other.outcome == "pass" and (
                suspect.kind != SLOW
                or (cells[0].compile_seconds or 0)
                >= judging.SLOWER * (other.compile_seconds or 0.01)
            )

        return shrinking.shrink(program, make, still, self.shrink_seconds, SHRINK_PROGRAMS)

    def measured(self, program: Program, begun: str, suspect: Suspect) -> Finding:
        """`program` in every column and on every target."""
        cells = []
        for place in self.programs.where(program):
            for target in self.targets:
                if self.workers.compiles(place, target, program):
                    cells.append(self.workers.run(place, program, target))
        name = f"{suspect.kind}-{begun}"
        # One program may be refused for two reasons.
        number = sum(f"{one.name}-".startswith(f"{name}-") for one in self.findings)
        name = f"{name}-{number + 1}" if number else name
        shown = [
            one
            for one in cells
            if (one.column, one.target) == (suspect.bad.column, suspect.bad.target)
        ]
        good = suspect.good
        if suspect.kind == RESOURCES and good is not None:
            # The costs of the smaller program: they differ from the larger one's.
            at = (good.column, good.target)
            good = next((one for one in cells if (one.column, one.target) == at), good)
        small = Suspect(suspect.kind, shown[0] if shown else suspect.bad, good)
        return Finding(
            name, suspect.kind, program, begun, small, cells, self._known(program, small)
        )

    def _known(self, program: Program, suspect: Suspect) -> str:
        if self.programs.everything:
            return ""
        release = self._place(suspect.bad.column).release
        return known.explains(suspect, program.tags, release, self.issues)

    def _place(self, column: str) -> Place:
        return next(place for place in self.programs.places if place.column == column)


def shows(cell: Cell, suspect: Suspect, cells: Sequence[Cell]) -> bool:
    """Whether `cell` shows the same as `suspect`; costs are compared within `cells`, slowness with half the limits."""
    if suspect.kind == CRASH:
        return cell.dead and cell.cause == suspect.bad.cause
    if suspect.kind == REFUSAL:
        return cell.refused and cell.cause == suspect.bad.cause
    if suspect.kind == NUMBERS:
        return cell.wrong
    if suspect.kind == RESOURCES:
        # Compared with the same neighbouring column, where that has run as well.
        good = [one for one in cells if suspect.good and one.column == suspect.good.column]
        same = [one for one in good if one.target == cell.target]
        return cell.outcome == "pass" and (not same or bool(costs.more(cell, same[0])))
    least = suspect.good.compile_seconds if suspect.good is not None else None
    slow = max(judging.SLOW_SECONDS / 2, judging.SLOWER * (least or 0) / 2)
    return cell.outcome in ("pass", "timeout") and (cell.compile_seconds or 0) >= slow


def same_cause(one: Finding, other: Finding) -> bool:
    """Whether two small programs share a root cause: the same text, else the same shape and the same places."""
    if one.kind != other.kind:
        return False
    if one.kind in (CRASH, REFUSAL):
        return one.suspect.bad.cause == other.suspect.bad.cause
    places = [{(cell.column, cell.target) for cell in finding.bad} for finding in (one, other)]
    return places[0] == places[1] and _shape(one.program) == _shape(other.program)


def _shape(program: Program) -> frozenset[str]:
    """Its tags, without those of casts and masks, which any program has."""
    return frozenset(tag for tag in program.tags if not tag.startswith(("cast-", "mask", "store-")))


class Shown(Protocol):
    """The common attributes of any finding, of a program or of an edited kernel; as in Finding."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def begun(self) -> str: ...

    @property
    def suspect(self) -> Suspect: ...

    @property
    def bad(self) -> Sequence[Cell]: ...


def window(finding: Shown) -> Mapping[str, list[str]]:
    """By target, the columns that show it, in order."""
    found: dict[str, list[str]] = {}
    for cell in finding.bad:
        found.setdefault(cell.target, []).append(cell.column)
    return found
