"""Under which key is each kernel of the suite kept with compat? Under Triton's own, where no fix acted. Run by hand.

    COLUMN/bin/python tests/proofs/own_keys.py [KERNEL ...]

Of each kernel the first case that compiles is compiled for sm_90, in a process without compat and in one with it, where
`compat.explain` says what acted. Prints a line for each kernel on which a fix acted, and the totals; ends with 1 where
a kernel without a fix has another key, or one with a fix has Triton's own.
"""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path


def launches(names):
    """The name of each kernel that this Triton can import, and what launches its first case that compiles."""

    from crosswarp import kernels
    from crosswarp.matrix.cell.standins import virtual_gpu

    target = virtual_gpu.Target("sm_90", "cuda", 90, "sm_9", 32, 1024, 232448, 65536, 132)
    virtual_gpu.activate(target, guarded=False)
    for name in names or kernels.SUITE:
        try:
            kernel = kernels.load(name)
        except Exception:
            continue
        if kernel.launch is not None:
            yield name, lambda kernel=kernel: first_that_compiles(kernel)


def first_that_compiles(kernel):
    """Launches the first case that compiles, or the one in `ONLY`, and returns its place among the kernel's cases."""
    import torch

    error = None
    only = json.loads(os.environ.get("ONLY", "{}")).get(kernel.name)
    for place, case in enumerate(kernel.cases):
        if only not in (None, place):
            continue
        # LLVM ends the process where a target lacks an instruction.
        if not any(fnmatch.fnmatchcase("sm_90", target) for target in case.targets or ("*",)):
            continue
        try:
            given = (
                kernel.inputs(case, torch.device("cpu"), torch.Generator()) if kernel.inputs else {}
            )
            kernel.launch(**given, **case.options)
            return place
        except Exception as one:
            error = one
    if error is not None:
        raise error
    return None


def compiled(names, mode):
    """kernel -> the case, and (key, the fixes that acted) of each that was compiled."""
    from triton.compiler import compiler

    from crosswarp import compat

    if mode == "compat":
        compat.install()
    made, own = [], compiler.CompiledKernel.__init__

    def init(self, *given, **more):
        own(self, *given, **more)
        paths = [given[-1]] if len(given) == 2 else list(given[1].values())
        made.append((self, Path(paths[0]).relative_to(os.environ["TRITON_CACHE_DIR"]).parts[0]))

    compiler.CompiledKernel.__init__ = init
    found = {}
    for name, launch in launches(names):
        made.clear()
        place = None
        try:
            place = launch()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error!s:.200}", file=sys.stderr)
        found[name] = (
            place,
            [(key, [one.fix for one in compat.explain(kernel)]) for kernel, key in made],
        )
    return found


def main(names):
    import triton

    both, same = {}, {}
    for mode in ("bare", "compat"):
        with tempfile.TemporaryDirectory() as cache:
            child = subprocess.run(
                [sys.executable, __file__, f"--{mode}", *names],
                # Triton 2.3.1 puts a set into its keys, in whatever order.
                env={
                    **os.environ,
                    "TRITON_CACHE_DIR": cache,
                    "PYTHONHASHSEED": "0",
                    "ONLY": json.dumps(same),
                },
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found = json.loads(child.stdout.splitlines()[-1])
        # With compat another case may be the first that compiles: another program, with another key.
        same = {name: place for name, (place, _) in found.items() if place is not None}
        both[mode] = {name: made for name, (_, made) in found.items()}
    kept = acted = wrong = only = 0
    for name, made in both["compat"].items():
        own_keys = [key for key, _ in both["bare"].get(name, [])]
        if not own_keys:
            # Without compat it is not compiled, and has no key to keep.
            only += len(made)
            continue
        for key, fixes in made:
            own = key in own_keys
            kept += own
            acted += bool(fixes)
            wrong += own == bool(fixes)
            if fixes or not own:
                print(f"{name}: {'own key' if own else 'another key'}, acted: {fixes or 'none'}")
    total = sum(map(len, both["compat"].values()))
    print(
        f"Triton {triton.__version__}: {total} compiled kernels of {len(both['compat'])}, {kept} under Triton's ",
        end="",
    )
    print(f"own key, a fix acted on {acted}, compiled with compat alone {only}, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = sys.argv[1:]
    if asked[:1] in (["--bare"], ["--compat"]):
        print(json.dumps(compiled(asked[1:], asked[0][2:])))
    else:
        sys.exit(main(asked))
