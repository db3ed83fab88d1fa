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


def consistency_text(consistency: Consistency) -> str:
    if not consistency.outputs and not consistency.failed:
        return fill("", _NOTHING) + "\n"
    parts = []
    if consistency.outputs:
        heads = ["output", "places", "largest error", "smallest", "ratio", "bits"]
        rows = [
            [
                escape.line(f"{output.kernel}/{output.case} {output.name}", 60),
                len(output.measured),
                _at(output.largest),
                f"{output.smallest.error or 0.0:.2g}",
                "" if math.isinf(output.spread) else f"{output.spread:.2f}",
                _bits(output.kinds_of_bits),
            ]
            for output in consistency.outputs
        ]
        parts.append(tabulate(rows, heads, disable_numparse=True))
        differ = [
            fill(
                "  ",
                escape.line(
                    f"{output.kernel}/{output.case} {output.name}: {_groups(output.groups)}", 4000
                ),
            )
            for output in consistency.outputs
            if output.kinds_of_bits > 1
        ]
        if differ:
            parts.append("\n".join(["Equal bits:", *differ]))
        wrong = [
            output
            for output in consistency.outputs
            if len(output.comparable) < len(output.measured)
        ]
        parts += [
            fill(
                "",
                escape.line(
                    f"{output.kernel}/{output.case} {output.name}: NaN or infinity at the wrong place in "
                    + ", ".join(
                        _where(each.place) for each in output.measured if each.error is None
                    )
                ),
            )
            for output in wrong
        ]
    by_reason: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
    for kernel, case, place, why in consistency.failed:
        by_reason[kernel, case, why].append(place)
    if by_reason:
        lines = [
            fill("  ", escape.line(f"{kernel}/{case}: {', '.join(map(_where, places))}: {why}"))
            for (kernel, case, why), places in by_reason.items()
        ]
        parts.append("\n".join(["No numbers:", *lines]))
    if consistency.tolerances:
        parts.append("\n".join(["Tolerances, twice the largest error:", *_tolerances(consistency)]))
    return "\n\n".join(parts) + "\n"


def _tolerances(consistency: Consistency) -> list[str]:
    by_kernel: dict[str, list[Tolerance]] = defaultdict(list)
    for tolerance in consistency.tolerances:
        by_kernel[tolerance.kernel].append(tolerance)
    lines = []
    for kernel, tolerances in by_kernel.items():
        by_target: dict[str, dict[str, float]] = defaultdict(dict)
        for tolerance in tolerances:
            by_target[tolerance.target][tolerance.dtype] = tolerance.proposed
        lines.append(fill("  ", escape.line(f"{kernel}: tolerance_on={dict(by_target)!r}")))
        lines += [
            fill(
                "    ",
                escape.line(
                    f"{tolerance.target} {tolerance.dtype} is at {tolerance.largest:.2g}, "
                    f"above the declared {tolerance.declared:.2g}"
                ),
            )
            for tolerance in tolerances
            if tolerance.declared is not None and tolerance.largest > tolerance.declared
        ]
    return lines


def _at(measured: Measured) -> str:
    return f"{measured.error or 0.0:.2g} ({escape.line(_where(measured.place), 60)})"


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
