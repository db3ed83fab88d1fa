"""Convert any object to plain data for JSON, pickle and SQLite: a stranger's object is read here, and never trusted.

The result is plain even if the object's text raises, is no text, or the object holds itself.
"""

import math
from collections.abc import Mapping
from typing import Any, List, Tuple

# Standard error is our evidence, but one cell must not be able to fill the disk.
MAX_TEXT = 20_000
# Levels of lists and mappings inside each other.
MAX_DEPTH = 32
# In all of them together: lists of the same two lists, and so on, have no end before.
MAX_ENTRIES = 1_000_000
LEFT_OUT = "…"
# The limit of an integer in a column of the store.
_LARGEST = 2**63


def clean(value: Any) -> Any:
    """`value` as text, finite numbers, booleans, None, lists and mappings of these; the rest is spelled out as text.

    The rest is NaN and infinity, integers beyond 64 bits, values deeper than `MAX_DEPTH` or inside themselves, and
    objects of other classes.
    """
    return _clean(value, (), [MAX_ENTRIES])


def is_clean(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether `clean` leaves a mapping or a list of JSON as it is, as far as the number of its entries does not matter.

    It takes a fraction of the time of a copy, and nearly all that a store holds is clean.
    """
    if depth <= 0:
        return False
    if type(value) is dict:
        names = "".join(value)
        if len(names) > MAX_TEXT or not names.isascii():
            return False
        value = value.values()
    for element in value:
        kind = type(element)
        if kind is int:
            if not -_LARGEST <= element < _LARGEST:
                return False
        elif kind is str:
            if len(element) > MAX_TEXT or not element.isascii():
                return False
        elif kind is float:
            if not math.isfinite(element):
                return False
        elif kind is dict or kind is list:
            if not is_clean(element, depth - 1):
                return False
    return True


def _clean(value: Any, inside: Tuple[int, ...], left: List[int]) -> Any:
    """`inside`: the lists and mappings that it lies in; `left`: how many entries may still come, of all."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return clean_text(value)
    if kind is int:
        return value if -_LARGEST <= value < _LARGEST else text_of(value)
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if id(value) in inside or len(inside) >= MAX_DEPTH or left[0] <= 0:
        return LEFT_OUT
    inside = (*inside, id(value))
    try:
        if not isinstance(value, (Mapping, list, tuple, set, frozenset)):
            return text_of(value)
        if isinstance(value, Mapping):
            cleaned = {}
            for key in value:
                left[0] -= 1
                cleaned[text_of(key)] = _clean(value[key], inside, left)
                if left[0] <= 0:
                    cleaned[LEFT_OUT] = LEFT_OUT
                    break
            return cleaned
        entries = []
        for item in value:
            left[0] -= 1
            entries.append(_clean(item, inside, left))
            if left[0] <= 0:
                entries.append(LEFT_OUT)
                break
        return entries
    except BaseException:
        # A subclass that does not behave like its base.
        return text_of(value)


def text_of(value: Any) -> str:
    """``str(value)``, or that it has none."""
    try:
        # If __str__ returns a subclass of str: as exact text.
        return clean_text(str.__str__(str(value)))
    except BaseException as error:
        return f"<{type_name(value)} without text: {type_name(error)}>"


def clean_text(text: str) -> str:
    """Text that can be stored as UTF-8, shortened in the middle when it is endless."""
    if len(text) > MAX_TEXT:
        half = MAX_TEXT // 2
        text = (
            f"{text[:half]}\n[... {len(text) - MAX_TEXT} characters left out ...]\n{text[-half:]}"
        )
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def type_name(value: Any) -> str:
    """The name of its class, as Python keeps it: a metaclass may say anything else."""
    name = type.__dict__["__name__"].__get__(type(value))
    return clean_text(str.__str__(name))


def attribute(value: Any, name: str) -> Any:
    """``value.name``, or None where it has none or asking for it raises."""
    try:
        return getattr(value, name, None)
    except BaseException:
        return None


# No kernel has so many decorators; an object that has every attribute has more.
_MOST_DECORATORS = 50


def below_decorators(thing: Any, kind: type = object) -> Any:
    """The function below a kernel's decorators, each of which keeps the next as `fn`; the last of `kind` above it."""
    for _ in range(_MOST_DECORATORS):
        below = attribute(thing, "fn")
        if (
            attribute(thing, "__code__") is not None
            or below is None
            or not issubclass(type(below), kind)
        ):
            break
        thing = below
    return thing
