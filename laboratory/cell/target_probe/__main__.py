"""``python -m crosswarp.laboratory.cell.target_probe SPEC.json``: which targets this Triton compiles for.

SPEC.json is an `Asked` with targets, `time_limit` for one kernel, and `records`. That file gets a JSON line that
describes this environment, then one for each target: why the addition and why the dot product cannot be compiled, an
empty string if it can. Each kernel is compiled anew, in a separate forked child.
"""

import json
import os
import sys
import tempfile
from typing import List

from crosswarp.matrix.cell import asked


def main(arguments: List[str]) -> int:
    spec = asked.read(arguments[0], asked.Asked, ("targets", "time_limit", "records"))
    # Standard output is for answers only: text that libraries print goes to stderr.
    with open(spec.records, "a", encoding="utf-8") as out, tempfile.TemporaryDirectory() as cache:
        # A forked child does not have the threads of its parent's OpenMP.
        os.environ.update(OMP_NUM_THREADS="1", TRITON_CACHE_DIR=cache, CROSSWARP_CACHE_DIR=cache)
        os.environ.pop("TRITON_INTERPRET", None)
        import torch  # noqa: F401

        from crosswarp.matrix.cell.standins.virtual_gpu import Target
        from crosswarp.matrix.cell.starting import probe, probe_kernels, versions, warm

        warm.warm()
        print(json.dumps(versions.installed()), file=out, flush=True)
        for name, table in spec.targets.items():
            target = Target.from_table(name, table)
            why = {
                kernel: probe.why_not(target, spec.time_limit, [kernel])
                for kernel in probe_kernels.LAUNCHES
            }
            print(json.dumps({"target": name, **why}), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
