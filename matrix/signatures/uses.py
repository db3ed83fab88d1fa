"""How a kernel's body uses its parameters: as an address, an index, a loop bound, a flag, a dtype, a function, a text.

A parameter is followed through assignments and through the functions of the file that the kernel calls. A name of
NAMES below is a use of the parameter itself; `LOADED` before it is a use of what was loaded through it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswarp.matrix.signatures.gluon import LANGUAGE as GLUON
from crosswarp.matrix.signatures.kinds import DTYPES
from crosswarp.matrix.signatures.source import Kernel, Source

(
    POINTER, INDEX, BITS, FLOAT, TRUTH, SIZE, DTYPE, CALLED, TESTED, DESCRIPTOR, TABLE, STORED, PIECES, LAYOUT, BYTES,
    HALVES, UNROLLED, BLOCK, BASE,
) = (
    "pointer", "index", "bits", "float", "truth", "size", "dtype", "called", "tested for None", "descriptor",
    "addresses", "stored integers", "a tuple", "a layout", "bytes", "two bytes each",
    "iterations that are unrolled", "a block of elements",
    "the one base of an address",
)  # fmt: skip
NAMES = (
    POINTER,
    INDEX,
    BITS,
    FLOAT,
    TRUTH,
    SIZE,
    DTYPE,
    CALLED,
    TESTED,
    DESCRIPTOR,
    TABLE,
    STORED,
    PIECES,
    LAYOUT,
    BYTES,
    HALVES,
    UNROLLED,
    BLOCK,
    BASE,
)
LOADED = "*"
_ADDRESSES = ("load", "store", "make_block_ptr", "prefetch", "make_tensor_descriptor", "advance")
_FLOATS = (
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos", "softmax", "dot", "fma",
    "fast_expf", "sqrt_rn", "div_rn", "dot_scaled",
)  # fmt: skip
_KEEP = (
    "where", "minimum", "maximum", "sum", "max", "min", "cdiv", "multiple_of", "max_contiguous", "max_constancy",
    "broadcast_to", "reshape", "view", "expand_dims", "abs", "trans", "ravel", "flip", "cumsum", "sort", "clamp",
    "broadcast", "permute", "join", "cat", "interleave", "int64", "int32", "cast", "split", "gather", "xor_sum",
)  # fmt: skip
_WHOLE = ("program_id", "num_programs", "arange", "argmax", "argmin", "cdiv", "zeros_int")
_SHAPES = (
    "arange",
    "zeros",
    "full",
    "broadcast_to",
    "reshape",
    "view",
    "ones",
    "static_range",
    "make_block_ptr",
)
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_BITS_OF_ATOMICS = ("atomic_cas", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg")
# Gluon's functions that take an address elsewhere than first, or with the offsets beside it, and its place.
_PLACES = {
    "buffer_load": 0, "buffer_store": 1, "buffer_load_to_shared": 1, "global_load_to_shared": 1,
    "buffer_atomic": 0, "async_load": 1, "async_copy_global_to_shared": 1,
}  # fmt: skip
# Those of its functions that take a layout by position, and its place.
_LAYOUTS = {
    "SliceLayout": 1, "DotOperandLayout": 1, "convert_layout": 1, "allocate_shared_memory": 2, "arange": 2, "zeros": 2,
    "full": 3, "set_auto_layout": 1,
}  # fmt: skip
# The bits of an operand of inline assembly, by the letter of its constraint.
_REGISTERS = {"h": 16, "r": 32, "l": 64}
# The arguments of a range that has a step: with blocks of that step, few iterations are unrolled.
_WITH_A_STEP = 3
# Functions of the file are followed that far.
_DEEPEST = 6


@dataclass
class Use:
    """The uses of one parameter.

    Attributes:
        facts: NAMES, and NAMES behind LOADED.
        texts: strings that it is compared with, in their order.
        numbers: integers that it is compared with.
        elements: how many members of it are used, where it is a tuple.
        beside: how many members a tuple has that is passed to the same call, such as the indices beside strides.
        most: the largest value that a static_assert lets pass; None where there is none.
    """

    facts: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    elements: int = 0
    beside: int = 0
    most: int | None = None


def uses(source: Source, kernel: Kernel) -> Mapping[str, Use]:
    """By parameter, how the kernel uses it."""
    return _Body(source, kernel, 0).uses


class _Body:
    """The body of one function of the file, with the facts about each of its parameters."""

    def __init__(self, source: Source, kernel: Kernel, depth: int) -> None:
        self._source = source
        self._depth = depth
        self._kernel = kernel
        self.uses = {parameter.name: Use() for parameter in kernel.parameters}
        self._constants = {declared.name for declared in kernel.parameters if declared.constexpr}
        # Those that are numbers as the kernel declares them.
        self._numbers = self._constants | {
            declared.name
            for declared in kernel.parameters
            if declared.annotation is not None
            and source.full(declared.annotation).rpartition(".")[2] in DTYPES
        }
        self._made: dict[str, list[ast.expr]] = {}
        # The ids of those that `+=` adds.
        self._steps: set[int] = set()
        # By the id of a name that is read: what its block has assigned to it before, the last whole value first.
        self._since: dict[int, list[ast.expr]] = {}
        self._known: dict[tuple[int, frozenset[str]], frozenset[str]] = {}
        self._inner: dict[str, _Body | None] = {}
        for node in ast.walk(kernel.node):
            self._assign(node)
        self._reach(kernel.node.body)
        for node in ast.walk(kernel.node):
            # In their order, so that no chain of assignments is followed further than to the one before.
            if isinstance(node, ast.expr) and id(node) in self._since:
                self._origins(node)
        for node in ast.walk(kernel.node):
            self._look(node)

    # Names and their values

    def _assign(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._note(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._note(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._note(node.target, node.value)
            self._steps.add(id(node.value))
        elif isinstance(node, ast.NamedExpr):
            self._note(node.target, node.value)

    def _note(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._made.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else None
            for place, element in enumerate(target.elts):
                whole = parts is None or len(parts) != len(target.elts)
                self._note(element, value if whole or parts is None else parts[place])

    def _reach(self, block: Sequence[ast.stmt]) -> None:
        """Notes for the names that a block reads which of its values they can have: one name may have several roles."""
        values: dict[str, list[ast.expr]] = {}
        for statement in block:
            inner = [
                below
                for part in ("body", "orelse", "finalbody")
                for below in getattr(statement, part, ())
                if isinstance(below, ast.stmt)
            ]
            if inner:
                # Its assignments may not happen, and in a loop they happen again.
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                        values.pop(node.id, None)
                for part in ("body", "orelse", "finalbody"):
                    self._reach(getattr(statement, part, ()))
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in values:
                    self._since[id(node)] = list(values[node.id])
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    if not isinstance(statement, ast.AugAssign):
                        values.pop(node.id, None)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                values[statement.targets[0].id] = [statement.value]
            elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                values.get(statement.target.id, []).append(statement.value)

    def _origins(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        """The parameters whose value an expression is made of; behind LOADED those that it was loaded through."""
        key = id(node), seen
        if key not in self._known:
            self._known[key] = frozenset(self._of(node, seen))
        return self._known[key]

    def _of(self, node: ast.expr, seen: frozenset[str]) -> Iterable[str]:
        if isinstance(node, ast.Name):
            if id(node) in self._since:
                return frozenset().union(
                    *(self._origins(value, seen) for value in self._since[id(node)])
                )
            own = {node.id} if node.id in self.uses else set()
            if node.id in seen:
                return own
            return own.union(
                *(self._origins(value, seen | {node.id}) for value in self._made.get(node.id, ()))
            )
        if isinstance(node, ast.BinOp):
            return self._origins(node.left, seen) | self._origins(node.right, seen)
        if isinstance(node, ast.UnaryOp):
            return self._origins(node.operand, seen)
        if isinstance(node, ast.IfExp):
            return self._origins(node.body, seen) | self._origins(node.orelse, seen)
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self._origins(node.value, seen)
        if isinstance(node, (ast.Tuple, ast.List)):
            return frozenset().union(*(self._origins(element, seen) for element in node.elts))
        if isinstance(node, ast.Attribute):
            return self._origins(node.value, seen) if node.attr in ("value", "T") else ()
        if isinstance(node, ast.Call):
            return self._of_call(node, seen)
        return ()

    def _of_call(self, node: ast.Call, seen: frozenset[str]) -> Iterable[str]:
        last = self._language(node.func)
        given = [*node.args, *(word.value for word in node.keywords if word.arg != "mask")]
        if last in ("load", "atomic_add", "atomic_cas", "atomic_xchg", "atomic_max", "atomic_min"):
            return (
                {f"{LOADED}{base}" for base in self._bases(node.args[0], seen)} if node.args else ()
            )
        if last == "where":
            given = node.args[1:]
        if last in ("convert_layout", "set_auto_layout"):
            return self._origins(node.args[0], seen) if node.args else ()
        if last == "buffer_load":
            address = self._placed(node, last)
            return {f"{LOADED}{base}" for base in self._bases(address, seen)} if address else ()
        if last in _KEEP or last == "make_block_ptr" or last == "advance":
            return frozenset().union(*(self._origins(operand, seen) for operand in given))
        if isinstance(node.func, ast.Attribute) and not last:
            if node.func.attr == "to" and node.args and self._is_float(node.args[0]):
                return ()
            if node.func.attr == "load":
                return {f"{LOADED}{base}" for base in self._bases(node.func.value, seen)}
            return self._origins(node.func.value, seen)
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "int", "abs"):
            return frozenset().union(*(self._origins(operand, seen) for operand in given))
        inner = self._callee(node)
        return () if inner is None else self._returned(node, inner, seen)

    def _bases(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> set[str]:
        """The parameters that an address begins with."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = self._bases(node.left, seen), self._bases(node.right, seen)
            if right and all(map(self._is_offset, left)) and not all(map(self._is_offset, right)):
                return right
            return left or right
        if isinstance(node, ast.Subscript):
            return self._bases(node.value, seen)
        if isinstance(node, ast.IfExp):
            return self._bases(node.body, seen) | self._bases(node.orelse, seen)
        if isinstance(node, (ast.Tuple, ast.List)):
            return set().union(*(self._bases(element, seen) for element in node.elts))
        if isinstance(node, ast.Call):
            last = self._language(node.func)
            if last in (*_KEEP, *_ADDRESSES):
                given = node.args[1:] if last == "where" else [
                    *node.args[:1], *(word.value for word in node.keywords if word.arg == "base")
                ]  # fmt: skip
                if last == "load":
                    return (
                        {f"{LOADED}{base}" for base in self._bases(node.args[0], seen)}
                        if node.args
                        else set()
                    )
                return set().union(*(self._bases(operand, seen) for operand in given))
            if isinstance(node.func, ast.Attribute) and not last:
                return self._bases(node.func.value, seen)
            return set()
        if not isinstance(node, ast.Name) or node.id in seen:
            return set()
        own = {node.id} if node.id in self.uses else set()
        # A step that a loop adds to an address is no address.
        begun = [value for value in self._made.get(node.id, ()) if id(value) not in self._steps]
        return own.union(*(self._bases(value, seen | {node.id}) for value in begun))

    def _is_offset(self, name: str) -> bool:
        """Whether it is rather added to an address than one: loaded, a constant, or a number by its annotation."""
        return name.startswith(LOADED) or name in self._numbers

    def _addends(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> set[str]:
        """The parameters that an address is the sum of, without those in products."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self._addends(node.left, seen) | self._addends(node.right, seen)
        if not isinstance(node, ast.Name) or node.id in seen:
            return set()
        own = {node.id} if node.id in self.uses else set()
        made = self._made.get(node.id, ())
        return own.union(*(self._addends(value, seen | {node.id}) for value in made))

    def _offsets(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> Iterator[ast.expr]:
        """Yields the offsets that are added to the base of an address."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            if self._bases(node.left):
                yield from self._offsets(node.left, seen)
                yield node.right
            elif self._bases(node.right):
                yield from self._offsets(node.right, seen)
                yield node.left
            else:
                yield node
        elif isinstance(node, ast.IfExp):
            yield from self._offsets(node.body, seen)
            yield from self._offsets(node.orelse, seen)
        elif isinstance(node, ast.Name) and node.id not in seen:
            for value in self._made.get(node.id, ()):
                if id(value) in self._steps:
                    yield value
                else:
                    yield from self._offsets(value, seen | {node.id})

    # Uses

    def _mark(self, node: ast.expr, fact: str) -> None:
        for origin in self._origins(node):
            loaded = origin.startswith(LOADED)
            use = self.uses.get(origin.lstrip(LOADED))
            if use is not None:
                use.facts.add(f"{LOADED}{fact}" if loaded else fact)

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._look_call(node)
        elif isinstance(node, ast.BinOp):
            self._look_binary(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
            self._mark(node.operand, TRUTH)
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            self._truth(node.test)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self._truth(value)
        elif isinstance(node, ast.Compare):
            self._compare(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            use = self.uses.get(node.value.id)
            if (
                use is not None
                and isinstance(node.slice, ast.Constant)
                and isinstance(node.slice.value, int)
            ):
                use.facts.add(PIECES)
                use.elements = max(use.elements, node.slice.value + 1)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            use = self.uses.get(node.value.id)
            if use is not None and isinstance(node.targets[0], ast.Tuple):
                use.facts.add(PIECES)
                use.elements = max(use.elements, len(node.targets[0].elts))

    def _bound(self, node: ast.expr) -> None:
        """Notes the largest value of a parameter that an assertion such as ``N <= 4`` lets pass."""
        if not (isinstance(node, ast.Compare) and isinstance(node.left, ast.Name)):
            return
        use, most = self.uses.get(node.left.id), node.comparators[0]
        if use is not None and isinstance(most, ast.Constant) and type(most.value) is int:
            if isinstance(node.ops[0], (ast.Lt, ast.LtE)):
                use.most = most.value - isinstance(node.ops[0], ast.Lt)

    def _truth(self, node: ast.expr) -> None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            self._mark(node, TRUTH)

    def _compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for operand in sides:
            if not isinstance(operand, ast.Name) or operand.id not in self.uses:
                continue
            use = self.uses[operand.id]
            for other in sides:
                for constant in other.elts if isinstance(other, (ast.Tuple, ast.List)) else [other]:
                    if isinstance(constant, ast.Name) and constant.id not in self.uses:
                        constant = self._source.constants.get(constant.id, constant)
                    if not isinstance(constant, ast.Constant):
                        continue
                    if isinstance(constant.value, str):
                        use.texts.append(constant.value)
                    elif constant.value is None:
                        use.facts.add(TESTED)
                    elif isinstance(constant.value, bool):
                        use.facts.add(TRUTH)
                    elif isinstance(constant.value, int):
                        use.numbers.append(constant.value)
        whole = any(self._is_whole(side) for side in sides)
        for term in sides:
            if whole:
                self._mark(term, INDEX)
            elif any(
                isinstance(side, ast.Constant) and isinstance(side.value, float) for side in sides
            ):
                self._mark(term, FLOAT)

    def _is_whole(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it is made of nothing but integers, some of which come from the language."""
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
            return not isinstance(node.op, ast.Div) and any(
                self._is_whole(part, seen) for part in parts
            )
        if isinstance(node, ast.Subscript):
            return self._is_whole(node.value, seen)
        if isinstance(node, ast.Name) and node.id not in seen:
            return any(
                self._is_whole(value, seen | {node.id}) for value in self._made.get(node.id, ())
            )
        if isinstance(node, ast.Call):
            last = self._language(node.func)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "to" and node.args:
                name = self._source.full(node.args[0]).rpartition(".")[2]
                return name.startswith(("int", "uint"))
            return last in _WHOLE
        return False

    def _is_float(self, node: ast.expr) -> bool:
        return self._source.full(node).rpartition(".")[2].startswith(("float", "bfloat"))

    def _look_binary(self, node: ast.BinOp) -> None:
        both = (node.left, node.right)
        if isinstance(node.op, _BITS):
            for operand in both:
                if not isinstance(operand, ast.Compare):
                    self._mark(operand, BITS)
        elif isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            for term in both:
                self._mark(term, INDEX)
        elif isinstance(node.op, ast.Div):
            self._mark(node.left, FLOAT)
        elif any(isinstance(side, ast.Constant) and isinstance(side.value, float) for side in both):
            for factor in both:
                self._mark(factor, FLOAT)

    def _look_call(self, node: ast.Call) -> None:
        words = {word.arg: word.value for word in node.keywords if word.arg}
        last = self._language(node.func)
        method = isinstance(node.func, ast.Attribute) and not last
        if last in _ADDRESSES or last.startswith("atomic_"):
            address = node.args[0] if node.args else words.get("base", words.get("pointer"))
            if address is not None:
                self._address(address)
            self._stored(node, last, words)
        elif self._source.full(node.func).startswith(GLUON):
            self._look_gluon(node, last)
        self._look_layouts(node, last, words)
        if "mask" in words:
            self._mark(words["mask"], TRUTH)
        if last == "dot":
            for arg in node.args[:2]:
                # A number is no operand of a product of matrices.
                if isinstance(arg, ast.Name) and arg.id in self.uses and arg.id not in self._made:
                    self.uses[arg.id].facts.add(BLOCK)
        if last == "static_assert" and node.args:
            self._bound(node.args[0])
        if last in _FLOATS:
            for each in node.args:
                self._mark(each, FLOAT)
        if last == "where" and node.args:
            self._truth(node.args[0])
        if last == "inline_asm_elementwise":
            self._look_assembly(node, words)
        if last in _SHAPES or last in ("range",) or self._source.full(node.func) == "range":
            for number in _numbers(last, node):
                self._mark(number, INDEX)
        if last == "static_range" and len(node.args) < _WITH_A_STEP:
            for last_arg in node.args[-1:]:
                if isinstance(last_arg, ast.Name) and last_arg.id in self.uses:
                    self.uses[last_arg.id].facts.add(UNROLLED)
        elif last in _SHAPES:
            for argument in [
                *_numbers(last, node),
                *(words[name] for name in ("shape", "block_shape") if name in words),
            ]:
                for part in ast.walk(argument):
                    if isinstance(part, ast.Name) and part.id in self.uses:
                        self.uses[part.id].facts.add(SIZE)
        for name in ("dtype", "out_dtype", "input_precision"):
            if name in words and isinstance(words[name], ast.Name) and name != "input_precision":
                self._mark(words[name], DTYPE)
        place = {"zeros": 1, "full": 2}.get(last, len(node.args))
        if len(node.args) > place:
            self._mark(node.args[place], DTYPE)
        if last == "cast" and len(node.args) > 1:
            self._mark(node.args[1], DTYPE)
        if method:
            self._method(node, node.func.attr if isinstance(node.func, ast.Attribute) else "")
        whole = [given for given in node.args if isinstance(given, (ast.Tuple, ast.List))]
        for listed in node.args if whole and not last else ():
            if isinstance(listed, ast.Name) and listed.id in self.uses:
                self.uses[listed.id].beside = len(whole[0].elts)
        if isinstance(node.func, ast.Name):
            use = self.uses.get(node.func.id)
            if use is not None:
                use.facts.add(CALLED)
        self._inside(node)

    def _look_assembly(self, node: ast.Call, words: Mapping[Any, ast.expr]) -> None:
        """Marks the operands whose elements share a register: their size follows from its size and their number."""
        named = zip(("asm", "constraints", "args", "dtype", "is_pure", "pack"), node.args)
        given = {**dict(named), **words}
        text, pack, operands = (given.get(name) for name in ("constraints", "pack", "args"))
        if not (
            isinstance(text, ast.Constant)
            and isinstance(pack, ast.Constant)
            and isinstance(size := pack.value, int)
            and isinstance(operands, (ast.List, ast.Tuple))
        ):
            return
        registers = [constraint.strip() for constraint in str(text.value).split(",")]
        registers = [name for name in registers if not name.startswith(("=", "~"))]
        if len(registers) != len(operands.elts):
            return
        for register, operand in zip(registers, operands.elts):
            bits = _REGISTERS.get(register, 0) / max(size, 1)
            if bits in (8, 16):
                self._mark(operand, BYTES if bits == 8 else HALVES)

    def _placed(self, node: ast.Call, last: str) -> ast.expr | None:
        """The address that one of Gluon's own functions is passed."""
        words = {word.arg: word.value for word in node.keywords}
        place = _PLACES[last]
        return (
            node.args[place] if place < len(node.args) else words.get("ptr", words.get("pointer"))
        )

    def _look_gluon(self, node: ast.Call, last: str) -> None:
        module = self._source.full(node.func).split(".")[-2]
        if module in ("tma", "tdm"):
            for base in self._bases(node.args[0]) if node.args else ():
                if base in self.uses:
                    self.uses[base].facts.add(DESCRIPTOR)
            return
        last = "buffer_atomic" if last.startswith("buffer_atomic") else last
        address = self._placed(node, last) if last in _PLACES else None
        if address is None:
            return
        self._address(address)
        for offsets in node.args[_PLACES[last] + 1 : _PLACES[last] + 2]:
            if last.startswith("buffer"):
                self._mark(offsets, INDEX)

    def _look_layouts(self, node: ast.Call, last: str, words: Mapping[Any, ast.expr]) -> None:
        place = _LAYOUTS.get(last, len(node.args))
        for layout in [*node.args[place : place + 1], words.get("layout"), words.get("parent")]:
            if layout is not None:
                self._mark(layout, LAYOUT)

    def _method(self, node: ast.Call, name: str) -> None:
        of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if name == "to" and node.args:
            self._mark(node.args[0], DTYPE)
            if "pointer_type" in ast.unparse(node.args[0]):
                self._mark(of, TABLE)
            elif self._source.full(node.args[0]).rpartition(".")[2].startswith(("int", "uint")):
                self._mark(of, INDEX)
        elif name in ("load", "store", "gather", "scatter") and isinstance(of, ast.Name):
            for base in self._bases(of):
                use = self.uses.get(base)
                if use is not None and base == of.id:
                    use.facts.add(DESCRIPTOR)

    def _address(self, node: ast.expr) -> None:
        for base in self._bases(node):
            use = self.uses.get(base.lstrip(LOADED))
            if use is not None:
                use.facts.add(f"{LOADED}{TABLE}" if base.startswith(LOADED) else POINTER)
        bases = self._bases(node)
        if len(bases) == 1 and self._addends(node) <= bases | self._constants:
            self.uses.get(next(iter(bases)).lstrip(LOADED), Use()).facts.add(BASE)
        for offset in self._offsets(node):
            for origin in self._origins(offset):
                use = self.uses.get(origin.lstrip(LOADED))
                if use is not None and origin not in bases:
                    use.facts.add(f"{LOADED}{INDEX}" if origin.startswith(LOADED) else INDEX)

    def _stored(self, node: ast.Call, last: str, words: Mapping[Any, ast.expr]) -> None:
        value = words.get("value", words.get("val"))
        if value is None and len(node.args) > 1:
            value = node.args[1]
        whole = last in _BITS_OF_ATOMICS or (
            value is not None and last in ("store", "atomic_add", "atomic_max", "atomic_min")
            and (self._is_whole(value) or isinstance(value, ast.Constant) and type(value.value) is int
                 and last.startswith("atomic_"))
        )  # fmt: skip
        if whole and node.args:
            for base in self._bases(node.args[0]):
                use = self.uses.get(base)
                if use is not None:
                    use.facts.add(f"{LOADED}{STORED}")

    def _callee(self, node: ast.Call) -> _Body | None:
        """The body of the file's function that is called; None where it is none, or too deep."""
        name = self._source.full(node.func)
        callee = next((kernel for kernel in self._source.kernels if kernel.name == name), None)
        if (
            callee is None
            or callee.node is self._kernel.node
            or self._depth >= _DEEPEST
            or name in self._inner
            and self._inner[name] is None
        ):
            return None
        if name not in self._inner:
            self._inner[name] = None
            self._inner[name] = _Body(self._source, callee, self._depth + 1)
        return self._inner[name]

    def _arguments(self, node: ast.Call, inner: _Body) -> dict[str, ast.expr]:
        given = dict(zip(inner.uses, node.args))
        given.update({word.arg: word.value for word in node.keywords if word.arg in inner.uses})
        return given

    def _returned(self, node: ast.Call, inner: _Body, seen: frozenset[str]) -> set[str]:
        """The origins of a function's return value."""
        given = self._arguments(node, inner)
        origins: set[str] = set()
        for child in ast.walk(inner._kernel.node):
            if not isinstance(child, ast.Return) or child.value is None:
                continue
            for origin in inner._origins(child.value):
                name = origin.lstrip(LOADED)
                if name in given and origin.startswith(LOADED):
                    stars = LOADED * (len(origin) - len(name))
                    origins |= {f"{stars}{base}" for base in self._bases(given[name], seen)}
                elif name in given:
                    origins |= self._origins(given[name], seen)
        return origins

    def _inside(self, node: ast.Call) -> None:
        """Marks the uses of arguments in a function of the file."""
        inner = self._callee(node)
        if inner is None:
            return
        given = self._arguments(node, inner)
        for name, value in given.items():
            use = inner.uses[name]
            for fact in use.facts:
                self._passed_on(value, fact)
            if isinstance(value, ast.Name) and value.id in self.uses:
                self.uses[value.id].texts += use.texts
                self.uses[value.id].numbers += use.numbers
                self.uses[value.id].elements = max(self.uses[value.id].elements, use.elements)
                self.uses[value.id].beside = self.uses[value.id].beside or use.beside

    def _passed_on(self, value: ast.expr, fact: str) -> None:
        if fact == BASE:
            # `_address` finds it anew, by what is passed.
            return
        of_address = fact.startswith(LOADED) or fact in (POINTER, DESCRIPTOR)
        if of_address and fact == POINTER:
            self._address(value)
        elif of_address:
            for base in self._bases(value):
                use = self.uses.get(base)
                if use is not None:
                    use.facts.add(fact)
        elif isinstance(value, ast.Name) or fact in (INDEX, BITS, FLOAT, TRUTH):
            self._mark(value, fact)

    def _language(self, node: ast.expr) -> str:
        """The name that a call has in triton.language or in Gluon's; empty for others."""
        module, _, last = self._source.full(node).rpartition(".")
        if module in (
            "tl",
            "triton.language",
            "gl",
            "triton.language.math",
            "tl.math",
            "libdevice",
        ):
            return last
        of_language = module.startswith(("triton.language", GLUON))
        return last if of_language or module.endswith("libdevice") else ""


def _numbers(last: str, node: ast.Call) -> list[ast.expr]:
    """The positional arguments of a call that are numbers of its shape or bounds."""
    if last in ("zeros", "ones", "full"):
        return node.args[:1]
    if last == "arange":
        return node.args[:2]
    if last in ("broadcast_to", "reshape", "view", "make_block_ptr"):
        return node.args[1:]
    return node.args
