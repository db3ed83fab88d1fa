"""Edits of a kernel that must not change its result: each finds its places in a function, and changes one of them.

The assumption of an edit is stated beside it, and holds at every place that the edit finds. If Triton refuses the
edited kernel everywhere (a type that would change in a branch), no Triton is blamed. Integers stay bit for bit equal; a
sum of floats may be reordered, within the tolerance of its case.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# A run-time argument that every edited kernel has. Not 1, for which Triton compiles a separate kernel, nor a multiple
# of 16, which it also specializes on.
OPAQUE, OPAQUE_IS = "opaque_", 3
# Names that an edit adds to those of the kernel.
OURS = (OPAQUE, "once_", "second_", "sum_", "turn_")
# Calls whose result is a tensor, and so not a compile-time constant.
_OF_TENSORS = frozenset(
    {"load", "dot", "sum", "max", "min", "exp", "log", "where", "trans", "cumsum", "sqrt", "argmax", "sort", "to"}
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A place for an edit: the line of the unedited text, and a function that changes the tree."""

    line: int
    apply: Callable[[], None]


Find = Callable[[ast.FunctionDef], Iterator[Place]]


@dataclass(frozen=True)
class Kind:
    """A kind of edit.

    Attributes:
        name: such as ``peeled-turn``.
        find: its places in a function, which `Place.apply` then changes.
        opaque: it needs the run-time argument, so the function must be launched.
        tags: shapes of known.SHAPES that it makes.
    """

    name: str
    find: Find
    opaque: bool = True
    tags: tuple[str, ...] = ()


def _rest(function: ast.FunctionDef) -> Iterator[tuple[int, list[ast.stmt]]]:
    """Ends of the function that store something and do not return: no name of theirs is needed behind them."""
    for first in range(1, len(function.body)):
        rest = function.body[first:]
        if any(isinstance(node, ast.Return) for one in rest for node in ast.walk(one)):
            continue
        if _is_docstring(function.body[first - 1]) or not any(map(_stores, rest)):
            continue
        yield first, rest


def opaque_branch(function: ast.FunctionDef) -> Iterator[Place]:
    """The rest of the kernel under a condition that holds."""
    for first, rest in _rest(function):

        def apply(first: int = first, rest: list[ast.stmt] = rest) -> None:
            function.body[first:] = [ast.If(_holds(), rest, [])]

        yield Place(rest[0].lineno, apply)


def one_turn(function: ast.FunctionDef) -> Iterator[Place]:
    """Puts the rest of the kernel into a loop of one iteration."""
    for first, rest in _rest(function):

        def apply(first: int = first, rest: list[ast.stmt] = rest) -> None:
            head = _statement(f"for once_ in range(0, {OPAQUE} - {OPAQUE_IS - 1}):\n    pass")
            assert isinstance(head, ast.For)
            head.body = rest
            function.body[first:] = [head]

        yield Place(rest[0].lineno, apply)


def twin_branches(function: ast.FunctionDef) -> Iterator[Place]:
    """One statement in both branches of a condition: either branch does it once."""
    for body in _bodies(function):
        for at, one in enumerate(body):
            assigns = isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
            if (assigns and _calls(one) & _OF_TENSORS) or (isinstance(one, ast.Expr) and _stores(one)):  # fmt: skip

                def apply(body: list[ast.stmt] = body, at: int = at, one: ast.stmt = one) -> None:
                    body[at] = ast.If(_holds(), [one], [copy.deepcopy(one)])

                yield Place(one.lineno, apply)


def opaque_addition(function: ast.FunctionDef) -> Iterator[Place]:
    """Puts a loop's addition under a condition that holds."""
    for loop in _loops(function):
        for at, one in enumerate(loop.body):
            if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):

                def apply(loop: ast.For = loop, at: int = at, one: ast.stmt = one) -> None:
                    loop.body[at] = ast.If(_holds(), [one], [])

                yield Place(one.lineno, apply)


def peeled_turn(function: ast.FunctionDef) -> Iterator[Place]:
    """Moves the first iteration ahead of the loop, if there is one."""
    for body, at, loop, (start, stop, step) in _counted(function):

        def apply(
            body: list[ast.stmt] = body, at: int = at, loop: ast.For = loop,
            start: str = start, stop: str = stop, step: str = step,
        ) -> None:  # fmt: skip
            first = _statement(f"if {start} < {stop}:\n    pass")
            assert isinstance(first, ast.If)
            # As the loop counts: an integer of run time, also where it begins with a constant.
            index = ast.unparse(loop.target)
            begins = _statement(f"{index} = {start} + ({OPAQUE} - {OPAQUE})")
            first.body = [begins, *copy.deepcopy(loop.body)]
            _ranged(loop, f"{start} + {step}", stop, step)
            body[at : at + 1] = [first, loop]

        yield Place(loop.lineno, apply)


