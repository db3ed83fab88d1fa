"""A diff for people and for programs: on a terminal of 80 columns, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix.results import compile_time, launch_time, predicted
from crosswarp.matrix.results.comparison import HEAVIER, METRICS, REPORTED, WORSE, Change
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.vocabulary import COMPARED, COMPAT
from crosswarp.reports.findings.diff import Diff, Group
from crosswarp.reports.text import advice, escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.layout import WIDTH, fill, plural, row, tight
from crosswarp.reports.text.markdown import pipes, short

MAX_CHANGES = 4
MAX_PLACES = 4
# Width of the names in a line: leaves room for the event.
_NAMES = 44
_HEADINGS = {
    "regressed": "Breaks", "resource-regressed": "Heavier", "slower-to-compile": "Slower to compile",
    "slower-to-launch": "Slower to launch", "numbers-changed": "Other numbers",
    "predicted-slower": "Predicted slower", "predicted-faster": "Predicted faster",
}  # fmt: skip


def terminal(diff: Diff, verbose: bool = False) -> str:
    """The verdict, then what breaks, what is fixed and what is heavier; the verdict again as the last line.

    A known issue that compat fixes takes a few lines, and all else that is not a failure one line each; `verbose`
    gives every figure of every group.
    """
    parts = [
        fill("", _sides(diff)),
        *_runs_taken(diff),
        fill("", verdict(diff)),
    ]
    if len(diff.breaks) > 1 and not verbose:
        parts.append("\n".join(map(_listed, diff.breaks)))
    for outcome in diff.counts:
        groups = diff.of(outcome)
        if not groups or (outcome == "changed" and not verbose):
            continue
        parts.append(_heading(diff, outcome))
        brief = [] if verbose else [_brief(group) for group in groups]
        if brief and all(brief):
            parts.append("\n".join(brief))
        else:
            parts += [_whole(group, verbose) for group in groups]
    counts = [(outcome, str(cells)) for outcome, cells in diff.counts.items()]
    parts.append(tight(["comparison", "cells"], counts, 2))
    for note, cells in diff.notes.items():
        parts.append(fill("", f"Not compared ({cells} cells): {note}."))
    if not verbose and diff.groups:
        parts.append("Every figure: -v.")
    parts.append(_last_line(diff))
    return "\n\n".join(parts) + "\n"


def _sides(diff: Diff) -> str:
    """`A → B`; where both are columns of one run or baseline, its name stands once."""
    before, after = diff.before, diff.after
    if before.column and after.column and before.name == after.name:
        columns = f"{escape.line(before.column)} → {escape.line(after.column)}"
        return f"{columns}, of {escape.line(before.name)}"
    return f"{escape.line(before.title)} → {escape.line(after.title)}"


def verdict(diff: Diff) -> str:
    """One sentence each for the breakages, the fixes and the heavier cells."""
    sentences = []
    if diff.breaks:
        cells = sum(len(group.pairs) for group in diff.breaks)
        sentences.append(f"{plural(len(diff.breaks), 'breaking change')} ({plural(cells, 'cell')})")
        fixed = sum(map(_is_fixed, diff.breaks))
        if fixed == len(diff.breaks):
            sentences[-1] += ", " + ("fixed with compat" if fixed == 1 else "all fixed with compat")
        elif fixed:
            sentences[-1] += f", {fixed} of them fixed with compat"
    else:
        sentences.append("Nothing breaks")
    issues = {group.issue.id for group in diff.of("fixed") if group.issue}
    if issues:
        sentences.append(f"{plural(len(issues), 'known issue')} fixed")
    heavier = {name for group in diff.of(*HEAVIER) for name in group.kernels}
    if heavier:
        sentences.append(f"{plural(len(heavier), 'kernel')} heavier")
    for outcome in REPORTED:
        names = {name for group in diff.of(outcome) for name in group.kernels}
        if names:
            sentences.append(f"{plural(len(names), 'kernel')} {COMPARED[outcome].short}")
    return ". ".join(sentences) + "."


def _listed(group: Group) -> str:
    """A breaking change in a line or two, for the list of all that the details follow."""
    issue = group.issue
    return fill("- ", escape.line(f"{issue.title} [{issue.id}]" if issue else _title(group), 200))


def message(group: Group) -> str:
    """The message of a group's first cell, normalised."""
    return group.shown.fingerprint or group.shown.reason or group.shown.outcome


def _is_fixed(group: Group) -> bool:
    return group.fixed_cells == len(group.pairs)


def _heading(diff: Diff, outcome: str) -> str:
    name = _HEADINGS.get(outcome, outcome.capitalize())
    return f"{name} ({plural(diff.counts[outcome], 'cell')})"


