"""The records of a run, from any of its columns: cells with their known issue, notes, problems."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.verdict import ByKernel, classify
from crosswarp.matrix.running.progress import Progress


class Recording:
    """One run in the store, with its messages to the user meanwhile.

    Attributes:
        run: the run's number; 0 until it has begun.
        measured: the Triton that each column's suite has imported.
        environment_failed: whether a column had no environment, or another than planned.
        problems: whether something happened that must not pass for green.
    """

    def __init__(self, store: Store, progress: Progress, issues: Sequence[Issue]) -> None:
        self.store = store
        self.progress = progress
        self._issues = ByKernel(issues)
        self.run = 0
        self.measured: dict[str, str | None] = {}
        self.environment_failed = False
        self.problems = False

    def explained(self, cell: Record) -> Record:
        """`cell` with the known issue that it is, if any."""
        version = self.measured.get(cell.column) or versions.of_column(cell.column)
        issue = classify(cell, self._issues, version)
        return cell.with_issue(issue.id) if issue else cell

    def not_run(self, cells: Sequence[Record]) -> None:
        self.store.cells(self.run, cells)

    def note(self, column: str, text: str) -> None:
        self.store.note(self.run, column, text)
        self.progress.say(text)

    def problem(self, column: str, text: str) -> None:
        self.problems = True
        self.store.note(self.run, column, text, kind="problem")
        self.progress.say(text)
