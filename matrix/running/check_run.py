"""A run of `crosswarp check`: the kernels of one file in the environments that are named, one after the other."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.signatures.signature import Inferred
from crosswarp.matrix.signatures.source import Source

# What the cell side needs of crosswarp. An interpreter at hand need not have it installed.
_PARTS = ("compat", "kernels", "matrix")
# In place of the user's folder, where a file may be called triton.py, there is what was brought along.
_START = """
import sys
sys.path[:] = [sys.argv.pop(1), *filter(None, sys.path)]
from crosswarp.matrix.cell.kinds.check.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


class Accepted:
    """What is expected of a file of somebody's: nothing. Its red cells are told, and judged by nobody's records."""

    as_expected = True


def told(source: Source, inferred: Iterable[Inferred], configurations: int = 0) -> dict[str, Any]:
    """What the cell side is told of a file (`crosswarp.matrix.cell.kinds.check`)."""
    by_name = {one.name: one for one in source.kernels}
    return {
        "file": str(source.path),
        "module": source.module,
        "root": str(source.root),
        "configurations": configurations,
        "kernels": {
            one.kernel: {
                "parameters": list(one.parameters),
                "line": by_name[one.kernel].line,
                "first": by_name[one.kernel].first,
                "function": by_name[one.kernel].node.name,
                "within": by_name[one.kernel].within,
                "cases": {
                    signature.id: {"attempts": [other.told() for other in signature.attempts]}
                    for signature in one.signatures
                },
            }
            for one in inferred
            if one.signatures
        },
    }


def bring_along(folder: Path, missing: Sequence[str] = ()) -> Path:
    """Make of `folder` a place from which an interpreter imports this crosswarp, and packaging if that is missing."""
    (folder / "crosswarp").mkdir(parents=True)
    for name in _PARTS:
        home = Path(str(import_module(f"crosswarp.{name}").__file__)).resolve().parent
        (folder / "crosswarp" / name).symlink_to(home, target_is_directory=True)
    if "packaging" in missing:
        home = Path(str(import_module("packaging").__file__)).resolve().parent
        (folder / "packaging").symlink_to(home, target_is_directory=True)
    return folder


def argv(folder: Path) -> Callable[[Path, Path], list[str]]:
    """The command line of a cell, with the crosswarp that `folder` holds."""
    return lambda python, spec: [str(python), "-c", _START, str(folder), str(spec)]


def python_at_hand(environ: Mapping[str, str]) -> Path | None:
    """The interpreter that crosswarp runs in, or else that of the active virtual environment, where it has a Triton."""
    if importlib.util.find_spec("triton") is not None:
        return Path(sys.executable)
    active = Path(environ.get("VIRTUAL_ENV", "")) / "bin" / "python"
    if environ.get("VIRTUAL_ENV") and active.is_file():
        if any(active.parent.parent.glob("lib/python3*/site-packages/triton/__init__.py")):
            return active
    return None


def label(at_hand: Here) -> str:
    """`triton 3.6.0, torch 2.10.0, Python 3.11.7`."""
    found = at_hand.found
    return f"triton {found['triton']}, torch {found['torch']}, Python {found['python']}"
