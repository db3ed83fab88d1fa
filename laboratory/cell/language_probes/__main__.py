"""``python -m crosswarp.laboratory.cell.language_probes SPEC.json``: the names and probes of one column, in one lane.

The specification holds `lane` (compile or interpret), `targets`, `names` (globs), `expect` (versions), `records` (where
the events go), `cache` (a folder to use and throw away), `time_limit` and `memory_limit_mb`. Exit status: one of the
SUITE_ numbers of matrix/errors.py.
"""

import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell import asked, protocol
from crosswarp.matrix.cell.starting import specification
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.errors import SUITE_DONE


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, asked.Asked, ("lanes", "cache"))
    if isinstance(spec, int):
        return spec
    (lane,) = spec.lanes
    # Before Triton is imported: it decides then whether it interprets.
    specification.prepare(os.environ, spec)
    if lane == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
    _run(spec, Stream(spec.records), lane)
    return SUITE_DONE


def _run(spec: asked.Asked, stream: Stream, lane: str) -> None:
    from crosswarp.matrix.cell.standins.virtual_gpu import Target
    from crosswarp.matrix.cell.starting import versions, warm

    from . import gluon_names, host_names, names, running
    from .probes import all_probes

    found = {
        name: entry
        for name, entry in names.found().items()
        if any(fnmatchcase(name, glob) for glob in spec.kernels)
    }
    chosen = [probe for probe in all_probes() if has(found, probe)]
    targets = [Target.from_table(name, table) for name, table in spec.targets.items()]
    here = versions.installed()
    targets = [one for one in targets if not one.triton or in_window(one.triton, here["triton"])]
    batches: List[Tuple[Optional[Target], List[Any]]]
    if lane == "interpret":
        # Each in a separate child: some interpreters overwrite memory beside their result.
        batches = [(None, [probe]) for probe in chosen if probe.reference is not None]
    else:
        batches = [
            (target, [probe for probe in chosen if probe.concerns(target.backend)])
            for target in targets
        ]
    removed = (
        gluon_names.removed(set(host_names.modules())) if lane == "compile" and targets else {}
    )
    removed = {name: error for name, error in removed.items() if name in found}
    planned = sum(len(probes) for _, probes in batches) + len(removed)
    stream.write(protocol.Session(lane, planned, here))
    for name, error in removed.items():
        # It is there to say that it is gone, and would say so of any target.
        stream.write(protocol.Probe(name, name, targets[0].name, "compile-error", error))
    if lane == "compile":
        for name, entry in found.items():
            stream.write(protocol.Name(name, entry["kind"], entry["signature"]))
        warm.warm()
    limits = (int(spec.time_limit), spec.memory_limit_mb)
    for target, probes in batches:
        where = running.INTERPRETER if target is None else target.name
        running.run(probes, target, Path(spec.cache), *limits, teller(stream, where))
    stream.write(protocol.Done())


def teller(stream: Stream, where: str) -> Callable[[Any, Any], None]:
    """Return a function that writes a verdict on a probe into the stream."""

    def tell(probe: Any, verdict: Any) -> None:
        why = verdict.fingerprint or verdict.reason
        stream.write(protocol.Probe(probe.id, probe.name, where, verdict.outcome, why))

    return tell


def has(found: Dict[str, Dict[str, str]], probe: Any) -> bool:
    """Whether this Triton has the name, and the option, that a probe is about."""
    from crosswarp.matrix.cell.spelled import parameters

    entry = found.get(probe.name)
    if entry is None:
        return False
    if not probe.option or probe.name.startswith("launch."):
        return True
    return probe.parameter in parameters(entry["signature"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
