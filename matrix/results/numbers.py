"""The numbers of a case that passes on both sides, compared: bitwise equal or not, how far apart, and how many of them.

The lanes emulate and interpret keep them (matrix/cell/judging/numbers.py). Equal digests are equal outputs. Of others,
the values that were kept say the largest distance in ulp (units in the last place: how many numbers of the type lie
between) and the share of elements that differ; whether that is better or worse, the error against the reference says.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

METRIC = "numbers"
# Bits of the fraction of each type of floating point number, of which the sign is the highest bit of all.
_FRACTION = {
    "float64": 52, "float32": 23, "float16": 10, "bfloat16": 7, "float8_e5m2": 2, "float8_e4m3fn": 3,
}  # fmt: skip
OTHER_INPUTS = "numbers: the two sides drew other inputs (another torch)"
OTHER_NUMPY = (
    "numbers of the interpreter: it computes with numpy, whose last bits differ on the two sides (another release of "
    "numpy, or another processor)"
)


class Distance(NamedTuple):
    """How many of the stored elements differ, of how many, and the largest difference.

    `ulp`: for integers the difference; infinite between a number and NaN.
    """

    differ: int
    of: int
    ulp: float


def changed(before: Record, after: Record) -> tuple[tuple[Change, ...], str]:
    """A change for each output with other bits, with both errors against the reference; or why nothing is compared.

    Before these, a change for each output of which a row's bits depend on the batch on one side alone.
    """
    rows = tuple(_of_rows(before, after)) if "batch" in after.resources else ()
    changes, why = _of_outputs(before, after)
    return (*rows, *changes), why


def _of_rows(before: Record, after: Record) -> Iterator[Change]:
    old, new = (_mapping(record.resources.get("batch")) for record in (before, after))
    outputs = _mapping(old.get("outputs")), _mapping(new.get("outputs"))
    for name in sorted({*outputs[0]} & {*outputs[1]}):
        sides = outputs[0][name], outputs[1][name]
        if bool(sides[0]) == bool(sides[1]):
            continue
        was, now = ("other bits" if side else "the same bits" for side in sides)
        both = sides[0] or sides[1]
        both = [_mapping(side) for side in both] if isinstance(both, list) else []
        what = f"{name}: a row alone and in a batch of {new.get('rows')}"
        yield Change(METRIC, what, was, now, "", _sentence(*both) if len(both) == 2 else "")


def _of_outputs(before: Record, after: Record) -> tuple[tuple[Change, ...], str]:
    if not (before.resources.get("outputs") and after.resources.get("outputs")):
        return (), ""
    old, new = (_mapping(record.resources.get("outputs")) for record in (before, after))
    if not old or not new or old == new:
        return (), ""
    if before.resources.get("inputs") != after.resources.get("inputs"):
        return (), OTHER_INPUTS
    if before.lane == "interpret" and _other_numpy(before, after):
        return (), OTHER_NUMPY
    changes = []
    for name in sorted({*old, *new}):
        was, now = _mapping(old.get(name)), _mapping(new.get(name))
        if was.get("digest") == now.get("digest"):
            continue
        errors = _error(before, name), _error(after, name)
        changes.append(
            Change(METRIC, name, errors[0], errors[1], "relative error", _sentence(was, now))
        )
    return tuple(changes), ""


def _other_numpy(before: Record, after: Record) -> bool:
    noted = [record.resources.get("arithmetic") for record in (before, after)]
    if all(noted) and noted[0] != noted[1]:
        return True
    return before.versions.get("numpy") != after.versions.get("numpy")


def distance(was: Mapping[str, Any], now: Mapping[str, Any]) -> Distance | None:
    """The distance of two outputs as a cell stores them; None for other types or shapes, or where one is missing."""
    if any(was.get(name) != now.get(name) for name in ("dtype", "shape", "size", "step")):
        return None
    old_values, new_values = _elements(was), _elements(now)
    if old_values is None or new_values is None or len(old_values) != len(new_values):
        return None
    kind, bits = str(was["dtype"]), 8 * was["size"]
    apart = [
        _apart(a, b, kind, bits) for a, b in zip(old_values, new_values, strict=True) if a != b
    ]
    return Distance(len(apart), len(old_values), max(apart, default=0))


def _sentence(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if not was or not now:
        return "one side does not return it"
    if any(was.get(name) != now.get(name) for name in ("dtype", "shape")):
        return "of another type or shape"
    measured = distance(was, now)
    if measured is None:
        return "not bitwise equal"
    sample = f" in a sample of {measured.of:,}" if was.get("step") != 1 else ""
    if not measured.differ:
        return f"not bitwise equal, and none of {measured.of:,} sampled elements differs"
    share = 100 * measured.differ / measured.of
    far = (
        "NaN on one side" if math.isinf(measured.ulp) else f"at most {measured.ulp:,.0f} ulp apart"
    )
    if str(was.get("dtype")) not in _FRACTION:
        far = f"by at most {measured.ulp:,.0f}"
    return f"{share:.3g} % of elements differ{sample}, {far}"


def _apart(a: int, b: int, kind: str, bits: int) -> float:
    if kind not in _FRACTION:
        return abs(_signed(a, bits) - _signed(b, bits)) if kind.startswith("int") else abs(a - b)
    if _is_nan(a, kind, bits) != _is_nan(b, kind, bits):
        return math.inf
    if _is_nan(a, kind, bits):
        # Which NaN it is says nothing of the numbers.
        return 0
    return abs(_place(a, bits) - _place(b, bits))


def _place(value: int, bits: int) -> int:
    """Its place in the row of all numbers of the type, both zeros at 0."""
    sign = 1 << (bits - 1)
    return -(value - sign) if value & sign else value


def _is_nan(value: int, kind: str, bits: int) -> bool:
    magnitude = value & ((1 << (bits - 1)) - 1)
    if kind == "float8_e4m3fn":
        # It has no infinity.
        return magnitude == 0x7F
    infinity = ((1 << (bits - 1 - _FRACTION[kind])) - 1) << _FRACTION[kind]
    return magnitude > infinity


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _elements(output: Mapping[str, Any]) -> list[int] | None:
    """The bits of each stored element; None for a value that no cell of ours writes."""
    size, values = output.get("size"), output.get("values")
    if not isinstance(values, str) or size not in (1, 2, 4, 8):
        return None
    try:
        data = base64.b64decode(values, validate=True)
    except (binascii.Error, ValueError):
        return None
    return None if len(data) % size else list(_split(data, size))


def _split(data: bytes, size: int) -> Iterator[int]:
    for place in range(0, len(data), size):
        yield int.from_bytes(data[place : place + size], "little")


def _error(record: Record, name: str) -> float | str:
    error = _mapping(record.resources.get("error")).get(name)
    if isinstance(error, bool) or not isinstance(error, (int, float)) or not math.isfinite(error):
        return "unknown"
    return float(error)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
