"""The imports of a library's tests, direct and through the library's own modules: read, nothing is run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crosswarp.matrix import reading

# Where checkouts keep their packages.
_PLACES = ("", "src", "python")
_THERE = {name.lower() for name in sys.stdlib_module_names} | {"_pytest", "pytest", "crosswarp"}


class Imports:
    """The imports of a checkout.

    Args:
        files: its files of tests; where there are none, its packages are looked at as a whole.

    Attributes:
        by_tests: the top-level modules that tests import, each with a place.
        by_library: those that the library imports where tests import it: outside of functions, `try` and `if`.
        beside: names of folders and files of tests, by which tests may mean each other.
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._folder = folder
        self._own = {path.stem: path for place in _PLACES for path in _modules(folder / place)}
        of_tests = {one.parent for one in files}
        self.beside = {path.stem for one in of_tests for path in _modules(one)} | {
            parent.name for one in files for parent in one.parents
        }
        self.by_tests: dict[str, str] = {}
        self.by_library: dict[str, str] = {}
        seen: set[Path] = set()
        waiting: list[Path] = []
        if not files:
            waiting = [path / "__init__.py" for path in self._own.values() if _is_library(path)]
        for path in files:
            for dotted, line in _imported(ast.walk(_tree(path))):
                self._take(dotted, path, line, self.by_tests, waiting)
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            found = self.by_tests if path.parent in of_tests else self.by_library
            for dotted, line in _imported(_tree(path).body, self._package(path)):
                self._take(dotted, path, line, found, waiting)

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.by_library, **self.by_tests}

    @property
    def of_others(self) -> Mapping[str, str]:
        """Those that nothing in the checkout may be meant by."""
        return {name: place for name, place in self.all.items() if name not in self.beside}

    def _take(
        self, dotted: str, path: Path, line: int, found: dict[str, str], waiting: list[Path]
    ) -> None:
        top = dotted.partition(".")[0]
        if top in self._own:
            waiting += self._files(dotted)
        elif top and top.lower() not in _THERE:
            found.setdefault(top, f"{path.relative_to(self._folder).as_posix()}:{line}")

    def _files(self, dotted: str) -> Iterator[Path]:
        """The files that run where a module of the library is imported."""
        top, *rest = dotted.split(".")
        place = self._own[top]
        if place.is_file():
            yield place
            return
        for part in ("", *rest):
            place = place / part
            if (place / "__init__.py").is_file():
                yield place / "__init__.py"
            elif place.with_suffix(".py").is_file():
                yield place.with_suffix(".py")

    def _package(self, path: Path) -> str:
        parts = [path.parent.name]
        folder = path.parent.parent
        while (folder / "__init__.py").is_file():
            parts.insert(0, folder.name)
            folder = folder.parent
        return ".".join(parts)


def _modules(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (
            one
            for one in sorted(folder.iterdir())
            if one.suffix == ".py" or (one.is_dir() and not one.name.startswith("."))
        )


def _is_library(path: Path) -> bool:
    return (path / "__init__.py").is_file() and path.name not in ("tests", "test", "docs", "examples")  # fmt: skip


def _imported(
    nodes: Iterator[ast.AST] | Sequence[ast.AST], package: str = ""
) -> Iterator[tuple[str, int]]:
    """Dotted names, each with its line; a name that is imported from a package may be a module of it."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                kept = package.split(".")[: len(package.split(".")) - node.level + 1]
                if not package or not kept:
                    continue
                module = ".".join(filter(None, (*kept, module)))
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(reading.data(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
