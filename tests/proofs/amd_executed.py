"""Which of AMD's instructions does the suite execute, and how often? Run by hand, with a column's Python.

    PYTHON tests/proofs/amd_executed.py [--target gfx942] [--kernels GLOB] [--counts FILE] [--sanitize]

The first case of each kernel runs in the lane emulate, in its first configuration and without compat. Prints a line a
kernel with its outcome. FILE takes a line an opcode: how many waves executed it, and its name.
"""

import argparse
import fnmatch
import sys
import tomllib
from collections import Counter
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from amd_planted import TARGETS, judged  # noqa: E402

from crosswarp.matrix.cell import emulate  # noqa: E402
from crosswarp.matrix.cell.judging import tuning  # noqa: E402
from crosswarp.matrix.cell.kinds.suite import kernels  # noqa: E402
from crosswarp.matrix.cell.machines.amdgcn import launch  # noqa: E402
from crosswarp.matrix.cell.standins import virtual_gpu  # noqa: E402
from crosswarp.matrix.cell.standins.virtual_gpu import Target  # noqa: E402

# Seconds of one case.
LIMIT = 120


class Counted(launch.Program):
    """A program that counts the instructions of each block when waves execute it."""

    counts: Counter = Counter()

    def function(self, block):
        execute = super().function(block)
        first, end = self.kernel.blocks[block]
        opcodes = [
            half.name
            for instruction in self.kernel.instructions[first:end]
            for half in instruction.halves()
        ]

        def counted(machine, m):
            waves = machine.waves if m is None else int(m.sum())
            for opcode in opcodes:
                self.counts[opcode] += waves
            return execute(machine, m)

        return counted


def outcome_of(kernel, case, sanitize):
    try:
        outcome, reason, message = judged(kernel, case, emulate.Machine(LIMIT, sanitize=sanitize))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return outcome if outcome == "pass" else f"{outcome} {reason}: {message[:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--kernels", default="*", metavar="GLOB")
    parser.add_argument("--counts", type=Path, metavar="FILE")
    parser.add_argument("--sanitize", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = tomllib.loads(TARGETS.read_text("utf-8"))[options.target]
    virtual_gpu.activate(Target.from_table(options.target, table))
    tuning.use_first_configuration()
    launch.Program = Counted
    here = Path(TARGETS).parents[2] / "kernels"
    names = sorted(path.stem for path in here.glob("*.py") if path.stem not in ("__init__", "case"))
    for name in names:
        if fnmatch.fnmatchcase(name, options.kernels) and not name.startswith(("gluon_", "tlx_")):
            kernel = kernels.load(None, name)
            print(
                f"{name}/{kernel.cases[0].id}: {outcome_of(kernel, kernel.cases[0], options.sanitize)}",
                flush=True,
            )
    if options.counts:
        counts = sorted(Counted.counts.items(), key=lambda item: (-item[1], item[0]))
        options.counts.write_text("".join(f"{count} {name}\n" for name, count in counts))


if __name__ == "__main__":
    main()
