"""The cells of crosswarp's own suite that repeat a cheaper one: repeats.json, written by tests/proofs/repeats.py.

On every release that was measured, all that such a cell shows is also shown by others that cost less. So a run that
names no targets, lanes, kernels or cases leaves them out, and `--all-cases` runs them too. A cell that was never
measured is not in the file, and always runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix import reading
from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("repeats.json")
# Raised when a field changes its meaning or goes away.
FORMAT = 1
_AGAIN = "Take the committed file again, or make it anew: tests/proofs/repeats.py."

# By kernel and place (`place_of`), the ids of the cases.
Repeats = Mapping[str, Mapping[str, Sequence[str]]]
# By place and kernel, how many cases are no repeats, and the seconds of one as a multiple of the lane's mean.
_OfKernel = Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)]
Cost = Mapping[str, Mapping[str, Sequence[float]]]
# By column, place and kernel, the share of those cases that cannot run there.
Lacking = Mapping[str, Mapping[str, Mapping[str, float]]]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    crosswarp_repeats: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    cost: dict[str, dict[str, _OfKernel]]
    lacking: dict[str, dict[str, dict[str, Annotated[float, Field(gt=0, le=1)]]]]
    kernels: dict[str, dict[str, list[str]]]


def place_of(lane: str, target: str) -> str:
    """`compile/sm_80`."""
    return f"{lane}/{target}"


def load(path: Path = DEFAULT_FILE) -> Repeats:
    """The committed table."""
    return _read(path).kernels


def weights(column: str, lane: str, path: Path = DEFAULT_FILE) -> tuple[float, dict[str, float]]:
    """Compare the seconds of cases that are no repeats.

    Returns:
        The mean of a lane on this column, as a multiple of its mean where each case runs; by `sm_80/softmax`, the
        seconds of a case as a multiple of the first mean.

    Args:
        column: its name, or another that ends with it, such as that of an environment that somebody else made.
    """
    table = _read(path)
    name = next((name for name in table.lacking if column.endswith(name)), "")
    weighed: dict[str, tuple[float, float]] = {}
    for place, by_kernel in table.cost.items():
        of, target = place.split("/")
        lacking = table.lacking.get(name, {}).get(place, {})
        for kernel, (cases, seconds) in by_kernel.items() if of == lane else ():
            weighed[f"{target}/{kernel}"] = cases, seconds * (1 - lacking.get(kernel, 0.0))
    whole = sum(cases * seconds for cases, seconds in weighed.values())
    count = sum(cases for cases, _ in weighed.values())
    if not whole:
        return (0.0 if count else 1.0), {}
    return whole / count, {each: seconds * count / whole for each, (_, seconds) in weighed.items()}


def _read(path: Path) -> _File:
    return datafile.validated(path, json.loads(reading.text(path)), _File, _AGAIN)


def dumped(repeats: Repeats, cost: Cost, lacking: Lacking) -> str:
    """The text of the file: a line for each kernel, so that a change shows as one."""
    return (
        f'{{\n"crosswarp_repeats": {FORMAT},\n"cost": {_lines(cost)},\n'
        f'"lacking": {_lines(lacking)},\n'
        f'"kernels": {_lines(repeats)}\n}}\n'
    )


def _lines(table: Mapping[str, Any]) -> str:
    lines = [
        f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'), sort_keys=True)}"
        for name, entry in sorted(table.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def digest(repeats: Repeats) -> str:
    """A short name for what is left out, by which two runs are known to have left out the same."""
    return hashlib.sha256(_lines(repeats).encode("utf-8")).hexdigest()[:12]


def left_out(repeats: Repeats, kernel: str, lane: str, target: str, case: str) -> bool:
    """Whether the cells of a case are left out."""
    return case in repeats.get(kernel, {}).get(place_of(lane, target), ())
