"""The documentation's pages of errors: one for each entry of the index, and their list with the box to paste into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from crosswarp.matrix.facts import errors
from crosswarp.matrix.facts.errors import Cause, Entry
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

# The heading of each kind, in the order of the list.
KINDS = {
    "environment": "Environment", "versions": "Versions", "author": "Your kernel", "hardware": "Limits of the hardware",
    "compiler": "The compiler", "runtime": "Run time", "interpreter": "The interpreter", "autotuner": "The autotuner",
    "inductor": "torch.compile", "processes": "Several processes", "libraries": "Libraries",
    "general": "Errors with many causes", "foreign": "Not Triton's",
}  # fmt: skip
_MADE = "<!-- Made by docs/build.py from matrix/facts/errors. -->"
_BOX = """\
<form id="why" onsubmit="return false">
<p><label for="why-text">Paste an error, a line of a log, or a whole log. It stays in this page.</label></p>
<p><textarea id="why-text" rows="8" cols="90" spellcheck="false"></textarea></p>
<p><label>Triton <input id="why-triton" size="8" placeholder="3.9.0"></label>
<label>torch <input id="why-torch" size="8" placeholder="2.15.0"></label>
<label>GPU <input id="why-target" size="8" placeholder="sm_90"></label></p>
</form>
<div id="why-answers" aria-live="polite"></div>
<script src="why_data.js" defer></script>
<script src="why_engine.js" defer></script>
<script src="why_box.js" defer></script>
"""


def pages() -> dict[str, str]:
    """File name below docs/ and text of each page."""
    index = errors.committed()
    says: dict[int, list[errors.Wording]] = {}
    for wording in index.wordings:
        says.setdefault(wording.number, []).append(wording)
    proven = json.loads(errors.PROVEN.read_text(encoding="utf-8"))["examples"]
    made = {"errors/index.md": _list(index.entries)}
    for number, entry in enumerate(index.entries):
        mine = {name: proof for name, proof in proven.items() if name.split("#")[0] == entry.id}
        made[f"errors/{entry.id}.md"] = page(entry, says.get(number, []), mine)
    return made


def _list(entries: Sequence[Entry]) -> str:
    parts = ["# Errors", _MADE, "The box answers as `crosswarp why` does.", _BOX]
    for kind, name in KINDS.items():
        mine = sorted(
            (entry for entry in entries if entry.kind == kind), key=lambda entry: entry.title
        )
        lines = [f"- [{escape.markdown(entry.title)}]({entry.id}.md)" for entry in mine]
        parts += [f"## {name}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def page(entry: Entry, says: Sequence[errors.Wording], proven: dict[str, Any]) -> str:
    """One error: its words, its causes with what to do, and the releases whose example showed it."""
    parts = [f"# {escape.markdown(entry.title)}", _MADE]
    if entry.foreign:
        parts.append(f"This is not Triton's: {escape.markdown(entry.foreign)}.")
    parts.append(
        "\n".join(f"- {escape.code(wording.text)}{_releases(wording.triton)}" for wording in says)
    )
    if entry.meaning:
        parts.append(escape.markdown(entry.meaning))
    for number, cause in enumerate(entry.causes, 1):
        title = "Cause" if len(entry.causes) == 1 else f"Cause {number}"
        parts += [f"## {title}", *_cause(cause)]
    if entry.ask:
        parts += ["## The fact that decides", escape.markdown(entry.ask)]
    if entry.bad and entry.good:
        parts += ["## Example", "It says this:", _code(entry.bad), "Corrected:", _code(entry.good)]
    if proven:
        parts += ["## Proven without a GPU", _table(proven)]
    if entry.links:
        parts += ["## Threads", "\n".join(f"- <{link}>" for link in entry.links)]
    return "\n\n".join(parts) + "\n"


def _releases(window: str) -> str:
    return f" (Triton {escape.markdown(window)})" if window else ""


def _cause(cause: Cause) -> Iterator[str]:
    yield escape.markdown(cause.why)
    yield f"**Do:** {escape.markdown(cause.do)}"
    if cause.code:
        yield _code(cause.code)
    facts = []
    if cause.triton:
        facts.append(f"Triton {cause.triton}")
    if cause.torch:
        facts.append(f"torch {cause.torch}")
    if cause.targets:
        facts.append(", ".join(cause.targets))
    if facts:
        yield f"Only with {escape.markdown('; '.join(facts))}."
    if cause.issue:
        yield f"Known issue: {escape.code(cause.issue)}."


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _table(proven: dict[str, Any]) -> str:
    """By release, the failing example's message and whether the corrected one compiles."""
    rows = []
    for name, halves in sorted(proven.items()):
        for column in sorted(
            halves["bad"], key=lambda version: [int(n) for n in version.split(".")]
        ):
            message = halves["bad"][column]
            word, _, text = message.partition(": ")
            shown = {"says": escape.code(text), "passes": "takes it"}.get(word, "other words")
            good = halves["good"].get(column, "").partition(":")[0] or "not run"
            rows.append([name.split("#")[1], column, shown, good])
    return pipes(["example", "Triton", "the failing one", "the corrected one"], rows)