def split_loop(function: ast.FunctionDef) -> Iterator[Place]:
    """Moves the first iteration to a separate loop."""
    for body, at, loop, (start, stop, step) in _counted(function):

        def apply(
            body: list[ast.stmt] = body, at: int = at, loop: ast.For = loop,
            start: str = start, stop: str = stop, step: str = step,
        ) -> None:  # fmt: skip
            first = copy.deepcopy(loop)
            _ranged(first, start, f"tl.minimum({start} + {step}, {stop})", step)
            _ranged(loop, f"{start} + {step}", stop, step)
            body[at : at + 1] = [first, loop]

        yield Place(loop.lineno, apply)


def split_accumulator(function: ast.FunctionDef) -> Iterator[Place]:
    """Every other iteration subtracts from a second accumulator, which is subtracted from the first after the loop.

    If both were added to, confusing them would go unnoticed.
    """
    for sum_ in _sums(function):

        def apply(sum_: _Sum = sum_) -> None:
            even, name = "turn_ % 2 == 0", sum_.name
            update = sum_.with_accumulator(f"tl.where({even}, {name}, -second_)")
            sum_.replace(
                ["turn_ = 0", f"second_ = {sum_.zero}"],
                [
                    f"sum_ = {update}", f"{name} = tl.where({even}, sum_, {name})",
                    f"second_ = tl.where({even}, second_, -sum_)", "turn_ += 1",
                ],
                "-",
            )  # fmt: skip

        yield Place(sum_.line, apply)


def rotated_accumulators(function: ast.FunctionDef) -> Iterator[Place]:
    """Two accumulators that swap in each iteration; they are added after the loop."""
    for sum_ in _sums(function):

        def apply(sum_: _Sum = sum_) -> None:
            update = sum_.with_accumulator(sum_.name)
            sum_.replace(
                [f"second_ = {sum_.zero}"],
                [f"sum_ = {update}", f"{sum_.name} = second_", "second_ = sum_"],
            )

        yield Place(sum_.line, apply)


def commuted(function: ast.FunctionDef) -> Iterator[Place]:
    """The operands of every addition, multiplication, minimum and maximum, the other way round."""

    def numbers(node: ast.expr) -> bool:
        return not isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr)) and not (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    sums = [
        node for node in ast.walk(function)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult))
        and numbers(node.left) and numbers(node.right)
    ]  # fmt: skip
    calls = [
        node for node in ast.walk(function)
        if isinstance(node, ast.Call) and _called(node) in ("minimum", "maximum") and len(node.args) == 2
        and isinstance(node.func, ast.Attribute)
    ]  # fmt: skip

    def apply() -> None:
        for node in sums:
            node.left, node.right = node.right, node.left
        for call in calls:
            call.args.reverse()

    if sums or calls:
        yield Place(function.lineno, apply)


