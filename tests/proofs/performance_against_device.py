"""How often `predicted-slower` and `predicted-faster` are right: crosswarp's own estimates, beside the times of a GPU.

    python tests/proofs/performance_against_device.py              # the table, from the estimates that are kept here
    python tests/proofs/performance_against_device.py --misses     # and every pair that it gets wrong
    python tests/proofs/performance_against_device.py --pairs CSV   # of the pairs of a file, such as those kept back
    python tests/proofs/performance_against_device.py --estimate CAPTURES   # makes those estimates anew
    python tests/proofs/performance_against_device.py --estimate CAPTURES --timings TIMINGS   # with other times

CAPTURES has a folder for each release, written by `performance_capture.py`, with the counters of each launch and its
cubin. TIMINGS has `SET-RELEASE.jsonl` and `SET-RELEASE-bare.jsonl`, a line for each case that was timed alone; without
them the times that are kept here stay. The sets are `b`, real sizes (tests/bench/peers.py), and `t` and `r`, cases of
the suite. nvdisasm is the installed Triton's, or the one on the PATH.

Right: reported, in the direction in which the device moved by more than 10 %. False: reported, where it moved by less
than 3 %.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from crosswarp.matrix.results import predicted
from crosswarp.matrix.results.record import Record

KEPT = Path(__file__).with_name("performance_estimates.json")
BIG, SMALL = 1.10, 1.03
TARGET = "sm_90"
SETS = {
    "b": "real sizes, 3.2.0 > 3.6.0 > 3.9.0",
    "t": "suite, 3.2.0 > 3.6.0",
    "r": "suite, 3.6.0 > 3.9.0",
}
_STEPS = {
    "b": (("3.2.0", "3.6.0"), ("3.6.0", "3.9.0")),
    "t": (("3.2.0", "3.6.0"),),
    "r": (("3.6.0", "3.9.0"),),
}
# Further options in a configuration's text, by release.
_NO_CHOICE = (
    "num_ctas", "maxnreg", "num_buffers_warp_spec", "num_consumer_groups", "reg_dec_producer", "reg_inc_consumer",
    "enable_warp_specialization", "enable_persistent", "ir_override",
)  # fmt: skip


HEAD = ("pairs", "number", "beyond 10 %", "direction", "right", "wrong", "within 3 %", "false")


class Pair(NamedTuple):
    """`measured` and `predicted`: how many times as long it takes."""

    of: str
    name: str
    measured: float
    predicted: float
    causes: tuple[str, ...]

    @property
    def reported(self) -> bool:
        return not 1 / predicted.FACTOR < self.predicted < predicted.FACTOR

    @property
    def big(self) -> bool:
        return not 1 / BIG <= self.measured <= BIG

    @property
    def small(self) -> bool:
        return 1 / SMALL < self.measured < SMALL

    @property
    def agrees(self) -> bool:
        return (self.measured > 1) == (self.predicted > 1)


def pairs(rows: Sequence[Mapping[str, Any]]) -> Iterator[Pair]:
    """Each case with itself on the next release, judged as `crosswarp diff` judges it."""
    by_key = {(row["set"], row["release"], row["kernel"], row["case"]): row for row in rows}
    for (which, release, kernel, case), row in by_key.items():
        for before, after in _STEPS[which]:
            other = by_key.get((which, after, kernel, case))
            if release != before or other is None:
                continue
            found = predicted.prediction(_record(row), _record(other))
            if found is not None:
                name = f"{kernel}/{case}, {before} > {after}"
                yield Pair(which, name, other["ms"] / row["ms"], found.ratio, found.causes)


def _record(row: Mapping[str, Any]) -> Record:
    resources = {"counters": row["launches"]}
    name = row["kernel"], row["case"]
    where = f"triton-{row['release']}", TARGET, "emulate", "bare"
    return Record(*where, *name, "", "pass", resources=resources)


class Counts(NamedTuple):
    pairs: int
    big: int
    direction: int
    right: int
    wrong: int
    small: int
    false: int


def counts(found: Sequence[Pair]) -> Counts:
    big = [pair for pair in found if pair.big]
    small = [pair for pair in found if pair.small]
    return Counts(
        len(found),
        len(big),
        sum(pair.agrees for pair in big),
        sum(pair.reported and pair.agrees for pair in big),
        sum(pair.reported and not pair.agrees for pair in big),
        len(small),
        sum(pair.reported for pair in small),
    )


def table(found: Sequence[Pair], titles: Mapping[str, str] = SETS) -> list[tuple[str, ...]]:
    rows = [HEAD]
    for which, title in titles.items():
        of = [pair for pair in found if pair.of == which]
        rows.append((title, *map(str, counts(of))))
    return [*rows, ("all", *map(str, counts(found)))]


def of_file(path: Path, column: str = "predicted") -> tuple[list[Pair], dict[str, str]]:
    """Pairs of releases that were predicted when they were timed, and the titles of their sets.

    Args:
        column: "corrected" for the predictions after what these pairs showed was corrected; pairs without one are
            left out.
    """
    lines = (line for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    made = []
    for row in csv.DictReader(lines):
        if not row[column]:
            continue
        of = f"{row.get('set') or 'suite'}, {row['before']} > {row['after']}"
        measured = float(row["us_after"]) / float(row["us_before"])
        name = f"{row['kernel']}/{row['case']}, {row['before']} > {row['after']}"
        made.append(Pair(of, name, measured, float(row[column]), ()))
    return made, {pair.of: pair.of for pair in made}


def kept() -> list[dict[str, Any]]:
    """A row for each case and release: its milliseconds on the device, and its launches with their estimates."""
    return json.loads(KEPT.read_text("utf-8"))


def timed(timings: Path) -> Iterator[dict[str, Any]]:
    """A row for each case and release that was timed: its milliseconds, and each tuner's fastest configuration."""
    for path in sorted(timings.glob("*.jsonl")):
        which, release, *mode = path.stem.split("-")
        if which not in _STEPS or mode not in ([], ["bare"]):
            continue
        if not any(release in step for step in _STEPS[which]):
            continue
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if "timing" not in row or any(one["host_bound"] for one in row["timing"]):
                # The host's pace is in it.
                continue
            tuned = _fastest(row.get("configs") or [])
            yield {
                "set": which, "release": release, "kernel": row["kernel"], "case": row["case"],
                "ms": round(min(one["median"] for one in row["timing"]), 6), **({"fastest": tuned} if tuned else {}),
            }  # fmt: skip


