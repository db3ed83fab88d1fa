"""The report on consistency as text: errors by output, failures, and the tolerances to write down."""

from __future__ import annotations

import math
from collections import defaultdict

from tabulate import tabulate

from crosswarp.reports.findings.consistency import Consistency, Measured, Place, Tolerance
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import fill

_NOTHING = (
    "No cell of this run has numbers with several counts of warps. Run: crosswarp run --warps 1,2,4,8,16 "
    "--targets sm_90,gfx942 --kernels NAME"
)


def consistency_text(found: Consistency) -> str:
    if not found.outputs and not found.failed:
        return fill("", _NOTHING) + "\n"
    parts = []
    if found.outputs:
        heads = ["output", "places", "largest error", "smallest", "ratio", "bits"]
        rows = [
            [
                escape.line(f"{one.kernel}/{one.case} {one.name}", 60),
                len(one.measured),
                _at(one.largest),
                f"{one.smallest.error or 0.0:.2g}",
                "" if math.isinf(one.spread) else f"{one.spread:.2f}",
                _bits(one.kinds_of_bits),
            ]
            for one in found.outputs
        ]
        parts.append(tabulate(rows, heads, disable_numparse=True))
        differ = [
            fill(
                "  ",
                escape.line(f"{one.kernel}/{one.case} {one.name}: {_groups(one.groups)}", 4000),
            )
            for one in found.outputs
            if one.kinds_of_bits > 1
        ]
        if differ:
            parts.append("\n".join(["Equal bits:", *differ]))
        wrong = [one for one in found.outputs if len(one.comparable) < len(one.measured)]
        parts += [
            fill(
                "",
                escape.line(
                    f"{one.kernel}/{one.case} {one.name}: NaN or infinity at the wrong place in "
                    + ", ".join(_where(each.place) for each in one.measured if each.error is None)
                ),
            )
            for one in wrong
        ]
    by_reason: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
    for kernel, case, place, why in found.failed:
        by_reason[kernel, case, why].append(place)
    if by_reason:
        lines = [
            fill("  ", escape.line(f"{kernel}/{case}: {', '.join(map(_where, places))}: {why}"))
            for (kernel, case, why), places in by_reason.items()
        ]
        parts.append("\n".join(["No numbers:", *lines]))
    if found.tolerances:
        parts.append("\n".join(["Tolerances, twice the largest error:", *_tolerances(found)]))
    return "\n\n".join(parts) + "\n"


def _tolerances(found: Consistency) -> list[str]:
    by_kernel: dict[str, list[Tolerance]] = defaultdict(list)
    for one in found.tolerances:
        by_kernel[one.kernel].append(one)
    lines = []
    for kernel, tolerances in by_kernel.items():
        by_target: dict[str, dict[str, float]] = defaultdict(dict)
        for one in tolerances:
            by_target[one.target][one.dtype] = one.proposed
        lines.append(fill("  ", escape.line(f"{kernel}: tolerance_on={dict(by_target)!r}")))
        lines += [
            fill(
                "    ",
                escape.line(
                    f"{one.target} {one.dtype} is at {one.largest:.2g}, above the declared {one.declared:.2g}"
                ),
            )
            for one in tolerances
            if one.declared is not None and one.largest > one.declared
        ]
    return lines


def _at(one: Measured) -> str:
    return f"{one.error or 0.0:.2g} ({escape.line(_where(one.place), 60)})"


def _where(place: Place) -> str:
    config = f" {place.config}" if place.config else ""
    return f"{place.column} {place.target} {place.mode}{config}, {place.warps} warps"


def _groups(groups: list[list[Place]]) -> str:
    """For each kind of bits, where it was computed, with the numbers of warps."""
    texts: list[str] = []
    for places in groups:
        counts: dict[str, list[str]] = defaultdict(list)
        for place in places:
            config = f" {place.config}" if place.config else ""
            counts[f"{place.column} {place.target} {place.mode}{config}"].append(str(place.warps))
        where = ", ".join(f"{name} with {' '.join(warps)}" for name, warps in counts.items())
        texts.append(f"({len(texts) + 1}) {where}")
    return "; ".join(texts)


def _bits(kinds: int) -> str:
    return {0: "not kept", 1: "equal"}.get(kinds, f"{kinds} kinds")
