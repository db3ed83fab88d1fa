"""The sanitizer over the ops of libraries that `crosswarp libraries` knows. Run by hand, with a column's Python.

    PYTHONPATH=LINKS PYTHON tests/proofs/library_sanitizer.py --target sm_80
        --release liger-kernel=0.8.5=FOLDER --release flash-linear-attention=0.6.0=FOLDER

LINKS is a folder in which `crosswarp` leads to this checkout; FOLDER holds a release, unmodified (`uv pip install
--no-deps --target FOLDER liger-kernel==0.8.5`). Each op runs forward and backward in a forked child; every launch is
compiled for the target and executed on the CPU while the detectors look on. A table, and each finding below it.
"""

import argparse
import fnmatch
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# What the libraries import and that holds none of their kernels: once for all children.
PRELOAD = (
    "torch._dynamo", "torch.distributed.tensor", "torch.distributed.fsdp", "torch._inductor.compile_fx",
    "functorch.compile",
)  # fmt: skip
FAMILIES = ("liger_norms", "liger_layers", "liger_losses", "fla_attention", "fla_modules")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--release", action="append", required=True, metavar="LIBRARY=RELEASE=FOLDER"
    )
    parser.add_argument("--target", default="sm_80", choices=("sm_80", "sm_90", "gfx942"))
    parser.add_argument("--ops", default="*", metavar="GLOB")
    parser.add_argument("--seconds", type=float, default=300, help="for an op (300)")
    parser.add_argument("--shims", action="store_true")
    options = parser.parse_args()
    releases = {}
    for one in options.release:
        library, release, folder = one.split("=", 2)
        releases.setdefault(library, {})[release] = str(Path(folder).resolve())
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump({"libraries": {"releases": releases, "ops": ["*"], "configurations": 2}}, file)
    os.environ["CROSSWARP_SPEC"] = file.name

    import triton

    from crosswarp.matrix.cell.kinds import library_ops

    sys.path[:0] = [str(TESTS / "cell"), str(Path(library_ops.__file__).parent)]
    target = getattr(importlib.import_module("targets"), options.target.upper())
    for name in PRELOAD:
        importlib.import_module(name)
    mode = "shimmed" if options.shims else "bare"
    print(f"Triton {triton.__version__}, {options.target}, {mode}\n")
    print("| op | release | launches | thread-instructions | seconds | the sanitizer says |")
    print("| --- | --- | --- | --- | --- | --- |")
    told = []
    for family in FAMILIES:
        for case in importlib.import_module(family).KERNEL.cases:
            op, release = case.options["op"], case.options["release"]
            if fnmatch.fnmatchcase(op, options.ops):
                said = looked_at(family, op, release, target, options)
                emulated = said["emulated"]
                counted = (
                    f"{emulated['launches']} | {emulated['instructions']:,} | {said['seconds']:.0f}"
                )
                print(f"| {op} | {release} | {counted} | {said['says']} |", flush=True)
                told += [f"{op} {release}: {said['message']}"] if said["message"] else []
    print("\n" + "\n\n".join(told))
    os.unlink(file.name)


def looked_at(family, op, release, target, options):
    """What one op, in a child of its own, came to."""
    from crosswarp.compat.isolate import run_isolated

    began = time.monotonic()
    nothing = {"launches": 0, "instructions": 0}
    ended = run_isolated(
        lambda send: run(family, op, release, target, options), time_limit=options.seconds * 2
    )
    said = getattr(ended, "value", None)
    if not isinstance(said, dict):
        said = {
            "says": "the child did not end by itself",
            "message": str(ended)[:2000],
            "emulated": nothing,
        }
    return {**said, "seconds": time.monotonic() - began}


def run(family, op, release, target, options):
    from crosswarp import compat
    from crosswarp.matrix.cell import emulate
    from crosswarp.matrix.cell.standins import virtual_gpu
    from crosswarp.matrix.cell.standins.virtual_gpu import launching

    if options.shims:
        compat.install()
    virtual_gpu.activate(target)
    machine = emulate.Machine(options.seconds, sanitize=True)
    launching.run_with(machine)
    says, message = "nothing", ""
    try:
        importlib.import_module(family).KERNEL.launch(op=op, release=release)
    except (Exception, SystemExit) as error:
        if machine.failed is None:
            says, message = f"not run: {type(error).__name__}", str(error)[:1500]
    failed = machine.failed
    if failed is not None:
        says, message = f"{failed.outcome}: {failed.reason}", failed.message
    return {"says": says, "message": message, "emulated": machine.resources()["emulated"]}


if __name__ == "__main__":
    main()
