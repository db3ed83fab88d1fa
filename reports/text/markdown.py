"""Tables and links in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def pipes(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # Not tabulate: it strips and re-aligns escaped text.
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def short(url: str) -> str:
    """`triton-lang/triton#5213` for an issue or pull request, else the last part of the address."""
    parts = url.rstrip("/").split("/")
    if len(parts) >= 7 and parts[5] in ("issues", "pull"):
        return f"{parts[3]}/{parts[4]}#{parts[6]}"
    return parts[-1] or url
