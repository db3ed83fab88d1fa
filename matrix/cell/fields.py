"""Validators for the fields of events. Each function returns the value from JSON, or raises `Refused`."""

from collections.abc import Mapping
from typing import Any, Callable, Dict, Tuple

from .plain import MAX_DEPTH, clean, clean_text

LONGEST_WORD = 2000
MOST_SECONDS = 10**9
MOST_PLANNED = 10**7
MOST_ENTRIES = 1000


class Refused(ValueError):
    """The other side wrote an impossible value: it is counted, not believed."""


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused(f"no text: {_shown(value)}")
    return clean_text(value)


def word(value: Any) -> str:
    """A name: text, not empty, and not so long that it would have to be shortened."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_WORD:
        raise Refused(f"no name: {_shown(value)}")
    return clean_text(value)


def one_of(words: Tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise Refused(f"none of {', '.join(words)}: {_shown(value)}")
        return value

    return read


def maybe(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def or_none(value: Any) -> Any:
        return None if value is None else read(value)

    return or_none


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused(f"neither true nor false: {_shown(value)}")
    return value


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_PLANNED:
        raise Refused(f"no number of cases: {_shown(value)}")
    return value


def seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"no duration: {_shown(value)}")
    # False for NaN as well.
    if not 0 <= value < MOST_SECONDS:
        raise Refused(f"no duration: {_shown(value)}")
    return float(value)


def words(value: Any) -> Tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_ENTRIES:
        raise Refused(f"no list of names: {_shown(value)}")
    return tuple(word(entry) for entry in value)


def versions(value: Any) -> Dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > MOST_ENTRIES:
        raise Refused(f"no versions: {_shown(value)}")
    return {word(name): word(version) for name, version in value.items()}


def data(value: Any) -> Dict[str, Any]:
    """Return a mapping of a cell's measurements; numbers that JSON cannot express are spelled out as text."""
    if not isinstance(value, Mapping):
        raise Refused(f"no mapping: {_shown(value)}")
    if _deeper(value, MAX_DEPTH):
        raise Refused(f"nested deeper than {MAX_DEPTH}")
    return clean(value)


def _deeper(value: Any, limit: int) -> bool:
    """Whether lists and mappings lie in each other more than `limit` deep. Level by level: recursion has its end."""
    level = [value]
    for _ in range(limit):
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(item, (Mapping, list))
        ]
        if not level:
            return False
    return True


def _shown(value: Any) -> str:
    """Return its beginning as text; a nested value, or one with thousands of digits, is not written out."""
    if isinstance(value, str):
        return repr(clean_text(value[:80]))
    if isinstance(value, int) and value.bit_length() > 64:
        return "an integer beyond 64 bits"
    return repr(value) if isinstance(value, (int, float)) else type(value).__name__
