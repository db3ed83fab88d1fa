"""What to do about what is new: a kernel of crosswarp's is right, a user's, or a library, may be at fault itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Short enough for a line of a table.
_SHORT = {
    "library": "mend it in the library, or report it upstream and add it to its issues.toml",
    "suite": "mend the kernel, or report it upstream and keep a record (--issues-file)",
    "": "report it upstream and add it to issues.toml",
}


def whose(plan: Mapping[str, Any]) -> str:
    """``library`` where a run is of a library's own tests, ``suite`` where it is of a user's kernels, else nothing."""
    if plan.get("library"):
        return "library"
    return "suite" if plan.get("suite") else ""


def short(of: str) -> str:
    """What to do about a new cause in a run of `whose`."""
    return _SHORT[of]


def sentence(of: str) -> str:
    return f"{_SHORT[of][0].upper()}{_SHORT[of][1:]}."
