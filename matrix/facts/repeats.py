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
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix import reading
from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("repeats.json")
# Raised when a field changes its meaning or goes away.
FORMAT = 1
_AGAIN = "Take the committed file again, or make it anew: tests/proofs/repeats.py."

# By kernel and place (`place_of`), the ids of the cases.
Repeats = Mapping[str, Mapping[str, Sequence[str]]]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    crosswarp_repeats: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    kernels: dict[str, dict[str, list[str]]]


def place_of(lane: str, target: str) -> str:
    """`compile/sm_80`."""
    return f"{lane}/{target}"


def load(path: Path = DEFAULT_FILE) -> Repeats:
    """The committed table."""
    document = json.loads(reading.text(path))
    return datafile.validated(path, document, _File, _AGAIN).kernels


def dumped(repeats: Repeats) -> str:
    """The text of the file: a line for each kernel, so that a change shows as one."""
    lines = [
        f"{json.dumps(kernel)}: {json.dumps(places, separators=(',', ':'), sort_keys=True)}"
        for kernel, places in sorted(repeats.items())
    ]
    return f'{{\n"crosswarp_repeats": {FORMAT},\n"kernels": {{\n' + ",\n".join(lines) + "\n}\n}\n"


def digest(repeats: Repeats) -> str:
    """A short name for what is left out, by which two runs are known to have left out the same."""
    return hashlib.sha256(dumped(repeats).encode("utf-8")).hexdigest()[:12]


def left_out(repeats: Repeats, kernel: str, lane: str, target: str, case: str) -> bool:
    """Whether the cells of a case are left out."""
    return case in repeats.get(kernel, {}).get(place_of(lane, target), ())
