"""The end of a run, on a terminal of 80 columns: the verdict, the new failures, the known ones, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from crosswarp.matrix import versions
from crosswarp.matrix.results import comparison
from crosswarp.matrix.results.cause import RootCause, cause_of, words
from crosswarp.matrix.results.comparison import HEAVIER, REPORTED
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.results.verdict import triton_of
from crosswarp.matrix.results.vocabulary import COMPAT, OUTCOMES, WORST
from crosswarp.matrix.running import progress
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape, vendors
from crosswarp.reports.text.again import command
from crosswarp.reports.text.known import known
from crosswarp.reports.text.layout import LONGEST, WIDTH, column_id, fill, row, tight, wrapped

MAX_LISTED = 10
# Short enough that all ten fit beside the longest column id.
_HEADS: dict[str, str] = {name: word.short for name, word in OUTCOMES.items()}


def summary(view: View, verbose: bool = False, grid: str = "") -> str:
    """Returns the summary. The verdict comes first, and also last, where a terminal has scrolled to."""
    ended = verdict(view)
    parts = [
        ended,
        *unplanned(view),
        *_not_fixed(view),
        counts(view),
        *known(view, verbose),
        *_heavier(view),
        grid,
        ended,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def unplanned(view: View) -> list[str]:
    """The run's name, then everything unplanned: cells that did not run, and unexpected results."""
    return [
        _head(view),
        *_environments(view),
        *_missing(view),
        *_notes(view),
        *_unexpected(view),
    ]


def counts(view: View) -> str:
    """Cells per column, lane and mode; outcomes that did not occur are left out, reproducers follow below."""
    seen, lines = tally(view, view.reproducers)
    if not lines:
        return "Nothing was recorded."
    apart = _reproducers(view)
    rows = []
    for column, lane, mode, counted in lines:
        # a long name continues in extra rows
        first, *others = column_id(column).split("\n")
        rows.append(
            [first, lane, COMPAT[mode].short, *(str(counted[outcome] or "") for outcome in seen)]
        )
        rows += [[part, *[""] * (len(seen) + 2)] for part in others]
    heads = ["column", "lane", "compat", *(_HEADS[outcome] for outcome in seen)]
    text = tight(heads, rows, left=3)
    if max(map(len, text.splitlines())) <= WIDTH:
        return text + apart
    # Too many outcomes, or too long a name, for a column each: they are given in words.
    return (
        "\n".join(
            fill(
                f"{escape.line(column, 24):<24}  {lane:<9}  {COMPAT[mode].short:<7}  ",
                progress.counts(of_mode),
            )
            for column, lane, mode, of_mode in lines
        )
        + apart
    )


def _reproducers(view: View) -> str:
    if not view.reproducers:
        return ""
    cells = [record for name in view.reproducers for record in view.by_kernel[name]]
    red = Counter(record.mode for record in cells if record.red)
    sentence = (
        f"Apart from these, {len(view.reproducers)} reproducers of known issues: {len(cells):,} cells, "
        f"{red['bare']:,} fail without compat, {red['shimmed']:,} with it."
    )
    return f"\n\n{fill('', sentence)}"


def tally(
    view: View, without: Collection[str] = ()
) -> tuple[list[str], list[tuple[str, str, str, Counter[str]]]]:
    """The outcomes that occurred, and how often, by column, lane and mode; of the kernels `without` some."""
    mine: dict[tuple[str, str, str], Counter[str]] = {}
    for record in view.records:
        if record.kernel not in without:
            place = (record.column, record.lane, record.mode)
            mine.setdefault(place, Counter())[record.outcome] += 1
    order = {column: number for number, column in enumerate(view.columns)}
    places = sorted(mine, key=lambda place: (order[place[0]], *_lane_order(place[1:])))
    seen = {outcome for counted in mine.values() for outcome in counted}
    return [outcome for outcome in OUTCOMES if outcome in seen], [(*p, mine[p]) for p in places]


def _lane_order(lane_mode: tuple[str, str]) -> tuple[int, int]:
    return LANES.index(lane_mode[0]), MODES.index(lane_mode[1])


def _head(view: View) -> str:
    labels = [e.label for e in view.environments if e.label != e.column]
    labels += [
        f"{e.column}: overridden: {', '.join(e.overrides)}"
        for e in view.environments
        if e.overrides and versions.swapped(e.column)
    ]
    head = fill(
        "", escape.line(f"Run {view.run.id}, {view.run.started}, {view.run.status}", LONGEST)
    )
    if over := str(view.reused):
        labels.append(f"not run again, because nothing had changed: {over}")
    return "\n".join([head, *(fill("  ", escape.line(text, LONGEST)) for text in labels)])


def _environments(view: View) -> list[str]:
    return [
        wrapped(f"{escape.line(environment.column, 60)}: not run", environment.message)
        for environment in view.environments
        if environment.state == "failed"
    ]


