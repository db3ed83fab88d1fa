"""`crosswarp bisect`: the first bad release for one kernel, or with --here the verdict on one interpreter."""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from crosswarp.matrix import versions
from crosswarp.matrix.environments import here, resolver
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import Cancelled, CrosswarpError, EnvironmentFailed, UsageError
from crosswarp.matrix.facts.columns import Column, published
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.cause import cause_of
from crosswarp.matrix.results.record import clean
from crosswarp.matrix.running import bisection
from crosswarp.matrix.running.bisection import Found, Seen, WrongEnd
from crosswarp.matrix.versions import Version
from crosswarp.reports.commands import trials
from crosswarp.reports.commands.options import add_here, column_table
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.layout import fill
from crosswarp.reports.text.run_documents import Judged, Searched

DESCRIPTION = (
    "Find the first bad release between a good and a bad one, with a small run for each step. With "
    "--here, judge this interpreter for `git bisect run`: exit status 0 good, 1 bad, 125 cannot say."
)
EXAMPLES = (
    "crosswarp bisect softmax --good 3.1.0 --bad 3.3.1",
    "git bisect run crosswarp bisect softmax --here python",
)
# The exit statuses that `git bisect run` reads as answers; from 128 on it stops.
GIT = {"good": 0, "bad": 1, "cannot say": 125}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kernel", metavar="KERNEL", help="or a test of a library, FILE::FUNCTION, in its checkout"
    )
    for name, meaning in (
        ("good", "a release where it passes, such as 3.1.0 or triton-3.1.0"),
        ("bad", "a release where it fails; older than the good one, to find the fix"),
    ):
        parser.add_argument(f"--{name}", metavar=name.upper(), help=meaning)
    among = parser.add_mutually_exclusive_group()
    among.add_argument(
        "--wheels", type=Path, metavar="DIR", help="search among the Triton wheels of a folder"
    )
    among.add_argument(
        "--index", metavar="URL", help="search among the builds of a package index, such as a nightly one"
    )  # fmt: skip
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_here(parser, "judge this interpreter (or the one named) and search nothing")
    trials.add_trial(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if options.here:
        return _judge_here(options, argv)
    return _search(options, argv)


def _search(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if not (options.good and options.bad):
        raise UsageError(
            "bisect needs --good and --bad, two releases (or --here). `crosswarp columns` lists them."
        )
    history, mains, nightlies = _history(options)
    ids = [column.id for column in history]
    good = bisection.position(ids, options.good, "--good")
    bad = bisection.position(ids, options.bad, "--bad")
    if good == bad:
        raise UsageError(f"--good and --bad both name {ids[good]}. Name two releases.")
    # From a newer good release down to an older bad one: the same search finds the fix.
    is_fixed = good > bad
    history = history[bad : good + 1][::-1] if is_fixed else history[good : bad + 1]
    seen: dict[str, Seen] = {}
    with trials.trial(options, argv, trials.builder(options, mains, nightlies)) as (trial, known):

        def ask(at: int) -> bisection.Answer:
            seen[history[at].id] = trial(history[at])
            return seen[history[at].id].answer

        try:
            match = bisection.search(len(history), ask)
        except WrongEnd as error:
            raise _wrong_end(history[error.position].id, error, seen) from None
    render = _export if options.format == "json" else _text
    print(render(options, [column.id for column in history], match, seen, known, is_fixed), end="")
    return 0


def _history(
    options: argparse.Namespace,
) -> tuple[list[Column], Mapping[str, Path], Mapping[str, str]]:
    """Returns the columns to search, oldest first, and their wheels or builds of an index."""
    table = column_table(options)
    if options.index:
        listed = bisection.of_index(_builds(options), table)
        columns = [column for column, _ in listed.values()]
        return columns, {}, {name: version for name, (_, version) in listed.items()}
    if options.wheels is None:
        return published(table), {}, {}
    made = bisection.wheels(options.wheels.resolve(), table)
    columns = [column for column, _ in made.values()]
    return columns, {name: path for name, (_, path) in made.items()}, {}


def _builds(options: argparse.Namespace) -> list[Version]:
    """Returns the builds of the index between the ends; to list all of it could take as long as the search."""
    if Path(options.index).is_dir() and any(Path(options.index).glob("*.whl")):
        raise UsageError(f"--index {options.index}: a folder of wheels. Name it with --wheels.")
    ends = []
    for option in ("good", "bad"):
        text = getattr(options, option)
        version = versions.parse(re.sub("^(index-)?triton-", "", text))
        if version is None:
            raise UsageError(
                f'--{option} "{text}" is no version. Name a build of the index, such as 3.9.0.dev20261101.'
            )
        ends.append(version)
    return resolver.builds(
        options.index, Uv(), f"{sys.version_info.major}.{sys.version_info.minor}", str(min(ends)), str(max(ends))
    )  # fmt: skip


def _judge_here(options: argparse.Namespace, argv: Sequence[str]) -> int:
    """Exit status for `git bisect run`. What is no verdict must never pass for one, so it is 125, whatever it is."""
    try:
        if options.good or options.bad or options.wheels or options.index:
            raise UsageError(
                "--here judges one interpreter. Leave out --good, --bad, --wheels and --index."
            )
        looked = here.look(options.here)
        with trials.trial(options, argv, lambda column, say: looked, True) as (trial, known):
            seen = trial(looked.column)
    except Cancelled:
        raise
    except CrosswarpError as error:
        print(f"crosswarp: {escape.terminal(str(error))}", file=sys.stderr)
        return GIT["cannot say"]
    except Exception:
        traceback.print_exc()
        return GIT["cannot say"]
    if options.format == "json":
        print(_json(Judged, options, {**vars(seen), "column": looked.column.id}), end="")
        return GIT[seen.answer]
    why = "" if seen.red else f" ({seen.why})"
    print(fill("", escape.line(f"{options.kernel} on {looked.column.id}: {seen.answer}{why}")))
    for line in trials.cause(seen.red, known, options):
        print(line)
    return GIT[seen.answer]


def _wrong_end(column: str, error: WrongEnd, seen: Mapping[str, Seen]) -> CrosswarpError:
    result = seen[column]
    option = "--good" if error.position == 0 else "--bad"
    verb = "" if result.answer == "cannot say" else "is "
    message = (
        f"{column} was to be {option[2:]}; it {verb}{result.answer} ({result.why})\n"
        f"Name another with {option}, or look closer: crosswarp report --run {result.run}"
    )
    failed = result.answer == "cannot say" and result.environment
    return EnvironmentFailed(message) if failed else UsageError(message)


def _text(
    options: argparse.Namespace,
    ids: Sequence[str],
    result: Found,
    seen: Mapping[str, Seen],
    known: Sequence[Issue],
    is_fixed: bool,
) -> str:
    what = f"{options.kernel}, {options.target}, {options.lane}, {options.mode}"
    if options.case != "*":
        what += f", cases {options.case}"
    rows = [
        [step.run, escape.line(column, 30), step.answer, escape.line(step.why, 30)]
        for column, step in ((ids[at], seen[ids[at]]) for at, _ in result.asked)
    ]
    bad = seen[ids[result.first_bad]]
    parts = [
        fill("", escape.line(f"{what}: good on {ids[0]}, bad on {ids[-1]}")),
        tabulate(rows, ["run", "release", "verdict", "seen"], disable_numparse=True),
        "\n".join([*_conclusion(ids, result, is_fixed), *trials.cause(bad.red, known, options)]),
        *_remarks(ids, result, seen),
    ]
    return "\n\n".join(parts) + "\n"


def _export(
    options: argparse.Namespace,
    ids: Sequence[str],
    result: Found,
    seen: Mapping[str, Seen],
    known: Sequence[Issue],
    is_fixed: bool,
) -> str:
    tried = {at for at, _ in result.asked}
    return _json(Searched, options, {
        "looked_for": "first good" if is_fixed else "first bad",
        "releases": ids,
        "last_good": ids[result.last_good],
        "first_bad": ids[result.first_bad],
        "cannot_say": [ids[at] for at in result.between],
        "not_tried": [name for at, name in enumerate(ids) if at not in tried],
        "asked": [
            {"run": seen[ids[at]].run, "release": ids[at], "answer": answer, "why": seen[ids[at]].why}
            for at, answer in result.asked
        ],
        "red": seen[ids[result.first_bad]].red,
    })  # fmt: skip


def _json(kind: type, options: argparse.Namespace, result: Mapping[str, object]) -> str:
    return escape.document(clean(filled(kind, {**vars(options), **result})))


def _conclusion(ids: Sequence[str], result: Found, is_fixed: bool) -> list[str]:
    good, bad = ids[result.last_good], ids[result.first_bad]
    between = [ids[at] for at in result.between]
    if is_fixed:
        text = f"First good: {good}. {bad} is the last bad one"
    else:
        text = f"First bad: {bad}. {good} is the last good one"
    if between:
        text += f", as far as can be said: {', '.join(between)} could not say"
    return [fill("", escape.line(f"{text}."))]


def _remarks(ids: Sequence[str], result: Found, seen: Mapping[str, Seen]) -> list[str]:
    lines = []
    end, first = seen[ids[-1]], seen[ids[result.first_bad]]
    causes = [{cause_of(record).symptom for record in side.red} for side in (first, end)]
    if not causes[0] & causes[1]:
        lines.append(f"{ids[-1]} fails in another way: {end.why}. There is more than one cause.")
    tried = {at for at, _ in result.asked}
    left = [name for at, name in enumerate(ids) if at not in tried]
    if left:
        lines.append(f"Not tried: {', '.join(left)}.")
    return [fill("", escape.line(line)) for line in lines]
