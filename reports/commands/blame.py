"""`crosswarp blame`: which of Triton, torch, numpy and Python carries a regression from one column to another."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tabulate import tabulate

from crosswarp.matrix.errors import (
    EXIT_ENVIRONMENT,
    EXIT_EXPECTED,
    EXIT_UNEXPECTED,
    CrosswarpError,
    EnvironmentFailed,
    UsageError,
)
from crosswarp.matrix.facts import columns
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running import attribution
from crosswarp.matrix.running.attribution import Combination, Found, Side
from crosswarp.matrix.running.bisection import Answer, Seen, Trial
from crosswarp.reports.commands import trials
from crosswarp.reports.commands.options import column_table
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import column_id, fill, row, wrapped

DESCRIPTION = (
    "Swap Triton, torch, numpy and Python one at a time and both ways between a column where a kernel "
    "passes and one where it fails, and name the cause. Exit status: 0 found, also if only the "
    "combination fails; 1 not found (3 where a combination could not be installed); 2 usage, or the "
    "columns do not differ."
)
EXAMPLES = ("crosswarp blame softmax 3.1.0 3.1.0+numpy-2.0.2",)
NAMES = {"triton": "Triton", "torch": "torch", "numpy": "numpy", "python": "Python"}


@dataclass(frozen=True)
class Tried:
    """A combination and what it showed. `column` is empty where no column can be it."""

    from_bad: Combination
    column: str
    answer: Answer
    why: str
    run: int = 0
    # Why it could not be installed.
    failed: str = ""


@dataclass(frozen=True)
class Blamed:
    good: Side
    bad: Side
    attributed: Found
    tried: Sequence[Tried]
    symptom: Sequence[Record]

    @property
    def axes(self) -> list[str]:
        """Those on which the columns differ."""
        return [swap.axis for swap in self.attributed.swapped]

    @property
    def exit_code(self) -> int:
        if self.attributed.answered:
            return EXIT_EXPECTED
        return (
            EXIT_ENVIRONMENT if any(attempt.failed for attempt in self.tried) else EXIT_UNEXPECTED
        )


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kernel", metavar="KERNEL", help="or a test of a library, FILE::FUNCTION, in its checkout"
    )
    parser.add_argument(
        "a", metavar="A", help="a column where it passes, such as triton-3.1.0 or 3.1.0"
    )
    parser.add_argument(
        "b", metavar="B", help="one where it fails, such as triton-3.1.0+numpy-2.0.2"
    )
    trials.add_trial(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    table = column_table(options)
    good, bad = (_column(table, text) for text in (options.a, options.b))
    if good.id == bad.id:
        raise UsageError(f"A and B both name {good.id}. Name two columns.")
    with trials.trial(options, argv, trials.builder(options)) as (trial, known):
        blamed = _blame(options.kernel, table, (good, trial(good)), (bad, trial(bad)), trial)
    print(_text(options, blamed, known), end="")
    return blamed.exit_code


def _column(table: Sequence[Column], text: str) -> Column:
    """The column that `text` names: an id, also one off the table, or its version alone."""
    name = f"triton-{text}" if text[:1].isdigit() else text
    chosen = columns.choose(table, [name])
    if len(chosen) > 1:
        raise UsageError(f'"{text}" is {", ".join(column.id for column in chosen)}. Name one.')
    if chosen[0].resolver:
        raise UsageError(
            f'"{text}" pins no versions that could be swapped. Name the release that it stands for, or a column beside '
            "it. `crosswarp columns` lists them."
        )
    return chosen[0]


def _blame(
    kernel: str,
    table: Sequence[Column],
    first: tuple[Column, Seen],
    second: tuple[Column, Seen],
    trial: Trial,
) -> Blamed:
    symptom = attribution.symptom(second[1], first[1])
    answers = (first[1].answer, second[1].answer)
    if symptom:
        verdict, why = attribution.answer(first[1], symptom)
        # A combination that fails in another way than B gives no answer; A gives one.
        answers = ("bad" if verdict == "cannot say" and first[1].red else verdict, "bad")
        first = first[0], replace(first[1], why=why)
    if answers != ("good", "bad"):
        raise _not_so(kernel, first, second, answers)
    good, bad = attribution.side(*first), attribution.side(*second)
    axes = attribution.differing(good, bad)
    if not axes:
        raise UsageError(
            f"{good.column.id} and {bad.column.id} ran on the same Triton, torch, numpy and Python, so it is none of "
            f"these. Look closer: crosswarp report --run {second[1].run}"
        )
    tried = [
        Tried(frozenset(), good.column.id, "good", first[1].why, first[1].run),
        Tried(frozenset(axes), bad.column.id, "bad", second[1].why, second[1].run),
    ]

    def ask(from_bad: Combination) -> Answer:
        tried.append(_try(table, good, bad, from_bad, trial, symptom))
        return tried[-1].answer

    attributed = attribution.attribute(axes, ask)
    return Blamed(good, bad, attributed, tried, symptom)


def _try(
    table: Sequence[Column],
    good: Side,
    bad: Side,
    from_bad: Combination,
    trial: Trial,
    symptom: Sequence[Record],
) -> Tried:
    try:
        column = attribution.combined(table, good, bad, from_bad)
    except UsageError as error:
        return Tried(from_bad, "", "cannot say", "cannot be installed", failed=str(error))
    seen = trial(column)
    if seen.environment:
        return Tried(from_bad, column.id, "cannot say", "cannot be installed", seen.run, seen.why)
    answer, why = attribution.answer(seen, symptom)
    return Tried(from_bad, column.id, answer, why, seen.run)


def _not_so(
    kernel: str,
    first: tuple[Column, Seen],
    second: tuple[Column, Seen],
    answers: tuple[Answer, Answer],
) -> CrosswarpError:
    """Returns the message for an A that is not good or a B that is not bad."""
    (good, seen_good), (bad, seen_bad) = first, second
    closer = f"or look closer: crosswarp report --run {seen_good.run} (A), --run {seen_bad.run} (B)"
    if answers == ("bad", "good"):
        return UsageError(
            f"{kernel} is bad on {good.id} ({seen_good.why}) and good on {bad.id}. A is to be the good one: "
            f"crosswarp blame {kernel} {bad.id} {good.id}"
        )
    if "cannot say" not in answers:
        return UsageError(
            f"{kernel} does not differ: it is {answers[0]} on {good.id} ({seen_good.why}) and on {bad.id} "
            f"({seen_bad.why}).\nName two columns between which it differs, {closer}"
        )
    column, seen, what = (
        (good, seen_good, "good") if answers[0] == "cannot say" else (bad, seen_bad, "bad")
    )
    message = (
        f"{column.id} was to be {what}; it cannot say ({seen.why})\nName another column, {closer}"
    )
    return EnvironmentFailed(message) if seen.environment else UsageError(message)


def _text(options: argparse.Namespace, blamed: Blamed, known: Sequence[Issue]) -> str:
    what = f"{options.kernel}, {options.target}, {options.lane}, {options.mode}"
    if options.case != "*":
        what += f", cases {options.case}"
    good, bad = blamed.good, blamed.bad
    sides = [
        [
            name,
            escape.line(good.versions[axis], 40),
            escape.line(bad.versions[axis], 40) if axis in blamed.axes else "the same",
        ]
        for axis, name in NAMES.items()
    ]
    rows = [
        [
            attempt.run or "",
            "\n".join([_made(attempt.from_bad, blamed.axes), column_id(attempt.column)]),
            attempt.answer,
            escape.line(attempt.why, 30),
        ]
        for attempt in blamed.tried
    ]
    paragraphs = [
        fill("", escape.line(f"{what}: good on {good.column.id} (A), bad on {bad.column.id} (B)")),
        tabulate(sides, ["", "A", "B"], disable_numparse=True),
        tabulate(rows, ["run", "tried", "verdict", "seen"], disable_numparse=True),
        "\n".join(
            [fill("", escape.line(_conclusion(blamed))), *_cause(options, blamed.symptom, known)]
        ),
    ]
    paragraphs += [
        wrapped(
            f"{attempt.column or _made(attempt.from_bad, blamed.axes)}: cannot be installed",
            attempt.failed,
        )
        for attempt in blamed.tried
        if attempt.failed
    ]
    return "\n\n".join(paragraphs) + "\n"


def _made(from_bad: Combination, axes: Sequence[str]) -> str:
    """How a combination is made of A and B; of two axes, either way round is the same."""
    left = [axis for axis in axes if axis not in from_bad]
    if not from_bad or not left:
        return "B" if from_bad else "A"
    ways = []
    if len(from_bad) == 1:
        ways.append(f"A with B's {_names(from_bad)}")
    if len(left) == 1:
        ways.append(f"B with A's {_names(left)}")
    return ",\n".join(ways)


def _conclusion(blamed: Blamed) -> str:
    result, good, bad = blamed.attributed, blamed.good, blamed.bad
    names = _names(result.axes)
    if result.verdict == "carries" and len(blamed.axes) == 1:
        return f"{names} carries it: of the four, nothing else differs."
    if result.verdict == "carries":
        (axis, *others) = result.axes
        text = (
            f"{NAMES[axis]} carries it: A with {NAMES[axis]} {bad.versions[axis]} is bad, and B with "
            f"{NAMES[axis]} {good.versions[axis]} is good."
        )
        return text + (f" The same is so of {_names(others)}." if others else "")
    if result.verdict == "enough":
        each = "Each of " if len(result.axes) > 1 else ""
        text = f"{each}{names} by itself makes A bad."
        still_bad = [swap.axis for swap in result.swapped if swap.alone == swap.without == "bad"]
        if still_bad:
            text += f" B is bad without {_names(still_bad, 'or')} too: it has more than one cause."
        return text
    if result.verdict == "together":
        if result.whole:
            pair = "the pair" if len(result.axes) == 2 else "all of them together"
            return f"Only {pair} carries it, {names}: none by itself makes A bad, and B is good without any one."
        text = "Only several together carry it: none by itself makes A bad."
        return text + (f" B is good without {_names(result.axes, 'or')}." if result.axes else "")
    if result.verdict == "needed":
        has, it = ("has", "it") if len(result.axes) == 1 else ("have", "any one of them")
        unknown = [swap.axis for swap in result.swapped if swap.alone == "cannot say"]
        return (
            f"{names} {has} a part: B is good without {it}. "
            f"Whether {_names(unknown, 'or')} by itself makes A bad is not known."
        )
    return "The cause was not found."


def _names(axes: Iterable[str], joined: str = "and") -> str:
    names = [name for axis, name in NAMES.items() if axis in set(axes)]
    return f" {joined} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _cause(
    options: argparse.Namespace, symptom: Sequence[Record], known: Sequence[Issue]
) -> list[str]:
    if symptom[0].red:
        return trials.cause(symptom, known, options)
    return [row("outcome", f"{symptom[0].outcome}: {symptom[0].message or symptom[0].reason}")]
