"""The table of the known issues and where a run showed them, for a terminal, as a page of docs/ and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from crosswarp.compat.doctor_text import short_link
from crosswarp.matrix.results.record import clean
from crosswarp.reports.findings.proofs import Proof
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import LONGEST, fill, plural
from crosswarp.reports.text.markdown import pipes

_HEADS = ("issue", "affected", "fails", "passes", "with compat", "verdict")
# Version of the JSON format: raised when a field changes its meaning or goes away.
FORMAT = 1
_MEANING = {
    "shown": "its case fails on every affected release, and on no other",
    "in part": "its case fails where it ran, but did not run on every affected release",
    "not this time": "its case fails in some processes only, and in none of this run",
    "contradicted": "the results do not fit the entry",
    "not run": "its case did not run on any affected release",
    "no case": "reported upstream; no case of ours shows it",
}


def terminal(found: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    """A paragraph for each verdict, with each issue and its title; those that need attention come last."""
    parts = [fill("", f"{escape.line(name, 200)}: {len(columns)} columns. {_counts(found)}.")]
    for verdict in sorted(_MEANING, key=lambda verdict: verdict == "contradicted"):
        mine = [one for one in found if one.verdict == verdict]
        if mine:
            lines = [fill("", f"{len(mine)} {verdict}: {_MEANING[verdict]}")]
            parts.append("\n".join([*lines, *chain(*(_entry(one, columns) for one in mine))]))
    return "\n\n".join(parts) + "\n"


def _entry(one: Proof, columns: Sequence[str]) -> list[str]:
    """The lines of one issue."""
    _, affected, fails, _, compat, _ = _row(one, columns)
    facts = [f"Triton {affected}"]
    # The affected releases already say where it fails, unless the verdict is another.
    if one.verdict != "shown" and fails:
        facts.append(f"fails on {fails}")
    if compat:
        facts.append(f"{compat} with compat" if one.healed else compat)
    # The verdict says it, unless the case needs a GPU.
    without_notes = one.verdict == "no case" or one.verdict == "not run" and not one.gpu_alone
    return [
        fill("  ", escape.line(f"{one.issue.id}: {', '.join(facts)}", LONGEST)),
        fill("      ", escape.line(one.issue.title, LONGEST)),
        *(
            fill("      ", escape.line(note, LONGEST))
            for note in ([] if without_notes else _notes(one, columns))
        ),
    ]


def markdown(found: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    rows = []
    for one in found:
        issue, links = one.issue, one.issue.links
        title = escape.markdown(f"{issue.title} [{issue.id}]")
        _, window, *states = _row(one, columns)
        rows.append([
            f"{title} {' '.join(escape.link(short_link(url), url) for url in links)}",
            escape.code(window), *map(escape.markdown, states),
        ])  # fmt: skip
    meaning = "\n".join(f"- {word}: {meaning}" for word, meaning in _MEANING.items())
    parts = [
        "# Known issues, and where they were seen",
        f"Of {escape.code(name)}, {len(columns)} columns, without compat and with it: {_counts(found)}. Each entry "
        "names a case of ours, which has to fail on the affected releases and pass on the others. Made by "
        "`crosswarp docs`.",
        meaning,
        pipes(_HEADS, rows),
    ]
    notes = [
        f"- {escape.code(one.issue.id)}: {escape.markdown(note)}"
        for one in found
        for note in _notes(one, columns)
    ]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def export(found: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    document: dict[str, Any] = {
        "format": FORMAT,
        "of": name,
        "columns": list(columns),
        "issues": [
            {
                "id": one.issue.id, "status": one.issue.status, "triton": one.issue.triton, "verdict": one.verdict,
                "red": one.red, "green": one.green, "mixed": one.mixed, "otherwise": one.otherwise,
                "healed": one.healed, "not_run": one.not_run, "wrong": one.wrong,
            }
            for one in found
        ],
    }  # fmt: skip
    return escape.document(clean(document))


def _row(one: Proof, columns: Sequence[str]) -> list[str]:
    if not one.red:
        shimmed = ""
    elif one.healed == one.red:
        shimmed = "passes"
    elif one.healed:
        shimmed = f"passes on {_span(one.healed, columns)}"
    else:
        shimmed = "fails, no shim" if one.issue.shim is None else "not run"
    return [
        one.issue.id, one.issue.triton or "all", _span(one.red, columns), _span(one.green, columns), shimmed,
        one.verdict,
    ]  # fmt: skip


def _notes(one: Proof, columns: Sequence[str]) -> list[str]:
    notes = list(one.wrong)
    if one.verdict == "no case":
        notes.append("no case of ours shows it.")
    elif one.verdict == "not run" and one.gpu_alone:
        notes.append("its case needs a GPU, and none ran.")
    elif one.not_run:
        notes.append(f"its case was not run on {_span(one.not_run, columns)}.")
    if one.otherwise and not one.wrong:
        notes.append(
            f"on {_span(one.otherwise, columns)} some of its case fails by another known issue."
        )
    return notes


def _counts(found: Sequence[Proof]) -> str:
    tally: Counter[str] = Counter(one.verdict for one in found)
    counts = [f"{tally[word]} {word}" for word in _MEANING if tally[word]]
    return (
        f"{plural(len(found), 'known issue')}: {', '.join(counts)}" if found else "No known issue"
    )


def _span(some: Sequence[str], columns: Sequence[str]) -> str:
    """`2.3.1 to 3.1.0, 3.4.0`: adjacent columns are merged."""
    runs: list[list[str]] = []
    for number, column in enumerate(columns):
        if column not in some:
            continue
        if runs and columns[number - 1] == runs[-1][-1]:
            runs[-1].append(column)
        else:
            runs.append([column])
    return ", ".join(
        _short(run[0]) if len(run) == 1 else f"{_short(run[0])} to {_short(run[-1])}"
        for run in runs
    )


def _short(column: str) -> str:
    return column.removeprefix("triton-")
