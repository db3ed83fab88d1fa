"""``python -m crosswarp.laboratory.cell.fuzzing SPEC.json``: programs come in, results go out.

Both are lines of JSON on standard input and output. The first line out lists the installed versions, and the targets
that this Triton compiles for. Then one line goes out for each line in, until the input ends. SPEC.json holds the
tables of targets.toml under "targets", `time_limit` in seconds and `memory_limit_mb` for one program, and versions to
`expect`.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
from typing import Any, Dict, List, Mapping

from crosswarp.compat.isolate import die_with_parent
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell import asked, forking
from crosswarp.matrix.cell.judging.verdict import as_data, of_harness
from crosswarp.matrix.cell.starting import specification, versions, warm
from crosswarp.matrix.errors import SUITE_DONE, SUITE_SPEC, SUITE_WRONG_VERSIONS


def main(arguments: List[str]) -> int:
    try:
        spec = asked.read(arguments[0], asked.Asked, ("targets",))
    except (IndexError, OSError, ValueError) as error:
        print(f"the specification cannot be read: {error}", file=sys.stderr)
        return SUITE_SPEC
    die_with_parent()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    # Libraries print to stdout too: keep that out of the answers.
    os.dup2(2, 1)
    wrong = specification.wrong_versions(spec.expect)
    if wrong:
        print(f"wrong versions: {wrong}", file=sys.stderr)
        return SUITE_WRONG_VERSIONS
    with tempfile.TemporaryDirectory(prefix="crosswarp-fuzz-") as folder:
        cache = os.path.join(folder, "cache")
        os.environ.update(OMP_NUM_THREADS="1", TRITON_CACHE_DIR=cache, CROSSWARP_CACHE_DIR=cache)
        os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
        os.environ.pop("TRITON_INTERPRET", None)
        import torch

        torch.set_num_threads(1)
        found = versions.installed()
        compiles = {
            name: table
            for name, table in spec.targets.items()
            if not table.get("triton") or in_window(table["triton"], found["triton"])
        }
        warm.warm(targets=compiles.values())
        _warm(compiles, folder)
        forking.ready()
        from . import executing

        children = executing.Children(folder, spec)
        _tell(out, {"versions": found, "targets": sorted(compiles)})
        for line in sys.stdin:
            _tell(out, _answer(json.loads(line), spec.targets, children))
            shutil.rmtree(cache, ignore_errors=True)
        children.end()
    return SUITE_DONE


def _warm(targets: Dict[str, Any], folder: str) -> None:
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


def _answer(asked: Dict[str, Any], targets: Mapping[str, Any], children: Any) -> Dict[str, Any]:
    from crosswarp.matrix.cell.standins.virtual_gpu import Target

    try:
        return children.run(asked, Target.from_table(asked["target"], targets[asked["target"]]))
    except Exception as error:
        # A bug in crosswarp; it must not pass for Triton's.
        return {"verdict": as_data(of_harness(error)), "seconds": 0.0}


def _tell(out: Any, line: Dict[str, Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
