"""The files that are checked: found, read, parsed. A file that fails is reported, and the others go on."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from crosswarp.matrix import reading
from crosswarp.matrix.errors import UsageError

# The longest hand-written files around Triton have some 300 kB.
LARGEST = 4_000_000
# Nobody writes deeper nesting, and it would crash Python's parser and walkers.
DEEPEST = 150
_IGNORE = re.compile(r"#\s*crosswarp:\s*ignore(?:\[([\w\s,*-]*)\])?")
_LEFT_OUT = (
    ".git",
    ".venv",
    "venv",
    "__pycache__",
    "node_modules",
    ".tox",
    ".nox",
    "site-packages",
)


# They stand in a checkout's top folder, above its packages.
_ROOTS = (".git", "pyproject.toml", "setup.py")


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be checked."""

    path: str
    why: str
    line: int = 1


@dataclass(eq=False)
class Source:
    """A file as a text, and as a tree on request: in a large library few files name Triton.

    Attributes:
        path: as it is shown.
        module: the name under which it is imported.
        short: its name for files that import it from its topmost unbroken package.
        package: whether it is the `__init__.py` of one.
        broken: why it has no tree, once requested.
        own_modules: the modules of the library that it belongs to.
    """

    path: str
    module: str
    package: bool
    text: str = field(repr=False)
    short: str = ""
    broken: Unreadable | None = None
    own_modules: Container[str] = field(default=(), repr=False)

    @property
    def names_triton(self) -> bool:
        """Whether anything in it may be Triton's by its own words."""
        return "triton" in self.text or "tl." in self.text

    @cached_property
    def tree(self) -> ast.Module:
        """Empty where it cannot be parsed; then `broken` says why."""
        try:
            with warnings.catch_warnings():
                # Invalid escapes in other people's strings are not our concern.
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text)
        except SyntaxError as error:
            self.broken = Unreadable(self.path, f"syntax error: {error.msg}", error.lineno or 1)
        except (ValueError, RecursionError, MemoryError) as error:
            self.broken = Unreadable(
                self.path, f"cannot be parsed: {error or type(error).__name__}"
            )
        else:
            if not _too_deep(tree):
                return tree
            self.broken = Unreadable(
                self.path, f"nested more than {DEEPEST} deep, which no one writes by hand"
            )
        return ast.Module([], [])

    @cached_property
    def ignored(self) -> dict[int, frozenset[str]]:
        """By line, the rules that a comment switches off there; `*` is every rule."""
        ignored: dict[int, frozenset[str]] = {}
        if "crosswarp:" not in self.text:
            return ignored
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                match = _IGNORE.search(token.string) if token.type == tokenize.COMMENT else None
                if match:
                    names = match[1].split(",") if match[1] is not None else ["*"]
                    ignored[token.start[0]] = frozenset(name.strip() for name in names)
        except (tokenize.TokenError, SyntaxError):
            pass
        return ignored

    def ignores(self, rule: str, first: int, last: int) -> bool:
        """Whether a comment on one of its lines switches a rule off."""
        lines = (self.ignored.get(line, frozenset()) for line in range(first, last + 1))
        return bool(self.ignored) and any("*" in mark or rule in mark for mark in lines)

    @cached_property
    def lazy_annotations(self) -> bool:
        """Whether annotations are never looked at."""
        return any(
            isinstance(statement, ast.ImportFrom)
            and statement.module == "__future__"
            and any(name.name == "annotations" for name in statement.names)
            for statement in self.tree.body
        )

    @cached_property
    def _named(self) -> Counter[str]:
        return _names(self.tree)

    def references(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        """Counts the file's references to a function from outside it."""
        references = self._references.get(node)
        if references is None:
            everywhere = self._named[node.name]
            inside = (
                sum(_names(statement)[node.name] for statement in node.body) if everywhere else 0
            )
            references = self._references[node] = everywhere - inside
        return references

    @cached_property
    def _references(self) -> dict[ast.AST, int]:
        return {}

    @cached_property
    def of_triton(self) -> frozenset[str]:
        """Names that the file may have from Triton: imported, or of a function or class that uses one of those."""
        words = {"triton", "tl"}
        used: list[tuple[str, frozenset[str]]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                imported = [
                    alias for alias in node.names if alias.name.partition(".")[0] == "triton"
                ]
                words.update(alias.asname or "triton" for alias in imported)
            elif isinstance(node, ast.ImportFrom) and (
                node.level
                or (node.module or "").startswith("triton")
                or node.module in self.own_modules
            ):
                # The names that the library's modules re-export are not known yet.
                words.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                used.append((node.name, self.names_in(node)))
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = frozenset(_names(node.value))
                used += [(target.id, names) for target in targets if isinstance(target, ast.Name)]
        grown = True
        while grown:
            grown = False
            for name, names in used:
                if name not in words and not words.isdisjoint(names):
                    words.add(name)
                    grown = True
        return frozenset(words)

    def names_in(self, node: ast.AST) -> frozenset[str]:
        """Returns the names that a function uses, with the roots of its imports."""
        known = self._names_in.get(node)
        if known is None:
            known = frozenset(
                name
                for child in ast.walk(node)
                for name in (
                    [child.id]
                    if isinstance(child, ast.Name)
                    else [each.name.partition(".")[0] for each in child.names]
                    if isinstance(child, ast.Import)
                    else [(child.module or "").partition(".")[0]]
                    if isinstance(child, ast.ImportFrom)
                    else [child.value]
                    if isinstance(child, ast.Constant)
                    and isinstance(child.value, str)
                    and len(child.value) < 50
                    else []
                )
            )
            self._names_in[node] = known
        return known

    @cached_property
    def _names_in(self) -> dict[ast.AST, frozenset[str]]:
        return {}

    @cached_property
    def bound(self) -> dict[str, list[ast.stmt]]:
        """By name, the statements of the module itself that set it."""
        return _bound(self.tree)

    def absolute(self, module: str | None, level: int) -> str:
        """Returns the full name of the module that a relative import names."""
        if not level:
            return module or ""
        parts = self.module.split(".")
        prefix = parts[: len(parts) - level + (1 if self.package else 0)]
        return ".".join([*prefix, *([module] if module else [])])


def _bound(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    bound: dict[str, list[ast.stmt]] = {}
    for statement in _statements(tree.body):
        for name in _sets(statement):
            bound.setdefault(name, []).append(statement)
    return bound


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _sets(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for name in node.names:
            yield name.asname or name.name.partition(".")[0]
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for inner in ast.walk(target):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id


def _names(tree: ast.AST) -> Counter[str]:
    return Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


def python_files(paths: Sequence[Path], left_out: Sequence[str] = ()) -> list[Path]:
    """Returns the Python files under `paths`, each once. Raises UsageError for a path that does not exist.

    Args:
        left_out: globs of paths below the named folder, such as `tests/*`.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            for file in _below(path):
                inside = file.relative_to(path).as_posix()
                if not any(
                    fnmatchcase(inside, glob) or fnmatchcase(inside, f"{glob}/*")
                    for glob in left_out
                ):
                    files[file] = None
        elif path.exists():
            files[path] = None
        else:
            raise UsageError(
                f"{path}: there is no such file or folder. Name a library's checkout, or a file."
            )
    return list(files)


def _below(folder: Path) -> Iterator[Path]:
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(folder_name for folder_name in folders if folder_name not in _LEFT_OUT)
        for name in sorted(files):
            if name.endswith(".py"):
                yield Path(top, name)


def read(path: Path, shown: str) -> Source | Unreadable:
    """A file, or why it cannot be read as a text."""
    try:
        if not path.is_file():
            return Unreadable(shown, "no ordinary file")
        if path.stat().st_size > LARGEST:
            return Unreadable(
                shown, f"longer than {LARGEST // 1_000_000} MB, which no one writes by hand"
            )
        data = reading.data(path)
    except OSError as error:
        return Unreadable(shown, f"cannot be read: {error.strerror or error}")
    if b"\0" in data:
        return Unreadable(shown, "holds null bytes: no source of Python")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return Unreadable(shown, f"not in the encoding that it declares, or UTF-8: {error}")
    text = text.removeprefix("\ufeff")
    module, short, package = _module(path)
    return Source(shown, module, package, text, short)


def _too_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def by_module(files: Iterable[Source]) -> dict[str, Source]:
    """Files by each name under which they are imported."""
    files = list(files)
    return {file.short: file for file in files} | {file.module: file for file in files}


def _module(path: Path) -> tuple[str, str, bool]:
    """The name under which it is imported, also from inside its topmost unbroken package, and whether it is a package.

    A folder without `__init__.py` inside a package is part of its name too.
    """
    path = path.absolute()
    package = path.name == "__init__.py"
    folders: list[Path] = []
    unbroken = packages = 0
    for folder in path.parents:
        if any((folder / name).exists() for name in _ROOTS):
            break
        folders.append(folder)
        if (folder / "__init__.py").exists():
            packages = len(folders)
            if packages == unbroken + 1:
                unbroken = packages
    own = [] if package else [path.stem]
    full, short = (
        ".".join([*(package.name for package in reversed(folders[:count])), *own]) or path.stem
        for count in (packages, unbroken)
    )
    return full, short, package