def _whole(group: Group, verbose: bool) -> str:
    if group.outcome == "regressed" and group.issue and _is_fixed(group) and not verbose:
        return known(group)
    rows = [row(name, text) for name, text in facts(group)]
    return "\n".join([fill("  ", escape.line(_title(group))), *rows])


def known(group: Group) -> str:
    """A known issue that compat fixes: the code that meets it, the message, the fix and the link."""
    assert group.issue is not None
    issue = group.issue
    names = ", ".join(f'"{name}"' for name in group.shims)
    pairs = [
        ("code", issue.code),
        ("message", message(group)),
        ("fix", issue.workaround),
        ("compat", f"compat.install(only=[{names}])" if names else ""),
        ("link", issue.links[0]),
    ]
    rows = [row(name, text) for name, text in pairs if text]
    return "\n".join([fill("  ", escape.line(f"{issue.title} [{issue.id}]")), *rows])


def _runs_taken(diff: Diff) -> list[str]:
    """How much of a side is an earlier run's, a line each."""
    return [
        fill("", escape.line(f"{side.title}: {side.reused}, unchanged since"))
        for side in (diff.before, diff.after)
        if str(side.reused)
    ]


def _brief(group: Group) -> str:
    """A line for a heavier kernel, and for an issue that is fixed or fails in another way; empty for a failure."""
    names = escape.line(_names(group), _NAMES)
    if group.outcome in ("resource-regressed", "slower", "changed", *REPORTED):
        lines = changes(group)
        more = f"; and {len(lines) - 1} more" if len(lines) > 1 else ""
        first = next(
            (
                reported(text)
                if group.outcome in REPORTED
                else f"{metric} {text.partition(':')[0]}"
                for metric, text in lines
            ),
            "",
        )
        return _one_line(f"{names}: {first}{more}")
    is_known = group.issue is not None and _is_fixed(group)
    if group.outcome == "fixed" or (group.outcome == "changed-failure" and is_known):
        issue = f"{group.issue.id}: {group.issue.title}" if group.issue else names
        return _one_line(issue)
    return ""


def reported(text: str) -> str:
    """For a change that is reported without failing: the figures, and what shows it."""
    figures, _, rest = text.partition(": ")
    _, _, why = rest.partition("); ")
    return f"{figures}{f', {why}' if why else ''}"


def _one_line(text: str) -> str:
    return f"  {escape.line(text, WIDTH - 2)}"


def markdown(diff: Diff) -> str:
    parts = [
        f"**{escape.markdown(diff.before.title)} → {escape.markdown(diff.after.title)}**",
        pipes(["comparison", "cells"], [[name, str(n)] for name, n in diff.counts.items()]),
    ]
    parts[1:1] = [escape.markdown(line) for line in _runs_taken(diff)]
    groups = [group for group in diff.groups if _telling(group)]
    if groups:
        heads = ["comparison", "cause", "kernels", "before → now", "upstream", "fixed by"]
        parts.append(pipes(heads, [_cells(group) for group in groups]))
    parts += [
        f"Not compared ({n} cells): {escape.markdown(note)}." for note, n in diff.notes.items()
    ]
    return "\n\n".join([*parts, escape.markdown(_last_line(diff))]) + "\n"


def export(diff: Diff) -> str:
    from crosswarp.reports.text import run_documents

    groups = [
        {**vars(group), "kernels": group.kernels, "title": _title(group)} for group in diff.groups
    ]
    return escape.document(filled(run_documents.Diff, diff, groups=groups))


def _names(group: Group) -> str:
    return ", ".join(f"{kernel} ({cells})" for kernel, cells in sorted(group.kernels.items()))


def _title(group: Group) -> str:
    names = _names(group)
    return f"{names}: {group.issue.title} [{group.issue.id}]" if group.issue else names


def facts(group: Group) -> list[tuple[str, str]]:
    """Returns the facts about a root cause, by name; a fact of several lines names only its first."""
    if not _telling(group):
        return []
    where = ("where", _places([pair.record for pair in group.pairs]))
    rows = changes(group) or [where, *_both(group)]
    if group.issue:
        rows.append(("upstream", " ".join(group.issue.links)))
    if fixed := _fixed(group):
        rows.append(("fixed", fixed))
    return rows


def _both(group: Group) -> list[tuple[str, str]]:
    first = group.pairs[0]
    return [("before", _value(first.before)), ("now", _value(first.after))]


