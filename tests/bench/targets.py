"""The first case of some kernels of the suite for every target that this Triton compiles for, in one process.

    PYTHONPATH=LINKS PYTHON tests/bench/targets.py targets.json out.jsonl softmax matmul

A run (`crosswarp run --targets all --lanes compile --modes bare`) does the same with all cases, and takes hours on two
cores for 24 targets. `targets.json` is {"targets": …} with the tables of targets.toml, LINKS a folder with
`crosswarp/compat`, `kernels` and `matrix`. A line for each cell, by the suite's own `item.run`; a target outside its
declared window is one line, `unsupported`. Not a test: it compares nothing.
"""

import json
import os
import sys
import tempfile
from pathlib import Path


def main(targets_file, out, *kernels_wanted):
    folder = tempfile.mkdtemp()
    os.environ.update(OMP_NUM_THREADS="1", TRITON_CACHE_DIR=folder, CROSSWARP_CACHE_DIR=folder)
    spec = json.loads(Path(targets_file).read_text("utf-8"))
    spec.update(records=f"{folder}/records", cache=folder, jobs=1, memory_limit_mb=6000)
    spec.update(time_limit=900, time_limit_alone=0)
    import torch
    import triton

    from crosswarp.compat.versions import in_window
    from crosswarp.matrix.cell.suite import item, warm
    from crosswarp.matrix.cell.suite.plan import Item

    torch.set_num_threads(1)
    warm.warm()
    cases = {name: first_case(name, spec) for name in kernels_wanted}
    with open(out, "w", encoding="utf-8", buffering=1) as file:
        for target, table in spec["targets"].items():
            if not in_window(table["triton"], triton.__version__):
                print(json.dumps({"target": target, "outcome": "unsupported"}), file=file)
                continue
            for kernel, case in cases.items():
                cell = Item(target, "compile", "bare", kernel, case)
                verdict = item.run(cell, spec, lambda *told: None)
                told = {"outcome": verdict.outcome, "fingerprint": verdict.fingerprint}
                print(
                    json.dumps({"target": target, "kernel": kernel, "case": case, **told}),
                    file=file,
                )
        print(json.dumps({"triton": triton.__version__}), file=file)


def first_case(kernel, spec):
    """Its id; the module is imported in a child, because Triton 3.2 asks for a driver when it decorates."""
    from crosswarp.compat.isolate import run_isolated
    from crosswarp.matrix.cell import virtual_gpu
    from crosswarp.matrix.cell.suite import kernels
    from crosswarp.matrix.cell.virtual_gpu import Target

    def ask(send):
        virtual_gpu.activate(Target.from_table("sm_80", spec["targets"]["sm_80"]))
        return kernels.load(None, kernel).cases[0].id

    return run_isolated(ask, time_limit=900).value


if __name__ == "__main__":
    main(*sys.argv[1:])
