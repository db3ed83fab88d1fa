"""Which files of crosswarp.compat a choice of shims needs: read from their imports, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from crosswarp import compat

SOURCE = Path(compat.__file__).parent
# The modules that `from crosswarp import compat` imports, and those that find its shims.
_ALWAYS = ("__init__.py", "shims/__init__.py")
# Imported by name, by kernels: no shim needs it.
_WITH_ALL = ("language.py",)


def files(shims: Iterable[str], everything: bool, source: Path = SOURCE) -> tuple[str, ...]:
    """Paths relative to `source`, sorted. `everything`: also the files that libraries may import beside the shims.

    Raises ValueError for a module that names its own package, which no copy under another name could import.
    """
    left = [*_ALWAYS, *(f"shims/{name}.py" for name in shims), *(_WITH_ALL if everything else ())]
    found: set[str] = set()
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imports(path, source)
    return tuple(sorted(found))


def _imports(path: str, source: Path) -> Iterator[str]:
    package = path.split("/")[:-1]
    for node in ast.walk(ast.parse((source / path).read_bytes())):
        if isinstance(node, ast.Import) and any(
            alias.name.startswith("crosswarp") for alias in node.names
        ):
            raise ValueError(f"{path}, line {node.lineno}: an import of crosswarp by name")  # fmt: skip
        if not isinstance(node, ast.ImportFrom):
            continue
        if not node.level:
            if (node.module or "").startswith("crosswarp"):
                raise ValueError(f"{path}, line {node.lineno}: an import of crosswarp by name")
            continue
        base = [
            *package[: len(package) - node.level + 1],
            *(node.module.split(".") if node.module else ()),
        ]
        # `from . import guard` names a module, `from .errors import CompatError` a name inside one.
        for parts in (base, *([*base, alias.name] for alias in node.names)):
            stem = "/".join(parts)
            for candidate in (f"{stem}.py", f"{stem}/__init__.py"):
                if (source / candidate).is_file():
                    yield candidate
