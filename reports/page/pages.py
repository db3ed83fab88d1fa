"""The contexts of the templates for kernels, columns and issues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from crosswarp import compat
from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.comparison import HEAVIER
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings.diff import Diff, Group
from crosswarp.reports.page.missing import of_column
from crosswarp.reports.page.model import Column, Kernel, Model
from crosswarp.reports.page.text import block
from crosswarp.reports.text import diff_text
from crosswarp.reports.text.layout import plural

MAX_SEEN = 4


def kernel(model: Model, kernel: Kernel) -> dict[str, Any]:
    mine = model.view.by_kernel[kernel.name]
    places = [
        (lane, target, [
            model.outcomes.get((lane, target, kernel.name, column.id), (0, 0))
            for column in model.columns
        ])
        for lane, target in model.grids
    ]  # fmt: skip
    rows = [
        (lane, target, [
            (column, *map(_worst, outcomes))
            for column, outcomes in zip(model.columns, each, strict=True)
        ])
        for lane, target, each in places if any(map(any, each))
    ]  # fmt: skip
    return {
        "kernel": kernel,
        "rows": rows,
        "causes": [cause for cause in model.view.regressions if cause.kernel == kernel.name],
        "heavier": [
            (before, after, diff_text.facts(group))
            for before, after, group in model.heavier.get(kernel.name, ())
        ],
        "cases": sorted({record.case for record in mine} - {"*"}),
        "command": model.command(kernel.name),
    }


def _worst(outcomes: int) -> str:
    """The outcome with the lowest bit; nothing where there is none."""
    return WORST[(outcomes & -outcomes).bit_length() - 1] if outcomes else ""


def column(model: Model, column: Column) -> dict[str, Any]:
    counts = [
        (
            lane,
            target,
            _tally(model, column, lane, target, "bare"),
            _tally(model, column, lane, target, "shimmed"),
        )
        for lane, target in model.grids
    ]
    counted = [row for row in counts if row[2] or row[3]]
    versions_of = {
        environment.column: environment.versions for environment in model.view.environments
    }
    others = {
        name: version
        for name, version in versions_of.get(column.id, {}).items()
        if name in ("numpy", "python")
    }
    older = [
        (before, model.upgrades[before.id, column.id])
        for before in reversed(model.columns)
        if (before.id, column.id) in model.upgrades
    ]
    return {
        "column": column,
        "others": sorted(others.items()),
        "missing": of_column(model, column.id),
        "counts": counted,
        "shown": [
            outcome
            for outcome in WORST
            if any(row[2][outcome] or row[3][outcome] for row in counted)
        ],
        "upgrades": [_upgrade(model, before, column, diff) for before, diff in older],
    }


def upgrade_table(model: Model) -> list[tuple[Column, list[tuple[Column, dict | None]]]]:
    """For each column, the newer ones: how many things break, and how many cells are heavier, by mode."""

    def worse(before: Column, after: Column) -> dict | None:
        diff = model.upgrades.get((before.id, after.id))
        if diff is None:
            return None
        heavier = Counter(pair.record.mode for group in diff.of(*HEAVIER) for pair in group.pairs)
        by_mode = {
            mode: (
                sum(any(p.record.mode == mode for p in group.pairs) for group in diff.breaks),
                heavier[mode],
            )
            for mode in MODES
        }
        both = (len(diff.breaks), heavier.total())
        return {"verdict": diff_text.verdict(diff), "modes": {"both": both, **by_mode}}

    return [
        (before, [(after, worse(before, after)) for after in model.columns])
        for before in model.columns
    ]


def issue(model: Model, issue: Issue) -> dict[str, Any]:
    explained = model.explained[issue.id]
    bare = [record for record in explained if record.mode == "bare"]
    shims = [
        shim for shim in compat.all_shims() if issue.shim == shim.name or shim.issue == issue.id
    ]
    cells = Counter((record.column, record.mode) for record in explained)
    by_column = [
        (
            column,
            versions.within(column.triton or None, issue.triton),
            cells[column.id, "bare"],
            cells[column.id, "shimmed"],
        )
        for column in model.columns
    ]
    slugs = {kernel.name: kernel for kernel in model.kernels}
    hit = Counter(record.kernel for record in explained)
    return {
        "issue": issue,
        "seen": _texts(explained),
        "symptoms": [text for shim in shims for text in shim.symptom.splitlines() if text.strip()],
        "shims": shims,
        "by_column": by_column,
        "kernels_hit": [
            (slugs[name], cells) for name, cells in sorted(hit.items()) if name in slugs
        ],
        "red": len(bare),
        "fixed": model.fixed_cells[issue.id],
        "wrong": [
            wrong_window.text
            for wrong_window in model.view.wrong_windows
            if wrong_window.issue is issue
        ],
        "proof": list(dict.fromkeys(_proof(model, issue, case.kernel) for case in issue.case)),
    }


def issue_rows(model: Model) -> list[tuple[Issue, int, str]]:
    """Each issue with its failing cells, and the words by which a search finds it."""
    rows = []
    for known in model.issues:
        explained = model.explained[known.id]
        symptoms = [shim.symptom for shim in compat.all_shims() if shim.name == known.shim]
        words = [known.id, known.title, known.fingerprint, *symptoms, *_texts(explained)]
        rows.append((known, len(explained), block(" ".join(words))))
    return rows


def _upgrade(model: Model, before: Column, after: Column, diff: Diff) -> dict[str, Any]:
    return {
        "before": before,
        "groups": [_group(model, group) for group in diff.groups if group.outcome != "unknown"],
        "verdict": diff_text.verdict(diff),
        "command": f"crosswarp diff {model.view.run.id}:{before.id} {model.view.run.id}:{after.id}",
    }


def _group(model: Model, group: Group) -> dict[str, Any]:
    slugs = model.kernel_slugs
    return {
        "outcome": group.outcome,
        "issue": group.issue,
        "code": group.issue.code if group.issue else "",
        "kernels": [
            (slugs[name], name, cells)
            for name, cells in sorted(group.kernels.items())
            if name in slugs
        ],
        # The links are shown as links.
        "facts": [(name, text) for name, text in diff_text.facts(group) if name != "upstream"],
    }


def _texts(records: list[Record]) -> list[str]:
    """The fingerprints, the most frequent first."""
    tally = Counter(record.fingerprint for record in records if record.fingerprint)
    ordered = sorted(tally, key=lambda text: (-tally[text], text))
    return [block(text) for text in ordered[:MAX_SEEN]]


def _proof(model: Model, issue: Issue, kernel: str) -> str:
    inside = [c.id for c in model.columns if versions.within(c.triton or None, issue.triton)]
    targets = [] if issue.targets == ("*",) else list(issue.targets)
    return model.command(kernel, inside[-1] if inside else "all", issue.lanes[0], targets)


def _tally(model: Model, column: Column, lane: str, target: str, mode: str) -> Counter[str]:
    return model.view.tallies.get((column.id, lane, target, mode), Counter())


def shim_rows(model: Model) -> list[tuple[compat.Shim, Issue | None]]:
    """Each shim, by name, with the issue that it fixes where the site has it."""
    issues = {issue.id: issue for issue in model.issues}
    by_shim = {issue.shim: issue for issue in model.issues if issue.shim}
    shims = sorted(compat.all_shims(), key=lambda shim: shim.name)
    return [(shim, issues.get(shim.issue) or by_shim.get(shim.name)) for shim in shims]


def counted(kernels: Sequence[Kernel], columns: Sequence[Column]) -> str:
    """`39 kernels and 86 reproducers of known issues on 11 columns`: the same words on every page."""
    shows = sum(kernel.shows_issue for kernel in kernels)
    text = plural(len(kernels) - shows, "kernel")
    text += f" and {plural(shows, 'reproducer')} of known issues" if shows else ""
    return f"{text} on {plural(len(columns), 'column')}"
