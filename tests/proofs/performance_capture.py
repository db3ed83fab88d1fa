"""Writes what `performance_against_device.py --estimate` reads: counters and cubin of each launch of its cases.

    PYTHON tests/proofs/performance_capture.py FOLDER [--only GLOB] [--seconds S]

PYTHON is that of a release's environment, with crosswarp and tests/bench on its path. The cases are those of
performance_estimates.json that this release was timed with; each becomes FOLDER/RELEASE/NAME.json, and one that is
there is left out. Of the suite's cases 16 programs of a launch are executed, of real sizes 4.
"""

import argparse
import fnmatch
import hashlib
import json
from pathlib import Path

import torch
import triton
from triton.runtime.autotuner import Autotuner

import crosswarp.matrix.facts as facts
from crosswarp.kernels import load
from crosswarp.kernels.case import Case
from crosswarp.matrix.cell.emulate import arguments, memory
from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.observers.counters import Counters
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching

try:
    import tomllib
except ImportError:
    import tomli as tomllib

KEPT = Path(__file__).with_name("performance_estimates.json")
SEED = 20260
SECONDS = 90
PROGRAMS, OF_REAL_SIZES = 16, 4
# Each program of it finds its place by what an earlier launch wrote.
WHOLE = ("moe_gating",)
# Smaller in one size, and how much larger the grid of the whole is: the inputs need 8 GB.
CUT = {"bench:kl_divergence": ({"M": 512}, 8), "bench:js_divergence": ({"M": 512}, 8)}


class Capture:
    """Executes each launch; of a tuner's, with the configuration that it was made for."""

    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds
        self.programs, self.config = PROGRAMS, None
        self.found, self.done = [], {}

    def __call__(self, handed):
        function, warps = handed.function, int(handed.metadata["num_warps"])
        x, y, z = handed.grid
        cluster = arguments.blocks_in_a_cluster(handed)
        grid = (x * cluster, y, z)
        digest = hashlib.sha256(function.image).hexdigest()[:16]
        (self.folder / f"{digest}.cubin").write_bytes(function.image)
        name = getattr(getattr(handed.source, "fn", None), "__name__", function.name)
        one = {
            "kernel": name, "config": self.config, "grid": grid, "num_warps": warps, "cubin": digest,
            "shared": int(handed.metadata.get("shared") or 0), "registers": function.binary.registers,
            "stack": function.binary.stack,
        }  # fmt: skip
        key = (digest, grid)
        if key not in self.done:
            self.done[key] = self._counted(handed, grid, warps, one["shared"], cluster)
        self.found.append({**one, **self.done[key]})

    def _counted(self, handed, grid, warps, shared, cluster):
        program = ptx.load(handed.function.text)
        values = arguments.flattened(handed)
        x, y, z = grid
        values += arguments.scratch(handed, len(program.parameters) - len(values), x * y * z)
        room, windows = ptx.Memory(), memory.windows(values)
        for window in windows:
            room.add(window.address, window.size, window.name)
        watch = Counters(program.entry().kernel)
        try:
            result = ptx.run(
                program, grid, [one.value for one in values], memory=room, shared=shared, threads=32 * warps,
                cluster=(cluster, 1, 1) if cluster > 1 else None, watch=watch, limits=ptx.Limits(seconds=self.seconds),
                sample=self.programs,
            )  # fmt: skip
        except ptx.PTXError as error:
            return {"error": f"{type(error).__name__}: {error}"[:300]}
        moved = sum(window.size for window in windows)
        return {"executed_ctas": result.ctas, "bytes": moved, "counters": watch.by_instruction()}


def jobs(release):
    """Name and job of each case that this release was timed with."""
    for row in json.loads(KEPT.read_text("utf-8")):
        if row["release"] != release:
            continue
        kernel, case = row["kernel"], row["case"]
        if row["set"] == "b":
            cut, scale = CUT.get(case, ({}, 1))
            yield (
                case,
                {"op": case.split(":")[1], "programs": OF_REAL_SIZES, "cut": cut, "scale": scale},
            )
        else:
            programs = None if kernel in WHOLE else PROGRAMS
            yield f"{kernel}/{case}", {"kernel": kernel, "case": case, "programs": programs}


def launch(job):
    if "op" in job:
        from peers import OPS

        op = next(one for one in OPS if one.name == job["op"])
        kernel, case = (
            _kernel(op.kernel),
            Case(op.name, op.dtype, {**op.shape, **job["cut"]}, options=op.options),
        )
    else:
        kernel = _kernel(job["kernel"])
        case = next(one for one in kernel.cases if one.id == job["case"])
    generator = torch.Generator(device="cpu").manual_seed(SEED)
    kernel.launch(**kernel.inputs(case, torch.device("cpu"), generator), **case.options)


def _kernel(name):
    found = load(name)
    return found if hasattr(found, "cases") else found.KERNEL


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="*", metavar="GLOB", help="of KERNEL/CASE and bench:OP")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for a launch")
    parser.add_argument("--target", default="sm_90")
    options = parser.parse_args()
    folder = options.folder / triton.__version__
    folder.mkdir(parents=True, exist_ok=True)
    table = tomllib.loads((Path(facts.__path__[0]) / "targets.toml").read_text())
    virtual_gpu.activate(Target.from_table(options.target, table[options.target]))
    capture = Capture(folder, options.seconds)
    launching.run_with(capture)
    bench = Autotuner._bench

    def benched(tuner, *args, config, **meta):
        capture.config = str(config)
        try:
            return bench(tuner, *args, config=config, **meta)
        finally:
            capture.config = None

    Autotuner._bench = benched
    for name, job in dict(jobs(triton.__version__)).items():
        path = folder / f"{name.replace('/', '_')}.json"
        if path.exists() or not fnmatch.fnmatch(name, options.only):
            continue
        capture.programs, capture.found, capture.done = job["programs"], [], {}
        error = None
        try:
            launch(job)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"[:500]
        path.write_text(json.dumps({"job": job, "error": error, "launches": capture.found}))
        print(name, len(capture.found), error or "", flush=True)


if __name__ == "__main__":
    main()
