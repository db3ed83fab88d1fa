"""A run as Markdown: whole, or for a pull request's comment and a job's summary, within the length limit of both.

A cell's output appears only in code spans and blocks: there it is not markup, and mentions nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from crosswarp.matrix import versions
from crosswarp.matrix.results.vocabulary import COMPAT, STANDINGS
from crosswarp.reports.findings.causes import Cause, not_fixed, on_vendors_build, unexpected
from crosswarp.reports.findings.diff import Group
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.findings.since import Since
from crosswarp.reports.findings.standing import standing
from crosswarp.reports.findings.view import Regression, View, day
from crosswarp.reports.text import advice, escape, vendors
from crosswarp.reports.text.markdown import pipes, short
from crosswarp.reports.text.summary import tally
from crosswarp.reports.text.table import grids

# In bytes. GitHub takes 65,536 characters in a comment, and more in a summary.
LIMIT = 60_000
# Space for the note on omitted parts.
_RESERVE = 2_000
_LONGEST = 240


@dataclass(frozen=True)
class Section:
    title: str
    # One line each, and the headings above them.
    rows: Sequence[str]
    head: Sequence[str] = ()
    folded: bool = False
    note: str = ""
    # The title where Markdown is not read.
    summary: str = ""

    def text(self, rows: int) -> str:
        body = "\n".join([*self.head, *self.rows[:rows]])
        if self.folded:
            return (
                f"<details><summary>{self.summary or self.title}</summary>\n\n{body}\n\n</details>"
            )
        return "\n\n".join(part for part in (f"**{self.title}**", body, self.note) if part)


@dataclass
class _Page:
    limit: int
    parts: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def room(self) -> int:
        return self.limit - _RESERVE - sum(_size(part) + 2 for part in self.parts)

    def add(self, section: Section) -> None:
        """As many rows as there is room for."""
        fit, size = 0, _size(section.text(0)) + 2
        for row in section.rows:
            size += _size(row) + 1
            if size > self.room:
                break
            fit += 1
        if fit:
            self.parts.append(section.text(fit))
        if fit < len(section.rows):
            lost = len(section.rows) - fit
            self.left_out.append(f"{lost} of {len(section.rows)} rows of “{section.title}”")


def comment(view: View, link: str = "", limit: int = LIMIT, since: Since | None = None) -> str:
    """`link`: the URL of the whole report. Changes `since` come first."""
    page = _Page(limit)
    page.parts.append(_head(view, since))
    for section in _new(since) if since else ():
        page.add(section)
    if link:
        page.parts.append(escape.link("The whole report", link))
    for section in _sections(view):
        page.add(section)
    if page.left_out:
        more = f"`crosswarp report --run {view.run.id}` on the store of this run"
        where = f"{escape.link('the whole report', link)}, or {more}" if link else more
        page.parts.append(f"Left out, for length: {'; '.join(page.left_out)}. They are in {where}.")
    return "\n\n".join(page.parts) + "\n"


def markdown(view: View) -> str:
    """All of a run, nothing folded: for a README or an upstream report."""
    sections = [replace(section, folded=False) for section in _sections(view)]
    parts = [_head(view, None), *(section.text(len(section.rows)) for section in sections)]
    return "\n\n".join(parts) + "\n"


def _head(view: View, since: Since | None) -> str:
    counted = standing(view)
    sign = "⚠️" if view.verdict.unexpectedly_green and counted.state == "known" else ""
    sign = sign or STANDINGS[counted.state].sign
    plan, when = view.run.plan, day(view.run.started) or "an unknown day"
    facts = [
        escape.markdown(view.run.name) if "baseline" in plan else f"run {view.run.id} of {when}"
    ]
    for name in ("targets", "lanes"):
        some = plan.get(name)
        if isinstance(some, list) and some:
            facts.append(_some(some, 20))
    if over := str(view.reused):
        facts.append(over)
    if plan.get("commit"):
        facts.append(f"commit {escape.code(str(plan['commit'])[:60])}")
    # A change in a vendor's build is no regression.
    vendors_alone = not view.verdict.theirs and all(map(versions.vendor_of, view.columns))
    counts = counted.summary("unlike the release") if vendors_alone else counted.summary()
    return f"### {sign} crosswarp: {_news(since)}{counts}\n\n{'; '.join(facts)}"


def _news(since: Since | None) -> str:
    if since is None or since.why_not:
        return ""
    worse, fixed = (sum(len(g.pairs) for g in groups) for groups in (since.worse, since.fixed))
    parts = [f"{n:,} {what}" for n, what in ((worse, "newly failing"), (fixed, "fixed")) if n]
    return f"{' · '.join(parts) or 'nothing new'} · "


def _new(since: Since) -> list[Section]:
    name = _code(since.name)
    if since.why_not:
        row = f"- not compared with {name}: {_code(since.why_not)}"
        return [Section("What is new", [row])]
    sections = []
    for groups, what in (
        (since.worse, "Newly failing"),
        (since.changed, "Red for another reason"),
        (since.fixed, "Fixed"),
    ):
        if groups:
            heads = ["kernels", "cells", "now", "issue", "fixed"]
            rows = [_group(group) for group in groups]
            sections.append(_table(f"{what} since {name}", heads, rows))
    if since.heavier:
        line = f"- {since.heavier:,} cells pass and are heavier or slower than in {name}"
        sections.append(Section("Heavier", [line]))
    if not sections:
        sections.append(Section("What is new", [f"- nothing since {name}"]))
    return sections


def _group(group: Group) -> list[str]:
    record = next((p.after or p.before for p in group.pairs if (p.after or p.before)), None)
    now = f"{record.outcome}: {_code(record.fingerprint)}" if record and record.red else "pass"
    return [
        _some([*group.kernels]), f"{len(group.pairs):,}", now, _code(group.issue.id) if group.issue else "not known",
        f"{group.fixed_cells:,}" if group.fixed_cells else "",
    ]  # fmt: skip


def _sections(view: View) -> list[Section]:
    """In the order in which a reader wants them; the last are the first to be cut."""
    sections = []
    red, failed = unexpected(view, vendors=False), not_fixed(view, vendors=False)
    if red:
        if view.verdict.theirs:
            title = f"Fails: {_number(red, 'root cause')}"
            rows = [f"- {_code(str(view.fault(cause.records[0])))}" for cause in red]
            sections.append(Section("Whose fault, and the next step", list(dict.fromkeys(rows))))
        else:
            title = f"Regressed: {_number(red, 'root cause')} that no known issue explains"
        sections.append(_causes(title, red, advice.sentence(view.run.described.whose)))
    if failed:
        title = f"Not fixed: {_number(failed, 'issue')} whose shim did not help"
        note = "Correct the shim, or narrow its promise in issues.toml."
        sections.append(_causes(title, failed, "" if view.verdict.theirs else note))
    if differs := unexpected(view, vendors=True):
        title = f"Differs from {_nearest(differs)}: {_number(differs, 'root cause')} that no known issue explains"
        sections.append(_causes(title, differs, vendors.THEIRS))
    if unfixed := not_fixed(view, vendors=True):
        title = f"Not fixed on a vendor's build: {_number(unfixed, 'issue')}"
        sections.append(_causes(title, unfixed, vendors.STAND_ASIDE))
    sections += _green(view)
    if view.wrong_windows:
        rows = [f"- {_code(wrong.issue.id)}: {_code(wrong.text)}" for wrong in view.wrong_windows]
        sections.append(Section("Wrong affected releases in issues.toml", rows))
    lost = [str(gap) for gap in missing(view)]
    lost += [note.text for note in view.notes if note.kind == "problem"]
    failures = [f"{e.column}: {e.message}" for e in view.environments if e.state == "failed"]
    if lost or failures:
        rows = [f"- {_code(text)}" for text in dict.fromkeys([*lost, *failures])]
        sections.append(Section("Missing", rows))
    if view.records:
        sections.append(_cells(view))
    known = [group for group in view.regressions if group.issue]
    if known:
        title = f"Known upstream: {len(known)}"
        heads = ["kernel", "issue", "first bad", "outcome", "upstream", "fixed by"]
        sections.append(_table(title, heads, [_known(group) for group in known], folded=True))
    for grid in grids(view):
        named = [_code(view.label(column)) for column in grid.columns]
        marks = [[_code(kernel), *of_columns] for kernel, of_columns in grid.rows]
        title = f"{grid.lane}: {', '.join(map(_code, grid.targets))}"
        summary = (
            f"{grid.lane}: {', '.join(escape.html_code(target, 60) for target in grid.targets)}"
        )
        table = _table(title, ["kernel", *named], marks, folded=True)
        sections.append(replace(table, summary=summary))
    return sections


def _causes(title: str, causes: Sequence[Cause], note: str) -> Section:
    heads = ["kernels", "outcome", "columns", "targets", "cells"]
    rows = [
        [
            _some(cause.kernels), f"{cause.outcome}: {_code(cause.fingerprint)}", _some(cause.columns),
            _some(cause.targets), f"{len(cause.records):,}",
        ]
        for cause in causes
    ]  # fmt: skip
    if causes[0].issue:
        heads = ["issue", *heads]
        rows = [
            [_code(cause.issue.id if cause.issue else ""), *row] for cause, row in zip(causes, rows)
        ]
    return _table(title, heads, rows, note=note)


def _green(view: View) -> list[Section]:
    """Known issues that did not show: on Triton's own releases, and on vendors' builds."""
    issues = {green.issue.id: green.issue for green in view.verdict.unexpectedly_green}
    sections = []
    for of_vendors in (False, True):
        columns: dict[str, list[str]] = {}
        for green in view.verdict.unexpectedly_green:
            if on_vendors_build(view, green.record) == of_vendors:
                columns.setdefault(green.issue.id, []).append(green.record.column)
        title = f"Good news: {len(columns)} known issues no longer reproduce"
        note = "Close their affected releases in issues.toml, and see whether their shims can go."
        if of_vendors:
            title = f"Passes on a vendor's build: {len(columns)} known issues"
            note = vendors.THEIRS
        rows = [
            [_code(name), _code(issues[name].title), _some(list(dict.fromkeys(on))), f"{len(on):,}"]
            for name, on in columns.items()
        ]
        if rows:
            sections.append(_table(title, ["issue", "what", "columns", "cells"], rows, note=note))
    return sections


def _nearest(causes: Sequence[Cause]) -> str:
    """The releases that the builds of these causes are nearest to: `Triton 3.9.0`."""
    builds = [versions.vendor_of(column) for cause in causes for column in cause.columns]
    releases = dict.fromkeys(vendors.nearest_release(build) for build in builds)
    return f"Triton {' and '.join(releases)}"


def _cells(view: View) -> Section:
    seen, lines = tally(view)
    rows = [
        [
            _code(column),
            lane,
            COMPAT[mode].short,
            *(f"{counted[outcome]:,}" if counted[outcome] else "" for outcome in seen),
        ]
        for column, lane, mode, counted in lines
    ]
    return _table("Cells", ["column", "lane", "compat", *seen], rows)


def _known(group: Regression) -> list[str]:
    issue = group.issue
    assert issue is not None
    return [
        _code(group.kernel), _code(f"{issue.title} [{issue.id}]"), _code(group.first_column),
        f"{group.outcome}: {_code(group.fingerprint)}",
        " ".join(escape.link(short(url), url) for url in issue.links),
        f"{_some(group.shims)} ({group.fixed_cells} of {group.cells} cells)" if group.shims else "not fixed",
    ]  # fmt: skip


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, folded: bool = False, note: str = ""
) -> Section:  # fmt: skip
    head, line, *body = pipes(heads, rows).split("\n")
    return Section(title, body, (head, line), folded, note)


def _some(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(_code, names[:most])) + more


def _code(text: str) -> str:
    return escape.code(escape.line(text, _LONGEST))


def _number(causes: Sequence[Cause], what: str) -> str:
    return f"1 {what}" if len(causes) == 1 else f"{len(causes)} {what}s"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
