"""The first bad release between a good and a bad one, found with few runs.

`search` is pure: it asks an oracle about positions of a history. `judge` is pure too: from the records of a release to
an answer. `Trial` is the oracle that runs: each question is one small run of the engine, and its result is in the store
like any other.

The result of `search` is right for every history, also one that went bad, good and bad again: the last good and the
first bad were both tried, and everything between them was tried without an answer. It claims nothing about untried
positions; with more than one change from good to bad it finds one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from crosswarp.matrix.errors import EXIT_ENVIRONMENT, UsageError
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.cause import words
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.running.progress import Progress
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.matrix.versions import Version

Answer = Literal["good", "bad", "cannot say"]


class WrongEnd(Exception):
    """An end of the history is not good, or not bad, as claimed."""

    def __init__(self, position: int, answer: Answer) -> None:
        super().__init__(f"position {position} is {answer}")
        self.position, self.answer = position, answer


@dataclass(frozen=True)
class Found:
    # Both were asked, and all between them could not say.
    last_good: int
    first_bad: int
    # In the order of asking.
    asked: tuple[tuple[int, Answer], ...]

    @property
    def between(self) -> range:
        """Any of these may be the first bad one as well."""
        return range(self.last_good + 1, self.first_bad)


def search(count: int, ask: Callable[[int], Answer]) -> Found:
    """Find where a history of `count` positions, good at 0 and bad at its end, turns bad.

    Each position is asked at most once, both ends first. One that cannot say is passed over for the nearest to the
    middle that may. Raises WrongEnd, and ValueError for a history of fewer than two.
    """
    if count < 2:
        raise ValueError("a history has two ends")
    answers: dict[int, Answer] = {}
    for position, wanted in ((0, "good"), (count - 1, "bad")):
        answers[position] = ask(position)
        if answers[position] != wanted:
            raise WrongEnd(position, answers[position])
    good, bad = 0, count - 1
    while open_ones := [p for p in range(good + 1, bad) if p not in answers]:
        # Twice the distance from the middle, so that it is an integer.
        middle = min(open_ones, key=lambda p: abs(2 * p - good - bad))
        answers[middle] = ask(middle)
        if answers[middle] == "good":
            good = middle
        elif answers[middle] == "bad":
            bad = middle
    return Found(good, bad, tuple(answers.items()))


@dataclass(frozen=True)
class Seen:
    """The result of a release. `why` is for people; `red` are the cells that make it bad."""

    answer: Answer
    why: str
    red: tuple[Record, ...] = ()
    run: int = 0
    # Whether its environment is at fault.
    environment: bool = False
    # The records of the cases that count; a `Trial` names those.
    records: tuple[Record, ...] = ()


def judge(records: Sequence[Record], case: str = "*", problems: Sequence[str] = ()) -> Seen:
    """The answer of one release's records, of which the cases that match the glob `case` count.

    Bad: a red cell, whatever else is missing. Cannot say: something did not run, or all cells are unsupported.
    Raises UsageError when there are cases and none matches.
    """
    named = [record for record in records if record.case != "*"]
    chosen = [record for record in named if fnmatchcase(record.case, case)]
    if named and not chosen:
        names = ", ".join(dict.fromkeys(record.case for record in named))
        raise UsageError(f'no case of {named[0].kernel} matches "{case}". There are: {names}.')
    red = tuple(record for record in chosen if record.red)
    if red:
        return Seen("bad", f"{red[0].outcome}: {words(red[0])}", red)
    not_run = [
        record
        for record in records
        if record.outcome == "not-run" and (record.case == "*" or fnmatchcase(record.case, case))
    ]
    if not_run:
        return Seen("cannot say", f"not run: {not_run[0].message or not_run[0].reason}")
    ran = [record for record in chosen if record.ran]
    if ran and problems:
        return Seen("cannot say", problems[0])
    if ran:
        return Seen("good", f"{len(ran)} cell{'s pass' if len(ran) > 1 else ' passes'}")
    if chosen:
        return Seen("cannot say", f"unsupported: {chosen[0].message or chosen[0].reason}")
    return Seen("cannot say", "it has no case in this lane")


@dataclass(frozen=True)
class Trial:
    """Runs a plan of one kernel on one column at a time, and judges the records."""

    plan: Plan
    case: str
    store: Store
    work: Path
    # A new one for each run: a run ends by cancelling its own.
    prepare: Callable[[Column], Prepare]
    progress: Progress
    issues: Sequence[Issue] = ()
    argv: Sequence[str] = ()
    here: bool = False
    # The cases that decide the answer, where they differ from `case`, and the meaning if there are none.
    judged: str | None = None
    none: str = ""
    command: Callable[[Path, Path], list[str]] | None = None

    def __call__(self, column: Column) -> Seen:
        runner = Runner(
            replace(self.plan, columns=(column,)), self.store, self.work, self.prepare(column),
            self.progress, self.issues, self.argv, here=self.here, command=self.command,
        )  # fmt: skip
        result = runner()
        problems = [note.text for note in self.store.notes(result.run) if note.kind == "problem"]
        records = self.store.records(result.run)
        seen = judge(records, self.judged or self.case, problems)
        if self.none and not records:
            seen = replace(seen, why=self.none)
        environment = result.exit_code == EXIT_ENVIRONMENT
        counted = tuple(
            record for record in records if fnmatchcase(record.case, self.judged or self.case)
        )
        return replace(seen, run=result.run, environment=environment, records=counted)


def wheels(folder: Path, table: Sequence[Column]) -> dict[str, tuple[Column, Path]]:
    """A column for each Triton wheel in `folder` that this interpreter can install, by id, oldest first.

    Each gets the newest torch, as the column `main` does for --main. Raises UsageError for a folder without two such
    wheels, and for two whose versions differ in their local part alone: it is a hash, which has no order.
    """
    if not folder.is_dir():
        raise UsageError(f"--wheels {folder}: there is no such folder. Name a folder of wheels.")
    usable = set(sys_tags())
    builds: list[tuple[Version, Path]] = []
    for path in sorted(folder.glob("*.whl")):
        try:
            name, version, _, tags = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        if name == "triton" and tags & usable:
            builds.append((version, path))
    builds.sort()
    if len(builds) < 2:
        raise UsageError(
            f"--wheels {folder}: it holds {len(builds)} wheels of Triton for this Python; a search needs two or more."
        )
    _check_order([version for version, _ in builds], f"--wheels {folder}")
    return {
        column.id: (column, path)
        for version, path in builds
        for column in [_as_main(table, "wheel", version)]
    }


def of_index(builds: Sequence[Version], table: Sequence[Column]) -> dict[str, tuple[Column, str]]:
    """A column for each build of an index, by id, in their order; as `wheels` makes them."""
    if len(builds) < 2:
        raise UsageError(
            f"--index: it holds {len(builds)} builds of Triton for this Python from --good to --bad; a search needs "
            "two or more. Name others."
        )
    _check_order(builds, "--index")
    return {
        column.id: (column, str(build))
        for build in builds
        for column in [_as_main(table, "index", build)]
    }


def _check_order(builds: Sequence[Version], option: str) -> None:
    for older, newer in zip(builds, builds[1:]):
        if older.public == newer.public:
            raise UsageError(
                f"{option}: which of {older} and {newer} is older, their versions do not tell. Build wheels of "
                "versions in order, or search commits: git bisect run with crosswarp bisect --here."
            )


def _as_main(table: Sequence[Column], kind: str, version: Version) -> Column:
    main = next((column for column in table if column.resolver), None)
    base = main or Column(id="main", resolver="main", requirements=("numpy", "setuptools"))
    return replace(base, id=f"{kind}-triton-{version}")


def position(ids: Sequence[str], text: str, option: str) -> int:
    """Where the release that `text` names stands: an id, or the version alone. Raises UsageError."""
    for name in (text, *(f"{kind}triton-{text}" for kind in ("", "wheel-", "index-"))):
        if name in ids:
            return ids.index(name)
    matching = selection.choose([text], ids, "release", f"There are: {', '.join(ids)}.")
    if len(matching) > 1:
        raise UsageError(f'{option} "{text}" is {", ".join(matching)}. Name one.')
    return ids.index(matching[0])
