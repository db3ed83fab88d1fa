"""The end of a run, on one screen: the verdict, a grid of releases, what each release broke, and where to go on."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.reports.findings import upgrades
from crosswarp.reports.findings.diff import Diff
from crosswarp.reports.findings.standing import standing
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape, summary
from crosswarp.reports.text.layout import WIDTH, tight
from crosswarp.reports.text.markdown import short

LINES = 30
# The least number of breaking causes shown, however long the rest is.
_LEAST = 5
_LINK = 28


def ending(view: View) -> str:
    """At most 30 lines for a run that went as expected; unexpected results come before the grid, at any length."""
    ended = summary.verdict(view)
    steps = upgrades.steps(view)
    before = [ended, *summary.unplanned(view), _grid(view)]
    after = [_next(view, steps)]
    if view.run.exit_code:
        # The first lines have scrolled away.
        after.append(ended)
    used = sum(part.count("\n") + 2 for part in [*before, *after] if part)
    parts = [*before, *_broken(steps, max(_LEAST, LINES - used - 2)), *after]
    return "\n\n".join(part for part in parts if part) + "\n"


def _grid(view: View) -> str:
    columns = [column for column in view.columns if view.by_column.get(column)]
    counted = [(column, _counts(view, column)) for column in columns]
    heads = [
        "release",
        "passes",
        "compat fixes it",
        "not fixed",
        "not in it",
        # A failure of somebody's kernel fails the run, known or not.
        "fails" if view.verdict.theirs else "unexpected",
        "not run",
    ]
    used = [True, *(any(counts[place] for _, counts in counted) for place in range(6))]
    # These four are the grid, also where they are empty.
    used[1:5] = [True] * 4
    rows = [
        [escape.line(column, 36), *(f"{number:,}" for number in counts)]
        for column, counts in counted
    ]
    return tight(_kept(heads, used), [_kept(row, used) for row in rows], left=1)


def _counts(view: View, column: str) -> Sequence[int]:
    counted = standing(view, column)
    fixed = sum(
        record.column == column and (record.id in view.fixes or record.id in view.verdict.fixed)
        for record in view.verdict.unexpected_red
    )
    return (
        counted.ok, counted.fixed + fixed, counted.known, counted.unsupported,
        counted.regressed - fixed + counted.newly_green, counted.not_run,
    )  # fmt: skip


def _kept(row: Sequence[str], used: Sequence[bool]) -> list[str]:
    return [text for text, wanted in zip(row, used, strict=True) if wanted]


def _broken(steps: Sequence[Diff], most: int) -> list[str]:
    """A line for each cause by which a release fails where the one before passed, the newest release first."""
    lines = []
    for step in reversed(steps):
        release = str(step.after.column).removeprefix("triton-")
        for group in step.breaks:
            title = group.issue.title if group.issue else f"{', '.join(group.kernels)}: not known"
            link = escape.line(short(group.issue.links[0]), _LINK) if group.issue else ""
            begin = f"  {escape.line(release, 12):<6} "
            room = WIDTH - len(begin) - len(link) - 2
            lines.append(f"{begin}{escape.line(title, room):<{room}}  {link}".rstrip())
    if len(lines) > most:
        lines[most - 1 :] = [f"  and {len(lines) - most + 1} more: the page has them all"]
    return ["\n".join(["What a release broke:", *lines])] if lines else []


def _next(view: View, steps: Sequence[Diff]) -> str:
    run = view.run.id
    commands = [(f"crosswarp report --run {run} --format html --out site", "the page")]
    if steps:
        sides = [
            f"{run}:{str(side.column).removeprefix('triton-')}"
            for side in (steps[-1].before, steps[-1].after)
        ]
        commands.append(
            (f"crosswarp diff {escape.line(' '.join(sides), 40)}", "the newest release")
        )
    commands.append((f"crosswarp report --run {run}", "every table"))
    return "\n".join(["Next:", *(f"  {command:<54}  {what}" for command, what in commands)])
