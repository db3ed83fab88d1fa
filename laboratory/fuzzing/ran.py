"""The result of one generated program in one column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_VARIABLE = re.compile(r"\b[a-z]\d+\b")


@dataclass(frozen=True)
class Cell:
    """One program in one column on one target.

    Attributes:
        column, target: where.
        options: of the launch, where they are not the program's own.
        outcome, reason, fingerprint, message, phase: as of a record of the matrix.
        compile_seconds: of processor time; None where it did not come so far.
    """

    column: str
    target: str
    outcome: str
    reason: str = ""
    fingerprint: str = ""
    message: str = ""
    phase: str = ""
    compile_seconds: float | None = None
    options: tuple[tuple[str, int], ...] = ()
    resources: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, column: str, target: str, answer: Mapping[str, Any], options: Mapping[str, int] = {}
    ) -> Cell:
        """From a worker's answer."""
        verdict = answer["verdict"]
        return cls(
            column, target, verdict["outcome"], verdict["reason"], verdict["fingerprint"], verdict["message"],
            verdict["phase"], answer.get("compile_seconds"), tuple(sorted(options.items())),
            answer.get("resources", {}),
        )  # fmt: skip

    @property
    def cause(self) -> str:
        """The fingerprint, without the numbers of a program's variables: some errors only quote a line."""
        return _VARIABLE.sub("v", self.fingerprint)

    @property
    def wrong(self) -> bool:
        """Whether it was executed, with results that differ from the program's meaning."""
        executed = self.phase in ("execute", "compare")
        return self.outcome == "mismatch" or (
            executed and (self.outcome == "crash" or self.reason == "deadlock")
        )

    @property
    def dead(self) -> bool:
        return self.outcome in ("crash", "timeout") and self.phase == "compile"

    @property
    def refused(self) -> bool:
        return self.outcome in ("compile-error", "api-error")
