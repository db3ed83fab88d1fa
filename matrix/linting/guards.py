"""Version checks (guards): tests of a library's host code for a release of Triton or for the hardware.

The parts of a test are followed through flags and functions, also into other files of the library. A kernel's tests are
left aside: Triton compiles the text of a kernel, and its branches cannot be forced from outside.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswarp.matrix.checkout import apart
from crosswarp.matrix.facts import language_table
from crosswarp.matrix.facts.language_table import Table
from crosswarp.matrix.linting import sources
from crosswarp.matrix.linting.api import Api
from crosswarp.matrix.linting.expressions import of_others
from crosswarp.matrix.linting.lint import Project, uncollected
from crosswarp.matrix.linting.sources import Source, Unreadable
from crosswarp.matrix.linting.walking import Walker

VERSION, HARDWARE = "version", "hardware"
# Asked of torch and Triton.
_ASKS_HARDWARE = (
    "get_device_capability", "get_device_properties", "get_device_name", "get_current_target", "get_arch_list",
    "gcnArchName", "version.hip",
)  # fmt: skip
# Used where nothing in the library defines a name: by common naming.
_WORDS = (
    r"(?:hip|rocm|amd|cuda|nvidia|hopper|blackwell|ampere|cdna\d?|rdna\d?|sm_?\d+[a-z]?|gfx\d+\w*)"
)
_HARDWARE = re.compile(
    # is_hip, IS_NVIDIA_HOPPER, has_cuda_gpu; hip_available, AMD_GPU, SM_90; not cuda_ref, and no plain `cuda`.
    rf"_?(?:is|on|has|have|use|using|supports?|target|arch|running_on)_?(?:[a-z]+_)??{_WORDS}(?:_[a-z0-9]+)?|"
    rf"_?{_WORDS}_(?:{_WORDS}|available|gpu|backend|device|platform|arch|like|enabled|or_\w+)|"
    r"_?(?:sm_?\d+[a-z]?|gfx\d+\w*)(?:_?plus|_or_\w+)?",
    re.I,
)
_SHOUTED = re.compile(r"_?(?:HIP|ROCM|AMD|CUDA|NVIDIA|HOPPER|BLACKWELL|AMPERE|CDNA\d?|RDNA\d?)")
# Nothing that users of a library run: its build, tests, benchmarks, examples.
_NOT_SHIPPED = re.compile(
    r"(?:^|/)(?:setup|conftest|noxfile|test_[^/]*|[^/]*_test|bench[^/]*|[^/]*_bench(?:mark)?)\.py$|"
    r"(?:^|/)(?:tests?|testing|bench|benchmarks?|benchmarking|examples?|docs?|scripts?|tools|ci|\.[^/]*)/",
    re.I,
)
_VERSION = re.compile(r"(?:^|_)triton_?(?:version|above|below|ge|lt|newer|older|\d)", re.I)
# The most statements in a function that distinguishes versions or hardware.
_LONGEST = 40
_DEEPEST = 8


@dataclass(frozen=True)
class Guard:
    """One test, in one place.

    Attributes:
        path: of its file, from the folder that was searched.
        span: first line, column, last line, column, as Python's ast counts them.
        text: the test itself; `code` is the line of code that it decides.
        kinds: the facts that it tests.
        made_of: the definitions behind the test, such as `fla/utils.py:151: IS_NVIDIA_HOPPER = …`.
        holds: by release of Triton, whether it holds there, where that is known without running anything.
        letters: it goes back to a comparison of versions as texts, which is wrong from 3.10 on.
    """

    path: str
    span: tuple[int, int, int, int]
    text: str
    code: str
    kinds: tuple[str, ...]
    made_of: tuple[str, ...] = ()
    holds: Mapping[str, bool] = field(default_factory=dict)
    letters: bool = False

    @property
    def id(self) -> str:
        """`fla/ops/wy_fast.py:22:11`, as editors spell a place."""
        return f"{self.path}:{self.span[0]}:{self.span[1] + 1}"


@dataclass
class Found:
    guards: list[Guard]
    unreadable: list[Unreadable]
    files: int
    # Files not looked at: builds, tests, benchmarks, examples, other vendors' folders, vendored copies.
    left: int = 0


@dataclass
class _Trace:
    kinds: set[str] = field(default_factory=set)
    made_of: dict[str, None] = field(default_factory=dict)
    # Places of comparisons: file, line, column.
    compares: set[tuple[str, int, int]] = field(default_factory=set)


@uncollected()
def find(
    folder: Path,
    releases: Sequence[str],
    left_out: Sequence[str] = (),
    table: Table | None = None,
) -> Found:
    """Returns the version checks in the files below `folder`, in file order.

    Raises:
        UsageError: there is no such folder.
    """
    files: list[Source] = []
    unreadable: list[Unreadable] = []
    for path in sources.python_files([folder], left_out):
        file = sources.read(path, path.relative_to(folder).as_posix())
        if isinstance(file, Unreadable):
            unreadable.append(file)
        else:
            files.append(file)
    project = Project(Api(table if table is not None else language_table.load()), files)
    definitions = _Definitions(files)
    guards: list[Guard] = []
    left = 0
    for source in files:
        if _NOT_SHIPPED.search(source.path) or apart.of(source.path) is not None:
            left += 1
            continue
        tests = [(leaf, code, definitions.trace(leaf, source)) for leaf, code in _tests(source)]
        tests = [test for test in tests if test[2].kinds]
        if not tests:
            continue
        # Hardware tests are never evaluated: the answer is unknown here.
        asked = [leaf for leaf, _, trace in tests if VERSION in trace.kinds]
        holds, letters = _values(project, source, asked, releases) if asked else ({}, set())
        for leaf, code, trace in tests:
            span = (leaf.lineno, leaf.col_offset, leaf.end_lineno or leaf.lineno, leaf.end_col_offset or 0)  # fmt: skip
            guards.append(
                Guard(
                    source.path, span, _text(leaf), code, tuple(sorted(trace.kinds, reverse=True)),
                    tuple(trace.made_of), holds.get(id(leaf), {}),
                    bool(trace.compares & (letters | definitions.letters(project, trace, releases))),
                )
            )  # fmt: skip
    unreadable += [source_file.broken for source_file in files if source_file.broken is not None]
    return Found(guards, unreadable, len(files) + len(unreadable), left)


def _tests(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """Yields each test that decides between two branches on the host, with the decided code, in file order."""
    if not any(word in source.text for word in ("if ", "if(")):
        return
    waiting: list[tuple[ast.AST, ast.stmt | None]] = [(source.tree, None)]
    while waiting:
        node, statement = waiting.pop()
        statement = node if isinstance(node, ast.stmt) else statement
        if isinstance(node, (ast.If, ast.IfExp)):
            code = _text(node.test, "if ") if isinstance(node, ast.If) else _text(statement)
            for leaf in _leaves(node.test):
                yield leaf, code
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                for leaf in _leaves(test):
                    yield leaf, _text(test, "if ")
        below = list(ast.iter_child_nodes(node))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _compiled(node):
            # A kernel's decorators are run by Python.
            below = list(node.decorator_list)
        # Positions inside of a formatted text differ from one Python to another.
        waiting += [
            (child, statement) for child in reversed(below) if not isinstance(child, ast.JoinedStr)
        ]


def _leaves(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _leaves(test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _leaves(value)
    elif isinstance(test, (ast.Compare, ast.Call, ast.Name, ast.Attribute)) and not of_others(test):
        yield test


def _compiled(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    called = [
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for decorator in node.decorator_list
    ]
    return any(_dotted(name).rpartition(".")[2] == "jit" for name in called)


def _text(node: ast.AST | None, head: str = "") -> str:
    """Code in a line."""
    if node is None:
        return head.strip()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return f"decorators of {node.name}"
    text = " ".join((head + ast.unparse(node)).split())
    return text if len(text) <= 160 else f"{text[:159]}…"


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ".".join(["", *reversed(parts)])
    return ".".join([node.id, *reversed(parts)])


class _Definitions:
    """The values assigned to the names of a library's modules."""

    def __init__(self, files: Sequence[Source]) -> None:
        self._by_module = sources.by_module(files)
        self._known: dict[str, tuple[dict[str, list[ast.AST]], dict[str, tuple[str, str]]]] = {}
        self._letters: dict[str, set[tuple[str, int, int]]] = {}
        self._locals: dict[str, dict[str, list[ast.AST]]] = {}

    def trace(self, test: ast.expr, source: Source) -> _Trace:
        trace = _Trace()
        self._look(test, source, trace, set(), 0)
        return trace

    def letters(
        self, project: Project, trace: _Trace, releases: Sequence[str]
    ) -> set[tuple[str, int, int]]:
        """Returns the places where versions are compared as texts, in the files that a test goes back to."""
        places: set[tuple[str, int, int]] = set()
        for path in {path for path, _, _ in trace.compares if VERSION in trace.kinds}:
            if path not in self._letters:
                source = next(
                    candidate for candidate in self._by_module.values() if candidate.path == path
                )
                self._letters[path] = _values(project, source, [], releases)[1]
            places |= self._letters[path]
        return places

    def _look(
        self, node: ast.AST, source: Source, trace: _Trace, seen: set[tuple[str, str]], depth: int
    ) -> None:
        for part in _outermost(node):
            if isinstance(part, ast.Compare):
                trace.compares.add((source.path, part.lineno, part.col_offset))
            elif isinstance(part, ast.Call):
                if _about_triton(part, self._imports(source)):
                    trace.kinds.add(VERSION)
            elif isinstance(part, (ast.Name, ast.Attribute)):
                self._name(_dotted(part), source, trace, seen, depth)

    def _name(
        self, dotted: str, source: Source, trace: _Trace, seen: set[tuple[str, str]], depth: int
    ) -> None:
        imports = self._imports(source)
        first, _, rest = dotted.partition(".")
        module, name = imports.get(first, ("", ""))
        whole = ".".join(filter(None, (module, name, rest))) if module else dotted
        if whole == "triton.__version__":
            trace.kinds.add(VERSION)
            return
        if any(whole.endswith(f".{ending}") or whole == ending for ending in _ASKS_HARDWARE):
            trace.kinds.add(HARDWARE)
            return
        if (source.path, dotted) in seen or depth > _DEEPEST:
            return
        seen.add((source.path, dotted))
        where = self._defined(dotted, source)
        if where is None and first not in imports and not _shouted(first):
            # A function's variable has its assigned value; an argument is unknown.
            values = self._inside(source).get(dotted, [])
            where = (source, values)
        if where is None:
            last = dotted.rpartition(".")[2]
            # torch's `x.is_cuda` and other libraries' functions are unknown.
            if not dotted.startswith("torch.cuda.is_") and last != "is_cuda":
                trace.kinds |= {VERSION} if _VERSION.search(last) else set()
                hardware = _HARDWARE.fullmatch(last) or _SHOUTED.fullmatch(last)
                trace.kinds |= {HARDWARE} if hardware else set()
            return
        other, values = where
        for value in values:
            before = set(trace.kinds)
            inner = _Trace()
            self._look(value, other, inner, seen, depth + 1)
            if inner.kinds:
                line = getattr(value, "lineno", 1)
                bare_name = dotted.rpartition(".")[2]
                function = isinstance(value, ast.FunctionDef)
                head = f"def {bare_name}()" if function else f"{bare_name} = {_text(value)}"
                trace.made_of[f"{other.path}:{line}: {head}"] = None
                trace.made_of |= inner.made_of
                trace.compares |= inner.compares
            trace.kinds = before | inner.kinds

    def _defined(self, dotted: str, source: Source) -> tuple[Source, list[ast.AST]] | None:
        """The file and the values of a name, through imports."""
        first, _, rest = dotted.partition(".")
        for _ in range(_DEEPEST):
            values, imports = self._of(source)
            if first in values and not rest:
                return source, values[first]
            if first not in imports:
                return None
            module, name = imports[first]
            if rest and f"{module}.{name}".strip(".") in self._by_module:
                source = self._by_module[f"{module}.{name}".strip(".")]
                first, _, rest = rest.partition(".")
            elif module in self._by_module:
                source, first = self._by_module[module], name
            else:
                return None
        return None

    def _inside(self, source: Source) -> dict[str, list[ast.AST]]:
        """The questions that variables of a file's functions, and attributes of objects, are set to."""
        if source.path not in self._locals:
            assigned: dict[str, list[ast.AST]] = {}
            for node in ast.walk(source.tree):
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and (
                    asked := _question(node.value)
                ):
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        several = isinstance(target, ast.Tuple)
                        if several and not _dotted(asked).endswith(_ASKS_HARDWARE):
                            # One of several return values says little about the function's tests.
                            continue
                        for element in target.elts if isinstance(target, ast.Tuple) else [target]:
                            if isinstance(element, (ast.Name, ast.Attribute)):
                                assigned.setdefault(_dotted(element), []).append(asked)
            # A name that several functions use for several things says nothing.
            self._locals[source.path] = {
                name: values
                for name, values in assigned.items()
                if len({ast.dump(value) for value in values}) == 1
            }
        return self._locals[source.path]

    def _imports(self, source: Source) -> dict[str, tuple[str, str]]:
        return self._of(source)[1]

    def _of(self, source: Source) -> tuple[dict[str, list[ast.AST]], dict[str, tuple[str, str]]]:
        if source.path not in self._known:
            values: dict[str, list[ast.AST]] = {}
            imports: dict[str, tuple[str, str]] = {}
            for node in _module_level(source.tree):
                if isinstance(node, ast.FunctionDef):
                    if sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) <= _LONGEST:
                        values.setdefault(node.name, []).append(node)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        if isinstance(target, ast.Name):
                            values.setdefault(target.id, []).append(node.value)
            for other in ast.walk(source.tree):
                if isinstance(other, ast.Import):
                    for alias in other.names:
                        name = alias.asname or alias.name.partition(".")[0]
                        imports[name] = (alias.name if alias.asname else name, "")
                elif isinstance(other, ast.ImportFrom):
                    module = source.absolute(other.module, other.level)
                    for member in other.names:
                        imports[member.asname or member.name] = (module, member.name)
            self._known[source.path] = values, imports
        return self._known[source.path]


