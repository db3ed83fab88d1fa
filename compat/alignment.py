"""How the integers of a kernel's IR lie along an axis of a tile: read from its text, for shims that rewrite it.

Triton's own analysis decides how many bytes one instruction moves, and Python cannot call it. This one understands
the operations that masks are made of. About all other values nothing is known.
"""

from typing import Dict, List, NamedTuple, Optional, Tuple

from .patterns import lazily

# The most that any instruction moves at a time. Every number here is a power of two up to it.
_MUCH = 1 << 10
_RESULT = lazily(r"\s*(%[\w$.-]+)(?::\d+)? = \"?([\w.]+)\"?(.*)")
_VALUE = lazily(r"%[\w$.-]+(?:#\d+)?")
_ARGUMENT = lazily(r"(%\w+): (?:!tt\.ptr<[^>]*>|i\d+) \{[^}]*?tt\.divisibility = (\d+)")
_NUMBER = lazily(r" (?:dense<)?(-?\d+)>? :")
_RANGE = lazily(r"end = (-?\d+).*?start = (-?\d+)")
_AXIS = lazily(r"axis = (\d+)")
_SHAPE = lazily(r" : \(?tensor<((?:\d+x)+)")
_LOOP = lazily(r"scf\.for (%\w+) = (%\S+) to %\S+ step (%\S+)")
_CARRIED = lazily(r"(%\w+) = (%[^\s,)]+)")
_HANDS_ON = ("triton_gpu.convert_layout", "arith.extsi", "arith.extui", "arith.index_cast")
# "x < n" changes where n is, if x counts up; so does "n > x".
_COUNTING_LEFT, _COUNTING_RIGHT = ("slt", "ult", "sge", "uge"), ("sgt", "ugt", "sle", "ule")


class Along(NamedTuple):
    """Facts about the numbers of a tile along one axis, in groups that begin at multiples of their length.

    Attributes:
        counting: how many adjacent numbers count up by one.
        divisible: a divisor of the first number of each such group; says nothing of groups of one.
        equal: how many adjacent numbers are the same.
    """

    counting: int
    divisible: int
    equal: int


UNKNOWN = Along(1, 1, 1)
_ANYTHING = Along(_MUCH, _MUCH, _MUCH)


class _Operation(NamedTuple):
    name: str
    text: str

    @property
    def operands(self) -> List[str]:
        return _VALUE.findall(self.text)


