"""Known failures on a terminal: a line for each that compat fixes, all facts for the others."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix import versions
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings.view import Regression, View
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import LONGEST, WIDTH, fill, row, tight


def known(view: View, verbose: bool = False) -> list[str]:
    """Returns the paragraphs; with `verbose`, also the details of issues fixed by compat."""
    groups = [group for group in view.regressions if group.issue]
    by_issue: dict[str, list[Regression]] = {}
    for group in sorted(groups, key=lambda group: WORST.index(group.outcome)):
        assert group.issue is not None
        by_issue.setdefault(group.issue.id, []).append(group)
    if not by_issue:
        return []
    shims_ran = any(record.mode == "shimmed" for record in view.records)
    brief: list[list[Regression]] = []
    whole: list[list[Regression]] = []
    for mine in by_issue.values():
        fixed = all(group.fixed_cells == group.cells for group in mine)
        # Where no shim was requested, none can have failed.
        (brief if fixed or not shims_ran else whole).append(mine)
    parts = []
    if whole:
        parts.append(f"Known upstream, and not fixed ({_issues(len(whole))}):")
        parts += [_regression(group) for mine in whole for group in mine]
    if brief:
        what = "each fixed by a shim" if shims_ran else "the shims did not run"
        title = f"Known upstream, {what} ({_issues(len(brief))}"
        if verbose:
            parts.append(f"{title}):")
            parts += [_regression(group) for mine in brief for group in mine]
        else:
            parts.append(
                "\n".join([f"{title}; all of it: -v):", tight(_HEADS, _rows(brief), left=3)])
            )
    return parts


_HEADS = ("outcome", "Triton", "issue")


def _rows(groups: Sequence[Sequence[Regression]]) -> list[list[str]]:
    """The worst outcome of each issue, where it fails, and as much of its title as fits."""
    firsts = [mine[0] for mine in groups]
    spans = [_span([column for group in mine for column in group.columns]) for mine in groups]
    left = [
        max(map(len, texts))
        for texts in ([regression.outcome for regression in firsts], spans, _HEADS[:2])
    ]
    room = WIDTH - max(left[0], left[2]) - max(left[1], left[2]) - 4
    return [
        [
            regression.outcome,
            span,
            escape.line(f"{regression.issue.id}: {regression.issue.title}", room),
        ]
        for regression, span in zip(firsts, spans)
        if regression.issue
    ]


def _span(columns: Sequence[str]) -> str:
    """`3.2.0`, or `2.3.1..3.9.0` with both ends; -v lists those between."""
    named = [versions.split_id(column)[0].removeprefix("triton-") for column in columns]
    text = named[0] if len(set(named)) == 1 else f"{named[0]}..{named[-1]}"
    return escape.line(text, 20)


def _issues(count: int) -> str:
    return "1 issue" if count == 1 else f"{count} issues"


def _regression(group: Regression) -> str:
    issue = group.issue
    assert issue is not None
    if group.shims:
        fixed = f"by {', '.join(group.shims)} ({group.fixed_cells} of {group.cells} cells)"
    elif issue.shim:
        fixed = f"not seen: {issue.shim} should ({group.cells} cells)"
    else:
        fixed = issue.workaround or "no shim"
    rows = [
        (
            "first bad",
            f"{group.first_column}" + (f", fixed in {issue.fixed_in}" if issue.fixed_in else ""),
        ),
        ("where", _where(group)),
        ("outcome", f"{group.outcome}: {group.fingerprint}"),
        ("upstream", " ".join(issue.links)),
        ("fixed", fixed),
    ]
    return "\n".join(
        [
            fill("  ", escape.line(f"{group.kernel}: {issue.title} [{issue.id}]", LONGEST)),
            *(row(*cells) for cells in rows),
        ]
    )


def _where(group: Regression) -> str:
    parts = [", ".join(group.columns), ", ".join(group.targets)]
    if group.configs:
        shown = group.configs[:4]
        parts.append(
            "; ".join(shown)
            + (f"; and {len(group.configs) - 4} more" if len(group.configs) > 4 else "")
        )
    return " / ".join(parts)
