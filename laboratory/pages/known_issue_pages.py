"""The documentation's pages of known issues: one for each entry of issues.toml, found by the error's text."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.compat.doctor_text import short_link
from crosswarp.compat.record import Shim
from crosswarp.matrix.facts import known_texts
from crosswarp.matrix.facts.issues import Issue
from crosswarp.reports.text import escape

_MADE = "<!-- Made by docs/build.py from matrix/facts/issues.toml. -->"


def page(issue: Issue, shims: Sequence[Shim], results: str) -> str:
    """One known issue: the error, the affected releases, what to do. `results` links to its page of a run."""
    errors = known_texts.texts(issue, shims) or [issue.fingerprint]
    facts = [
        ("Affected releases", escape.code(issue.triton or "all")),
        ("Fixed in", f"Triton {escape.markdown(issue.fixed_in)}" if issue.fixed_in else "not yet"),
        ("Targets", "all" if issue.targets == ("*",) else ", ".join(issue.targets)),
        ("Lanes", ", ".join(issue.lanes)),
        ("Upstream", ", ".join(escape.link(short_link(url), url) for url in issue.links)),
        ("Results", f"[without and with compat, for each release]({results})"),
    ]
    parts = [
        f"# {escape.markdown(issue.title)}",
        _MADE,
        f"{escape.code(issue.id)} · {issue.status} · checked {issue.checked}",
        "\n".join(f"- {name}: {escape.markdown(text) if name == 'Targets' else text}" for name, text in facts),
    ]  # fmt: skip
    if issue.code:
        parts += ["## Code that meets it", escape.block(issue.code, 2000)]
    if issue.shim:
        parts += ["## Error", "\n".join(f"- {escape.code(text)}" for text in errors if text)]
    parts.append("## Fix")
    if issue.shim:
        parts.append(f"{escape.code(issue.shim)} fixes it ([how](../shims/{issue.shim}.md)):")
        parts.append(
            f'```python\nfrom crosswarp import compat\n\ncompat.install(only=["{issue.shim}"])\n```'
        )
    without = "Without it: " if issue.shim else ""
    if issue.workaround or not issue.shim:
        parts.append(without + escape.markdown(issue.workaround or "No workaround is known."))
    if not issue.shim:
        # A heading each: the site's search ranks titles first, and no page of a shim has these.
        parts += [f"## {escape.code(text)}" for text in errors if text]
    return "\n\n".join(parts) + "\n"