class Alignment:
    """The facts about the values of a module of Triton's IR, with layouts or without.

    Args:
        ir: its text.
    """

    def __init__(self, ir: str) -> None:
        self._made: Dict[str, _Operation] = {}
        self._arguments = {name: int(number) for name, number in _ARGUMENT.findall(ir)}
        # Of the variables that a loop carries: the initial value, and the value after an iteration.
        self._carried: Dict[str, Tuple[str, str]] = {}
        self._turns: Dict[str, Tuple[str, str]] = {}
        self._assumed: Dict[Tuple[str, Optional[int]], Along] = {}
        self._known: Dict[Tuple[str, Optional[int]], Along] = {}
        self._read(ir)

    def equal_along(self, value: str, axis: int) -> int:
        """Returns how many adjacent elements of a tile along an axis are known to be the same: a power of two."""
        while True:
            self._known.clear()
            equal = self._along(value, axis, 0).equal
            # A loop's variables are first assumed to be as regular as possible, until an iteration shows otherwise.
            held = {
                key: _worst(*(self._along(operand, key[1], 0) for operand in self._carried[key[0]]))
                for key in list(self._assumed)
            }
            if held == self._assumed:
                return equal
            self._assumed.update(held)

    def _read(self, ir: str) -> None:
        # The open regions: of a loop its result and its variables; of any other nothing.
        opened: List[Tuple[str, List[Tuple[str, str]]]] = []
        for line in ir.splitlines():
            text = line.split(" loc(")[0].rstrip()
            made = _RESULT.match(text)
            if made:
                self._made[made[1]] = _Operation(made[2], made[3])
            stripped = text.lstrip()
            if stripped.startswith("scf.yield") and opened:
                result, carried = opened[-1]
                for at, (pair, after) in enumerate(zip(carried, _VALUE.findall(stripped))):
                    self._carried[pair[0]] = self._carried[f"{result}#{at}"] = (pair[1], after)
                    if len(carried) == 1:
                        self._carried[result] = self._carried[pair[0]]
            if stripped.startswith("}") and opened:
                opened.pop()
            if stripped.endswith("{"):
                loop = _LOOP.search(stripped)
                if loop:
                    self._turns[loop[1]] = (loop[2], loop[3])
                    head = stripped.partition("iter_args(")[2].partition(") ->")[0]
                    opened.append((made[1] if made else "", _CARRIED.findall(head)))
                else:
                    opened.append(("", []))

    def _along(self, value: str, axis: Optional[int], depth: int) -> Along:
        """With `axis` None: of all elements, in any order."""
        key = (value, axis)
        if value in self._carried:
            return self._assumed.setdefault(key, _ANYTHING)
        if key not in self._known:
            # Deeper than any mask is.
            along = UNKNOWN if depth > 100 else self._asked(value, axis, depth + 1)
            operation = self._made.get(value)
            if operation and "tensor<" not in operation.text:
                along = along._replace(equal=_MUCH)
            self._known[key] = along
        return self._known[key]

    def _asked(self, value: str, axis: Optional[int], depth: int) -> Along:
        if value in self._turns:
            start, step = (self._along(operand, axis, depth) for operand in self._turns[value])
            return Along(1, min(start.divisible, step.divisible), _MUCH)
        operation = self._made.get(value)
        if operation is None:
            divisible = self._arguments.get(value)
            return Along(1, _power(divisible), _MUCH) if divisible else UNKNOWN
        name, text = operation
        if name == "arith.constant":
            number = _NUMBER.search(text)
            equal = 1 if "dense<[" in text else _MUCH
            return Along(1, _power(int(number[1])) if number else 1, equal)
        if name == "tt.make_range":
            limits = _RANGE.search(text)
            if axis is None or not limits:
                return UNKNOWN
            behind, last = int(limits[1]), int(limits[2])
            return Along(_power(behind - last), _power(behind | last), 1)
        operands = operation.operands
        if not operands:
            return UNKNOWN
        first = operands[0]
        if name == "tt.splat":
            return Along(1, self._along(first, None, depth).divisible, _MUCH)
        if name == "tt.expand_dims":
            new = _AXIS.search(text)
            if axis is None or not new:
                return UNKNOWN
            if int(new[1]) == axis:
                return Along(1, self._along(first, None, depth).divisible, _MUCH)
            return self._along(first, axis - (int(new[1]) < axis), depth)
        if name == "tt.broadcast":
            shape = _SHAPE.search(text)
            of = self._along(first, axis, depth)
            if axis is None or not shape:
                return UNKNOWN
            single = shape[1].split("x")[axis] == "1"
            return Along(1, of.divisible, _MUCH) if single else of
        if name in _HANDS_ON:
            return self._along(first, axis, depth)
        if not name.startswith("arith."):
            return UNKNOWN
        return _of_arithmetic(
            name, text, [self._along(operand, axis, depth) for operand in operands]
        )


def _of_arithmetic(name: str, text: str, of: List[Along]) -> Along:
    equal = min(operand.equal for operand in of)
    if len(of) != 2:
        return Along(1, 1, equal)
    left, right = of
    if name == "arith.cmpi":
        if text.split()[0].rstrip(",") in _COUNTING_LEFT:
            equal = max(equal, min(left.counting, left.divisible, right.divisible, right.equal))
        elif text.split()[0].rstrip(",") in _COUNTING_RIGHT:
            equal = max(equal, min(right.counting, right.divisible, left.divisible, left.equal))
        return Along(1, 1, equal)
    if name in ("arith.addi", "arith.subi"):
        counting = min(left.counting, right.equal)
        if name == "arith.addi":
            counting = max(counting, min(right.counting, left.equal))
        divisible = min(left.divisible, right.divisible, max(counting, equal))
        return Along(counting, divisible, equal)
    if name == "arith.muli":
        return Along(1, min(left.divisible * right.divisible, _MUCH), equal)
    if name in ("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"):
        return Along(1, min(left.divisible, right.divisible, equal), equal)
    return Along(1, 1, equal)


def _worst(left: Along, right: Along) -> Along:
    return Along(*(min(pair) for pair in zip(left, right)))


def _power(number: int) -> int:
    """The greatest power of two that divides it."""
    return min(number & -number, _MUCH) if number else _MUCH
