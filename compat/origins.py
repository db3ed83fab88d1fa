"""What the values of a kernel's IR come of, element by element: read from its text, for the shims that rewrite it."""

import re
from typing import Dict, NamedTuple

_RESULT = re.compile(r"\s*(%\w+)(?::\d+)? = \"?([\w.]+)")
_VALUE = re.compile(r"%[\w#]+")
_TYPE = re.compile(r"tensor<(?:\d+x)+(?:!tt\.ptr<)?([a-z]\w*)")
_ELEMENTWISE = re.compile(r"arith\.|math\.|tt\.(fp_to_fp|bitcast|clampf|extern_elementwise)\b")
_BITS = re.compile(r"[a-z]+(\d+)")


class Origin(NamedTuple):
    """What a value comes of, by operations on single elements.

    Attributes:
        bits: of the narrowest type on the way.
        turned: whether something was transposed.
        product: whether a ``tt.dot`` made something.
    """

    bits: int
    turned: bool
    product: bool


UNKNOWN = Origin(64, False, False)


class Origins:
    """Of the values that the lines so far have made."""

    def __init__(self) -> None:
        self._of: Dict[str, Origin] = {}

    def of(self, name: str) -> Origin:
        return self._of.get(name, UNKNOWN)

    def add(self, text: str) -> None:
        """Take in the next line of a module of Triton's IR, without its ``loc(…)``."""
        result = _RESULT.match(text)
        if result:
            self._of[result[1]] = self._origin(text, result[2])

    def _origin(self, text: str, operation: str) -> Origin:
        types = _TYPE.findall(text)
        here = bits_of(types[-1]) if types else UNKNOWN.bits
        if operation == "tt.dot":
            return Origin(here, False, True)
        before = [self.of(name) for name in _VALUE.findall(text)[1:]]
        if operation == "tt.trans":
            return Origin(here, True, any(one.product for one in before))
        if not _ELEMENTWISE.match(operation):
            return Origin(here, False, False)
        return Origin(
            min([here, *(one.bits for one in before)]),
            any(one.turned for one in before),
            any(one.product for one in before),
        )


def bits_of(kind: str) -> int:
    """Of an element, such as ``bf16``."""
    found = _BITS.match(kind)
    return int(found[1]) if found else UNKNOWN.bits
