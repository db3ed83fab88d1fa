"""Evaluates expressions of a file, following assignments, parameters and the calls in the file."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from crosswarp.matrix.signatures.kinds import (
    BOOL,
    DTYPES,
    FLOAT,
    INT,
    LANGUAGES,
    TENSOR,
    UNKNOWN,
    Call,
    Kind,
    join,
    number,
    value,
)
from crosswarp.matrix.signatures.source import Function, Path_, Scope, Source, calls, statements
from crosswarp.matrix.signatures.tensors import MAKERS, Tensors, shape

# Longer ways are not followed, nor bigger numbers made.
_DEEPEST = 24
# Steps for one argument: where many calls lead to each other, the number of ways doubles with each.
_MOST_STEPS = 3000
_BIGGEST = 2**63
# Only tensors have these.
_OF_TENSORS = {
    "stride", "numel", "data_ptr", "contiguous", "is_contiguous", "is_cuda", "element_size", "requires_grad", "view",
    "new_empty", "dtype", "device", "shape", "size", "to",
}  # fmt: skip
# Their classes and functions make what a launch passes: layouts and descriptors.
_MAKERS = ("triton.experimental.gluon.", "triton.tools.tensor_descriptor.")
_INT_CALLS = ("len", "int", "triton.cdiv", "triton.next_power_of_2", "math.ceil", "math.floor")
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}  # fmt: skip


class Evaluation(Tensors):
    """Evaluates expressions; `Tensors` has the results of torch's calls and methods."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._assignments: dict[int, dict[str, list[tuple[Kind | ast.expr, int, Path_, str]]]] = {}
        self._paths: dict[int, dict[int, Path_]] = {}
        self._calls = dict(calls(source))
        self._following: set[tuple[int, str, int]] = set()
        # Kinds of names, each computed without being cut off; and how often something was.
        self._kinds: dict[tuple[int, str, int], Kind] = {}
        self._cut_off = 0
        self._steps = 0

    def kind(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Kind:
        """Returns the kind of the expression `node` in `scope`."""
        self._steps = self._steps + 1 if depth else 0
        if node is None or depth > _DEEPEST or self._steps > _MOST_STEPS:
            self._cut_off += 1
            return UNKNOWN
        try:
            return self._kind(node, scope, depth + 1)
        except (RecursionError, ArithmeticError, ValueError, TypeError):
            return UNKNOWN

    def _kind(self, node: ast.expr, scope: Scope, depth: int) -> Kind:
        if isinstance(node, ast.Constant):
            return value(node.value, node.lineno)
        if isinstance(node, ast.Name):
            return self._name(node.id, node.lineno, node, scope, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, depth)
        if isinstance(node, ast.Call):
            return self._call(node, scope, depth)
        if isinstance(node, ast.BinOp):
            return self._binary(node, scope, depth)
        if isinstance(node, ast.UnaryOp):
            operand = self.kind(node.operand, scope, depth)
            if isinstance(node.op, ast.Not):
                return value(not operand.value, node.lineno) if operand.what == "value" else BOOL
            if operand.what == "value" and isinstance(node.op, ast.USub) and number(operand):
                return value(-operand.value, node.lineno)
            return operand
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return self._truth(node, scope, depth)
        if isinstance(node, ast.IfExp):
            return join([self.kind(branch, scope, depth) for branch in (node.body, node.orelse)])
        if isinstance(node, (ast.Tuple, ast.List)):
            return Kind("tuple", tuple(self.kind(element, scope, depth) for element in node.elts))
        if isinstance(node, ast.Subscript):
            return self._item(self.kind(node.value, scope, depth), node.slice, scope, depth)
        return UNKNOWN

    def _truth(self, node: ast.Compare | ast.BoolOp, scope: Scope, depth: int) -> Kind:
        if isinstance(node, ast.BoolOp):
            # `x or default` is one of them.
            kinds = [self.kind(operand, scope, depth) for operand in node.values]
            return BOOL if all(number(kind) == "bool" for kind in kinds) else join(kinds)
        return BOOL

    def _attribute(self, node: ast.Attribute, scope: Scope, depth: int) -> Kind:
        full = self._source.full(node)
        module, _, last = full.rpartition(".")
        if module in ("torch", *LANGUAGES) and last in DTYPES:
            return Kind("dtype", DTYPES[last], line=node.lineno)
        of = self.kind(node.value, scope, depth)
        if node.attr == "shape":
            return shape(of)
        if node.attr == "saved_tensors":
            return Kind("saved")
        if node.attr in ("ndim", "itemsize"):
            return INT
        if of.what == "tensor" and node.attr == "dtype":
            return Kind("dtype", of.dtype, line=of.line) if of.dtype else UNKNOWN
        return self._kept(of, node.attr)

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Kind:
        full = self._source.full(node.func)
        words = {word.arg: word.value for word in node.keywords if word.arg}
        module, _, last = full.rpartition(".")
        if module in ("torch", "torch.nn.functional") and last in MAKERS:
            return self._made(node, last, words, scope, depth)
        if full in _INT_CALLS:
            return self._whole(node, full, scope, depth)
        if full in ("min", "max"):
            return self._least(node, full, scope, depth)
        if full in ("float", "math.sqrt", "math.log", "math.log2", "math.exp"):
            kind = self.kind(node.args[0], scope, depth) if node.args else UNKNOWN
            if kind.what == "value" and number(kind):
                known: Any = {"float": float}.get(full) or getattr(math, full.rpartition(".")[2])
                return value(known(kind.value), node.lineno)
            return FLOAT
        if full == "bool":
            return BOOL
        if module in LANGUAGES and last == "constexpr" and node.args:
            return self.kind(node.args[0], scope, depth)
        if full.startswith(_MAKERS) and len(words) == len(node.keywords):
            arguments = tuple(self.kind(arg, scope, depth) for arg in node.args)
            given = {name: self.kind(word, scope, depth) for name, word in words.items()}
            return Kind("made", Call(full, arguments, given))
        if isinstance(node.func, ast.Attribute):
            kind = self._method(node, node.func, words, scope, depth)
            if kind.what != "unknown":
                return kind
        returned = self._source.functions.get(full)
        return UNKNOWN if returned is None else self._returned(returned, full, depth)

    def _whole(self, node: ast.Call, full: str, scope: Scope, depth: int) -> Kind:
        kinds = [self.kind(arg, scope, depth) for arg in node.args]
        if not kinds or not all(kind.what == "value" and number(kind) for kind in kinds):
            return INT
        values = [kind.value for kind in kinds]
        if full == "triton.next_power_of_2":
            made = 1 << max(int(values[0]) - 1, 0).bit_length()
        elif full == "triton.cdiv" and len(values) == 2:
            made = -(-values[0] // values[1])
        elif full in ("int", "math.ceil", "math.floor"):
            made = int({"math.ceil": math.ceil, "math.floor": math.floor}.get(full, int)(values[0]))
        else:
            return INT
        return value(made, node.lineno)

    def _least(self, node: ast.Call, full: str, scope: Scope, depth: int) -> Kind:
        kinds = [self.kind(arg, scope, depth) for arg in node.args]
        if kinds and all(kind.what == "value" and number(kind) for kind in kinds):
            return value({"min": min, "max": max}[full](kind.value for kind in kinds), node.lineno)
        return INT if kinds and all(number(kind) == "int" for kind in kinds) else UNKNOWN

    def _binary(self, node: ast.BinOp, scope: Scope, depth: int) -> Kind:
        left, right = (self.kind(side, scope, depth) for side in (node.left, node.right))
        for given in (left, right):
            if given.what == "tensor":
                return given
        if left.what == right.what == "value" and number(left) and number(right):
            if abs(left.value) < _BIGGEST and abs(right.value) < 64 and type(node.op) in _BINARY:
                return value(_BINARY[type(node.op)](left.value, right.value), node.lineno)
            if type(node.op) in _BINARY and not isinstance(node.op, (ast.Pow, ast.LShift)):
                return value(_BINARY[type(node.op)](left.value, right.value), node.lineno)
        kinds = {number(left), number(right)}
        if isinstance(node.op, ast.Div) and kinds <= {"int", "float", "bool"}:
            return FLOAT
        if "float" in kinds:
            # Whatever the other is, if it is a number.
            return FLOAT if "" not in kinds or isinstance(node.op, ast.Pow) else UNKNOWN
        return INT if kinds <= {"int", "bool"} else UNKNOWN

    # Names

    def _name(self, name: str, line: int, node: ast.expr, scope: Scope, depth: int) -> Kind:
        key = (id(scope.function), name, line)
        if key in self._kinds:
            return self._kinds[key]
        if key in self._following:
            self._cut_off += 1
            return UNKNOWN
        before = self._cut_off
        self._following.add(key)
        try:
            kind = self._reached(name, line, node, scope, depth)
        finally:
            self._following.discard(key)
        if self._cut_off == before:
            self._kinds[key] = kind
        return kind

    def _reached(self, name: str, line: int, node: ast.expr, scope: Scope, depth: int) -> Kind:
        body = self._source.tree if scope.function is None else scope.function
        here = self._paths_of(body).get(line, ())
        kinds: list[Kind] = []
        for given, at, path, how in reversed(self._assigned(body).get(name, ())):
            # At the module's level a function is called later than all of it.
            if at >= line:
                continue
            kinds.append(self._of_assignment(given, how, scope, depth))
            if path == here[: len(path)]:
                return join(reversed(kinds))
        if scope.function is not None:
            own = [argument.arg for argument in _arguments(scope.function)]
            if name in own:
                return join([*reversed(kinds), self._parameter(name, scope, depth)])
            if not kinds:
                return self._global(name, depth)
        return join(reversed(kinds)) if kinds else self._other(name)

    def _global(self, name: str, depth: int) -> Kind:
        """A name of the module, asked for in a function, which is called when all of the module is there."""
        given = self._assigned(self._source.tree).get(name)
        if given:
            what, _, _, how = given[-1]
            return self._of_assignment(what, how, Scope(None), depth)
        return self._other(name)

    def _other(self, name: str) -> Kind:
        if name in self._source.functions or any(
            kernel.name == name for kernel in self._source.kernels
        ):
            return Kind("function", name)
        full = self._source.aliases.get(name, "")
        module, _, last = full.rpartition(".")
        if module in ("torch", *LANGUAGES) and last in DTYPES:
            return Kind("dtype", DTYPES[last])
        return UNKNOWN

    def _of_assignment(self, given: Kind | ast.expr, how: str, scope: Scope, depth: int) -> Kind:
        if isinstance(given, Kind):
            return given
        kind = self.kind(given, scope, depth)
        if not how:
            return kind
        # The position in a tuple that is unpacked.
        if kind.what == "shape":
            return INT
        if kind.what == "saved":
            return TENSOR
        if kind.what == "tuple" and how.isdecimal() and int(how) < len(kind.value):
            return kind.value[int(how)]
        return UNKNOWN

    def _parameter(self, name: str, scope: Scope, depth: int) -> Kind:
        function = scope.function
        assert function is not None
        given = [
            replace(kind.at(line), line=line) if kind.what == "tensor" and kind.dtype else kind
            for kind, line in self._passed(function, name, scope, depth)
        ]
        kinds = [*given, self._default(function, name, scope, depth)]
        annotated = self._annotated(function, name)
        known = join(kinds)
        if known.what in ("tensor", "dtype") or known.what == "value" and known.value is not None:
            return known
        if annotated.what != "unknown":
            return annotated
        if known.what == "unknown" or known.what == "value":
            return TENSOR if _is_used_as_tensor(function, name) else known
        return known

    def _passed(
        self, function: Function, name: str, scope: Scope, depth: int
    ) -> Iterator[tuple[Kind, int]]:
        """The arguments that the file's calls of a function pass for a parameter, with the line of each."""
        names = [argument.arg for argument in _arguments(function)]
        for call, caller, skip in self._calls.get(id(function), ()):
            given: ast.expr | None = next(
                (word.value for word in call.keywords if word.arg == name), None
            )
            place = names.index(name) - skip
            if given is None and 0 <= place < len(call.args):
                if any(isinstance(arg, ast.Starred) for arg in call.args[: place + 1]):
                    continue
                given = call.args[place]
            if given is not None:
                yield self.kind(given, Scope(caller), depth), call.lineno

    def _default(self, function: Function, name: str, scope: Scope, depth: int) -> Kind:
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args]
        defaults = [*[None] * (len(every) - len(arguments.defaults)), *arguments.defaults]
        pairs = [*zip(every, defaults), *zip(arguments.kwonlyargs, arguments.kw_defaults)]
        for argument, default in pairs:
            if argument.arg == name and default is not None:
                return self.kind(default, Scope(None), depth)
        return UNKNOWN

    def _annotated(self, function: Function, name: str) -> Kind:
        node = next(
            argument.annotation for argument in _arguments(function) if argument.arg == name
        )
        text = ast.unparse(node) if node is not None else ""
        if isinstance(node, ast.Constant):
            text = str(node.value)
        text = text.replace("Optional[", "").replace(" | None", "").rstrip("]")
        last = text.rpartition(".")[2]
        return {"Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL}.get(last, UNKNOWN)

    def _returned(self, function: Function, full: str, depth: int) -> Kind:
        scope = Scope(function, full)
        kinds = [
            self.kind(statement.value, scope, depth)
            for statement, _ in statements(function.body)
            if isinstance(statement, ast.Return) and statement.value is not None
        ]
        return join(kinds)

    def _assigned(
        self, body: ast.Module | Function
    ) -> dict[str, list[tuple[Kind | ast.expr, int, Path_, str]]]:
        """By name, its assignments: the expression, its line, its blocks, and the position if it is unpacked."""
        known = self._assignments.get(id(body))
        if known is not None:
            return known
        assigned: dict[str, list[tuple[Kind | ast.expr, int, Path_, str]]] = {}

        def note(
            target: ast.expr, given: Kind | ast.expr, line: int, path: Path_, how: str
        ) -> None:
            if isinstance(target, ast.Name):
                assigned.setdefault(target.id, []).append((given, line, path, how))
            elif isinstance(target, (ast.Tuple, ast.List)):
                parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) else None
                for place, element in enumerate(target.elts):
                    if isinstance(element, ast.Starred):
                        note(element.value, UNKNOWN, line, path, "")
                    elif parts is not None and len(parts) == len(target.elts):
                        note(element, parts[place], line, path, "")
                    else:
                        note(element, given, line, path, str(place))

        for statement, path in statements(body.body):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    note(target, statement.value, statement.lineno, path, "")
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                note(statement.target, statement.value, statement.lineno, path, "")
            elif isinstance(statement, ast.AugAssign):
                before = ast.copy_location(
                    ast.BinOp(_loaded(statement.target), statement.op, statement.value), statement
                )
                note(
                    statement.target, ast.fix_missing_locations(before), statement.lineno, path, ""
                )
            elif isinstance(statement, (ast.For, ast.AsyncFor)):
                inside = (*path, (id(statement), "body"))
                counted = (
                    isinstance(statement.iter, ast.Call)
                    and self._source.full(statement.iter.func) == "range"
                )
                note(statement.target, INT if counted else UNKNOWN, statement.lineno, inside, "")
            elif isinstance(statement, (ast.With, ast.AsyncWith)):
                for item in statement.items:
                    if item.optional_vars is not None:
                        note(item.optional_vars, UNKNOWN, statement.lineno, path, "")
        self._assignments[id(body)] = assigned
        return assigned

    def _paths_of(self, body: ast.Module | Function) -> dict[int, Path_]:
        known = self._paths.get(id(body))
        if known is None:
            known = {}
            for statement, path in statements(body.body):
                for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                    # The innermost statement comes last.
                    known[line] = path
            self._paths[id(body)] = known
        return known


def _loaded(target: ast.expr) -> ast.expr:
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target


def _arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _is_used_as_tensor(function: Function, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        and node.value.id == name and node.attr in _OF_TENSORS
        for node in ast.walk(function)
    )  # fmt: skip
