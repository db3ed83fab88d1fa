"""One file on one release: its statements in order, and what of it is reached."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.linting import rules, values
from crosswarp.matrix.linting.expressions import Expressions, Raised, Scope, catches
from crosswarp.matrix.linting.rules import Report, Where
from crosswarp.matrix.linting.sources import Source
from crosswarp.matrix.linting.values import UNKNOWN, Builtin, Function, Ref, truth

JIT = ("triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit", "triton.runtime.JITFunction")
_TUNERS = ("autotune", "heuristics")
# Decorators that leave a function what it is, for whoever asks what it returns.
_PLAIN = ("functools.lru_cache", "functools.cache", "functools.wraps", "staticmethod")
# Before 3.5, Triton looks up every attribute that a kernel names when it is first launched, also in branches that are
# never compiled and behind a return (read off the error on all eleven releases: docs/lint.md).
_LOOKS_AT_ALL = "<3.5"
# Statements of a function that is looked into for what it returns.
_LONGEST_TOLD = 15
_ENDS = ("exit", "quit", "sys.exit")


class Walker(Expressions):
    def __init__(self, project: Any, source: Source, release: str, report: Report) -> None:
        super().__init__(project, release, report)
        self.source = source
        self._waiting: list[Function] = []
        self._seen: set[int] = set()
        self._walked: set[int] = set()
        self._values: dict[tuple[int, str], tuple[Any, int]] = {}
        self._evaluating: list[int] = []
        self._in_class = False

    def run(self) -> None:
        """The whole file: what runs when it is imported, then the functions that are reached from there."""
        self.block(self.source.tree.body)
        while self._waiting:
            self._function(self._waiting.pop(0))

    # Statements: each says whether what follows is reached.

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        return all(self.statement(one) for one in statements)

    def statement(self, node: ast.stmt) -> bool:
        found = getattr(self, f"_{type(node).__name__}", None)
        if found is not None and isinstance(node, ast.stmt):
            return found(node) is not False
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return True

    def _Expr(self, node: ast.Expr) -> bool:
        self.value(node.value)
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return not (isinstance(called, (ast.Name, ast.Attribute)) and ast.unparse(called) in _ENDS)

    def _Return(self, node: ast.Return) -> bool:
        found = self.value(node.value) if node.value else None
        self._returned.append(found)
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
        """Several ways, one of which is taken; after it a name is what it is after all of those that end there."""
        before = dict(self.scope.names)
        ends: list[dict[str, Any]] = []
        for way in ways:
            self.scope.names = dict(before)
            if self.block(way):
                ends.append(self.scope.names)
        if not ends:
            self.scope.names = before
            return False
        self.scope.names = _merged(ends)
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
        for one in node.items:
            found = one.context_expr
            if (
                isinstance(found, ast.Call)
                and getattr(found.func, "attr", getattr(found.func, "id", "")) == "suppress"
            ):
                kinds += [_named(kind) for kind in found.args]
            else:
                self.value(found)
            if one.optional_vars is not None:
                self._bind(one.optional_vars, UNKNOWN)
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
        self.scope.names = _merged([before, self.scope.names])
        return True

    _AsyncWith = _With

    def _Try(self, node: ast.Try) -> bool:
        handlers = [(_kinds(one), one) for one in node.handlers]
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
                # Nothing in it can fail but what has just been looked at.
                handlers = []
        elif not any(catches(kinds, raised.kind) for kinds, _ in handlers):
            raise raised
        for kinds, handler in handlers:
            if raised is not None and not catches(kinds, raised.kind):
                continue
            self.scope.names = dict(before) if raised is not None else _merged([before, after])
            if handler.name:
                self.scope.names[handler.name] = UNKNOWN
            if self.block(handler.body):
                ends.append(self.scope.names)
            if raised is not None:
                break
        self.scope.names = _merged(ends) if ends else before
        final = self.block(node.finalbody)
        return bool(ends) and final

    _TryStar = _Try

    # Names

    def _Assign(self, node: ast.Assign) -> None:
        found = self.value(node.value)
        for target in node.targets:
            self._bind(target, found)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        found = self.value(node.value) if node.value is not None else UNKNOWN
        if not _lazy_annotations(self.source):
            self.value(node.annotation)
        self._bind(node.target, found)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        self._bind(node.target, UNKNOWN)

    def _bind(self, target: ast.expr, found: Any) -> None:
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = found
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = isinstance(found, (list, tuple)) and len(found) == len(target.elts)
            for index, one in enumerate(target.elts):
                self._bind(one, found[index] if known else UNKNOWN)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, UNKNOWN)
        else:
            self.value(target)

    def _Import(self, node: ast.Import) -> None:
        for one in node.names:
            found = self.imported(one.name, node)
            if one.asname:
                self.scope.names[one.asname] = found
            elif found is not UNKNOWN or "." not in one.name:
                top = one.name.partition(".")[0]
                self.scope.names[top] = self.imported(top, node) if "." in one.name else found

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        path = self.source.absolute(node.module, node.level)
        for one in node.names:
            if one.name == "*":
                if path.partition(".")[0] == "triton":
                    self.imported(path, node)
                self.scope.names.update(self.project.names_in(path, self.release))
            else:
                found = self.imported_from(path, one.name, node)
                self.scope.names[one.asname or one.name] = found

    # Functions and classes

    def _FunctionDef(self, node: ast.FunctionDef) -> None:
        decorators = [self._decorator(one) for one in node.decorator_list]
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.value(default)
        if not _lazy_annotations(self.source):
            for one in _parameters(node):
                if one.annotation is not None:
                    self.value(one.annotation)
        jitted = [one in JIT for one in decorators]
        function = Function(node, self.scope, kernel=any(jitted), source=self.source)
        if function.kernel:
            rules.tuning(self, node, decorators)
        if self._in_class or not self._plain(decorators, function.kernel):
            self.reached(function)
            if not function.kernel and decorators:
                self.scope.names[node.name] = UNKNOWN
                return
        elif self.source.references(node) == 0:
            # Somebody else calls it.
            self.reached(function)
        self.scope.names[node.name] = function

    _AsyncFunctionDef = _FunctionDef

    def _decorator(self, node: ast.expr) -> str:
        """The full name of a decorator, or of what makes it; empty where it is not known."""
        where, self.where = self.where, Where.DECORATE if self.where is Where.IMPORT else self.where
        try:
            if isinstance(node, ast.Call):
                self.value(node)
                node = node.func
            found = self.value(node)
        finally:
            self.where = where
        return (
            found.path
            if isinstance(found, Ref)
            else found.name
            if isinstance(found, Builtin)
            else ""
        )

    def _plain(self, decorators: Sequence[str], kernel: bool) -> bool:
        """Whether a function is called only where it is named."""
        known = [
            *JIT,
            *(
                f"triton{inside}.{one}"
                for one in _TUNERS
                for inside in ("", ".runtime", ".runtime.autotuner")
            ),
        ]
        return all(one in (known if kernel else _PLAIN) for one in decorators)

    def _ClassDef(self, node: ast.ClassDef) -> None:
        for one in (*node.decorator_list, *node.bases, *(word.value for word in node.keywords)):
            self.value(one)
        outer, in_class = self.scope, self._in_class
        # A method does not see the names of its class.
        self.scope, self._in_class = Scope(outer), True
        try:
            self.block(node.body)
        finally:
            self.scope, self._in_class = outer, in_class
        self.scope.names[node.name] = UNKNOWN

    def reached(self, function: Function) -> None:
        if not self.silent and id(function.node) not in self._seen:
            self._seen.add(id(function.node))
            self._waiting.append(function)

    def _function(self, function: Function) -> None:
        """Its body, as it runs when it is called or compiled."""
        if not function.kernel and self.source.of_triton.isdisjoint(
            self.source.names_in(function.node)
        ):
            return
        outer = self.scope, self.where, self.caught, self._in_class, self._returned
        self.scope = Scope(function.scope)
        self.where = Where.KERNEL if function.kernel else Where.CALL
        self.caught, self._in_class, self._returned = [], False, []
        for one in _parameters(function.node):
            self.scope.names[one.arg] = UNKNOWN
        try:
            if function.kernel and versions.within(self.release, _LOOKS_AT_ALL):
                self._all_names(function.node)
                self.names_checked = False
            self.block(function.node.body)
        finally:
            self.names_checked = True
            self.scope, self.where, self.caught, self._in_class, self._returned = outer

    def _all_names(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Every attribute that a kernel names, in branches that are never taken too."""
        own = {
            one.id
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
        }
        for statement in node.body:
            for one in ast.walk(statement):
                if (
                    isinstance(one, ast.Attribute)
                    and (first := _first(one))
                    and first.id not in own
                ):
                    self.value(one)

    _returned: list[Any] = []

    def value_of_call(self, function: Function, arguments: list[Any]) -> Any:
        """What a function of the library returns, where every way returns the same."""
        given = function.node.args
        names = [one.arg for one in (*given.posonlyargs, *given.args)]
        source = function.source or self.source
        about = any(one == "triton" or isinstance(one, (Ref, values.Text)) for one in arguments)
        if not about and source.of_triton.isdisjoint(source.names_in(function.node)):
            # Nothing in it tells one release from another.
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
            # No function that tells versions apart.
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
            found = [*self._returned, *([None] if on else [])]
            value = values.joined(found) if found else UNKNOWN
        except Raised:
            self.uncertain += 1
            value = UNKNOWN
        finally:
            self.scope, self.caught, self._returned, self.silent, self.source = outer
            self._evaluating.pop()
        self._values[known] = value, self.uncertain - before
        return value


def _merged(ends: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Names after several ways: known where all agree."""
    if len(ends) == 1:
        return ends[0]
    first, *others = ends
    found = {}
    for name in {name for one in ends for name in one}:
        value = first.get(name, UNKNOWN)
        # Most names are what they were before.
        same = all(one.get(name, UNKNOWN) is value for one in others)
        found[name] = value if same else values.joined([one.get(name, UNKNOWN) for one in ends])
    return found


def _named(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _kinds(handler: ast.ExceptHandler) -> tuple[str, ...]:
    if handler.type is None:
        return ("BaseException",)
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return tuple(_named(one) for one in nodes)


def _first(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = node.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return found + [one for one in (given.vararg, given.kwarg) if one is not None]


def _lazy_annotations(source: Source) -> bool:
    return source.lazy_annotations
