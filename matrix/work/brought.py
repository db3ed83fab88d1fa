"""crosswarp brought along to an interpreter that need not have it installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

# The packages of crosswarp that the cell side needs.
PARTS = ("compat", "kernels", "matrix")
# In place of the user's folder, where a file may be called triton.py, there is what was brought along; for the
# processes that it starts as well.
_START = """
import os, sys
path, module = sys.argv.pop(1), sys.argv.pop(1)
sys.path[:] = [path, *filter(None, sys.path)]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))
from importlib import import_module
sys.exit(import_module(module + ".__main__").main(sys.argv[1:]))
"""


def bring_along(folder: Path, missing: Sequence[str] = (), parts: Sequence[str] = PARTS) -> Path:
    """Make of `folder` a place from which an interpreter imports this crosswarp, and packaging if that is missing."""
    (folder / "crosswarp").mkdir(parents=True)
    for name in parts:
        home = Path(str(import_module(f"crosswarp.{name}").__file__)).resolve().parent
        (folder / "crosswarp" / name).symlink_to(home, target_is_directory=True)
    if "packaging" in missing:
        home = Path(str(import_module("packaging").__file__)).resolve().parent
        (folder / "packaging").symlink_to(home, target_is_directory=True)
    return folder


def argv(folder: Path, module: str, python: Path, spec: Path) -> list[str]:
    """The command line of a cell process `module`, with the crosswarp that `folder` holds."""
    return [str(python), "-c", _START, str(folder), module, str(spec)]
