"""docs/releases/: one page for each Triton release, and the list of them."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix.facts import announced
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.comparison import HEAVIER, REPORTED
from crosswarp.matrix.results.vocabulary import COMPARED
from crosswarp.reports.findings.diff import Diff, Group
from crosswarp.reports.findings.gluon_changes import Change
from crosswarp.reports.findings.releases import Release
from crosswarp.reports.text import diff_text, escape
from crosswarp.reports.text.layout import plural
from crosswarp.reports.text.markdown import pipes, short

_MADE = "<!-- Made by `crosswarp docs` from the baseline, issues.toml, language.json and probed_targets.json. -->"
_NAMES = 24


def pages(releases: Sequence[Release], coming: str = "") -> dict[str, str]:
    """File name below docs/ and text of each page; `coming` is the build that coming.md compares with the newest."""
    if not releases:
        return {}
    made = {f"releases/{release.version}.md": page(release) for release in releases[:-1]}
    made[f"releases/{releases[-1].version}.md"] = page(releases[-1], coming)
    return {"releases/index.md": index(releases, coming), **made}


def index(releases: Sequence[Release], coming: str = "") -> str:
    rows = [
        [
            f"[{release.version}]({release.version}.md)",
            str(len(release.diff.breaks)) if release.diff else "",
            str(_unfixed(release.diff)) if release.diff else "",
            str(len(_issues(release.diff.of("fixed")))) if release.diff else "",
            str(len(release.still)),
            str(len(_heavier(release.diff))) if release.diff else "",
        ]
        for release in reversed(releases)
    ]
    heads = [
        "Triton",
        "breaking changes",
        "without a fix in compat",
        "known issues fixed",
        "silent wrong numbers",
        "heavier kernels",
    ]
    return "\n\n".join(
        [
            "# Triton releases",
            _MADE,
            "Each row compares a release with the one before it: the whole suite and every reproducer, without a GPU "
            "([how](../concepts.md)). Open a release for the code that breaks, the message, and the fix.",
            pipes(heads, rows),
            *_coming(coming),
            "In a terminal: `crosswarp diff 3.8.0 3.9.0`.",
        ]
    ) + "\n"  # fmt: skip


def _coming(build: str) -> list[str]:
    return (
        [f"[What is coming](coming.md): the suite on {build}, a vendor's newer build."]
        if build
        else []
    )


def page(release: Release, coming: str = "") -> str:
    parts = [f"# Triton {release.version}", _MADE]
    if release.diff:
        parts += [
            f"**{diff_text.verdict(release.diff)}** Compared with Triton {release.before}.",
            *_listed(release.diff),
            f"`crosswarp lint mylib/ --triton '>={release.before}'` lists the lines of your code that meet a change, "
            "in seconds and without importing it.",
            *_breaks(release.diff),
            *_fixed(release.diff),
        ]
    parts += [
        *_still(release),
        *_announced(release),
        *_coming(coming),
        *_rest(release),
        *_gluon(release),
    ]
    return "\n\n".join(parts) + "\n"


def _listed(diff: Diff) -> list[str]:
    """The titles of all breaking changes, before the table with the details of each."""
    if len(diff.breaks) < 2:
        return []
    return ["\n".join(f"- {_title(group)}" for group in diff.breaks)]


def _title(group: Group) -> str:
    return escape.markdown(group.issue.title if group.issue else ", ".join(group.kernels))


def _breaks(diff: Diff) -> list[str]:
    if not diff.breaks:
        return [
            "## Breaks",
            "No case of the suite or of the reproducers passed before and fails now.",
        ]
    rows = [
        [
            _code(group),
            escape.code(diff_text.message(group)),
            _fix(group),
            escape.link(short(group.issue.links[0]), group.issue.links[0]) if group.issue else "",
        ]
        for group in diff.breaks
    ]
    return ["## Breaks", pipes(["Your code", "The message", "The fix", "Upstream"], rows)]


def _code(group: Group) -> str:
    code = f"<br>{escape.code(group.issue.code)}" if group.issue and group.issue.code else ""
    return f"{_title(group)}{code}"


def _fix(group: Group) -> str:
    fixes = (
        [escape.markdown(group.issue.workaround)] if group.issue and group.issue.workaround else []
    )
    fixes += [f"shim [{escape.code(name)}](../shims.md#{name})" for name in group.shims]
    return "<br>".join(fixes) or "none known"


def _fixed(diff: Diff) -> list[str]:
    groups = [group for group in diff.of("fixed") if group.issue]
    silent = _issues([g for g in groups if g.shown.outcome == "mismatch"])
    loud = [issue for issue in _issues(groups) if issue not in silent]
    parts = []
    if silent:
        parts += ["## Fixed: silent wrong numbers", _list(silent)]
    if loud:
        parts += ["## Fixed: errors and crashes", _list(loud)]
    return parts


def _still(release: Release) -> list[str]:
    title = "## Silent wrong numbers in this release"
    if not release.still:
        return [title, "None that the suite or a reproducer shows."]
    rows = [
        [
            f"{escape.markdown(issue.title)} {escape.code(issue.id)}",
            escape.code(issue.triton or "all"),
            f"[{escape.code(issue.shim)}](../shims.md#{issue.shim})" if issue.shim else "none",
        ]
        for issue in release.still
    ]
    return [title, pipes(["Known issue", "Affected releases", "Shim"], rows)]


def _announced(release: Release) -> list[str]:
    """The changes that this release announces for the next one."""
    changes = [change for change in announced.load() if change.by == release.version]
    parts = [
        f"**{change.title}** in Triton {change.release}. {change.effect} {change.do}"
        for change in changes
    ]
    return ["## Announced for the next release", *parts] if parts else []


def _rest(release: Release) -> list[str]:
    parts = []
    heavier = _heavier(release.diff) if release.diff else []
    if heavier:
        title = f"## Heavier: {len(heavier)} of {release.kernels} kernels"
        parts += [title, "\n".join(f"- {escape.markdown(text)}" for text in heavier)]
    parts += _reported(release.diff) if release.diff else []
    if release.came or release.went:
        lines = [
            f"- {word}: {_names(names)}"
            for word, names in (("new", release.came), ("gone", release.went))
            if names
        ]
        parts += ["## Names", "\n".join(lines), "All names by release: [language](../language.md)."]
    if release.targets_came or release.targets_went:
        lines = [
            f"- {word}: {_names(names)}"
            for word, names in (("new", release.targets_came), ("gone", release.targets_went))
            if names
        ]
        parts += ["## Targets", "\n".join(lines)]
    return parts


def _gluon(release: Release) -> list[str]:
    """The changes that affect a Gluon kernel of the release before."""
    changes = release.gluon
    if changes is None:
        return []
    before, now = changes.counts
    parts = [
        "## Gluon",
        f"{plural(now, 'public name')} in `triton.experimental.gluon.language`, {before:,} in Triton {release.before}. "
        f"`crosswarp lint mylib/ --triton {release.before},{release.version}` lists the lines that meet a change.",
    ]
    if changes.gone:
        parts += [
            f"Gone ({sum(len(each.names) for each in changes.gone)} names):",
            "\n".join(f"- {_named(each)}{_instead(each)}" for each in changes.gone),
        ]
    if changes.refused:
        parts += [
            f"Still there, and raise ({sum(len(each.names) for each in changes.refused)} names):",
            "\n".join(f"- {_named(each)}: {escape.code(each.after)}" for each in changes.refused),
        ]
    if changes.calls:
        rows = [
            [_named(each), escape.code(each.before), escape.code(each.after), escape.markdown(each.instead)]
            for each in changes.calls
        ]  # fmt: skip
        parts += [
            f"Calls that the release before took, and this one may refuse ({len(rows)}):",
            pipes(["Name", f"Triton {release.before}", f"Triton {release.version}", "Write"], rows),
        ]
    return parts if len(parts) > 2 else [*parts, "Nothing went, and no call is refused."]


def _named(change: Change) -> str:
    return _names(change.names)


def _instead(change: Change) -> str:
    return f": {escape.markdown(change.instead)}" if change.instead else ""


def _reported(diff: Diff) -> list[str]:
    """A section for each thing that is reported and no failure."""
    parts = []
    for outcome in REPORTED:
        if lines := _lines(diff.of(outcome)):
            title = COMPARED[outcome].short.capitalize()
            parts += [f"## {title}", "\n".join(f"- {escape.markdown(text)}" for text in lines)]
    return parts


def _heavier(diff: Diff) -> list[str]:
    return _lines(diff.of(*HEAVIER))


def _lines(groups: Sequence[Group]) -> list[str]:
    lines = []
    for group in groups:
        changes = diff_text.changes(group)
        name = ", ".join(group.kernels)
        if changes:
            metric, text = changes[0]
            if group.outcome in REPORTED:
                what = diff_text.reported(text)
            else:
                what = f"{metric} {text.partition(':')[0]}"
            lines.append(f"{name}: {what}, in {plural(len(group.pairs), 'cell')}")
    return lines


def _unfixed(diff: Diff) -> int:
    return sum(group.fixed_cells < len(group.pairs) for group in diff.breaks)


def _issues(groups: Sequence[Group]) -> list[Issue]:
    return list({group.issue.id: group.issue for group in groups if group.issue}.values())


def _list(issues: Sequence[Issue]) -> str:
    return "\n".join(
        f"- {escape.markdown(issue.title)} ({escape.link(short(issue.links[0]), issue.links[0])})"
        for issue in issues
    )


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(map(escape.code, names[:_NAMES])) + more
