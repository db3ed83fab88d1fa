"""`--fail-on` of comparisons: what is reported and no failure by itself becomes one, beyond a size if one is given."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crosswarp.matrix.results.comparison import REPORTED, Change, Pair

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(x|%)")


@dataclass(frozen=True)
class FailOn:
    """`factor`: how many times the old figure the new one has to be; 0: however little it is."""

    outcome: str
    factor: float = 0.0

    def met_by(self, pair: Pair) -> bool:
        if self.outcome not in pair.comparison.outcomes:
            return False
        changes = pair.comparison.changes_of(self.outcome)
        return not self.factor or any(_factor(change) >= self.factor for change in changes)


def add_fail_on(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--fail-on", action="append", default=[], type=_read, metavar="OUTCOME[:SIZE]",
        help=f"exit with 1 for what is only reported otherwise: {', '.join(REPORTED)}, each for any size or from one "
        "on, such as slower-to-compile:3x (repeatable)",
    )  # fmt: skip


def failing(pairs: Iterable[Pair], wanted: Sequence[FailOn]) -> int:
    """How many of the pairs are what `--fail-on` names."""
    return sum(any(condition.met_by(pair) for condition in wanted) for pair in pairs)


def _read(text: str) -> FailOn:
    outcome, colon, size = text.partition(":")
    if outcome not in REPORTED:
        raise argparse.ArgumentTypeError(f'"{outcome}" is none of {", ".join(REPORTED)}')
    match = _SIZE.fullmatch(size)
    if colon and match is None:
        raise argparse.ArgumentTypeError(
            f'"{size}" is no size: write 3x for three times, or 10% for a tenth more'
        )
    if match is None:
        return FailOn(outcome)
    number = float(match[1])
    return FailOn(outcome, number if match[2] == "x" else 1 + number / 100)


def _factor(change: Change) -> float:
    if isinstance(change.before, str) or isinstance(change.after, str):
        return 0.0
    return change.after / change.before if change.before else float("inf")
