"""``python -m crosswarp.laboratory.cell.fuzzing SPEC.json``: programs come in, results go out.

Both are lines of JSON on standard input and output. The first line out lists the installed versions, and the targets
that this Triton compiles for. Then one line goes out for each line in, until the input ends. SPEC.json is an `Asked`
with targets, versions to `expect`, a `cache`, and the limits of one program. Beside the cache lie source texts.
"""

import contextlib
import json
import os
import shutil
import sys
from typing import Any, Dict, List

from crosswarp.compat.isolate import die_with_parent
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell import forking
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.judging.verdict import as_data, of_harness
from crosswarp.matrix.cell.starting import specification, versions, warm
from crosswarp.matrix.errors import SUITE_DONE


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, Asked, ("targets", "cache"))
    if isinstance(spec, int):
        return spec
    die_with_parent()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    # Libraries print to stdout too: keep that out of the answers.
    os.dup2(2, 1)
    specification.prepare(os.environ, spec)
    import torch

    torch.set_num_threads(1)
    installed = versions.installed()
    compiles = {
        name: table
        for name, table in spec.targets.items()
        if not table.get("triton") or in_window(table["triton"], installed["triton"])
    }
    warm.warm(targets=compiles.values())
    _warm(compiles)
    from . import executing

    forking.ready()
    _tell(out, {"versions": installed, "targets": sorted(compiles)})
    for line in sys.stdin:
        _tell(out, _answer(executing.run, json.loads(line), spec))
        # No program may find what another has compiled.
        shutil.rmtree(spec.cache, ignore_errors=True)
    return SUITE_DONE


def _warm(targets: Dict[str, Any]) -> None:
    """Compile something trivial for each target, so that no child has to begin with the first compilation of a process:
    0.3 s a program in place of 1.5 (facts of 2026-11-22)."""
    import torch

    from crosswarp.compat.record import Patches
    from crosswarp.matrix.cell.standins import virtual_gpu
    from crosswarp.matrix.cell.standins.virtual_gpu import Target
    from crosswarp.matrix.cell.starting import probe_kernels

    for name, table in targets.items():
        patches = Patches()
        with contextlib.suppress(Exception):
            virtual_gpu.activate(Target.from_table(name, table), patches, guarded=False)
            probe_kernels.launch_add(torch)
        with contextlib.suppress(Exception):
            patches.undo()


def _answer(run: Any, asked: Dict[str, Any], spec: Asked) -> Dict[str, Any]:
    from crosswarp.matrix.cell.standins.virtual_gpu import Target

    try:
        target = Target.from_table(asked["target"], spec.targets[asked["target"]])
        return run(asked, target, os.path.dirname(spec.cache), spec)
    except Exception as error:
        # A bug in crosswarp; it must not pass for Triton's.
        return {"verdict": as_data(of_harness(error))}


def _tell(out: Any, line: Dict[str, Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
