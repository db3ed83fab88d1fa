"""Writes what `performance_against_device.py --estimate` reads: counters and cubin of each launch of some cases.

    PYTHON tests/proofs/performance_capture.py JOBS.json FOLDER [--target sm_90]

PYTHON is that of a release's environment, with crosswarp and tests/bench on its path; FOLDER is named for the release.
A job is `{"kernel", "case", "programs"}` for a case of the suite, or `{"op", "programs", "cut", "scale"}` for one of
tests/bench/peers.py, where `cut` replaces sizes and `scale` says how much larger the grid of the whole would be.
`programs` of a launch are executed. Jobs whose file is there are left out.
"""

import argparse
import hashlib
import json
from pathlib import Path

import torch
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

SEED = 20260
SECONDS = 90


class Capture:
    """Executes each launch; of a tuner's, with the configuration that it was made for."""

    def __init__(self, folder):
        self.folder, self.programs, self.config = folder, 16, None
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
        watch = Counters(program)
        try:
            result = ptx.run(
                program, grid, [one.value for one in values], memory=room, shared=shared, threads=32 * warps,
                cluster=(cluster, 1, 1) if cluster > 1 else None, watch=watch, limits=ptx.Limits(seconds=SECONDS),
                sample=self.programs,
            )  # fmt: skip
        except ptx.PTXError as error:
            return {"error": f"{type(error).__name__}: {error}"[:300]}
        moved = sum(window.size for window in windows)
        return {"executed_ctas": result.ctas, "bytes": moved, "counters": watch.by_instruction()}


def launch(job):
    if "op" in job:
        from peers import OPS

        op = next(one for one in OPS if one.name == job["op"])
        shape = {**op.shape, **job.get("cut", {})}
        kernel, case = _kernel(op.kernel), Case(op.name, op.dtype, shape, options=op.options)
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
    parser.add_argument("jobs", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="sm_90")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    table = tomllib.loads((Path(facts.__path__[0]) / "targets.toml").read_text())
    virtual_gpu.activate(Target.from_table(options.target, table[options.target]))
    capture = Capture(options.folder)
    launching.run_with(capture)
    bench = Autotuner._bench

    def benched(tuner, *args, config, **meta):
        capture.config = str(config)
        try:
            return bench(tuner, *args, config=config, **meta)
        finally:
            capture.config = None

    Autotuner._bench = benched
    for job in json.loads(options.jobs.read_text()):
        name = f"bench:{job['op']}" if "op" in job else f"{job['kernel']}/{job['case']}"
        path = options.folder / f"{name.replace('/', '_')}.json"
        if path.exists():
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
