"""Origins of the values of a kernel's IR, element by element: read from its text, for the shims that rewrite it."""

import re
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .patterns import lazily

_RESULT = lazily(r"\s*(%\w+)(?::(\d+))? = \"?([\w.]+)")
_VALUE = lazily(r"%[\w#]+")
_TYPE = lazily(r"tensor<(?:\d+x)+(?:!tt\.ptr<)?([a-z]\w*)")
_ELEMENTWISE = lazily(r"arith\.|math\.|tt\.(fp_to_fp|bitcast|clampf|extern_elementwise)\b")
_BITS = lazily(r"[a-z]+(\d+)")
# "%9:2 = scf.for %i = … iter_args(%s = %0, %t = %1) -> (…) : i32 {", "scf.while (%s = %0) : (…) -> (…) {", "scf.if …"
_REGION = lazily(r"\s*(?:(?P<made>%\w+)(?::(?P<count>\d+))? = )?scf\.(?P<kind>for|while|if)\b")
_HANDED = lazily(r"(?:iter_args|scf\.while )\((.*?)\) (?:->|:)")
_PAIR = lazily(r"(%\w+) = (%[\w#]+)")
_ENDS = lazily(r"\s*scf\.(?P<how>yield|condition\(%[\w#]+\))(?P<values>[^:]*)")
# "^bb0(%s: tensor<64x64xf32> loc(…), %t: i32 loc(…)):"
_BLOCK = lazily(r"\s*\^bb\d+\(")
_ARGUMENT = lazily(r"(%\w+): ")
_FUNCTION = lazily(r"\s*tt\.func\b")


class Origin(NamedTuple):
    """The origin of a value, by operations on single elements, through loops and branches.

    Attributes:
        bits: width of the narrowest type on the way.
        turned: whether something was transposed.
        product: whether a ``tt.dot`` made something.
    """

    bits: int
    turned: bool
    product: bool


UNKNOWN = Origin(64, False, False)
# Around every region.
_OUTSIDE = -1


class _Region(NamedTuple):
    """A loop or a branch that the lines so far have opened.

    Attributes:
        outside: the line that opened the region around it.
        number: of its first line.
        results: the values that it makes.
        carried: of a loop, its variables.
        handed: of a ``scf.while``, the values that its condition passes to its body.
    """

    kind: str
    outside: int
    number: int
    results: List[str]
    carried: List[str]
    handed: List[Origin]


def functions(ir: str) -> Iterator[List[str]]:
    """The lines of a module of Triton's IR, function by function; each function names its values separately."""
    lines: List[str] = []
    for line in ir.splitlines():
        if _FUNCTION.match(line) and lines:
            yield lines
            lines = []
        lines.append(line)
    yield lines


class Origins:
    """The origins of a function's values; its lines are counted from 0. Regions side by side may use the same name."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._of: Dict[Tuple[int, str], Origin] = {}
        # For each line, and for the current one: the lines that opened the regions around it, the innermost last.
        self._around: List[Tuple[int, ...]] = [()] * len(lines)
        self._here: Tuple[int, ...] = (_OUTSIDE,)
        # The values that a loop carries are known at its end, so its beginning is read again.
        for _ in range(len(lines) + 1):
            before = dict(self._of)
            self._read(lines)
            if self._of == before:
                break

    def of(self, number: int, name: str) -> Origin:
        """The origin of the value that has this name in that line."""
        return self._in(self._around[number], name)

    def _in(self, around: Sequence[int], name: str) -> Origin:
        origins = (self._of.get((region, name)) for region in reversed(around))
        return next(filter(None, origins), UNKNOWN)

    def _read(self, lines: Sequence[str]) -> None:
        self._here = (_OUTSIDE,)
        opened: List[Optional[_Region]] = []
        for number, line in enumerate(lines):
            self._around[number] = self._here
            text = line.split(" loc(")[0].rstrip()
            inside = opened[-1] if opened else None
            if text.lstrip().startswith("}"):
                region = opened.pop() if opened else None
                self._here = self._here[:-1] or (_OUTSIDE,)
                if text.endswith("{"):
                    # "} else {", "} do {"
                    opened.append(region)
                    self._here += (number,)
                continue
            ends = _ENDS.match(text)
            if _BLOCK.match(line):
                if inside:
                    self._put(self._here[-1], _ARGUMENT.findall(line), inside.handed)
            elif ends and inside:
                self._end(inside, ends)
            elif text.endswith("{"):
                region = self._opened(text, number)
                opened.append(region)
                self._here += (number,)
            else:
                result = _RESULT.match(text)
                if result and not result[2]:
                    self._of[self._here[-1], result[1]] = self._origin(text, result[3])

    def _opened(self, text: str, number: int) -> Optional[_Region]:
        match = _REGION.match(text)
        if match is None:
            return None
        made = match["made"]
        results = [] if made is None else [made]
        if match["count"]:
            results = [f"{made}#{each}" for each in range(int(match["count"]))]
        handed = _HANDED.search(text)
        pairs = _PAIR.findall(handed[1]) if handed else []
        before = [self._in(self._here, value) for _, value in pairs]
        carried = [name for name, _ in pairs]
        self._put(number, carried, before)
        if match["kind"] == "for":
            self._put(self._here[-1], results, before)
        return _Region(match["kind"], self._here[-1], number, results, carried, [])

    def _end(self, region: _Region, ends: "re.Match[str]") -> None:
        values = [self._in(self._here, name) for name in _VALUE.findall(ends["values"])]
        again = region.kind == "while" and ends["how"] == "yield"
        if not again:
            self._put(region.outside, region.results, values)
        if region.kind == "while" and not again:
            region.handed[:] = values
        elif region.kind != "if":
            self._put(region.number, region.carried, values)

    def _put(self, region: int, names: Iterable[str], values: Iterable[Origin]) -> None:
        """Add the origins that these names of a region may have."""
        for name, other in zip(names, values):
            known = self._of.get((region, name), UNKNOWN)
            self._of[region, name] = Origin(
                min(known.bits, other.bits),
                known.turned or other.turned,
                known.product or other.product,
            )

    def _origin(self, text: str, operation: str) -> Origin:
        types = _TYPE.findall(text)
        here = bits_of(types[-1]) if types else UNKNOWN.bits
        if operation == "tt.dot":
            return Origin(here, False, True)
        before = [self._in(self._here, name) for name in _VALUE.findall(text)[1:]]
        if operation == "tt.trans":
            return Origin(here, True, any(origin.product for origin in before))
        if not _ELEMENTWISE.match(operation):
            return Origin(here, False, False)
        return Origin(
            min([here, *(origin.bits for origin in before)]),
            any(origin.turned for origin in before),
            any(origin.product for origin in before),
        )


def bits_of(kind: str) -> int:
    """The bits of an element type, such as ``bf16``."""
    match = _BITS.match(kind)
    return int(match[1]) if match else UNKNOWN.bits
