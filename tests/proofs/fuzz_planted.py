"""Does `crosswarp fuzz` see a broken rewrite? Bugs planted in copies of one Triton, each in a place of its own.

    python tests/proofs/fuzz_planted.py --here PYTHON [--plants NAME,..] [--programs 60] [--seed 1] [--targets sm_80]
    python tests/proofs/fuzz_planted.py --here PYTHON --plants "loop yields,else" --kernels rms_norm --cases 'fp16*'

PYTHON has Triton 3.6.0 and crosswarp. A plant changes one line of one of Triton's Python files: of the frontend, of
what its library functions are made of, of a stage between two forms of the code. It lies in a folder of links to the
rest, and nothing is installed. Programs run in order, on the Triton as it is and on the planted one, until one of them
is suspicious and confirmed. The control is a folder without a plant, over all the programs. With --kernels the suite's
own kernels are edited in place of programs. Ends with 1 when a plant is not seen, or the control shows anything.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from crosswarp.laboratory.fuzzing import exploring, judging
from crosswarp.laboratory.fuzzing.places import Place, Workers
from crosswarp.matrix.facts import issues, language_table, targets

RELEASE = "3.6.0"
_SEMANTIC = "language/semantic.py"
_STANDARD = "language/standard.py"
_GENERATOR = "compiler/code_generator.py"
_COMPILER = "backends/nvidia/compiler.py"
# Between what LLVM printed as PTX and what ptxas gets.
_PTX = "        # Find kernel names (there should only be one)\n        names ="


@dataclasses.dataclass(frozen=True)
class Plant:
    """In `place`, which stands once in `file`, `old` becomes `new`."""

    name: str
    file: str
    place: str
    old: str
    new: str


def _line(name: str, place: str, line: str) -> Plant:
    """A line of its own ahead of `place`."""
    return Plant(name, _COMPILER, place, place, f"        {line}\n{place}")


PLANTS = (
    Plant("minimum", _SEMANTIC, "self.builder.create_minsi(x.handle", "min", "max"),
    Plant("remainder", _SEMANTIC, "self.builder.create_srem(input", "srem", "sdiv"),
    Plant("select", _SEMANTIC, "(condition.handle, x.handle, y.handle)", "x.handle, y", "y.handle, x"),
    Plant("int to float", _SEMANTIC, "self.builder.create_si_to_fp(input", "si_to", "ui_to"),
    Plant("atomic xor", _SEMANTIC, "ir.ATOMIC_OP.XOR, ptr", "XOR", "OR"),
    Plant("less", _SEMANTIC, "create_icmpSLT(input.handle, other.handle), self._bool_like", "SLT", "SLE"),
    Plant("shift", _SEMANTIC, "self.builder.create_ashr(input", "ashr", "lshr"),
    Plant("argmax ties", _STANDARD, "tie = False\n    gt = value1 > value2 or tie", "or tie", "or not tie"),
    Plant("flip", _STANDARD, "static_range(steps):\n        y = y ^ xor_sum(y, _dim + i", "steps", "steps - 1"),
    Plant("sort", _STANDARD, "!= (flip ^ is_right), y, x)", "(flip ^ is_right)", "flip"),
    Plant(
        "loop yields", _GENERATOR,
        "if len(yield_handles) > 0:\n                self.builder.create_yield_op(yield_handles)",
        "op(yield_handles)", "op(yield_handles[::-1])",
    ),
    Plant("else", _GENERATOR, "self.builder.create_yield_op(else_handles)", "else_", "then_"),
    _line(
        "abort of dot of trans", "        # Set maxnreg on all kernels, if it was provided.\n",
        "if 'tt.trans' in str(mod) and 'tt.dot' in str(mod): os.abort()",
    ),
    _line("ldmatrix", _PTX, "ret = ret.replace('.x4.trans.shared', '.x4.shared')"),
    _line("butterfly", _PTX, "ret = re.sub(r'(shfl.sync.bfly.b32\\s+\\S+ \\S+) 16,', r'\\1 8,', ret, count=1)"),
    _line(
        "select of PTX", _PTX,
        "ret = re.sub(r'(selp\\.b32\\s+\\S+) (\\S+), (\\S+),', r'\\1 \\3, \\2,', ret, count=1)",
    ),
)  # fmt: skip


def overlay(triton: Path, folder: Path, plant: Plant | None) -> None:
    """``folder/triton``: links to `triton`, but for the file that `plant` changes."""
    changed = Path(plant.file) if plant is not None else Path("__init__.py")
    text = (triton / changed).read_text("utf-8")
    if plant is not None:
        if text.count(plant.place) != 1:
            stands = f"stands {text.count(plant.place)} times in {plant.file}"
            raise SystemExit(f"{plant.name}: its place {stands}; Triton {RELEASE} is meant")
        text = text.replace(plant.place, plant.place.replace(plant.old, plant.new))
    made, real = folder / "triton", triton
    for part in changed.parts:
        made.mkdir(parents=True)
        for entry in real.iterdir():
            if entry.name not in (part, "__pycache__"):
                (made / entry.name).symlink_to(entry)
        made, real = made / part, real / part
    made.write_text(text, "utf-8")


def interpreter(python: Path, folder: Path, name: str, plant: Plant | None) -> Path:
    """A script that runs `python` with the planted Triton first on its path."""
    asked = "import importlib.util as i; print(i.find_spec('triton').submodule_search_locations[0])"
    found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    place = folder / re.sub(r"\W", "-", name)
    overlay(Path(found.stdout.strip()), place, plant)
    script = place / "python"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{place}:$PYTHONPATH" exec "{python}" "$@"\n', "utf-8"
    )
    script.chmod(0o755)
    return script


def seen(programs, workers, on, count: int, clean: dict) -> tuple[str, int, float]:
    """What shows first, the number of programs it took, and the seconds."""
    began = time.monotonic()
    good, bad = programs.places
    for number in range(count):
        program = programs(number)
        cells = []
        for target in on:
            if (number, target) not in clean:
                clean[number, target] = workers.run(good, program, target)
            cells += [clean[number, target], workers.run(bad, program, target)]
        for suspect in judging.judge(sorted(cells, key=lambda cell: cell.column)):
            if suspect.bad.column != bad.column:
                return f"CLEAN: {suspect.kind}", number + 1, time.monotonic() - began
            suspect = exploring.confirmed(suspect, program, bad, workers)
            if not suspect.doubt:
                return suspect.kind, number + 1, time.monotonic() - began
    return "", count, time.monotonic() - began


def edited(python: Path, script: Path, options: argparse.Namespace, folder: Path) -> str:
    """What `crosswarp fuzz --kernels` tells first, of the Triton as it is beside the planted one."""
    told = subprocess.run(
        [
            sys.executable, "-m", "crosswarp.reports.cli", "fuzz", "--here", python, script,
            "--kernels", options.kernels, "--cases", options.cases, "--targets", options.targets,
            "--work", folder, "--minutes", "60", "--everything",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line for line in told.stdout.splitlines() if "; new; " in line]
    if told.returncode not in (0, 1):
        raise SystemExit(told.stderr)
    return found[0].split("; new; ")[0] if found else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--here", type=Path, required=True, metavar="PYTHON")
    parser.add_argument("--plants", default="", metavar="NAME,..")
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--targets", default="sm_80")
    parser.add_argument("--kernels", metavar="GLOB,..", help="edit these instead of programs")
    parser.add_argument("--cases", default="*", metavar="GLOB,..")
    parser.add_argument("--no-control", action="store_true", help="the plants alone")
    options = parser.parse_args()
    chosen = [one for one in PLANTS if not options.plants or one.name in options.plants.split(",")]
    on = {name: one for name, one in targets.load().items() if name in options.targets.split(",")}
    python = Path(os.path.abspath(options.here))
    clean: dict = {}
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for plant in [*chosen, *([] if options.no_control else [None])]:
            name = plant.name if plant is not None else "control"
            script = interpreter(python, Path(folder), name, plant)
            if options.kernels:
                began = time.monotonic()
                said = edited(python, script, options, script.parent / "work")
                missed += bool(said) == (plant is None)
                print(f"| {name} | {said or 'nothing'} | {time.monotonic() - began:.0f} s |", flush=True)  # fmt: skip
                continue
            places = [Place("a-clean", RELEASE, python), Place("b-planted", RELEASE, script)]
            programs = exploring.Programs(
                options.seed, places, language_table.load(), issues.load()
            )
            with Workers(on, 60, 6000) as workers:
                kind, count, seconds = seen(programs, workers, on, options.programs, clean)
            missed += bool(kind) == (plant is None) or kind.startswith("CLEAN")
            print(
                f"| {name} | {kind or 'nothing'} | {count} programs | {seconds:.0f} s |", flush=True
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