def _missing(view: View) -> list[str]:
    # Other causes are reported elsewhere: a failed environment above, a run cut short in its last line.
    failed = {
        environment.column for environment in view.environments if environment.state == "failed"
    }
    lines = [str(gap) for gap in missing(view) if gap.column and gap.column not in failed]
    return (
        ["\n".join(["Missing:", *(fill("  ", escape.line(line, LONGEST)) for line in lines)])]
        if lines
        else []
    )


def _unexpected(view: View) -> list[str]:
    verdict = view.verdict
    parts = _theirs(view) if verdict.theirs else vendors.differences(view, _cells)
    red = [record for record in verdict.unexpected_red if not versions.vendor_of(record.column)]
    unexpectedly_green = [
        green for green in verdict.unexpectedly_green if not versions.vendor_of(green.record.column)
    ]
    if red and not verdict.theirs:
        parts.append(
            f"FAILS UNEXPECTEDLY ({len(red)} cells): no known issue explains these.\n"
            + _cells((record, "") for record in red)
            + "\n"
            + _advice(view)
        )
    not_fixed = [
        (record, issue.id)
        for record, issue in verdict.shim_failed
        if verdict.theirs or not versions.vendor_of(record.column)
    ]
    if not_fixed:
        parts.append(
            f"NOT FIXED ({len(not_fixed)} cells): the issue's shim was not seen to fix these.\n"
            + _cells(not_fixed)
            + (
                ""
                if verdict.theirs
                else "\n  Correct the shim, or narrow what issues.toml promises of it."
            )
        )
    if unexpectedly_green:
        issues = {green.issue.id: green.issue for green in unexpectedly_green}
        parts.append(
            f"PASSES UNEXPECTEDLY ({len(unexpectedly_green)} cells), good news: these no longer reproduce.\n"
            + "\n".join(
                fill("  ", f"{issue.id}: {escape.line(issue.title)}") for issue in issues.values()
            )
            + "\n"
            + _cells((green.record, green.issue.id) for green in unexpectedly_green)
            + "\n  Close the affected releases of the issue in issues.toml, and see whether its shim can go."
        )
    if view.wrong_windows:
        lines = [fill("  ", escape.line(str(wrong), LONGEST)) for wrong in view.wrong_windows]
        parts.append("\n".join([f"WRONG AFFECTED RELEASES in issues.toml ({len(lines)}):", *lines]))
    return parts


def _not_fixed(view: View) -> list[str]:
    """Known failures that no shim fixes: as expected, and yet no user of compat is helped."""
    unfixed = view.verdict.not_fixed
    if not unfixed:
        return []
    by_id = {issue.id: issue for _, issue in unfixed}
    lines = [
        fill("  ", escape.line(f"{issue.id}: {issue.workaround or issue.title}", LONGEST))
        for issue in by_id.values()
    ]
    title = f"NOT FIXED BY COMPAT ({len(unfixed)} cells): known failures without a shim."
    return ["\n".join([title, *lines, _cells((record, issue.id) for record, issue in unfixed)])]


def _theirs(view: View) -> list[str]:
    """Lists failures of somebody else's kernels: the message, the owner of the fault, and the next step."""
    verdict = view.verdict
    parts, lines = [], []
    if verdict.unexpected_red:
        unexplained = ((record, "") for record in verdict.unexpected_red)
        lines.append(_cells(unexplained, lambda record: str(view.fault(record))))
        if view.run.described.library:
            first = verdict.unexpected_red[0]
            again = command(
                view.run, first.kernel, first.column, first.lane, [first.target], first.mode
            )
            lines.append(row("the first", again))
        lines += [
            row("a script", f"crosswarp reproduce --run {view.run.id}"),
            row("an entry", f"crosswarp issues --run {view.run.id} --new"),
            row("expect it", "--xfail, or xfail in [tool.crosswarp]"),
        ]
        parts.append(
            "\n".join([f"FAILS ({_count(verdict.unexpected_red)}), as you ship it:", *lines])
        )
    if verdict.unexpected_pass:
        parts.append(
            f"PASSES UNEXPECTEDLY ({_count(verdict.unexpected_pass)}): you list these as expected failures (xfail).\n"
            + _cells((record, "") for record in verdict.unexpected_pass)
            + "\n  Good news: take them off the list."
        )
    if verdict.expected:
        parts.append(
            f"Expected by you: {_count(verdict.expected)} (xfail, a baseline, or compat = true in your settings)."
        )
    return parts


def _count(records: Collection[Record]) -> str:
    return f"{len(records):,} {'cell' if len(records) == 1 else 'cells'}"


def _advice(view: View) -> str:
    """Returns the advice for new failures of crosswarp's own kernels, which are right."""
    run = view.run
    script = f"    a script to attach  crosswarp reproduce --run {run.id}\n"
    record = f"    an entry to paste   crosswarp issues --run {run.id} --new"
    return "  New: report it upstream and add it to issues.toml. Of each cause:\n" + script + record


