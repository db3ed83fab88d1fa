"""CPU seconds that compat adds to a start and to first compilations, beside the same Triton without it.

    python tests/bench/first_compile.py [PROCESSES]

Needs torch, a GPU, Triton and crosswarp (PYTHONPATH may name them), with bytecode written before. Prints the CPU
milliseconds of `import crosswarp.compat` and `compat.install()`, with Triton imported before, and the ratio of the
first compilation of eight small kernels to the same without compat: medians of 9 processes of each kind, in turn.
"""

import importlib
import importlib.metadata
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

MODES = ("without", "guard off", "guard auto")
RESULTS = (
    "a + 1", "a * 2", "a - 3", "tl.exp(a)", "tl.where(a > 0, a, 0.0)", "tl.sqrt(a)", "tl.cumsum(a, 0)",
    "a / tl.sum(a, 0)",
)  # fmt: skip
KERNEL = """
@triton.jit
def kernel{number}(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    tl.store(y + at, {result}, mask=at < n)
"""


def cpu() -> float:
    """CPU milliseconds of this process and of its ended children."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return 1e3 * sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measured(mode: str, folder: str) -> dict:
    """CPU milliseconds of the import, of `install`, and of the eight first launches, in this process."""
    warnings.simplefilter("ignore")
    import torch

    # A host has imported these before it installs compat.
    for name in ("triton.compiler", "triton.runtime.autotuner"):
        importlib.import_module(name)
    begun = cpu()
    if mode != "without":
        from crosswarp import compat
    imported = cpu()
    if mode != "without":
        compat.install(**({"guard": "off"} if mode == "guard off" else {}))
    installed = cpu()
    sys.path.insert(0, folder)
    import kernels_of_this_benchmark as kernels

    x = torch.ones(64, device="cuda")
    y = torch.empty_like(x)
    before = cpu()
    for number in range(len(RESULTS)):
        getattr(kernels, f"kernel{number}")[(1,)](x, y, 64, BLOCK=64)
    torch.cuda.synchronize()
    return {
        "import": imported - begun,
        "install": installed - imported,
        "compile": cpu() - before,
    }


def main(processes: int) -> None:
    figures: dict[str, list] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        source = "import triton\nimport triton.language as tl\n" + "".join(
            KERNEL.format(number=number, result=result) for number, result in enumerate(RESULTS)
        )
        Path(folder, "kernels_of_this_benchmark.py").write_text(source)
        for _ in range(processes):
            for mode in MODES:
                with tempfile.TemporaryDirectory() as cache:
                    environ = {
                        **os.environ,
                        "TRITON_CACHE_DIR": cache,
                        "CROSSWARP_CACHE_DIR": f"{cache}/crosswarp",
                    }
                    command = [sys.executable, __file__, mode, folder]
                    done = subprocess.run(command, stdout=subprocess.PIPE, env=environ, check=True)
                    figures[mode].append(json.loads(done.stdout.splitlines()[-1]))
    print("Triton", importlib.metadata.version("triton"), f"{processes} processes of each")
    bare = statistics.median(one["compile"] for one in figures["without"])
    for mode in MODES:
        middle = {
            name: statistics.median(one[name] for one in figures[mode]) for name in figures[mode][0]
        }
        print(
            f"{mode:10}  import {middle['import']:5.1f} ms  install {middle['install']:5.1f} ms  "
            f"eight compilations {middle['compile']:7.1f} ms, {middle['compile'] / bare:.3f} of without"
        )


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in MODES:
        print(json.dumps(measured(*sys.argv[1:])))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 9)
