"""The same cells four ways, one after the other: crosswarp cold, crosswarp again, the naive way, and the ideal.

    PYTHONPATH=LINKS python tests/bench/side_by_side.py --python PYTHON [--kernels softmax,..] [--targets sm_80,..]
    PYTHONPATH=LINKS python tests/bench/side_by_side.py --recorded STORE [--run N]

PYTHON is an interpreter with Triton and torch, LINKS the absolute path of a folder with `crosswarp/compat`, `kernels`,
`matrix` and `reports`; environments are there already in each of the ways. The naive way is what a loop in a CI does: a
process for each cell that imports torch, Triton and the kernel and launches it, as many at a time as there are cores,
with a cache of Triton's that begins empty and that all share. The ideal is what the compiler itself and the interpreter
took in the cold run, each program once, spread over all cores. Nothing is compared with a limit here: read the load
beside it. The second form says the ideal of a run that is recorded, such as a cold `nox -s matrix` whose environments
were there, and what it took.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crosswarp.matrix.results.record import Record

# What a process of the naive way runs: one item, judged as crosswarp judges it.
ONE = """
import json, os, sys
lane, item, told = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
from crosswarp.matrix.cell.asked import AskedSuite
spec = AskedSuite(**told)
if lane == "interpret":
    os.environ["TRITON_INTERPRET"] = "1"
os.environ["TRITON_CACHE_DIR"] = spec.cache
from crosswarp.matrix.cell.kinds.suite import item as items
from crosswarp.matrix.cell.kinds.suite.plan import Item
verdict = items.run(Item(**item), spec, lambda config, verdict, seconds: None)
print(verdict.outcome)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path)
    parser.add_argument("--recorded", type=Path, metavar="STORE")
    parser.add_argument("--run", type=int)
    parser.add_argument("--kernels", default="softmax,layer_norm,rope,swiglu")
    parser.add_argument("--targets", default="sm_80,sm_90,gfx942")
    parser.add_argument("--lanes", default="compile,interpret")
    parser.add_argument("--folder", type=Path, help="default: a new one, gone at the end")
    options = parser.parse_args()
    if options.recorded is not None:
        recorded(options.recorded, options.run)
        return
    if options.python is None:
        parser.error("give --python or --recorded")
    with tempfile.TemporaryDirectory(prefix="crosswarp-") as made:
        bench(options, options.folder or Path(made))


def bench(options: argparse.Namespace, folder: Path) -> None:
    from crosswarp.matrix.results.store import Store

    cores = len(os.sched_getaffinity(0))
    store, work = folder / "store.db", folder / "work"
    told: list[tuple[str, float, float, int]] = []

    def timed(name, way) -> None:
        load, begun = os.getloadavg()[0], time.monotonic()
        count = way()
        told.append((name, time.monotonic() - begun, load, count))
        print(f"{name}: {told[-1][1]:.1f} s, {count} cases, load {load:.1f} before", flush=True)

    def crosswarp(*more: str) -> int:
        command = [
            sys.executable, "-m", "crosswarp.reports.cli", "run", "--here", str(options.python), "--kernels",
            options.kernels, "--targets", options.targets, "--lanes", options.lanes, "--store", str(store), "--work",
            str(work), *more,
        ]  # fmt: skip
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Store(store) as opened:
            return len({record.item for record in opened.records(opened.run().id)})

    timed("crosswarp, cold", lambda: crosswarp("--fresh"))
    timed("crosswarp, unchanged", crosswarp)
    with Store(store) as opened:
        cold = opened.records(1)
        over = len(opened.reused_items(2))
    spec = json.loads(next((work / "runs").glob("*/*.spec.json")).read_text())
    spec["cache"] = str(folder / "naive-cache")
    outcomes: dict[str, str] = {}

    def naive() -> int:
        items = list(dict.fromkeys(record.item for record in cold))
        with ThreadPoolExecutor(cores) as pool:
            outcomes.update(
                zip(
                    items,
                    pool.map(lambda item: one(options.python, item, spec), items),
                    strict=True,
                )
            )
        return len(items)

    timed("the naive way", naive)
    whole = {record.item: record.outcome for record in cold if not record.config}
    other = {item for item, outcome in outcomes.items() if outcome != whole[item]}
    ideal = ideal_of(cold, cores)
    print(
        f"taken over unchanged: {over} of {told[1][3]} cases; another outcome the naive way: {sorted(other)}"
    )
    for name, wall, load, _ in told:
        print(f"| {name} | {wall:.1f} s | {wall / ideal:.2f} of the ideal | load {load:.1f} |")


def ideal_of(cold: Sequence[Record], cores: int) -> float:
    """Seconds of wall time in which all cores do nothing but compile each program once, and interpret."""
    compiled = sum(
        launch.get("compile_seconds") or 0
        for record in cold
        for launch in record.resources.get("launches") or ()
        # Where no shim acts, the shimmed program is the bare one.
        if record.lane == "compile"
        and not record.config
        and (record.mode == "bare" or record.shims)
    )
    # What ended without a launch to tell of (the compiler refused it or died) was the compiler's time as well.
    refused = sum(
        record.seconds
        for record in cold
        if record.lane == "compile"
        and not record.config
        and record.outcome != "unsupported"
        and not record.resources.get("launches")
    )
    ran = sum(record.seconds for record in cold if record.lane != "compile" and not record.config)
    ideal = (compiled + refused + ran) / cores
    print(
        f"the ideal: {compiled:.1f} s of compiling, {refused:.1f} s of what compiled to nothing and {ran:.1f} s of "
        f"running on {cores} cores: {ideal:.1f} s"
    )
    return ideal


def recorded(store: Path, number: int | None) -> None:
    from datetime import datetime

    from crosswarp.matrix.results.store import Store

    with Store(store) as opened:
        run = opened.run(number)
        wall = (
            datetime.fromisoformat(run.finished) - datetime.fromisoformat(run.started)
        ).total_seconds()
        ideal = ideal_of(opened.records(run.id), len(os.sched_getaffinity(0)))
    print(f"run {run.id}: {wall:.1f} s, {wall / ideal:.2f} of the ideal")


def one(python: Path, item: str, spec: dict) -> str:
    target, lane, mode, kernel, case = item.split("/", 4)
    fields = {"target": target, "lane": lane, "mode": mode, "kernel": kernel, "case": case}
    done = subprocess.run(
        [str(python), "-c", ONE, lane, json.dumps(fields), json.dumps(spec)],
        capture_output=True,
        text=True,
    )
    return done.stdout.split()[-1] if done.stdout.split() else f"died: {done.stderr[-300:]}"


if __name__ == "__main__":
    main()
