"""How often `predicted-slower` is right: its rule on pairs of releases that were timed on a GPU.

    python tests/proofs/performance_against_device.py PAIRS.csv

PAIRS.csv has a line for each case and pair of releases: `measured`, how many times as long it takes on the device, and
the ratios of its counters, `sectors` and `wavefronts`. Prints how many of the slower ones the rule reports, how many
that are faster, and how many that moved by less than 3 %.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from crosswarp.matrix.results.traffic import FACTOR

BIG, SMALL = 1.10, 1.03
Pair = dict[str, str]


def table(pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """A row for each rule: reported, of those slower by 10 % and by 3 %, within 3 %, faster by 3 %."""
    rules: list[tuple[str, Callable[[Pair], bool]]] = [
        (f"sectors x {FACTOR:g}", lambda pair: ratio(pair, "sectors") >= FACTOR),
        (f"wavefronts x {FACTOR:g}", lambda pair: ratio(pair, "wavefronts") >= FACTOR),
        ("either: predicted-slower", reported),
    ]
    rows = [("rule", "reported", "slower 10 %", "slower 3 %", "within 3 %", "faster 3 %")]
    for name, rule in rules:
        rows.append((name, *map(str, counts([pair for pair in pairs if rule(pair)]))))
    rows.append(("all pairs", *map(str, counts(pairs))))
    return rows


def counts(pairs: Sequence[Pair]) -> tuple[int, ...]:
    times = [ratio(pair, "measured") for pair in pairs]
    return (
        len(times),
        sum(time > BIG for time in times),
        sum(time > SMALL for time in times),
        sum(1 / SMALL <= time <= SMALL for time in times),
        sum(time < 1 / SMALL for time in times),
    )


def reported(pair: Pair) -> bool:
    return any(ratio(pair, name) >= FACTOR for name in ("sectors", "wavefronts"))


def ratio(pair: Pair, name: str) -> float:
    """1 where a kernel has none of it on either side."""
    value = float(pair[name]) if pair[name] else 1.0
    return value if value == value else 1.0


def main(argv: Sequence[str]) -> int:
    with Path(argv[0]).open(encoding="utf-8") as file:
        pairs = list(csv.DictReader(file))
    for row in table(pairs):
        print(f"{row[0]:<26}" + "".join(f"{cell:>13}" for cell in row[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
