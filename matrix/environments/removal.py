"""Removes a column's environment and its compiled files where no run uses them: some disks are small."""

from __future__ import annotations

import shutil
from pathlib import Path

from crosswarp.matrix.environments import locks


def remove(work: Path, column: str) -> str:
    """Removes both from the folder of `--work`. A folder that another run uses stays, and the returned text says so."""
    stays = []
    for folder in (work / "envs", work / "cache"):
        home = folder / column
        if not home.is_dir():
            continue
        try:
            hold = locks.try_change(folder / f"{column}.lock")
        except OSError:
            hold = None
        if hold is None:
            stays.append(str(home))
            continue
        try:
            shutil.rmtree(home, ignore_errors=True)
        finally:
            hold.release()
        if home.exists():
            stays.append(str(home))
    if not stays:
        return ""
    return (
        f"{column}: not removed, since another run uses it or it may not be written: {', '.join(stays)}. "
        "Remove it when that run has ended."
    )
