"""One file on one release: its statements in order, and the parts of it that are reached."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.linting import gluon, rules, values
from crosswarp.matrix.linting.expressions import Raised, Scope
from crosswarp.matrix.linting.rules import Report, Where
from crosswarp.matrix.linting.sources import Source
from crosswarp.matrix.linting.statements import Statements
from crosswarp.matrix.linting.values import UNKNOWN, Builtin, Function, Ref

JIT = (
    *("triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit", "triton.runtime.JITFunction"),
    *gluon.JIT,
)
_TUNERS = ("autotune", "heuristics")
# Decorators that do not change a function's result.
_PLAIN = ("functools.lru_cache", "functools.cache", "functools.wraps", "staticmethod")
# Before 3.5, Triton looks up every attribute that a kernel names when it is first launched, also in branches that are
# never compiled and behind a return (read off the error on all eleven releases: docs/lint.md).
_LOOKS_AT_ALL = "<3.5"
# Up to 3.7 it does so for modules other than the two languages (nvidia.hopper, libdevice; runtime/jit.py,
# visit_Attribute).
_LOOKS_AT_MODULES = ">=3.5,<3.8"
# The most statements in a function that is walked for its result.
_LONGEST_TOLD = 15


class Walker(Statements):
    def __init__(self, project: Any, source: Source, release: str, report: Report) -> None:
        super().__init__(project, source, release, report)
        self._waiting: list[tuple[Function, tuple[str, ...]]] = []
        self._seen: set[int] = set()
        self._values: dict[tuple[int, str], tuple[Any, int]] = {}
        self._evaluating: list[int] = []
        self._in_class = False

    def run(self) -> None:
        """Walks the whole file: the code that runs on import, then the functions reached from there."""
        self.block(self.source.tree.body)
        while self._waiting:
            self._function(*self._waiting.pop(0))

    def _FunctionDef(self, node: ast.FunctionDef) -> None:
        decorators = [self._decorator(decorator) for decorator in node.decorator_list]
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.value(default)
        if not self.source.lazy_annotations:
            for parameter in _parameters(node):
                if parameter.annotation is not None:
                    self.value(parameter.annotation)
        jitted = [decorator in JIT for decorator in decorators]
        in_gluon = any(decorator in gluon.JIT for decorator in decorators)
        function = Function(node, self.scope, any(jitted), in_gluon, self.source)
        if function.kernel:
            rules.tuning(self, node, decorators)
        if self._in_class or not self._plain(decorators, function.kernel):
            self.reached(function, node)
            if not function.kernel and decorators:
                self.scope.names[node.name] = UNKNOWN
                return
        elif self.source.references(node) == 0:
            # Somebody else calls it.
            self.reached(function, node)
        self.scope.names[node.name] = function

    _AsyncFunctionDef = _FunctionDef

    def _decorator(self, node: ast.expr) -> str:
        """Returns the full name of a decorator, or of its factory; empty if unknown."""
        where, self.where = self.where, Where.DECORATE if self.where is Where.IMPORT else self.where
        try:
            if isinstance(node, ast.Call):
                self.value(node)
                node = node.func
            value = self.value(node)
        finally:
            self.where = where
        return (
            value.path
            if isinstance(value, Ref)
            else value.name
            if isinstance(value, Builtin)
            else ""
        )

    def _plain(self, decorators: Sequence[str], kernel: bool) -> bool:
        """Whether a function is called only where it is named."""
        known = [
            *JIT,
            *(
                f"triton{inside}.{tuner}"
                for tuner in _TUNERS
                for inside in ("", ".runtime", ".runtime.autotuner")
            ),
        ]
        return all(decorator in (known if kernel else _PLAIN) for decorator in decorators)

    def _ClassDef(self, node: ast.ClassDef) -> None:
        for expression in (
            *node.decorator_list,
            *node.bases,
            *(word.value for word in node.keywords),
        ):
            self.value(expression)
        outer, in_class = self.scope, self._in_class
        # A method does not see the names of its class.
        self.scope, self._in_class = Scope(outer), True
        try:
            self.block(node.body)
        finally:
            self.scope, self._in_class = outer, in_class
        self.scope.names[node.name] = UNKNOWN

    def reached(self, function: Function, node: ast.AST) -> None:
        if self.silent or id(function.node) in self._seen:
            return
        self._seen.add(id(function.node))
        callers = self.callers
        if function.source not in (None, self.source):
            # Within a file the line says enough.
            callers = (*callers, f"{self.source.path}:{getattr(node, 'lineno', 1)}")
        self._waiting.append((function, callers))

    def _function(self, function: Function, callers: tuple[str, ...]) -> None:
        """Its body, as it runs when it is called or compiled."""
        source = function.source or self.source
        if not function.kernel and source.of_triton.isdisjoint(source.names_in(function.node)):
            return
        outer = self.scope, self.where, self.caught, self._in_class, self._returned, self.in_gluon
        here = self.source, self.callers
        self.source, self.callers = source, callers
        self.scope = Scope(function.scope)
        self.where = Where.KERNEL if function.kernel else Where.CALL
        self.in_gluon = function.gluon
        self.caught, self._in_class, self._returned = [], False, []
        for parameter in _parameters(function.node):
            self.scope.names[parameter.arg] = UNKNOWN
        try:
            if function.kernel and versions.within(self.release, _LOOKS_AT_ALL):
                self._all_names(function.node)
                self.names_checked = False
            elif function.kernel and versions.within(self.release, _LOOKS_AT_MODULES):
                self._all_names(function.node, of_modules=True)
            self.block(function.node.body)
        finally:
            self.names_checked = True
            self.source, self.callers = here
            self.scope, self.where, self.caught, self._in_class, self._returned, self.in_gluon = (
                outer
            )

    def _all_names(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, of_modules: bool = False
    ) -> None:
        """Yields every attribute that a kernel names, even in branches never taken; or only those of modules."""
        own = {
            child.id
            for child in ast.walk(node)
            if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load)
        }
        self.names_read = False
        for statement in node.body:
            for inner in ast.walk(statement):
                if (
                    isinstance(inner, ast.Attribute)
                    and (first := _first(inner))
                    and first.id not in own
                    and not (of_modules and self._in_a_language(inner))
                ):
                    self.value(inner)
        self.names_read = True

    def _in_a_language(self, node: ast.Attribute) -> bool:
        """Whether an attribute belongs to Triton's language or Gluon's, or to an object in them."""
        inner: ast.expr = node.value
        while True:
            path = self._path(inner)
            if path is None or not gluon.looks_up(path):
                return True
            if not isinstance(inner, ast.Attribute):
                return False
            inner = inner.value

    def _path(self, node: ast.expr) -> str | None:
        """Returns Triton's full name for a dotted name, by the names in scope; None if there is none."""
        if isinstance(node, ast.Name):
            value = self.scope.get(node.id)
            return value.path if isinstance(value, Ref) else None
        inside = self._path(node.value) if isinstance(node, ast.Attribute) else None
        return None if inside is None else f"{inside}.{node.attr}"  # type: ignore[attr-defined]

    def value_of_call(self, function: Function, arguments: list[Any]) -> Any:
        """Returns the result of a library function, if every branch returns the same."""
        given = function.node.args
        names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        source = function.source or self.source
        about = any(
            argument == "triton" or isinstance(argument, (Ref, values.Text))
            for argument in arguments
        )
        if not about and source.of_triton.isdisjoint(source.names_in(function.node)):
            # Nothing in it depends on the release.
            self.uncertain += 1
            return UNKNOWN
        known = (id(function.node), repr(arguments)[:1000])
        if known in self._values:
            value, uncertain = self._values[known]
            self.uncertain += uncertain
            return value
        before = self.uncertain
        if len(self._evaluating) > 5 or id(function.node) in self._evaluating or given.vararg:
            self.uncertain += 1
            return UNKNOWN
        if len(function.node.body) > _LONGEST_TOLD or len(arguments) > len(names):
            # Too long or too many arguments for a version test.
            self.uncertain += 1
            return UNKNOWN
        outer = self.scope, self.caught, self._returned, self.silent, self.source
        self.scope, self.caught, self._returned, self.silent = Scope(function.scope), [], [], True
        self.source = source
        self.scope.names.update(dict.fromkeys(names, UNKNOWN))
        self.scope.names.update(zip(names, arguments, strict=False))
        self._evaluating.append(id(function.node))
        try:
            on = self.block(function.node.body)
            returned = [*self._returned, *([None] if on else [])]
            value = values.joined(returned) if returned else UNKNOWN
        except Raised:
            self.uncertain += 1
            value = UNKNOWN
        finally:
            self.scope, self.caught, self._returned, self.silent, self.source = outer
            self._evaluating.pop()
        self._values[known] = value, self.uncertain - before
        return value


def _first(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return arguments + [
        argument for argument in (given.vararg, given.kwarg) if argument is not None
    ]
