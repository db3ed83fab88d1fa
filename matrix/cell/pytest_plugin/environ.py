"""Environment variables for as long as the plugin is there.

PYTEST_DONT_REWRITE
"""

import functools
import os
from typing import Optional

from crosswarp.compat.record import Patches


def set_until_undone(patches: Patches, **values: str) -> None:
    """Set variables of this process; `patches.undo` restores each."""
    for name, value in values.items():
        patches.on_undo(functools.partial(_put_back, name, os.environ.get(name)))
        os.environ[name] = value


def _put_back(name: str, before: Optional[str]) -> None:
    os.environ.pop(name, None)
    if before is not None:
        os.environ[name] = before
