"""Frames of plain data from a child to its parent, which reads them without running any of the child's code.

A frame is a mark, a letter for its kind, a length, and JSON in which what JSON lacks (tuples, bytes, sets) is tagged.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Iterator, Tuple

# A mark, so that bytes a kernel writes into this pipe by mistake are not taken for a length.
_MARK = b"\x93crosswarp"
_HEADER = struct.Struct(f"!{len(_MARK)}scQ")
# Longer than any frame sent. A greater length was written by somebody else.
_LARGEST = 1 << 30
_SEQUENCES = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}

MESSAGE, RESULT, RAISED, NO_DATA = b"M", b"R", b"E", b"N"


class NotData(TypeError):
    """A value that is not made of None, bool, int, float, str, bytes, list, tuple, set and dict."""


def packed(kind: bytes, value: Any) -> bytes:
    """A frame. Raises `NotData`."""
    try:
        text = json.dumps(_tagged(value), separators=(",", ":")).encode("ascii")
    except RecursionError:
        msg = "nested too deeply"
        raise NotData(msg) from None
    return _HEADER.pack(_MARK, kind, len(text)) + text


def _tagged(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        return {"dict": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    for name, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            return {name: [_tagged(item) for item in value]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).decode("latin-1")}
    # Subclasses count as their base: a name that extends str, numpy's float64.
    for plain in (str, int, float):
        if isinstance(value, plain):
            return plain(value)
    raise NotData(type(value).__name__)


def _untagged(value: Any) -> Any:
    if not isinstance(value, dict):
        if isinstance(value, list):
            msg = "a list without a tag"
            raise ValueError(msg)
        return value
    ((name, content),) = value.items()
    if name == "bytes":
        return content.encode("latin-1")
    if name == "dict":
        return {_untagged(key): _untagged(item) for key, item in content}
    return _SEQUENCES[name](_untagged(item) for item in content)


class Reader:
    """Splits the bytes from a pipe into frames.

    Attributes:
        unreadable: why the rest of it cannot be read; "" while it can.
    """

    def __init__(self) -> None:
        self.unreadable = ""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Tuple[bytes, Any]]:
        """The kind and the value of each frame that `data` completes."""
        buffer = self._buffer
        if not self.unreadable:
            buffer += data
        while len(buffer) >= _HEADER.size and not self.unreadable:
            mark, kind, length = _HEADER.unpack_from(buffer)
            if mark != _MARK or length > _LARGEST:
                self.unreadable = "something else wrote into the pipe of its results"
                return
            if len(buffer) < _HEADER.size + length:
                return
            frame = bytes(buffer[_HEADER.size : _HEADER.size + length])
            del buffer[: _HEADER.size + length]
            try:
                value = _untagged(json.loads(frame))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                self.unreadable = f"its result cannot be read ({type(error).__name__})"
                return
            yield kind, value