def _cells(group: Group) -> list[str]:
    """A row of the Markdown table."""
    if group.issue:
        cause = f"{escape.markdown(group.issue.title)} {escape.code(group.issue.id)}"
    else:
        cause = escape.markdown("no known issue" if _red(group) else "")
    (_, before), (_, now) = _both(group)
    values = [f"{metric} {text}".strip() for metric, text in changes(group)] or [
        f"{before} → {now}"
    ]
    links = group.issue.links if group.issue else ()
    return [
        group.outcome,
        cause,
        ", ".join(f"{escape.code(kernel)} ({n})" for kernel, n in sorted(group.kernels.items())),
        "<br>".join(map(escape.markdown, values)),
        " ".join(escape.link(short(url), url) for url in links),
        escape.markdown(_fixed(group)),
    ]


def changes(group: Group) -> list[tuple[str, str]]:
    """The worst changes of each metric, with both figures."""
    rows = []
    by_metric: dict[str, dict[Change, list[Record]]] = {}
    for pair in group.pairs:
        for change in pair.comparison.changes_of(group.outcome):
            by_metric.setdefault(change.metric, {}).setdefault(change, []).append(pair.record)
    for metric in filter(by_metric.get, METRICS):
        changes = by_metric[metric]
        worst = sorted(changes, key=_growth, reverse=True)
        for number, change in enumerate(worst[:MAX_CHANGES]):
            at = _places(changes[change])
            text = f"{_number(change.before)} → {_number(change.after)} {change.unit}".strip()
            if metric in (compile_time.METRIC, launch_time.METRIC):
                text = f"{compile_time.ratio(change):.2g} times as long, {text}"
            elif metric in (predicted.SLOWER, predicted.FASTER):
                # The cycles of a model say nothing by themselves.
                text = f"{compile_time.ratio(change):.2f} times as long"
            remark = f"; {change.remark}" if change.remark else ""
            rows.append((metric if number == 0 else "", f"{text}: {change.what} ({at}){remark}"))
        if len(worst) > MAX_CHANGES:
            rows.append(("", f"and {len(worst) - MAX_CHANGES} more"))
    return rows


def _growth(change: Change) -> float:
    """Sort key: new values come first, then the largest factors."""
    if isinstance(change.before, str) or isinstance(change.after, str):
        return 0.0
    if change.before == 0:
        return change.after * 1e9
    grown = change.after / change.before
    # A metric that got worse by shrinking.
    return 1 / grown if 0 < grown < 1 else grown


def _fixed(group: Group) -> str:
    if group.outcome == "fixed":
        return ""
    if group.shims:
        return f"by {', '.join(group.shims)} ({group.fixed_cells} of {len(group.pairs)} cells)"
    if group.issue is None:
        return f"no known issue: {advice.short(group.whose)}" if _red(group) else ""
    return group.issue.workaround or "no shim"


def _telling(group: Group) -> bool:
    """Whether the group has more to show than its kernels."""
    return group.outcome not in ("new", "gone", "unknown") or _red(group)


def _red(group: Group) -> bool:
    return any(pair.after is not None and pair.after.red for pair in group.pairs)


def _places(records: Sequence[Record]) -> str:
    """`sm_80, sm_90: fp16-7x33`, with the mode where only one has it, and the lane unless it is `compile`."""
    targets: dict[tuple[str, str], dict[str, None]] = {}
    modes: dict[tuple[str, str], dict[str, None]] = {}
    for record in records:
        cell = record.lane, f"{record.case} {record.config}".strip()
        targets.setdefault(cell, {})[record.target] = None
        modes.setdefault(cell, {})[record.mode] = None
    places: dict[str, list[str]] = {}
    for (lane, what), on in targets.items():
        ran = modes[lane, what]
        where = [
            *on,
            *([] if lane == "compile" else [lane]),
            *(COMPAT[mode].meaning for mode in ran if len(ran) == 1),
        ]
        places.setdefault(", ".join(where), []).append(what)
    return _some([f"{on}: {_some(cells, '; ')}" for on, cells in places.items()], " / ")


def _some(texts: Sequence[str], between: str) -> str:
    more = len(texts) - MAX_PLACES
    return between.join([*texts[:MAX_PLACES], *([f"and {more} more"] if more > 0 else [])])


def _value(record: Record | None) -> str:
    if record is None:
        return "absent"
    what = (record.fingerprint if record.red else record.reason).removeprefix(f"{record.outcome}: ")
    return f"{record.outcome}: {what}" if what else record.outcome


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _last_line(diff: Diff) -> str:
    worse = sum(diff.counts.get(outcome, 0) for outcome in WORSE)
    if worse:
        return f"Worse: {worse} cells (exit 1)."
    compared = sum(pair.sides == 2 for pair in diff.pairs)
    return f"Nothing regressed among {compared} cells that both have."
