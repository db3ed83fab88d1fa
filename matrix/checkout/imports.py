"""The imports of a library's tests, direct and through the library's own modules: read, nothing is run."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from crosswarp.matrix import reading
from crosswarp.matrix.checkout import apart

# Where checkouts keep their packages.
_PLACES = ("", "src", "python")
_LEFT_BEHIND = ("build", "dist", "node_modules", "site-packages", "venv", "__pycache__")
_THERE = {name.lower() for name in sys.stdlib_module_names} | {"_pytest", "pytest", "crosswarp"}


class Imports:
    """The imports of a checkout.

    Args:
        files: its files of tests; where there are none, its packages are looked at as a whole.

    Attributes:
        by_tests: the top-level modules that tests import, each with a place.
        by_library: those that the library imports where tests import it: outside of functions, `try` and `if`.
        optional: those that tests import only in `try` or `if`, or ask `pytest.importorskip` for.
        beside: names by which files of the checkout may mean each other.
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._folder = folder
        self._own = {path.stem: path for place in _PLACES for path in _modules(folder / place)}
        of_tests = {file.parent for file in files}
        # Tests and scripts put folders on the path.
        self.beside = {path.stem for path in walked(folder)}
        self.beside |= {path.stem for module in of_tests for path in _modules(module)}
        self.beside |= {parent.name for file in files for parent in file.parents}
        self.by_tests: dict[str, str] = {}
        self.by_library: dict[str, str] = {}
        self.optional: dict[str, str] = {}
        seen: set[Path] = set()
        waiting: list[Path] = []
        if not files:
            waiting = [path / "__init__.py" for path in self._own.values() if _is_library(path)]
        for path, tree in _collected(files):
            asked = set(_asked_for(tree))
            for node, sure in _with_conditions(tree, True):
                for dotted, line in imported([node]):
                    known = sure and dotted.partition(".")[0] not in asked
                    to = self.by_tests if known else self.optional
                    self._take(dotted, path, line, to, waiting)
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            if apart.of(path.relative_to(self._folder).as_posix()) is not None:
                continue
            origins = self.by_tests if path.parent in of_tests else self.by_library
            for dotted, line in imported(syntax(path).body, self._package(path)):
                self._take(dotted, path, line, origins, waiting)

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.optional, **self.by_library, **self.by_tests}

    @property
    def of_others(self) -> Mapping[str, str]:
        """Those that are needed, and that nothing in the checkout may be meant by."""
        needed = {**self.by_library, **self.by_tests}
        return {name: place for name, place in needed.items() if name not in self.beside}

    def _take(
        self, dotted: str, path: Path, line: int, origins: dict[str, str], waiting: list[Path]
    ) -> None:
        top = dotted.partition(".")[0]
        if top in self._own:
            waiting += self._files(dotted)
        elif top and top.lower() not in _THERE:
            origins.setdefault(top, f"{path.relative_to(self._folder).as_posix()}:{line}")

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
        """The package of a file; folders without an `__init__.py` are packages as well."""
        places = [self._folder / place for place in reversed(_PLACES)]
        place = next(nearest for nearest in places if path.is_relative_to(nearest))
        return ".".join(path.relative_to(place).parts[:-1])


def walked(folder: Path) -> Iterator[Path]:
    """The Python files of a checkout, without those of tools and builds."""
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _LEFT_BEHIND
        )
        yield from (Path(top, name) for name in sorted(files) if name.endswith(".py"))


def _modules(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (
            entry
            for entry in sorted(folder.iterdir())
            if entry.suffix == ".py" or (entry.is_dir() and not entry.name.startswith("."))
        )


def _is_library(path: Path) -> bool:
    return (path / "__init__.py").is_file() and path.name not in ("tests", "test", "docs", "examples")  # fmt: skip


def _collected(files: Sequence[Path]) -> Iterator[tuple[Path, ast.Module]]:
    """The files that pytest imports, and those beside them that they import: tools and benchmarks are none of them."""
    waiting = [path for path in files if _is_collected(path)] or list(files)
    named: dict[str, list[Path]] = {}
    for path in files:
        named.setdefault(path.parent.name if path.stem == "__init__" else path.stem, []).append(
            path
        )
    seen = set(waiting)
    while waiting:
        path = waiting.pop(0)
        tree = syntax(path)
        yield path, tree
        for dotted, _ in imported(ast.walk(tree), path.parent.name):
            for part in dotted.split("."):
                more = [file for file in named.pop(part, ()) if file not in seen]
                waiting += more
                seen.update(more)


def _is_collected(path: Path) -> bool:
    return path.name.startswith(("test_", "conftest.")) or path.name.endswith("_test.py")


def _with_conditions(node: ast.AST, sure: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Each node below one, and whether it is outside of every `try` and `if`."""
    for child in ast.iter_child_nodes(node):
        yield child, sure
        yield from _with_conditions(child, sure and not isinstance(child, (ast.Try, ast.If)))


def _asked_for(tree: ast.AST) -> Iterator[str]:
    """The top-level modules without which a test skips itself: `pytest.importorskip("einops")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "importorskip":
            yield from (
                str(arg.value).partition(".")[0]
                for arg in node.args[:1]
                if isinstance(arg, ast.Constant)
            )


def imported(nodes: Iterable[ast.AST], package: str = "") -> Iterator[tuple[str, int]]:
    """Dotted names, each with its line; a name that is imported from a package may be a module of it."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                if not package or not parent:
                    continue
                module = ".".join(filter(None, (*parent, module)))
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def syntax(path: Path) -> ast.Module:
    """The syntax of a file; empty where it cannot be read."""
    try:
        return ast.parse(reading.data(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
