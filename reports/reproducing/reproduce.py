"""Chooses the cell of a root cause for a script, and the folder of its suite."""

from __future__ import annotations

import re
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.causes import Cause
from crosswarp.reports.findings.view import View


def suite_of(shown: View) -> Path | None:
    """Returns the folder of the run's kernels, as the run says; None: crosswarp's own."""
    named = shown.run.described.suite
    if not named.isprintable():
        raise UsageError(
            f"run {shown.run.id} names no folder of kernels that can be. Name it with --suite."
        )
    return Path(named) if named else None


def typical(cause: Cause) -> Record:
    """Returns the cell that shows the cause with the least around it: without compat, one configuration."""
    return min(cause.records, key=lambda record: (record.mode != "bare", not record.config))


def is_of_library(shown: View) -> bool:
    """Whether the run is of a library's own tests, each of which needs a pytest run, not one script."""
    return bool(shown.run.described.library)


def ending(shown: View) -> str:
    return ".sh" if is_of_library(shown) else ".py"


def file_name(cause: Cause, shown: View) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "-", cause.kernels[0])[:60]
    return f"{name}-{cause.key[:8]}{ending(shown)}"
