"""A file as a tree: its kernels and functions, the names of its imports, and the positions of statements."""

from __future__ import annotations

import ast
import functools
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path

from crosswarp.matrix import reading
from crosswarp.matrix.errors import BrokenSource, UsageError

_LEVELS = 8
_PLACES = ("src", "python")
_ROOTS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_DOORS = {
    "tl": "triton.language", "triton": "triton", "gl": "triton.experimental.gluon.language",
    "gluon": "triton.experimental.gluon",
}  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef
# The blocks around a statement, from the outermost: (node, field).
Path_ = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Parameter:
    """One of a kernel's; `default` and `annotation` are None where there is none."""

    name: str
    constexpr: bool
    default: ast.expr | None = None
    annotation: ast.expr | None = None


@dataclass(frozen=True)
class Kernel:
    """A function below ``@triton.jit``.

    Attributes:
        name: as the module has it, with its class before a dot.
        within: the function in which it is defined, where no module has it; else empty.
        tuned: names that its decorators give: of configurations and heuristics as far as they are written out.
        tunes: which decorators it has: ``autotune``, ``heuristics``.
        written: whether all that its decorators give is written out, so that `tuned` is the whole of it.
    """

    name: str
    node: Function = field(repr=False)
    parameters: tuple[Parameter, ...]
    within: str = ""
    tuned: frozenset[str] = frozenset()
    tunes: tuple[str, ...] = ()
    written: bool = True

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def first(self) -> int:
        """The line of its first decorator, or its own."""
        return min([self.line, *(decorator.lineno for decorator in self.node.decorator_list)])

    @property
    def compiled_as(self) -> dict[str, ast.expr]:
        """By parameter, the type that torch.compile wrote into the ``triton_meta`` of a kernel that it made."""
        decorators = [
            decorator for decorator in self.node.decorator_list if isinstance(decorator, ast.Call)
        ]
        words: dict[str, ast.expr] = {}
        for word in (word for decorator in decorators for word in decorator.keywords):
            if word.arg == "triton_meta":
                for key, value in _entries(dict(_entries(word.value)).get("signature")):
                    # By number before torch 2.6.
                    if isinstance(key, int) and key < len(self.parameters):
                        key = self.parameters[key].name
                    words[str(key)] = value
        return words

    @property
    def returns(self) -> bool:
        """Whether it returns a value, as functions for kernels do and kernels do not."""
        return any(
            isinstance(child, ast.Return) and child.value is not None
            for child in ast.walk(self.node)
        )


def _entries(node: ast.expr | None) -> Iterator[tuple[object, ast.expr]]:
    """Yields the entries of a dict in the source that have plain keys."""
    for key, value in zip(node.keys, node.values) if isinstance(node, ast.Dict) else ():
        if isinstance(key, ast.Constant):
            yield key.value, value


