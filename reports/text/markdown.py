"""A run as Markdown, for a README, a pull request or an upstream report."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.reports.findings.view import Regression, View
from crosswarp.reports.text import escape
from crosswarp.reports.text.table import grids

# A compiler's message may be a megabyte.
LONGEST = 600


def markdown(view: View) -> str:
    over = [f"Unchanged, and not run again: {view.reused}."] if str(view.reused) else []
    parts = [*over, *_grids(view), *_regressions(view), *_unexpected(view)]
    return "\n\n".join(parts) + "\n" if parts else "Nothing was recorded.\n"


def _grids(view: View) -> list[str]:
    parts = []
    for grid in grids(view):
        parts.append(
            f"**{escape.markdown(grid.lane)}**: {', '.join(escape.markdown(t) for t in grid.targets)}"
        )
        heads = ["kernel", *(escape.markdown(view.label(column)) for column in grid.columns)]
        rows = [
            [_code(kernel), *(escape.markdown(mark) for mark in marks)]
            for kernel, marks in grid.rows
        ]
        parts.append(pipes(heads, rows))
    return parts


def _regressions(view: View) -> list[str]:
    known = [group for group in view.regressions if group.issue]
    if not known:
        return []
    rows = [_regression(group) for group in known]
    return [pipes(["kernel", "first bad", "targets", "outcome", "upstream", "fixed by"], rows)]


def _regression(group: Regression) -> list[str]:
    issue = group.issue
    assert issue is not None
    links = " ".join(escape.link(short(url), url) for url in issue.links)
    return [
        escape.code(group.kernel),
        escape.markdown(group.first_column),
        escape.markdown(", ".join(group.targets)),
        f"{escape.markdown(group.outcome)}: {_code(group.fingerprint)}",
        links,
        ", ".join(escape.code(shim) for shim in group.shims) or "not fixed",
    ]


def _unexpected(view: View) -> list[str]:
    verdict = view.verdict
    parts = []
    for title, records in (
        ("Unexpectedly red", verdict.unexpected_red),
        ("Fails with compat as well", [record for record, _ in verdict.shim_failed]),
        ("Passes unexpectedly", [green.record for green in verdict.unexpectedly_green]),
    ):
        if records:
            rows = [
                [_code(r.id), escape.markdown(r.outcome), _code(r.fingerprint)] for r in records
            ]
            parts += [f"**{title}**", pipes(["cell", "outcome", "fingerprint"], rows)]
    if view.wrong_windows:
        lines = [f"- {_code(wrong.issue.id)}: {_code(wrong.text)}" for wrong in view.wrong_windows]
        parts += ["**Wrong affected releases in issues.toml**", "\n".join(lines)]
    return parts


def _code(text: str) -> str:
    return escape.code(escape.line(text, LONGEST))


def pipes(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # Not tabulate: it strips and re-aligns escaped text.
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def short(url: str) -> str:
    """`triton-lang/triton#5213` for an issue or pull request, else the last part of the address."""
    parts = url.rstrip("/").split("/")
    if len(parts) >= 7 and parts[5] in ("issues", "pull"):
        return f"{parts[3]}/{parts[4]}#{parts[6]}"
    return parts[-1] or url
