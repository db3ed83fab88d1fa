"""The resources of a launch, as figures that can be compared and drawn: read from the cell's record of it.

The counts of instructions by class are in matrix/cell/standins/virtual_gpu/instructions.py. These come from them:

- `scratch`: instructions that touch a thread's own memory;
- `access`: bytes that a thread moves with one access to global memory, on average. Not for kernels that move whole
  tiles (TMA): their remaining accesses are those of single values;
- `tensor`: instructions for tensor cores, and `kind`: the widest sort of them, or "none";
- `barriers`, and `exchanges`: the accesses to shared memory that barriers stand between.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from crosswarp.matrix.results.record import Record

Figures = dict[str, Any]
Read = TypeVar("Read")
# A run with 37,000 cells has 6,000 different lists.
MOST_LISTS = 50_000

# How much of the tensor cores one instruction drives: tcgen05 those of an SM (or of two), wgmma those of four warps.
KINDS = {"none": 0, "mma": 1, "mfma": 1, "wmma": 1, "wgmma": 2, "tcgen05": 3}
_COUNTED = (
    "registers", "shared", "stack", "spills", "code", "scratch", "tensor", "barriers", "exchanges",
)  # fmt: skip
_ACCESSES = ("load", "store", "async")
_EXCHANGES = ("shared.load", "shared.store", "matrix")

# Triton 2.3.1 appends a kernel's specialisation to its name: `_kernel_0d1d2d34c`.
_SPECIALISED = re.compile(r"_0[cd]{0,2}(?:\d+[cd]{0,2})*$")


def once_a_list(read: Callable[[Record], Read]) -> Callable[[Record], Read]:
    """Returns `read`, which looks at a record's list of launches alone, for many records.

    Many cells of a run share a list, and each is compared with every other column, so a list is read once. The result
    is shared as well, and callers must not change it.
    """
    # With each list, so that no other comes to have its id.
    by_list: dict[int, tuple[Any, Read]] = {}

    def of(record: Record) -> Read:
        noted = record.resources.get("launches")
        known = by_list.get(id(noted))
        if known is None:
            if len(by_list) >= MOST_LISTS:
                by_list.clear()
            known = by_list[id(noted)] = (noted, read(record))
        return known[1]

    return of


@once_a_list
def launches(record: Record) -> Mapping[tuple[str, int], list[Figures]]:
    """Figures of a cell's launches, by kernel and warps, in order. Anything else that a cell wrote is left out."""
    noted = record.resources.get("launches")
    by_launch: dict[tuple[str, int], list[Figures]] = defaultdict(list)
    for launch in noted if isinstance(noted, list) else []:
        if not isinstance(launch, Mapping) or not is_count(launch.get("num_warps")):
            continue
        kernel = _SPECIALISED.sub("", str(launch.get("kernel", "")))
        by_launch[kernel, launch["num_warps"]].append(_figures(launch))
    return dict(by_launch)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_size(value: Any) -> bool:
    """A figure that need not be whole."""
    return is_count(value) or (isinstance(value, float) and 0 <= value < float("inf"))


def _figures(launch: Mapping[str, Any]) -> Figures:
    counts = launch.get("instructions")
    if isinstance(counts, Mapping) and counts:
        launch = {**launch, **_of_instructions(counts, is_count(launch.get("registers")))}
    figures: Figures = {name: launch[name] for name in _COUNTED if is_count(launch.get(name))}
    if is_size(launch.get("access")):
        figures["access"] = launch["access"]
    if isinstance(launch.get("kind"), str) and launch["kind"] in KINDS:
        figures["kind"] = launch["kind"]
    if is_size(launch.get("compile_seconds")):
        figures["compile"] = launch["compile_seconds"]
    if is_size(launch.get("processor_seconds")):
        figures["processor"] = launch["processor_seconds"]
    if is_size(launch.get("pace_ms")) and launch["pace_ms"]:
        figures["pace"] = launch["pace_ms"]
    stages = launch.get("stage_seconds")
    if isinstance(stages, Mapping) and stages and all(map(is_size, stages.values())):
        figures["stages"] = {str(name): value for name, value in stages.items()}
    return figures


def _of_instructions(counts: Mapping[str, Any], binary_was_read: bool) -> Figures:
    accesses = bytes_moved = tensor = 0
    kind = "none"
    for name, count in counts.items():
        what, _, rest = str(name).partition(".")
        if not is_count(count):
            continue
        if what in _ACCESSES and rest in ("1", "2", "4", "8", "12", "16", "32"):
            accesses += count
            bytes_moved += count * int(rest)
        elif what in KINDS and count:
            tensor += count
            kind = max(kind, what, key=KINDS.__getitem__)
    figures: Figures = {"tensor": tensor, "kind": kind}
    if is_count(counts.get("barrier", 0)):
        figures["barriers"] = counts.get("barrier", 0)
    exchanges = [counts.get(name, 0) for name in _EXCHANGES]
    if all(map(is_count, exchanges)):
        figures["exchanges"] = sum(exchanges)
    if accesses and not counts.get("bulk"):
        figures["access"] = round(bytes_moved / accesses, 2)
    # On NVIDIA they are counted in the machine code, of which nothing is known without registers.
    if binary_was_read and is_count(counts.get("scratch", 0)):
        figures["scratch"] = counts.get("scratch", 0)
    return figures
