"""The table of the known issues and where a run showed them, for a terminal, as a page of docs/ and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from crosswarp.compat.doctor_text import short_link
from crosswarp.matrix.results.record import clean
from crosswarp.reports.findings.proofs import Proof
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import LONGEST, fill
from crosswarp.reports.text.markdown import pipes

_HEADS = ("issue", "Triton", "red bare", "green bare", "shimmed", "verdict")
# Of the JSON: raised when a field changes its meaning or goes away.
FORMAT = 1
_MEANING = {
    "shown": "red on every column of the window that there is, and on no other",
    "in part": "likewise, but not run on all of the window",
    "not this time": "it shows in some processes alone, and not in those of this run",
    "contradicted": "the cells say otherwise",
    "not run": "nothing of the case ran in the window",
    "no case": "reported upstream, and no case of ours shows it",
}


def terminal(found: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    rows = [[escape.line(text, 40) for text in _row(one, columns)] for one in found]
    parts = [
        fill("", f"{escape.line(name, 200)}: {len(columns)} columns. {_counts(found)}."),
        tabulate(rows, _HEADS, disable_numparse=True),
    ]
    notes = [f"{one.issue.id}: {note}" for one in found for note in _notes(one, columns)]
    if notes:
        parts.append("\n".join(fill("  ", escape.line(note, LONGEST)) for note in notes))
    return "\n\n".join(parts) + "\n"


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
        f"Of {escape.code(name)}, {len(columns)} columns, bare and with the shims: {_counts(found)}. Each record names "
        "a case of ours, which has to be red inside its window and green outside. Made by `crosswarp docs`.",
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
        shimmed = "green on all"
    elif one.healed:
        shimmed = f"green on {_span(one.healed, columns)}"
    else:
        shimmed = "no shim" if one.issue.shim is None else "not run"
    return [
        one.issue.id, one.issue.triton or "all", _span(one.red, columns), _span(one.green, columns), shimmed,
        one.verdict,
    ]  # fmt: skip


def _notes(one: Proof, columns: Sequence[str]) -> list[str]:
    notes = list(one.wrong)
    if one.verdict == "no case":
        notes.append("no case of ours shows it.")
    elif one.verdict == "not run" and one.gpu_alone:
        notes.append("its case shows on a GPU alone, and none ran.")
    elif one.not_run:
        notes.append(f"its case was not run on {_span(one.not_run, columns)}.")
    if one.otherwise and not one.wrong:
        notes.append(f"a part of its case is another record's on {_span(one.otherwise, columns)}.")
    return notes


def _counts(found: Sequence[Proof]) -> str:
    tally: Counter[str] = Counter(one.verdict for one in found)
    told = [f"{tally[word]} {word}" for word in _MEANING if tally[word]]
    return f"{len(found)} records: {', '.join(told)}" if found else "No record"


def _span(some: Sequence[str], columns: Sequence[str]) -> str:
    """`2.3.1 to 3.1.0, 3.4.0`: columns that stand beside each other in one."""
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
