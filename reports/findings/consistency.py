"""How far a kernel's numbers agree across numbers of warps, targets and releases, and what tolerance each needs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from crosswarp.matrix.results.record import Record

# A tolerance is so many times the largest error that was measured: over 49 outputs of the suite the largest and the
# smallest error differed by 1.4 at most, so that another platform hardly reaches it.
MARGIN = 2.0


class Place(NamedTuple):
    column: str
    target: str
    mode: str
    config: str
    warps: int


@dataclass(frozen=True)
class Measured:
    """One output, computed in one place.

    Attributes:
        error: relative to the reference; None where NaN or infinity stood at the wrong place.
        bits: digest of the output; empty where none was kept.
        inputs: digest of the inputs: bits are comparable where it is the same.
    """

    place: Place
    error: float | None
    bits: str
    inputs: str


@dataclass(frozen=True)
class Output:
    """One output of a case, everywhere that it was computed."""

    kernel: str
    case: str
    name: str
    dtype: str
    measured: Sequence[Measured]

    @property
    def comparable(self) -> list[Measured]:
        return [measured for measured in self.measured if measured.error is not None]

    @property
    def largest(self) -> Measured:
        return max(self.comparable, key=lambda measured: measured.error or 0.0)

    @property
    def smallest(self) -> Measured:
        return min(self.comparable, key=lambda measured: measured.error or 0.0)

    @property
    def spread(self) -> float:
        """The largest error divided by the smallest one; 1 where both are 0."""
        low, high = self.smallest.error or 0.0, self.largest.error or 0.0
        return high / low if low else (math.inf if high else 1.0)

    @property
    def groups(self) -> list[list[Place]]:
        """The places whose results have the same bits for the same inputs; places without bits are left out."""
        places: dict[tuple[str, str], list[Place]] = defaultdict(list)
        for measured in self.measured:
            if measured.bits:
                places[measured.inputs, measured.bits].append(measured.place)
        return list(places.values())

    @property
    def kinds_of_bits(self) -> int:
        """How many different results there are for the same inputs; the most of all inputs. 0: none was kept."""
        bits: dict[str, set[str]] = defaultdict(set)
        for measured in self.measured:
            if measured.bits:
                bits[measured.inputs].add(measured.bits)
        return max(map(len, bits.values()), default=0)


class Tolerance(NamedTuple):
    """For one target, kernel and type: the largest error, a tolerance above it, and the declared tolerance."""

    kernel: str
    target: str
    dtype: str
    largest: float
    proposed: float
    declared: float | None


@dataclass(frozen=True)
class Consistency:
    outputs: Sequence[Output]
    # Where a number of warps has no result: (kernel, case, place, why).
    failed: Sequence[tuple[str, str, Place, str]]
    tolerances: Sequence[Tolerance]


def consistency(records: Iterable[Record]) -> Consistency:
    """Of the cells of a run with `--warps`; cells without are left out."""
    outputs: dict[tuple[str, str, str, str], list[Measured]] = defaultdict(list)
    failed, declared = [], {}
    for record in records:
        for place, figures, dtype, tolerance in _of(record):
            if "failed" in figures:
                failed.append((record.kernel, record.case, place, str(figures["failed"])))
                continue
            declared[record.kernel, record.target, dtype] = tolerance
            for name, error in _mapping(figures.get("error")).items():
                bits = str(_mapping(figures.get("bits")).get(name, ""))
                value = float(error) if isinstance(error, (int, float)) else None
                outputs[record.kernel, record.case, name, dtype].append(
                    Measured(place, value, bits, str(figures.get("inputs", "")))
                )
    made = [Output(*key, measured) for key, measured in sorted(outputs.items())]
    return Consistency(
        [output for output in made if output.comparable], failed, list(_tolerances(made, declared))
    )


def _of(record: Record) -> Iterator[tuple[Place, Mapping[str, Any], str, float | None]]:
    by_warps = _mapping(record.resources.get("warps"))
    dtype, tolerance = str(by_warps.get("dtype", "")), by_warps.get("tolerance")
    for count, figures in _mapping(by_warps.get("by_count")).items():
        if str(count).isdigit():
            place = Place(record.column, record.target, record.mode, record.config, int(count))
            declared = tolerance if isinstance(tolerance, float) else None
            yield place, _mapping(figures), dtype, declared


def _tolerances(
    outputs: Iterable[Output], declared: Mapping[tuple[str, str, str], float | None]
) -> Iterator[Tolerance]:
    largest: dict[tuple[str, str, str], float] = {}
    for output in outputs:
        for measured in output.comparable:
            key = (output.kernel, measured.place.target, output.dtype)
            largest[key] = max(largest.get(key, 0.0), measured.error or 0.0)
    for key, error in sorted(largest.items()):
        yield Tolerance(*key, error, rounded_up(MARGIN * error), declared.get(key))


def rounded_up(value: float) -> float:
    """To one digit, upwards: 3.1e-07 becomes 4e-07; 0 stays."""
    if value <= 0 or not math.isfinite(value):
        return value
    exponent = math.floor(math.log10(value))
    # The quotient of 3e-07 and 1e-07 is a little above 3.
    return float(f"{math.ceil(value / 10.0**exponent - 1e-9)}e{exponent}")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
