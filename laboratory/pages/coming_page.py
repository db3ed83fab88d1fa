"""docs/releases/coming.md: the suite on the newest vendor's build, beside the newest release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosswarp.matrix.facts.coming import Coming
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.comparison import HEAVIER
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.diff import Diff, Group, Side, diff
from crosswarp.reports.text import diff_text, escape
from crosswarp.reports.text.layout import plural
from crosswarp.reports.text.markdown import pipes, short

NAME = "releases/coming.md"
_MADE = "<!-- Made by `crosswarp docs` from the baselines, coming.toml and issues.toml. -->"


def page(
    coming: Coming, released: Sequence[Record], measured: Sequence[Record], issues: Sequence[Issue]
) -> str:
    """Returns the page.

    Args:
        released: from the committed baseline.
        measured: of the build, and of the release where the baseline lacks it.
    """
    return _page(coming, compared(coming, released, measured, issues))


def compared(
    coming: Coming, released: Sequence[Record], measured: Sequence[Record], issues: Sequence[Issue]
) -> Diff:
    """Returns the cells of the build that ran, each with that of the release."""
    column = f"triton-{coming.before}"
    build = [record for record in measured if record.column == f"here-{coming.build}"]
    places = {(record.target, record.lane, record.mode) for record in build}
    again = [
        replace(record, column=column) for record in measured if record.column == f"here-{column}"
    ]
    before = baseline.onto([record for record in released if record.column == column], again)
    before = [record for record in before if (record.target, record.lane, record.mode) in places]
    return diff(
        Side(coming.before, before, column), Side(coming.build, build, f"here-{coming.build}"), issues
    )  # fmt: skip


def _page(coming: Coming, against: Diff) -> str:
    targets = sorted({pair.record.target for pair in against.pairs})
    both = sum(pair.sides == 2 for pair in against.pairs)
    distribution, _, version = coming.build.rpartition("-")
    parts = [
        "# What is coming",
        _MADE,
        f"`{distribution}` {version} of {coming.published} is a vendor's "
        f"build of Triton, newer than {coming.before}. It is no release and not the "
        "development branch: a difference is the vendor's, or comes with a later release.",
        f"**{diff_text.verdict(against)}** Compared with Triton {coming.before}: {plural(both, 'cell')} of the suite "
        f"and the reproducers, compiled for {' and '.join(targets)} without compat. The build ran on {coming.checked}; "
        f"cells of {coming.before} are the baseline's, but for those that the baseline lacks, which ran that day too.",
        *_section("Breaks", "passes on the release and fails on the build", against.breaks, coming),
        *_section("Fails otherwise", "fails on both, in other words", against.of("changed-failure"), coming),
        *_section("Fixed", f"fails on {coming.before} and passes on the build", against.of("fixed"), coming),
        *_heavier(against.of(*HEAVIER), coming),
        "## In its files",
        "\n".join(f"- {escape.markdown(line)}" for line in coming.about),
        f"To see your own kernels on it: install `{distribution}` into an environment with torch and crosswarp, and "
        "`crosswarp run --here PYTHON --suite DIR`.",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _section(title: str, what: str, groups: Sequence[Group], coming: Coming) -> list[str]:
    if not groups:
        return [f"## {title}", f"Nothing {what}."]
    rows = [
        [_kernel(group), _cells(group), _message(group), _cause(group, coming)] for group in groups
    ]
    cells = plural(sum(len(group.pairs) for group in groups), "cell")
    heads = ["Kernel", "Cells", "Message", "Cause"]
    return [f"## {title}", f"{cells}: {what}.", pipes(heads, rows)]


def _kernel(group: Group) -> str:
    names = ", ".join(map(escape.code, group.kernels))
    if group.issue is None:
        return names
    return f"{names}: {escape.markdown(group.issue.title)}"


def _cells(group: Group) -> str:
    by_target: dict[str, list[str]] = {}
    for pair in group.pairs:
        by_target.setdefault(pair.record.target, []).append(pair.record.case)
    return "; ".join(f"{target} {', '.join(cases)}" for target, cases in sorted(by_target.items()))


def _message(group: Group) -> str:
    return escape.code(diff_text.message(group))


def _cause(group: Group, coming: Coming) -> str:
    known = [why for name in group.kernels if (why := coming.why(name))]
    links = group.issue.links[:1] if group.issue else ()
    return "<br>".join(
        [*map(escape.markdown, known), *(escape.link(short(link), link) for link in links)]
    ) or "not known"  # fmt: skip


def _heavier(groups: Sequence[Group], coming: Coming) -> list[str]:
    lines = []
    for group in groups:
        for metric, text in diff_text.changes(group)[:1]:
            why = "".join(f" {coming.why(name)}" for name in group.kernels)
            what, _, _ = text.partition(":")
            name, cells = ", ".join(group.kernels), plural(len(group.pairs), "cell")
            lines.append("- " + escape.markdown(f"{name}: {metric} {what}, in {cells}.{why}"))
    return ["## Heavier", "\n".join(lines)] if lines else []
