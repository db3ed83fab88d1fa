"""What a child pays to import a module of a suite, before and after the worker has imported what it may.

    PYTHONPATH=LINKS:BESIDE PYTHON tests/bench/preloading.py SUITE KERNEL

SUITE is a folder of kernel modules, LINKS a folder with `crosswarp/compat`, `kernels` and `matrix`, BESIDE where the
libraries of the suite are (`crosswarp run --requires` keeps them in .crosswarp/libraries-beside). Seconds of CPU time,
for sm_90, in forked children, as in a run. Not a test: it compares nothing.
"""

import sys
import time
from pathlib import Path

TARGET = {
    "backend": "cuda", "arch": 90, "family": "sm_9", "warp_size": 32, "max_threads_per_block": 1024,
    "shared_memory_optin": 232448, "registers_per_block": 65536, "multiprocessors": 132, "triton": ">=2.3.1",
}  # fmt: skip


def main(folder, kernel):
    import torch

    from crosswarp.compat.isolate import run_isolated
    from crosswarp.matrix.cell.kinds.suite import kernels
    from crosswarp.matrix.cell.starting import preloading, probe
    from crosswarp.matrix.cell.starting.warm import warm

    torch.set_num_threads(1)
    warm()
    suite = str(Path(folder).resolve())

    def one(send):
        probe.prepare_import("compile", {"suite": suite, "targets": {"sm_90": TARGET}})
        watch, began = preloading.Watch(), time.process_time()
        kernels.load(suite, kernel)
        return time.process_time() - began, watch.imported([suite])

    before, names = run_isolated(one, time_limit=900).value
    began = time.perf_counter()
    found = preloading.safe(names)
    tried = time.perf_counter() - began
    began = time.process_time()
    preloading.load(found)
    once = time.process_time() - began
    after, _ = run_isolated(one, time_limit=900).value
    print(f"a child: {before:.2f} s before, {after:.2f} s after")
    print(
        f"a worker, once: {once:.2f} s for {len(found)} modules; to try them took {tried:.1f} s of wall time"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
