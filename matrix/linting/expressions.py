"""The values of expressions on one release, and the findings in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from crosswarp.matrix.linting import python_names, rules, values
from crosswarp.matrix.linting.rules import Report, Where
from crosswarp.matrix.linting.values import (
    UNKNOWN,
    Builtin,
    Function,
    Module,
    Ref,
    Text,
    truth,
)  # fmt: skip

_PYTHON = {
    "hasattr", "getattr", "isinstance", "bool", "int", "str", "tuple", "list", "len", "any", "all", "map", "set", "min",
    "max", "exit", "quit",
}  # fmt: skip
# Hardware for which no published release of Triton compiles: its vendors ship a separate Triton.
_OTHERS = re.compile(
    r"(?:^|_)(?:npu|ascend|xpu|mlu|musa|gcu|cann|maca|corex|iluvatar)(?:_|$)", re.I
)
_OTHERS_NAMED = frozenset(("npu", "ascend", "xpu", "mlu", "musa", "gcu", "cann"))


class Raised(Exception):
    """An error that a try statement of the file catches."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Scope:
    """Names of a module or a function, over those of its enclosing scope."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.parent = parent

    def get(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        if name in _PYTHON:
            return Builtin(name)
        return UNKNOWN


class Expressions:
    """Expressions of one file on one release.

    Attributes:
        release: the release of Triton.
        source: the file of the code that is walked.
        callers: how the walk came to that code from another file, as `path:line`, outermost first.
        where: the step that the walked code belongs to, which an error ends.
        silent: whether a function is walked only for its value, so that every problem is raised.
    """

    def __init__(self, project: Any, source: Any, release: str, report: Report) -> None:
        self.project = project
        self.api = project.api
        self.source = source
        self.callers: tuple[str, ...] = ()
        self.release = release
        self.report = report
        self.scope = Scope()
        self.where = Where.IMPORT
        self.silent = False
        self.depth = 0
        # For each try statement around, the errors that it catches.
        self.caught: list[tuple[str, ...]] = []
        self.names_checked = True
        # False while a kernel's names are only listed.
        self.names_read = True
        # Whether the kernel that is walked is one of Gluon's.
        self.in_gluon = False
        # The number of things met that may fail for other reasons.
        self.uncertain = 0

    # Findings

    def wrong(self, error: str, rule: str, node: ast.AST, subject: str, message: str) -> None:
        """Something of Triton's raises here. Goes to the try statement that catches it, or into the report."""
        if self.silent or any(catches(kinds, error) for kinds in self.caught):
            raise Raised(error)
        self._report(rule, node, subject, message)

    def noted(self, rule: str, node: ast.AST, subject: str, message: str) -> None:
        """Something is wrong that raises nothing."""
        if not self.silent:
            self._report(rule, node, subject, message)

    def _report(self, rule: str, node: ast.AST, subject: str, message: str) -> None:
        self.report(
            rule, self.source, node, self.callers, self.release, self.where, subject, message
        )

    def reached(self, function: Function, node: ast.AST) -> None:
        """A function is named by `node`, where it may be called."""
        raise NotImplementedError

    def value_of_call(self, function: Function, arguments: list[Any]) -> Any:
        raise NotImplementedError

    # Values

    def value(self, node: ast.expr | None) -> Any:
        if node is None:
            return UNKNOWN
        self.depth += 1
        try:
            # Deeper nesting than people write: unknown.
            if self.depth > 200:
                return UNKNOWN
            return getattr(self, f"_{type(node).__name__}", self._other)(node)
        finally:
            self.depth -= 1

    def _other(self, node: ast.AST) -> Any:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.keyword):
                self.value(child.value)
        return UNKNOWN

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def tested(self, node: ast.expr) -> bool | None:
        """Whether a test holds. Hardware that Triton itself does not compile for is not there."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            known = self.tested(node.operand)
            return None if known is None else not known
        if isinstance(node, ast.BoolOp):
            ends = not isinstance(node.op, ast.And)
            results: list[bool | None] = []
            for operand in node.values:
                results.append(self.tested(operand))
                if results[-1] is ends:
                    return ends
            return None if None in results else not ends
        known = truth(self.value(node))
        return False if known is None and of_others(node) else known

    def _Name(self, node: ast.Name) -> Any:
        value = self.scope.get(node.id)
        if isinstance(value, Function):
            self.reached(value, node)
        elif self.where is Where.KERNEL and self.names_read and not self.silent:
            python_names.read(self, node)
        return self._known(value)

    def _known(self, value: Any) -> Any:
        if isinstance(value, Builtin) and value.name.endswith(".TYPE_CHECKING"):
            return False
        return value

    def _Attribute(self, node: ast.Attribute) -> Any:
        return self.attribute(self.value(node.value), node.attr, node)

    def attribute(self, owner: Any, name: str, node: ast.expr) -> Any:
        if isinstance(owner, Ref):
            return self._of_triton(owner.path, name, node)
        if isinstance(owner, Function) and owner.kernel and (of := python_names.class_of(owner)):
            self._of_triton(of, name, node)
            return UNKNOWN
        if isinstance(owner, Module):
            return self.project.name_in(owner.name, name, self.release)
        if isinstance(owner, Builtin):
            return self._known(Builtin(f"{owner.name}.{name}"))
        if owner is UNKNOWN or isinstance(owner, Function):
            self.uncertain += 1
            return UNKNOWN
        return values.attribute(owner, name)

    def _of_triton(self, parent: str, name: str, node: ast.expr) -> Any:
        path = f"{parent}.{name}"
        if path == "triton.__version__":
            return Text(self.release)
        if self.api.has(self.release, path) is False and self.names_checked:
            if isinstance(getattr(node, "ctx", None), ast.Store):
                message = f"{path} is set, and nothing looks at it"
                self.noted(rules.of_name(path), node, path, message)
            else:
                self.wrong("AttributeError", rules.of_name(path), node, path, "")
            return UNKNOWN
        return Ref(path)

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        ends = not isinstance(node.op, ast.And)
        value: Any = UNKNOWN
        open_ = False
        for operand in node.values:
            value = self.value(operand)
            known = truth(value)
            if known is ends:
                # Whatever the others are.
                return value
            open_ = open_ or known is None
        return UNKNOWN if open_ else value

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            known = truth(operand)
            return UNKNOWN if known is None else not known
        if isinstance(node.op, ast.USub) and isinstance(operand, (int, float)):
            return -operand
        return UNKNOWN

    def _BinOp(self, node: ast.BinOp) -> Any:
        left, other = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(other, list):
            return left + other if len(left) + len(other) < values.LONGEST else UNKNOWN
        return UNKNOWN

    def _IfExp(self, node: ast.IfExp) -> Any:
        known = self.tested(node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse)
        return values.joined([self.value(node.body), self.value(node.orelse)])

    def _Compare(self, node: ast.Compare) -> Any:
        left, holds, unknown = self.value(node.left), True, False
        for operation, right in zip(node.ops, node.comparators, strict=True):
            other = self.value(right)
            if isinstance(operation, values.ORDER):
                rules.letters(self, node, operation, left, other)
            result = values.compared(operation, left, other)
            if result is False:
                holds = False
            unknown = unknown or result is UNKNOWN
            left = other
        return holds if not holds or not unknown else UNKNOWN

    def _Tuple(self, node: ast.Tuple) -> Any:
        elements = tuple(self.value(element) for element in node.elts)
        return (
            UNKNOWN if any(isinstance(element, ast.Starred) for element in node.elts) else elements
        )

    def _List(self, node: ast.List) -> Any:
        elements = [self.value(element) for element in node.elts]
        return (
            UNKNOWN if any(isinstance(element, ast.Starred) for element in node.elts) else elements
        )

    def _Set(self, node: ast.Set) -> Any:
        elements = [self.value(element) for element in node.elts]
        return set(elements) if values.concrete(elements) and not _unhashable(elements) else UNKNOWN

    def _Dict(self, node: ast.Dict) -> Any:
        pairs = [
            (self.value(key), self.value(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        whole = None not in node.keys and values.concrete([key for key, _ in pairs])
        return dict(pairs) if whole and not _unhashable(key for key, _ in pairs) else UNKNOWN

    def _Slice(self, node: ast.Slice) -> Any:
        parts = [
            None if bound is None else self.value(bound)
            for bound in (node.lower, node.upper, node.step)
        ]
        return (
            slice(*parts)
            if all(part is None or isinstance(part, int) for part in parts)
            else UNKNOWN
        )

    def _Subscript(self, node: ast.Subscript) -> Any:
        owner, at = self.value(node.value), self.value(node.slice)
        if isinstance(owner, Function) and owner.kernel:
            return owner
        if at is UNKNOWN or not isinstance(owner, (str, list, tuple, dict)):
            self.uncertain += 1
            return UNKNOWN
        return values.item(owner, at)

    def _NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        self.scope.names[node.target.id] = value
        return value

    def _Lambda(self, node: ast.Lambda) -> Any:
        outer, where = self.scope, self.where
        self.scope = Scope(outer)
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self.scope.names[argument.arg] = UNKNOWN
        self.where = Where.KERNEL if where is Where.KERNEL else Where.CALL
        caught, self.caught = self.caught, []
        try:
            if not self.silent:
                self.value(node.body)
        finally:
            self.scope, self.where, self.caught = outer, where, caught
        return UNKNOWN

    def _comprehension(self, node: Any) -> Any:
        outer = self.scope
        self.scope = Scope(outer)
        try:
            first = node.generators[0]
            source = self.value(first.iter)
            simple = (
                len(node.generators) == 1 and not first.ifs and isinstance(first.target, ast.Name)
            )
            if (
                simple
                and isinstance(source, (list, tuple))
                and len(source) < 50
                and hasattr(node, "elt")
            ):
                made = []
                for element in source:
                    self.scope.names[first.target.id] = element
                    made.append(self.value(node.elt))
                return made
            for generator in node.generators:
                for name in ast.walk(generator.target):
                    if isinstance(name, ast.Name):
                        self.scope.names[name.id] = UNKNOWN
                for test in (*([] if generator is first else [generator.iter]), *generator.ifs):
                    self.value(test)
            for part in ("elt", "key", "value"):
                if hasattr(node, part):
                    self.value(getattr(node, part))
            return UNKNOWN
        finally:
            self.scope = outer

    _ListComp = _SetComp = _GeneratorExp = _DictComp = _comprehension


def of_others(node: ast.expr) -> bool:
    """Whether a test asks for hardware for which no published release of Triton compiles."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return any(
            isinstance(side, ast.Constant) and side.value in _OTHERS_NAMED
            for side in (node.left, *node.comparators)
        )
    name = getattr(node, "attr", getattr(node, "id", ""))
    return bool(_OTHERS.search(name))


def catches(kinds: tuple[str, ...], error: str) -> bool:
    """Whether an `except` of these catches an error of that kind."""
    also = {"ModuleNotFoundError": ("ImportError",)}.get(error, ())
    return any(name in kinds for name in (error, *also, "Exception", "BaseException"))


def _unhashable(elements: Iterator[Any] | list[Any]) -> bool:
    try:
        for element in elements:
            hash(element)
    except TypeError:
        return True
    return False
