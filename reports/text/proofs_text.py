"""The table of the known issues and where a run showed them, for a terminal, as a page of docs/ and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from crosswarp.compat.doctor_text import short_link
from crosswarp.matrix.results.record import clean
from crosswarp.reports.findings.proofs import Proof
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.layout import LONGEST, fill, plural
from crosswarp.reports.text.markdown import pipes

_HEADS = ("issue", "affected", "fails", "passes", "with compat", "verdict")
_MEANING = {
    "shown": "its case fails on every affected release, and on no other",
    "in part": "its case fails where it ran, but did not run on every affected release",
    "not this time": "its case fails in some processes only, and in none of this run",
    "contradicted": "the results do not fit the entry",
    "not run": "its case did not run on any affected release",
    "no case": "reported upstream; no case of ours shows it",
}


def terminal(proved: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    """A paragraph for each verdict, with each issue and its title; those that need attention come last."""
    parts = [fill("", f"{escape.line(name, 200)}: {len(columns)} columns. {_counts(proved)}.")]
    for verdict in sorted(_MEANING, key=lambda verdict: verdict == "contradicted"):
        mine = [proof for proof in proved if proof.verdict == verdict]
        if mine:
            lines = [fill("", f"{len(mine)} {verdict}: {_MEANING[verdict]}")]
            parts.append("\n".join([*lines, *chain(*(_entry(proof, columns) for proof in mine))]))
    return "\n\n".join(parts) + "\n"


def _entry(proof: Proof, columns: Sequence[str]) -> list[str]:
    """The lines of one issue."""
    _, affected, fails, _, compat, _ = _row(proof, columns)
    facts = [f"Triton {affected}"]
    # The affected releases already say where it fails, unless the verdict is another.
    if proof.verdict != "shown" and fails:
        facts.append(f"fails on {fails}")
    if compat:
        facts.append(f"{compat} with compat" if proof.fixed else compat)
    # The verdict says it, unless the case needs a GPU.
    without_notes = proof.verdict == "no case" or proof.verdict == "not run" and not proof.gpu_alone
    return [
        fill("  ", escape.line(f"{proof.issue.id}: {', '.join(facts)}", LONGEST)),
        fill("      ", escape.line(proof.issue.title, LONGEST)),
        *(
            fill("      ", escape.line(note, LONGEST))
            for note in ([] if without_notes else _notes(proof, columns))
        ),
    ]


def markdown(proved: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    rows = []
    for proof in proved:
        issue, links = proof.issue, proof.issue.links
        title = escape.markdown(f"{issue.title} [{issue.id}]")
        _, window, *states = _row(proof, columns)
        rows.append([
            f"{title} {' '.join(escape.link(short_link(url), url) for url in links)}",
            escape.code(window), *map(escape.markdown, states),
        ])  # fmt: skip
    meaning = "\n".join(f"- {word}: {meaning}" for word, meaning in _MEANING.items())
    parts = [
        "# Known issues, and where they were seen",
        f"Of {escape.code(name)}, {len(columns)} columns, without compat and with it: {_counts(proved)}. Each entry "
        "names a case of ours, which has to fail on the affected releases and pass on the others. Made by "
        "`crosswarp docs`.",
        meaning,
        pipes(_HEADS, rows),
    ]
    notes = [
        f"- {escape.code(entry.issue.id)}: {escape.markdown(note)}"
        for entry in proved
        for note in _notes(entry, columns)
    ]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def export(proved: Sequence[Proof], columns: Sequence[str], name: str) -> str:
    from crosswarp.reports.text import run_documents

    document = {"of": name, "columns": columns, "issues": proved}
    return escape.document(clean(filled(run_documents.Issues, document)))


def _row(proof: Proof, columns: Sequence[str]) -> list[str]:
    if not proof.red:
        shimmed = ""
    elif proof.fixed == proof.red:
        shimmed = "passes"
    elif proof.fixed:
        shimmed = f"passes on {_span(proof.fixed, columns)}"
    else:
        shimmed = "fails, no shim" if proof.issue.shim is None else "not run"
    return [
        proof.issue.id, proof.issue.triton or "all", _span(proof.red, columns), _span(proof.green, columns), shimmed,
        proof.verdict,
    ]  # fmt: skip


def _notes(proof: Proof, columns: Sequence[str]) -> list[str]:
    notes = list(proof.wrong)
    if proof.verdict == "no case":
        notes.append("no case of ours shows it.")
    elif proof.verdict == "not run" and proof.gpu_alone:
        notes.append("its case needs a GPU, and none ran.")
    elif proof.not_run:
        notes.append(f"its case was not run on {_span(proof.not_run, columns)}.")
    if proof.otherwise and not proof.wrong:
        notes.append(
            f"on {_span(proof.otherwise, columns)} some of its case fails by another known issue."
        )
    return notes


def _counts(proved: Sequence[Proof]) -> str:
    tally: Counter[str] = Counter(proof.verdict for proof in proved)
    counts = [f"{tally[word]} {word}" for word in _MEANING if tally[word]]
    return (
        f"{plural(len(proved), 'known issue')}: {', '.join(counts)}" if proved else "No known issue"
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
