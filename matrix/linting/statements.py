"""Statements on one release, in order: the branches that are taken, and the names after them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from crosswarp.matrix.linting import values
from crosswarp.matrix.linting.calls import Calls
from crosswarp.matrix.linting.expressions import Raised, catches
from crosswarp.matrix.linting.sources import Source
from crosswarp.matrix.linting.values import UNKNOWN, Ref, truth

_ENDS = ("exit", "quit", "sys.exit")


class Statements(Calls):
    """Statements of one file on one release.

    Attributes:
        source: the file.
    """

    source: Source
    _returned: list[Any] = []

    # Each returns whether the next statement is reached.

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        return all(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None and isinstance(node, ast.stmt):
            return method(node) is not False
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return True

    def _Expr(self, node: ast.Expr) -> bool:
        self.value(node.value)
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return not (isinstance(called, (ast.Name, ast.Attribute)) and ast.unparse(called) in _ENDS)

    def _Return(self, node: ast.Return) -> bool:
        value = self.value(node.value) if node.value else None
        self._returned.append(value)
        return False

    def _Raise(self, node: ast.Raise) -> bool:
        self.value(node.exc)
        self.uncertain += 1
        return False

    def _Continue(self, node: ast.stmt) -> bool:
        return False

    _Break = _Continue

    def _Assert(self, node: ast.Assert) -> bool:
        return truth(self.value(node.test)) is not False

    def _If(self, node: ast.If) -> bool:
        known = self.tested(node.test)
        if known is not None:
            return self.block(node.body if known else node.orelse)
        return self._either([node.body, node.orelse])

    def _either(self, ways: Sequence[Sequence[ast.stmt]]) -> bool:
        """Walks several branches, one of which is taken; then joins each name's values over those that end."""
        before = dict(self.scope.names)
        ends: list[dict[str, Any]] = []
        for branch in ways:
            self.scope.names = dict(before)
            if self.block(branch):
                ends.append(self.scope.names)
        if not ends:
            self.scope.names = before
            return False
        self.scope.names = self._merged(ends)
        return True

    def _For(self, node: ast.For) -> bool:
        self.value(node.iter)
        self._bind(node.target, UNKNOWN)
        return self._loop(node.body, node.orelse)

    _AsyncFor = _For

    def _While(self, node: ast.While) -> bool:
        if truth(self.value(node.test)) is False:
            return self.block(node.orelse)
        return self._loop(node.body, node.orelse)

    def _loop(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> bool:
        self._either([body, []])
        return self.block(orelse)

    def _With(self, node: ast.With) -> bool:
        kinds: list[str] = []
        for item in node.items:
            context = item.context_expr
            if (
                isinstance(context, ast.Call)
                and getattr(context.func, "attr", getattr(context.func, "id", "")) == "suppress"
            ):
                kinds += [_named(kind) for kind in context.args]
            else:
                self.value(context)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, UNKNOWN)
        if not kinds:
            return self.block(node.body)
        self.caught.append(tuple(kinds))
        before = dict(self.scope.names)
        try:
            self.block(node.body)
        except Raised as raised:
            if not catches(tuple(kinds), raised.kind):
                raise
        finally:
            self.caught.pop()
        self.scope.names = self._merged([before, self.scope.names])
        return True

    _AsyncWith = _With

    def _Try(self, node: ast.Try) -> bool:
        handlers = [(_kinds(clause), clause) for clause in node.handlers]
        before = dict(self.scope.names)
        ends: list[dict[str, Any]] = []
        raised: Raised | None = None
        self.caught.append(tuple(kind for kinds, _ in handlers for kind in kinds))
        uncertain = self.uncertain
        try:
            on = self.block(node.body)
        except Raised as error:
            raised, on = error, False
        finally:
            self.caught.pop()
        after = self.scope.names
        if raised is None:
            if on and self.block(node.orelse):
                ends.append(self.scope.names)
            if self.uncertain == uncertain:
                # Only the statement just walked can fail in it.
                handlers = []
        elif not any(catches(kinds, raised.kind) for kinds, _ in handlers):
            raise raised
        for kinds, handler in handlers:
            if raised is not None and not catches(kinds, raised.kind):
                continue
            self.scope.names = dict(before) if raised is not None else self._merged([before, after])
            if handler.name:
                self.scope.names[handler.name] = UNKNOWN
            if self.block(handler.body):
                ends.append(self.scope.names)
            if raised is not None:
                break
        self.scope.names = self._merged(ends) if ends else before
        final = self.block(node.finalbody)
        return bool(ends) and final

    _TryStar = _Try

    def _merged(self, ends: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Names after several ways: known where all agree, or where Triton's module is one and the rest stand-ins."""
        if len(ends) == 1:
            return ends[0]
        first, *others = ends
        joined = {}
        for name in {name for end in ends for name in end}:
            value = first.get(name, UNKNOWN)
            # Most names are unchanged.
            same = all(other.get(name, UNKNOWN) is value for other in others)
            joined[name] = value if same else self._joined([end.get(name, UNKNOWN) for end in ends])
        return joined

    def _joined(self, ends: Sequence[Any]) -> Any:
        """One value for several: a module of Triton's beside None and unknown values, such as placeholders."""
        known = [value for value in ends if value is not UNKNOWN and value is not None]
        module = known[0] if known else None
        if isinstance(module, Ref) and self.api.is_module(module.path):
            return values.joined(known)
        return values.joined(ends)

    # Names

    def _Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._bind(target, value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        value = self.value(node.value) if node.value is not None else UNKNOWN
        if not self.source.lazy_annotations:
            self.value(node.annotation)
        self._bind(node.target, value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        self._bind(node.target, UNKNOWN)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = isinstance(value, (list, tuple)) and len(value) == len(target.elts)
            for index, element in enumerate(target.elts):
                self._bind(element, value[index] if known else UNKNOWN)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, UNKNOWN)
        else:
            self.value(target)

    def _Import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = self.imported(alias.name, node)
            if alias.asname:
                self.scope.names[alias.asname] = module
            elif module is not UNKNOWN or "." not in alias.name:
                top = alias.name.partition(".")[0]
                self.scope.names[top] = self.imported(top, node) if "." in alias.name else module

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        path = self.source.absolute(node.module, node.level)
        for alias in node.names:
            if alias.name == "*":
                if path.partition(".")[0] == "triton":
                    self.imported(path, node)
                self.scope.names.update(self.project.names_in(path, self.release))
            else:
                value = self.imported_from(path, alias.name, node)
                self.scope.names[alias.asname or alias.name] = value


def _named(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _kinds(handler: ast.ExceptHandler) -> tuple[str, ...]:
    if handler.type is None:
        return ("BaseException",)
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return tuple(_named(node) for node in nodes)
