"""The commit of a folder, where git reports one. Runs of different commits are not merged."""

from __future__ import annotations

import subprocess
from pathlib import Path

_TIMEOUT = 30


def revision(folder: Path) -> str:
    """`1f0c…`, with `-dirty` where the folder was changed since; empty outside of a repository and without git."""
    # A folder without committed files, such as site-packages, may still lie inside a repository.
    if not _git(folder, "ls-files", "--", "."):
        return ""
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return ""
    return f"{commit}-dirty" if _git(folder, "status", "--porcelain", "--", ".") else commit


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=_TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