def transposed_twice(function: ast.FunctionDef) -> Iterator[Place]:
    """Transposes an operand of a matmul twice."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _called(node) == "dot" and len(node.args) >= 2:
            for number in range(2):

                def apply(node: ast.Call = node, number: int = number) -> None:
                    node.args[number] = _expression(
                        f"tl.trans(tl.trans({ast.unparse(node.args[number])}))"
                    )

                yield Place(node.lineno, apply)


KINDS = (
    Kind("opaque-branch", opaque_branch),
    Kind("one-turn", one_turn),
    Kind("twin-branches", twin_branches),
    Kind("opaque-addition", opaque_addition),
    Kind("peeled-turn", peeled_turn),
    Kind("split-loop", split_loop, opaque=False),
    Kind("split-accumulator", split_accumulator, opaque=False),
    Kind("rotated-accumulators", rotated_accumulators, opaque=False, tags=("alias-start",)),
    Kind("commuted", commuted, opaque=False),
    Kind("transposed-twice", transposed_twice, opaque=False, tags=("trans",)),
)


@dataclass(frozen=True)
class _Sum:
    """A loop that adds to a variable which began with zeros, and does nothing else with it.

    Attributes:
        zero: the expression that it begins with.
        update: the only statement of the loop that names it.
    """

    body: list[ast.stmt]
    loop: ast.For
    name: str
    zero: str
    update: ast.stmt

    @property
    def line(self) -> int:
        return self.update.lineno

    def with_accumulator(self, other: str) -> str:
        """Returns the sum of this iteration, with `other` as the total so far."""
        update = copy.deepcopy(self.update)
        if isinstance(update, ast.AugAssign):
            return f"{other} + ({ast.unparse(update.value)})"
        assert isinstance(update, ast.Assign)
        renamed = _Renamed(self.name, _expression(other)).visit(update.value)
        return ast.unparse(renamed)

    def replace(self, before: Sequence[str], update: Sequence[str], sign: str = "+") -> None:
        at = self.loop.body.index(self.update)
        self.loop.body[at : at + 1] = map(_statement, update)
        at = self.body.index(self.loop)
        behind = _statement(f"{self.name} = {self.name} {sign} second_")
        self.body[at : at + 1] = [*map(_statement, before), self.loop, behind]


class _Renamed(ast.NodeTransformer):
    def __init__(self, name: str, by: ast.expr) -> None:
        self._name, self._by = name, by

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._by if node.id == self._name else node


def _sums(function: ast.FunctionDef) -> Iterator[_Sum]:
    for body in _bodies(function):
        for at, loop in enumerate(body):
            if not isinstance(loop, ast.For) or loop.orelse or not _is_range(loop.iter):
                continue
            for update in loop.body:
                name = _added_to(update)
                zero = _zero(body[:at], name) if name else ""
                if name and zero and _names(loop).count(name) == _names(update).count(name):
                    yield _Sum(body, loop, name, zero, update)


def _added_to(one: ast.stmt) -> str:
    """Returns the name in ``a += x``, ``a = a + x`` and ``a = tl.dot(x, y, a)``, else an empty text."""
    if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add):
        name = getattr(one.target, "id", "")
        return name if _names(one).count(name) == 1 else ""
    if not isinstance(one, ast.Assign) or len(one.targets) != 1:
        return ""
    name, value = getattr(one.targets[0], "id", ""), one.value
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call) and _called(value) == "dot":
        parts = [*value.args[2:3], *(word.value for word in value.keywords if word.arg == "acc")]
    alone = any(isinstance(part, ast.Name) and part.id == name for part in parts)
    return name if name and alone and _names(one).count(name) == 2 else ""


def _zero(before: Sequence[ast.stmt], name: str) -> str:
    """The zeros that `name` was last set to, or an empty text."""
    for one in reversed(before):
        if name not in _set_by(one):
            continue
        if not (isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)):
            return ""
        value = one.value
        zeros = isinstance(value, ast.Call) and _called(value) == "zeros"
        number = isinstance(value, ast.Constant) and type(value.value) is float and not value.value
        return ast.unparse(value) if zeros or number else ""
    return ""


def _counted(
    function: ast.FunctionDef,
) -> Iterator[tuple[list[ast.stmt], int, ast.For, tuple[str, str, str]]]:
    """Loops over a range whose bounds the loop does not change, with start, stop and step: body, place, loop, range.

    The step is a number above 0, or a constant of the compilation by its name, which no kernel counts down with.
    """
    for body in _bodies(function):
        for at, loop in enumerate(body):
            if not isinstance(loop, ast.For) or loop.orelse or not isinstance(loop.target, ast.Name):  # fmt: skip
                continue
            call = loop.iter
            if not _is_range(call) or any(isinstance(node, ast.Return) for node in ast.walk(loop)):
                continue
            assert isinstance(call, ast.Call)
            words = [f"({ast.unparse(one)})" for one in call.args]
            start, stop, step = (["0", *words, "1"] if len(words) == 1 else [*words, "1"])[:3]
            changed = {name for one in loop.body for name in _set_by(one)}
            used = {name for one in call.args for name in _names(one)}
            if changed & (used | {loop.target.id}) or not _counts_up(call, function):
                continue
            yield body, at, loop, (start, stop, step)


def _counts_up(call: ast.Call, function: ast.FunctionDef) -> bool:
    if len(call.args) < 3:
        return True
    step = call.args[2]
    if isinstance(step, ast.Name):
        of_run_time = {
            one.arg for one in function.args.args
            if one.annotation is None or "constexpr" not in ast.unparse(one.annotation)
        }  # fmt: skip
        return step.id.isupper() and step.id not in of_run_time | _set_by(function)
    return isinstance(step, ast.Constant) and type(step.value) is int and step.value > 0


def _ranged(loop: ast.For, *words: str) -> None:
    assert isinstance(loop.iter, ast.Call)
    loop.iter.args = [_expression(word) for word in words]


def _is_range(node: ast.expr) -> bool:
    """``range`` or ``tl.range``, of names and numbers; a static one has indices that are constants."""
    return (
        isinstance(node, ast.Call) and _called(node) == "range" and 1 <= len(node.args) <= 3
        and not any(isinstance(one, ast.Starred) for one in node.args)
    )  # fmt: skip


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        if isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If)):
            yield node.body
            if isinstance(node, ast.If) and node.orelse:
                yield node.orelse


def _loops(function: ast.FunctionDef) -> Iterator[ast.For]:
    return (node for node in ast.walk(function) if isinstance(node, ast.For))


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _set_by(node: ast.AST) -> set[str]:
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _calls(node: ast.AST) -> set[str]:
    return {_called(one) for one in ast.walk(node) if isinstance(one, ast.Call)}


def _stores(node: ast.AST) -> bool:
    return any(name == "store" or name.startswith("atomic_") for name in _calls(node))


def _is_docstring(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def _holds() -> ast.expr:
    return _expression(f"{OPAQUE} > 0")


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]