@dataclass
class Source:
    """
    Attributes:
        path: that of the file.
        module: its dotted name, where it lies in a package; else empty.
        root: the folder in which that package lies, or the file.
        aliases: the full names that names of the file mean: ``triton.language`` for ``tl``.
    """

    path: Path
    module: str
    root: Path
    tree: ast.Module = field(repr=False)
    aliases: dict[str, str] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)

    @functools.cached_property
    def constants(self) -> dict[str, ast.Constant]:
        """The names of the module that stand for a constant: ``NAME = 3``, ``NAME = tl.constexpr(3)``."""
        constants: dict[str, ast.Constant] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            else:
                continue
            value = statement.value
            if isinstance(value, ast.Call) and self.full(value.func).endswith(".constexpr"):
                value = value.args[0] if value.args else None
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                    constants[target.id] = value
        return constants

    def full(self, node: ast.expr) -> str:
        """`triton.language.float16` for ``tl.float16``; empty for an expression that is no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.aliases.get(node.id, node.id), *reversed(parts)])


def find(text: str, search: Sequence[str]) -> Path:
    """The file that FILE_OR_MODULE names. A module is looked for along `search`, and nothing of it is imported.

    Raises:
        UsageError: there is none.
    """
    path = Path(text)
    if path.is_file():
        return path.resolve()
    if path.is_dir():
        raise UsageError(
            f"{text}: is a folder. Name one file of it; `crosswarp run --suite` and `crosswarp lint` take folders."
        )
    parts = text.split(".")
    if not text.endswith(".py") and all(part.isidentifier() for part in parts):
        places: Sequence[str] | None = list(search)
        for number in range(len(parts)):
            spec = PathFinder.find_spec(".".join(parts[: number + 1]), places)
            if spec is None:
                break
            places = list(spec.submodule_search_locations or ())
            if number == len(parts) - 1 and spec.origin and spec.origin.endswith(".py"):
                return Path(spec.origin).resolve()
    raise UsageError(
        f"{text}: there is no such file, and no such module of Python source. Name a file such as kernels.py, or a "
        "module that the interpreter of --here finds."
    )


def parse(path: Path) -> Source:
    """A file as a tree, without its kernels. Raises UsageError where it is no Python of ours to read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(reading.data(path))
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be read."
        ) from None
    except SyntaxError as error:
        raise BrokenSource(
            f"{path}:{error.lineno or 0}: SyntaxError: {error.msg}. Your kernel: correct its syntax; this Python is "
            f"{sys.version_info[0]}.{sys.version_info[1]}."
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{path}: {type(error).__name__}: {error}. Name another file.") from None
    root, parts = path.parent, [] if path.name == "__init__.py" else [path.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    packaged = root != path.parent and all(part.isidentifier() for part in parts)
    if packaged and parts[0] == "triton" and not (root / "triton" / "runtime").is_dir():
        # A folder of kernels with Triton's own name, which an import would not find.
        packaged = False
    source = Source(
        path, ".".join(parts) if packaged else "", root if packaged else path.parent, tree
    )
    source.aliases = _aliases(tree)
    return source


def above(path: Path) -> list[Path]:
    """The folders above a file from which its checkout's own packages are imported; empty outside of a checkout."""
    folders: list[Path] = []
    for folder in list(path.parents)[:_LEVELS]:
        folders += [folder, *(folder / name for name in _PLACES if (folder / name).is_dir())]
        if any((folder / name).exists() for name in _ROOTS):
            return folders
    return []


def statements(body: Sequence[ast.stmt], path: Path_ = ()) -> Iterator[tuple[ast.stmt, Path_]]:
    """Yields each statement of a scope, with its blocks. Functions and classes in it are other scopes."""
    for statement in body:
        yield statement, path
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                # A with statement is gone through in any case.
                deeper = (
                    path
                    if isinstance(statement, (ast.With, ast.AsyncWith))
                    else (*path, (id(statement), name))
                )
                yield from statements(inner, deeper)
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body, (*path, (id(handler), "body")))


def _aliases(tree: ast.Module) -> dict[str, str]:
    aliases: dict[str, str] = {"tl": _DOORS["tl"]}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.asname:
                    aliases[name.asname] = name.name
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for member in node.names:
                aliases[member.asname or member.name] = f"{node.module}.{member.name}"
        if isinstance(node, ast.ImportFrom):
            # A library's own door to Triton has it under the names that everybody uses.
            for door in node.names:
                if door.name in _DOORS and (node.module or "").split(".")[0] != "triton":
                    aliases[door.asname or door.name] = _DOORS[door.name]
    return aliases


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: in a function of the file (None: the module's own statements), before a line."""

    function: Function | None
    name: str = ""


def within(source: Source) -> Iterator[tuple[ast.Call, Function | None]]:
    """Every call of the file outside of its kernels, with the function around it."""
    kernels = {id(kernel.node) for kernel in source.kernels}

    def walk(
        node: ast.AST, function: Function | None
    ) -> Iterator[tuple[ast.Call, Function | None]]:
        for child in ast.iter_child_nodes(node):
            if id(child) in kernels:
                continue
            if isinstance(child, ast.Call):
                yield child, function
            inner = (
                child if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
            )
            yield from walk(child, inner)

    yield from walk(source.tree, None)


def calls(
    source: Source,
) -> Iterator[tuple[int, list[tuple[ast.Call, Function | None, int]]]]:
    """By function of the file, the calls of it: each with its caller and how many parameters are not passed.

    ``Op.apply(x)`` calls the ``forward`` of an autograd function, whose context is not passed.
    """
    by_function: dict[int, list[tuple[ast.Call, Function | None, int]]] = {}
    for call, caller in within(source):
        name = source.full(call.func)
        function, skip = source.functions.get(name), 0
        if function is None and name.endswith(".apply"):
            function, skip = source.functions.get(f"{name[:-6]}.forward"), 1
        if function is not None:
            by_function.setdefault(id(function), []).append((call, caller, skip))
    yield from by_function.items()
