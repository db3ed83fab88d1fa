"""A run's plan as the store keeps it: whose kernels, and which selection of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The options that select a run's cells, beside its columns and its shard, each with its default for plans without it.
# Runs with the same selection may be merged, and results of an unchanged kernel are reused between them.
SELECTION: Mapping[str, Any] = {
    "targets": None, "lanes": None, "emulated": None, "sanitize": False, "sample": None, "estimate": False,
    "batch": False, "warps": None, "modes": None, "kernels": None, "cases": ["*"], "left_out": None, "suite": None,
    "library": None, "check": None, "inductor": None, "requires": None,
}  # fmt: skip


@dataclass(frozen=True)
class Described:
    """
    Attributes:
        plan: as the store has it, which a stranger may have written.
    """

    plan: Mapping[str, Any]

    @property
    def columns(self) -> Sequence[str]:
        return self._words("columns")

    @property
    def targets(self) -> Sequence[str]:
        return self._words("targets")

    @property
    def lanes(self) -> Sequence[str]:
        return self._words("lanes")

    @property
    def requires(self) -> Sequence[str]:
        return self._words("requires")

    @property
    def suite(self) -> str:
        """The folder of a user's kernels; empty where they are crosswarp's own, or a library's tests."""
        return str(self.plan.get("suite") or "")

    @property
    def library(self) -> Mapping[str, Any]:
        """Returns the facts about a library whose own tests ran; empty where none did."""
        library = self.plan.get("library")
        return library if isinstance(library, Mapping) else {}

    @property
    def whose(self) -> str:
        """``library`` where a run is of a library's own tests, ``suite`` of a user's kernels, else nothing."""
        return "library" if self.library else "suite" if self.suite else ""

    @property
    def command(self) -> str:
        """Which command of crosswarp made it."""
        return "test" if self.library else "run"

    @property
    def commit(self) -> str:
        """The suite's commit; empty where git reported none."""
        return str(self.plan.get("commit") or "")

    @property
    def shard(self) -> tuple[int, int] | None:
        shard = self.plan.get("shard")
        return (shard[0], shard[1]) if shard else None

    def selected(self, name: str) -> Any:
        """One part of the selection, lists in one order."""
        value = self.plan.get(name, SELECTION[name])
        return sorted(value) if isinstance(value, list) else value

    @property
    def selection(self) -> dict[str, Any]:
        return {name: self.selected(name) for name in SELECTION}

    def _words(self, name: str) -> tuple[str, ...]:
        values = self.plan.get(name)
        return (
            tuple(text for text in values if isinstance(text, str))
            if isinstance(values, (list, tuple))
            else ()
        )
