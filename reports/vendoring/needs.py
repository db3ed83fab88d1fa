"""Which files of crosswarp.compat a choice of shims needs: read from their imports, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from crosswarp import compat
from crosswarp.matrix.checkout.imports import imported

SOURCE = Path(compat.__file__).parent
# The modules that `from crosswarp import compat` imports, and those that find its shims.
_ALWAYS = ("__init__.py", "shims/__init__.py")
# Imported by name, by kernels: no shim needs it.
_WITH_ALL = ("language.py",)
# Stands for the package in the names of its modules.
_ROOT = "/"


def files(shims: Iterable[str], everything: bool, source: Path = SOURCE) -> tuple[str, ...]:
    """Paths relative to `source`, sorted. `everything`: also the files that libraries may import beside the shims.

    Raises ValueError for a module that names its own package, which no copy under another name could import.
    """
    left = [*_ALWAYS, *(f"shims/{name}.py" for name in shims), *(_WITH_ALL if everything else ())]
    names: set[str] = set()
    while left:
        path = left.pop()
        if path not in names:
            names.add(path)
            left += _imports(path, source)
    return tuple(sorted(names))


@cache
def _imports(path: str, source: Path) -> tuple[str, ...]:
    return tuple(_read(path, source))


def _read(path: str, source: Path) -> Iterator[str]:
    package = ".".join([_ROOT, *path.split("/")[:-1]])
    for name, line in imported(ast.walk(ast.parse((source / path).read_bytes())), package):
        root, *parts = name.split(".")
        if root == "crosswarp":
            raise ValueError(f"{path}, line {line}: an import of crosswarp by name")
        if root == _ROOT:
            # `from . import guard` names a module, `from .errors import CompatError` a name inside one.
            for stem in ("/".join(parts[:-1]), "/".join(parts)):
                for candidate in (f"{stem}.py", f"{stem}/__init__.py"):
                    if (source / candidate).is_file():
                        yield candidate
