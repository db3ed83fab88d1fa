"""What a cell takes beyond compiling, when Triton's cache and ours hold all that it compiles.

    PYTHONPATH=LINKS python tests/bench/cached_cell.py --python PYTHON [--kernels softmax,..] [--targets sm_80,..]

PYTHON and LINKS are as for `side_by_side.py`. `crosswarp run --here` fills the caches; then a process in PYTHON runs
the same items of the lane compile again, one after the other as a worker does, `--rounds` times. Said, by mode: the
median of a cell's wall time, from before its fork to its verdict in the stream, and what a cell costs in processor
time, its children's and the worker's own, over a round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What PYTHON runs: SPEC.json, mode, rounds.
WORKER = """
import json, os, resource, statistics, sys, time
from pathlib import Path
from dataclasses import replace
from crosswarp.matrix.cell import asked
spec = asked.read(sys.argv[1], asked.AskedSuite)
mode, rounds = sys.argv[2], int(sys.argv[3])
from crosswarp.matrix.cell.starting import specification
os.environ.update(specification.limits(spec))
import torch
torch.set_num_threads(1)
from crosswarp.matrix.cell import forking
from crosswarp.matrix.cell.kinds.suite import plan, prepared
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.cell.kinds.suite.telling import run_and_tell
from crosswarp.matrix.cell.starting.warm import warm
warm(targets=spec.targets.values())
spec = replace(spec, records=spec.records + "." + mode)
stream = Stream(spec.records)
items = [one for one in plan.shared_plan(spec, "compile").items if one.mode == mode and not one.skip]
forking.ready()
def used():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
def through():
    walls, before, outcomes = [], used(), []
    for item in items:
        begun = time.perf_counter()
        outcomes.append(run_and_tell(item, spec, stream).outcome)
        walls.append(time.perf_counter() - begun)
    prepared.forget()
    return walls, (used() - before) / len(items), outcomes
prepared.expect(items)
through()
walls, cpu = [], []
for _ in range(rounds):
    these, each, outcomes = through()
    walls += these
    cpu.append(each)
print(json.dumps([len(items), statistics.median(walls), statistics.median(cpu), sorted(set(outcomes))]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--kernels", default="softmax,layer_norm,rope,swiglu")
    parser.add_argument("--targets", default="sm_80")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crosswarp-") as made:
        work = Path(made, "work")
        command = [
            sys.executable, "-m", "crosswarp.reports.cli", "run", "--here", str(options.python), "--kernels",
            options.kernels, "--targets", options.targets, "--lanes", "compile", "--store", str(work / "store.db"),
            "--work", str(work),
        ]  # fmt: skip
        subprocess.run(command, stdout=subprocess.DEVNULL)
        spec = next(work.glob("runs/*/*.spec.json"))
        for mode in ("bare", "shimmed"):
            load = os.getloadavg()[0]
            done = subprocess.run(
                [str(options.python), "-c", WORKER, str(spec), mode, str(options.rounds)],
                capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(done.stderr)
            count, wall, cpu, outcomes = json.loads(done.stdout.splitlines()[-1])
            took = f"{1e3 * wall:.1f} ms a cell, {1e3 * cpu:.1f} ms of processor time"
            print(f"{mode}: {count} cells, {', '.join(outcomes)}: {took} (load {load:.1f})")


if __name__ == "__main__":
    main()