def _question(value: ast.expr | None) -> ast.AST | None:
    """Returns the expression that answers for a value: a comparison, an attribute, or a call's function."""
    while isinstance(value, ast.Subscript):
        value = value.value
    if isinstance(value, ast.Call):
        constants = [arg.value for arg in value.args if isinstance(arg, ast.Constant)]
        return value if "triton" in constants else value.func
    asks = isinstance(value, (ast.Compare, ast.BoolOp, ast.Attribute)) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )
    return value if asks else None


def _shouted(name: str) -> bool:
    """Whether a name is spelled as a flag of a module is; where it came from by `*`, nothing else says so."""
    return name.isupper()


def _module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
            waiting += reversed(list(ast.iter_child_nodes(node)))


def _outermost(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes in an expression or a function; `a.b.c` only as a whole, and no annotations."""
    waiting = [node]
    while waiting:
        below = waiting.pop()
        yield below
        if isinstance(below, (ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += below.body
        elif isinstance(below, ast.Attribute):
            inner: ast.AST = below
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            if not isinstance(inner, ast.Name):
                waiting.append(inner)
        else:
            waiting += ast.iter_child_nodes(below)


def _about_triton(node: ast.Call, imports: Mapping[str, tuple[str, str]]) -> bool:
    """`version("triton")`, `newer("triton", …)`, `hasattr(tl, …)`."""
    for arg in node.args[:2]:
        if isinstance(arg, ast.Constant) and arg.value == "triton":
            return True
    if _dotted(node.func) not in ("hasattr", "getattr") or not node.args:
        return False
    first = _dotted(node.args[0]).partition(".")[0]
    return imports.get(first, (first, ""))[0].partition(".")[0] == "triton"


class _Looking(Walker):
    """Walks as lint does, and notes the values of the tests in `wanted`."""

    wanted: frozenset[int] = frozenset()
    holds: dict[int, dict[str, bool]] = {}

    def tested(self, node: ast.expr) -> bool | None:
        known = super().tested(node)
        if known is not None and id(node) in self.wanted and not self.silent:
            self.holds.setdefault(id(node), {})[self.release] = known
        return known


def _values(
    project: Project, source: Source, leaves: Sequence[ast.expr], releases: Sequence[str]
) -> tuple[dict[int, dict[str, bool]], set[tuple[str, int, int]]]:
    """Returns for each test where it is known to hold, and the places where versions are compared as texts."""
    holds: dict[int, dict[str, bool]] = {}
    letters: set[tuple[str, int, int]] = set()

    def report(rule: str, file: Source, node: ast.AST, *rest: Any) -> None:
        if rule == "version-string":
            letters.add((file.path, getattr(node, "lineno", 1), getattr(node, "col_offset", 0)))

    looked: Callable[..., None] = report
    for release in releases:
        walker = _Looking(project, source, release, looked)
        walker.wanted, walker.holds = frozenset(map(id, leaves)), holds
        try:
            walker.run()
        except RecursionError:
            break
    return holds, letters
