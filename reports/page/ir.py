"""Pages of compiler output for a few cells: each text of two columns, and their differences."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crosswarp.reports.page.text import MAX_SLUG, slug_of

if TYPE_CHECKING:
    # Few pages have compiler output, and these bring the engine of a run.
    from crosswarp.matrix.running.ir import Compiled
    from crosswarp.reports.findings.ir_cells import Shown

# With more lines, a comparison takes minutes.
_MOST_LINES = 6000
# The most lines of a difference that a page shows.
_MOST_SHOWN = 2000
_KINDS = {"+": "add", "-": "del", "@": "at"}


@dataclass(frozen=True)
class Entry:
    shown: Shown
    before: Compiled
    after: Compiled

    @property
    def slug(self) -> str:
        shown = self.shown
        parts = (
            shown.kernel,
            shown.case,
            shown.config,
            shown.target,
            shown.before,
            shown.after,
            shown.what,
        )
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{slug_of(shown.kernel)[: MAX_SLUG - 9]}-{digest}"


def context(entry: Entry) -> dict[str, Any]:
    sides = (entry.before, entry.after)
    names = list(dict.fromkeys(name for side in sides for name in side.texts))
    return {
        "one": entry.shown,
        "sides": list(zip((entry.shown.before, entry.shown.after), sides)),
        "launches": [(name, _stages(*(side.texts.get(name, {}) for side in sides))) for name in names],
    }  # fmt: skip


def _stages(before: dict[str, str], after: dict[str, str]) -> list[dict[str, Any]]:
    from crosswarp.matrix.running.ir import STAGES

    stages = []
    for stage in STAGES:
        if stage not in before and stage not in after:
            continue
        texts = [before.get(stage, ""), after.get(stage, "")]
        lines = [text.splitlines() for text in texts]
        changed, why = _difference(*lines) if all(texts) else ([], "One of the two has none.")
        stages.append({
            "stage": stage,
            "lines": [len(side) for side in lines],
            "texts": texts,
            "added": sum(kind == "add" for kind, _ in changed),
            "removed": sum(kind == "del" for kind, _ in changed),
            "changed": changed[:_MOST_SHOWN],
            "more": max(len(changed) - _MOST_SHOWN, 0),
            "why": why,
        })  # fmt: skip
    return stages


def _difference(before: Sequence[str], after: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Returns each line with its kind, and the reason if there is no difference."""
    if before == after:
        return [], "They are the same."
    if max(len(before), len(after)) > _MOST_LINES:
        return (
            [],
            f"More than {_MOST_LINES:,} lines: both texts stand below, and were not compared.",
        )
    lines = list(difflib.unified_diff(before, after, n=3, lineterm=""))[2:]
    return [(_KINDS.get(line[:1], ""), line) for line in lines], ""