def _heavier(view: View) -> list[str]:
    """Where a column needs more resources than the one before, or makes less of the GPU; `diff` has the figures."""
    mine = {column: records for column, records in view.by_column.items() if records}
    columns = sorted(mine, key=lambda column: versions.sort_key(triton_of(mine[column][0])))
    lines = []
    for before, after in zip(columns, columns[1:]):
        pairs = comparison.pairs(mine[before], mine[after], across_columns=True)
        tally: Counter[str] = Counter(
            outcome for pair in pairs for outcome in pair.comparison.outcomes
        )
        counts = [f"{tally[o]} {o}" for o in (*HEAVIER, *REPORTED) if tally[o]]
        if counts:
            sides = " ".join(f"{view.run.id}:{escape.line(column)}" for column in (before, after))
            lines.append(fill("  ", f"{', '.join(counts)}: crosswarp diff {sides}"))
    return (
        ["\n".join(["Passes, and changed since the column before (cells):", *lines])]
        if lines
        else []
    )


def _cells(
    cells: Iterable[tuple[Record, str]], fault: Callable[[Record], str] = lambda record: ""
) -> str:
    """The first of each root cause and fault; `cells` are records with the id of their issue."""
    lines: list[str] = []
    causes: dict[tuple[RootCause, str], list[Record]] = {}
    for record, issue in cells:
        causes.setdefault((cause_of(record, issue), fault(record)), []).append(record)
    # A crash comes before a refusal.
    ordered = sorted(causes.values(), key=lambda group: WORST.index(group[0].outcome))
    for group in ordered[:MAX_LISTED]:
        first, kernels = group[0], len({record.kernel for record in group})
        more = f" and {len(group) - 1} more like it" if len(group) > 1 else ""
        more += f", in {kernels} kernels" if kernels > 1 else ""
        lines.append(fill("  ", escape.line(first.id, LONGEST) + more, whole=False))
        if first.outcome != "pass":
            lines.append(row(first.outcome, words(first)))
        if whose := fault(first):
            # One line, for who copies it.
            lines.append(f"    {escape.line(whose, LONGEST)}")
    if len(causes) > MAX_LISTED:
        lines.append(
            f"  ... and {len(causes) - MAX_LISTED} more causes: crosswarp report --format json"
        )
    return "\n".join(lines)


def _notes(view: View) -> list[str]:
    problems = [note.text for note in view.notes if note.kind == "problem"]
    return [wrapped("Problem", text) for text in dict.fromkeys(problems)]


def verdict(view: View) -> str:
    """How the run ended, in a sentence."""
    judged, code = view.verdict, view.run.exit_code
    if view.run.status != "finished":
        sentence = f"This run is not whole: {view.run.status}. What had finished is shown here."
        return fill("", escape.line(sentence, LONGEST))
    if code == 0 and judged.theirs:
        known = len(judged.known) + len(judged.expected)
        sentence = f"Passes: {sum(record.outcome == 'pass' for record in view.records):,} cells"
        return fill("", f"{sentence}{f', and {known:,} fail as you expect' if known else ''}.")
    if code == 0:
        return fill("", f"As expected: {_known(view)}")
    meaning = {
        1: f"{'Fails' if judged.theirs else 'Not as expected'}: {_wrong(view)}",
        2: "Nothing ran.",
        3: "An environment could not be built or was not the planned one; the other columns ran.",
    }
    return fill("", f"{meaning.get(code or -1, 'Ended')} (exit {code})")


def _known(view: View) -> str:
    """The known failures, in numbers that add up."""
    judged = view.verdict
    bare = sum(record.mode == "bare" for record, _ in judged.known)
    if not judged.known:
        return "every cell passes."
    if not bare or not any(record.mode == "shimmed" for record in view.records):
        return f"{_count([record for record, _ in judged.known])} fail, each by a known issue."
    fixed = len(judged.fixes)
    sentence = f"{bare:,} {'cell' if bare == 1 else 'cells'} fail without compat, each by a known issue. Compat fixes"
    if fixed == bare:
        return f"{sentence} {'it' if bare == 1 else 'all of them'}."
    return f"{sentence} {fixed:,}; {bare - fixed:,} have no fix yet."


def _wrong(view: View) -> str:
    verdict = view.verdict
    if verdict.theirs and verdict.unexpected_red:
        faults = Counter(view.fault(record).whose for record in verdict.unexpected_red)
        causes = ", ".join(f"{number:,} {fault}" for fault, number in faults.most_common())
        passed = (
            f", {_count(verdict.unexpected_pass)} pass unexpectedly"
            if verdict.unexpected_pass
            else ""
        )
        return f"{_count(verdict.unexpected_red)} failed (whose fault: {causes}){passed}"
    counted = [
        (len(verdict.unexpected_pass), "pass although you expect a failure"),
        (len(verdict.unexpected_red), "fail unexpectedly"),
        (len(verdict.shim_failed), "not fixed"),
        (len(verdict.unexpectedly_green), "pass unexpectedly"),
    ]
    reasons = [
        f"{cells:,} {'cell' if cells == 1 else 'cells'} {what}" for cells, what in counted if cells
    ]
    # All cells may have run, and the run may still have gone wrong beside them.
    return f"{', '.join(reasons) or 'something went wrong beside the cells'}"
