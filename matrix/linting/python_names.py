"""Rules for Python names in kernels and hooks: plain globals, functions of `math`, an autotuner hook's arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.linting import rules
from crosswarp.matrix.linting.sources import Source
from crosswarp.matrix.linting.values import Function

# Read off all eleven releases (docs/lint.md): since when a kernel may read no plain global of its module, since when
# not one that is only annotated as a constexpr, and where it may call no function of Python's.
_REFUSES_PLAIN = ">=3.0"
_REFUSES_ANNOTATED = ">=3.3"
_REFUSES_MATH = ">=3.0,<3.2"
# Where a hook of triton.autotune is handed the arguments by name, and no list of them.
_HANDS_NAMES = ">=3.2"
# Where `restore_value` and `reset_to_zero` look for an argument by its place among those that are handed by place.
_RESTORES_BY_PLACE = "<3.2"
_CLASSES = {
    "jit": "triton.runtime.jit.JITFunction",
    "autotune": "triton.runtime.autotuner.Autotuner",
    "heuristics": "triton.runtime.autotuner.Heuristics",
}
# With it set, any global may be read.
_ALLOWS = "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"
_DEEPEST = 6


def read(walk: Any, node: ast.Name) -> None:
    """Checks a name that a kernel reads: wrong if it is a module's global that is not a constexpr."""
    scope = walk.scope
    while scope.parent is not None:
        if node.id in scope.names:
            return
        scope = scope.parent
    if node.id not in scope.names or not versions.within(walk.release, _REFUSES_PLAIN):
        return
    kind = _Globals(walk.project).kind(walk.source, node.id)
    if kind == "plain" or (
        kind == "annotated" and versions.within(walk.release, _REFUSES_ANNOTATED)
    ):
        walk.wrong("NameError", "plain-global", node, f"{kind} global {node.id}", "")


class _Globals:
    """The values of a module's names, where its text gives them."""

    def __init__(self, project: Any) -> None:
        self._project = project

    def kind(self, source: Source, name: str, depth: int = 0) -> str:
        """Returns `plain`, `annotated` (as a constexpr), or empty if neither or unknown."""
        if depth > _DEEPEST or self._project.says(_ALLOWS):
            return ""
        origins = {
            self._of(source, statement, name, depth) for statement in source.bound.get(name, ())
        }
        return origins.pop() if len(origins) == 1 else ""

    def _of(self, source: Source, statement: ast.stmt, name: str, depth: int) -> str:
        if isinstance(statement, ast.ImportFrom):
            other = self._project.module(source.absolute(statement.module, statement.level))
            names = [
                alias.name for alias in statement.names if (alias.asname or alias.name) == name
            ]
            return self.kind(other, names[0], depth + 1) if other is not None and names else ""
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            if ast.unparse(statement.annotation).strip("'\"").rpartition(".")[2] == "constexpr":
                return "annotated" if self._plain(source, statement.value, depth) else ""
            return "plain" if self._plain(source, statement.value, depth) else ""
        if isinstance(statement, ast.Assign) and all(
            isinstance(target, ast.Name) for target in statement.targets
        ):
            return "plain" if self._plain(source, statement.value, depth) else ""
        return ""

    def _plain(self, source: Source, node: ast.expr, depth: int) -> bool:
        """Whether an expression is a number, a text or a container of Python's, whatever its value is."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (bool, int, float, str))
        if isinstance(node, ast.UnaryOp):
            return self._plain(source, node.operand, depth)
        if isinstance(node, ast.BinOp):
            return all(self._plain(source, side, depth) for side in (node.left, node.right))
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Set)):
            return True
        if isinstance(node, ast.Name):
            return self.kind(source, node.id, depth + 1) == "plain"
        if isinstance(node, ast.Attribute):
            return ast.unparse(node) in ("math.pi", "math.e", "math.inf", "math.nan", "math.tau")
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            return called in ("float", "int", "bool", "str", "os.getenv", "os.environ.get") or (
                called.startswith("math.")
            )
        return False


def math(walk: Any, node: ast.Call, name: str) -> None:
    """A call of a function of Python's `math` in a kernel."""
    if versions.within(walk.release, _REFUSES_MATH):
        walk.wrong("AssertionError", "python-function", node, name, "")


def hooks(walk: Any, node: ast.Call, path: str) -> None:
    """`triton.autotune(pre_hook=f)` where f reads its arguments by their places, or by their names."""
    by_name = versions.within(walk.release, _HANDS_NAMES)
    for word in node.keywords:
        if word.arg not in ("pre_hook", "post_hook"):
            continue
        function = word.value if isinstance(word.value, ast.Lambda) else walk.value(word.value)
        if isinstance(function, Function):
            function = function.node
        if not isinstance(function, (ast.Lambda, ast.FunctionDef)):
            continue
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        for at in _read_at(function, names[0]) if names else ():
            if type(walk.value(at)) is (int if by_name else str):
                # It is called when the kernel is tuned.
                where, walk.where = walk.where, rules.Where.CALL
                written = f"{names[0]}[{ast.unparse(at)}]"
                walk.noted("autotune-hook", at, f"{path}({word.arg})", written)
                walk.where = where


def restored(walk: Any, node: ast.Call, kernel: Function) -> None:
    """Checks a launch that passes by keyword an argument that `autotune` restores or fills with zeros."""
    if not versions.within(walk.release, _RESTORES_BY_PLACE):
        return
    for decorator in kernel.node.decorator_list:
        if not (isinstance(decorator, ast.Call) and _last(decorator.func) == "autotune"):
            continue
        for word in decorator.keywords:
            if word.arg not in ("restore_value", "reset_to_zero"):
                continue
            names = walk.value(word.value)
            for given in node.keywords:
                if isinstance(names, (list, tuple)) and given.arg in names:
                    written = f"kernel[grid]({given.arg}=…)"
                    walk.wrong(
                        "IndexError",
                        "autotune-restored",
                        given,
                        f"triton.autotune({word.arg})",
                        written,
                    )


def class_of(kernel: Function) -> str:
    """Returns the full name of a kernel's host class: a JITFunction, or a decorator's result; empty: unknown."""
    first = kernel.node.decorator_list[0] if kernel.node.decorator_list else None
    name = _last(first.func if isinstance(first, ast.Call) else first)
    return _CLASSES.get(name, "")


def _last(node: ast.expr | None) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _read_at(function: ast.Lambda | ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """The keys and places at which a function reads its own parameter."""
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        ):
            yield node.slice
