"""The output of `crosswarp inductor`: programs, written kernels, pairs of torch and Triton, resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from crosswarp.matrix.cell.kinds.inductor.replay.names import PREFIX
from crosswarp.matrix.results.cause import words
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.vocabulary import COMPAT
from crosswarp.reports.text import escape

_LONGEST = 100


def programs(described: Mapping[str, str]) -> str:
    """Our programs, a line each."""
    width = max(map(len, described))
    lines = [f"{name:{width}}  {description}".rstrip() for name, description in described.items()]
    return "\n".join(lines) + f"\n{len(described)} programs\n"


def written(records: Iterable[Record]) -> str:
    """Each program on each target: the kernels written, or the reason for none."""
    lines = []
    green = 0
    for record in records:
        name = record.kernel.removeprefix(PREFIX)
        if record.outcome == "pass":
            green += 1
            outcome = escape.line(record.message, _LONGEST)
        else:
            outcome = f"{record.outcome}: {escape.line(words(record) or record.message, _LONGEST)}"
        lines.append(f"{record.target}  {escape.line(name)}: {outcome}")
    lines.append(f"{green} of {len(lines)} written")
    return "\n".join(lines) + "\n"


def pairs(records: Sequence[Record], versions: Mapping[str, Mapping[str, Any]]) -> str:
    """For each environment and mode, how its torch and Triton work together: programs passing, and the obstacles."""
    rows = []
    for column in dict.fromkeys(record.column for record in records):
        installed = versions.get(column, {})
        for mode in dict.fromkeys(record.mode for record in records if record.column == column):
            these = [
                record
                for record in records
                if record.column == column and record.mode == mode and record.ran
            ]
            green = sum(record.outcome == "pass" for record in these)
            causes = Counter(words(record) for record in these if record.red)
            worst = [f"{escape.line(why, 70)} ({count})" for why, count in causes.most_common(2)]
            pair = [str(installed.get(name, "?")) for name in ("torch", "triton")]
            rows.append([*pair, COMPAT[mode].short, f"{green} of {len(these)}", "; ".join(worst)])
    return (
        tabulate(rows, ["torch", "Triton", "compat", "passes", "in the way"], disable_numparse=True)
        + "\n"
    )


def resources(records: Iterable[Record]) -> str:
    """Lists the resources of each compiled kernel: the most of its configurations."""
    rows = []
    for record in records:
        launches = (
            record.resources.get("launches")
            if record.lane == "compile" and not record.config
            else None
        )
        if launches:
            most = {
                name: max((launch.get(name) or 0) for launch in launches)
                for name in ("registers", "spills", "shared")
            }
            place = f"{record.kernel.removeprefix(PREFIX)}/{record.case}"
            rows.append(
                [
                    escape.line(place, _LONGEST),
                    record.target,
                    COMPAT[record.mode].short,
                    *(str(value) for value in most.values()),
                ]
            )
    if not rows:
        return ""
    heads = ["kernel", "target", "compat", "registers", "spills", "shared"]
    return tabulate(rows, heads, disable_numparse=True) + "\n"
