"""A JSON document declared once: its fields, and where each is read from.

The classes have annotations only. `filled` reads an object by them; schemas.py makes the published schema of them, and
there alone pydantic is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

Read = Callable[[Any], Any]


class Part:
    """An object of a document."""

    def __init_subclass__(cls) -> None:
        # Nobody makes one: the methods of a dataclass take longer to generate than a document to write.
        dataclass(init=False, repr=False, eq=False)(cls)


def read(source: str | Read | None = None, about: str = "", **more: Any) -> Any:
    """A field that is not read by its name alone.

    Args:
        source: the attribute that it is, such as `issue.id` or `span.0`, or a function of the whole object.
        about: its description in the schema.
        more: a default, of a field that later came to be written.
    """
    metadata = {"source": source, **({"description": about} if about else {})}
    return field(metadata=metadata, **more)


def filled(kind: Any, source: Any, **given: Any) -> dict[str, Any]:
    """The fields of `kind`, of the attributes or keys of `source`; `given` are read from elsewhere."""
    return {
        name: convert(given[name] if name in given else read_from(source))
        for name, read_from, convert in _fields(kind)
    }


@cache
def _fields(kind: Any) -> list[tuple[str, Read, Read]]:
    hints = get_type_hints(kind)
    return [
        (each.name, _reader(hints[each.name], each.metadata.get("source") or each.name), _converter(hints[each.name]))
        for each in fields(kind)
    ]  # fmt: skip


def _reader(kind: Any, source: str | Read) -> Read:
    if callable(source):
        return source
    if get_origin(kind) is Literal and len(get_args(kind)) == 1:
        return lambda _: get_args(kind)[0]
    return partial(_attribute, source.split("."))


def _attribute(names: Iterable[str], value: Any) -> Any:
    for name in names:
        if value is None:
            return None
        if isinstance(value, Mapping):
            value = value[name]
        else:
            value = value[int(name)] if name.isdigit() else getattr(value, name)
    return value


@cache
def _converter(kind: Any) -> Read:
    """Returns a function to what JSON has. None is empty where it may not be null."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return partial(filled, kind)
    if kind is str:
        return lambda value: str(value or "")
    if origin not in (UnionType, list, dict):
        return lambda value: value
    convert = _converter(inner[1] if origin is dict else inner[0])
    if origin is list:
        return lambda values: [convert(value) for value in values or ()]
    if origin is dict:
        return lambda values: {name: convert(value) for name, value in _pairs(values)}
    return lambda value: None if value is None else convert(value)


def _pairs(values: Any) -> Iterable[tuple[Any, Any]]:
    return (values if isinstance(values, Mapping) else vars(values)).items()