def estimated(captures: Path, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """As `kept`, made anew; a row of which there is no capture is left out."""
    from crosswarp.matrix.cell import estimate

    known = estimate.Encodings()
    for row in rows:
        name = row["case"] if row["set"] == "b" else f"{row['kernel']}/{row['case']}"
        file = captures / row["release"] / f"{name.replace('/', '_')}.json"
        launches = _launches(file, row.get("fastest", {}), known) if file.exists() else []
        if launches:
            yield {**row, "launches": launches}


def _fastest(timed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    best: dict[str, tuple[float, str]] = {}
    for one in timed:
        ms = one.get("ms", [math.inf])[0]
        if math.isfinite(ms) and ms < best.get(one["tuner"], (math.inf, ""))[0]:
            best[one["tuner"]] = ms, _choice(one["config"])
    return {tuner: choice for tuner, (_, choice) in best.items()}


def _launches(file: Path, fastest: Mapping[str, str], known: Any) -> list[dict[str, Any]]:
    """Of a tuned kernel, the configuration that was fastest on the device."""
    captured = json.loads(file.read_text("utf-8"))
    configured = {
        (one["kernel"], _choice(one["config"])): one
        for one in captured["launches"]
        if one["config"]
    }
    tuned = {kernel for kernel, _ in configured}
    found: list[dict[str, Any]] = []
    for one in captured["launches"]:
        if one["config"]:
            continue
        if one["kernel"] in tuned:
            one = configured.get((one["kernel"], fastest.get(one["kernel"], "")), one)
        estimate = _estimate(one, file.parent, captured["job"].get("scale", 1), known)
        if estimate is None:
            return []
        row = {name: one[name] for name in ("kernel", "num_warps", "grid")}
        row["estimate"] = estimate
        same = next((other for other in found if {**row, "times": other["times"]} == other), None)
        if same is None:
            found.append({**row, "times": 1})
        else:
            same["times"] += 1
    return [] if captured["error"] else found


def _choice(text: str) -> str:
    return ", ".join(part for part in text.split(", ") if part.split(":")[0] not in _NO_CHOICE)


def _estimate(
    one: Mapping[str, Any], folder: Path, scale: int, known: Any
) -> dict[str, Any] | None:
    from crosswarp.matrix.cell import estimate
    from crosswarp.matrix.cell.standins.virtual_gpu import Target
    from crosswarp.matrix.facts import targets

    if "counters" not in one:
        return None
    row = asdict(targets.load()[TARGET])
    chip = estimate.chip_of(Target.from_table(TARGET, row))
    assert chip is not None
    x, y, z = one["grid"]
    launched = estimate.Launched(
        x * y * z * scale, one["executed_ctas"], one["num_warps"], one["registers"] or 0, one["stack"] or 0,
        one["shared"], one["bytes"] * scale,
    )  # fmt: skip
    try:
        blocks = estimate.blocks_of_cubin((folder / f"{one['cubin']}.cubin").read_bytes(), known)
        found = estimate.estimated(blocks, one["counters"], launched, chip)
    except (estimate.NotDisassembled, estimate.NoFlow) as error:
        print(f"{one['kernel']}: {error}", file=sys.stderr)
        return None
    return {**found, "waits": {}}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--estimate", type=Path, metavar="CAPTURES")
    parser.add_argument("--timings", type=Path, metavar="TIMINGS")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--pairs", type=Path, metavar="CSV")
    parser.add_argument("--column", default="predicted", help="of CSV: predicted, or corrected")
    options = parser.parse_args(argv)
    if options.estimate:
        times = timed(options.timings) if options.timings else kept()
        rows = list(estimated(options.estimate, times))
        KEPT.write_text(
            json.dumps(rows, separators=(",", ":")).replace('{"set"', '\n{"set"') + "\n"
        )
    found, titles = (
        of_file(options.pairs, options.column) if options.pairs else (list(pairs(kept())), SETS)
    )
    for row in table(found, titles):
        print(f"{row[0]:<36}" + "".join(f"{cell:>12}" for cell in row[1:]))
    if options.misses:
        for pair in found:
            if pair.big and not (pair.reported and pair.agrees) or pair.small and pair.reported:
                print(f"{pair.name}: {pair.measured:.2f} measured, {pair.predicted:.2f} predicted")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
