"""``python -m crosswarp.matrix.cell.kinds.library_tests SPEC.json``: run each part of each lane in a separate pytest.

Exit status: one of the SUITE_ numbers of matrix/errors.py; done is done whatever the outcome of a test.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Dict, List, Optional

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.asked import AskedTests
from crosswarp.matrix.cell.judging.verdict import Verdict, of_death
from crosswarp.matrix.cell.kinds.suite import plan
from crosswarp.matrix.cell.starting import specification, versions
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.errors import SUITE_DONE, SUITE_FAILED

from . import judging, names
from .parts import PART_ENV, Part, parts

_NEEDED = ("lanes", "modes", "targets", "tests")
_PLUGIN = "crosswarp.matrix.cell.pytest_plugin"
# pytest: 0 all passed, 1 some failed, 5 nothing collected.
_FINE = (0, 1, 5)
# A worker rarely dies of a test, which runs in a child; one that dies again and again dies of its imports.
_WORKER_DEATHS = 8
# `python -m pytest` would import the library from its folder, and not as it is installed.
_START = "import sys; sys.path.remove(''); import pytest; sys.exit(pytest.main())"


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, AskedTests, _NEEDED)
    if isinstance(spec, int):
        return spec
    stream = Stream(spec.records)
    return max([_lane(spec, lane, stream) for lane in spec.lanes], default=SUITE_DONE)


def _lane(spec: AskedTests, lane: str, stream: Stream) -> int:
    reasons = plan.targets(spec, lane, versions.installed()["triton"], stream)
    known: Optional[List[List[str]]] = None
    status = SUITE_DONE
    every = parts(spec, lane)
    for part in every:
        if not reasons[part.target]:
            status = max(status, _run(part, spec, stream))
            if known is None and Path(part.items).exists():
                known = json.loads(Path(part.items).read_text("utf-8"))
    for part in every:
        if reasons[part.target]:
            _unsupported(part, reasons[part.target], known, stream)
    return status


def _unsupported(part: Part, reason: str, known: Optional[List[List[str]]], stream: Stream) -> None:
    """The tests that another target has, on one that this Triton does not compile for."""
    # If no tests were collected, one cell stands for all, and the first shard reports it.
    everything = (
        [[names.COLLECTION, names.NO_PARAMETERS]] if not part.shard or part.shard[0] == 1 else []
    )
    items = everything if known is None else known
    stream.write(protocol.Session(part.lane, len(items), versions.installed(), part.name))
    for kernel, case in items:
        part.tell(stream, kernel, case, Verdict("unsupported", "target", message=reason))


def _run(part: Part, spec: AskedTests, stream: Stream) -> int:
    log = Path(spec.records).with_suffix(".log")
    before = log.stat().st_size if log.exists() else 0
    root = spec.tests.root
    code = subprocess.run(
        _command(part, spec), env=_environ(part, spec), cwd=root, stdin=subprocess.DEVNULL, check=False
    ).returncode  # fmt: skip
    if not Path(f"{part.items}.announced").exists():
        if code == 5:
            # Nothing was collected, and nothing went wrong: a sample or a glob that leaves none.
            stream.write(protocol.Session(part.lane, 0, versions.installed(), part.name))
            return SUITE_DONE
        stream.write(protocol.Session(part.lane, 1, versions.installed(), part.name))
        part.tell(stream, names.COLLECTION, names.IMPORT, _never_began(code, _since(log, before)))
        return SUITE_DONE
    if code not in _FINE:
        print(f"{part.lane}, {part.name}: pytest ended with status {code}", file=sys.stderr)
        return SUITE_FAILED
    return SUITE_DONE


def _never_began(code: int, output: str) -> Verdict:
    """The verdict on a pytest that did not come to its tests: a conftest that cannot be imported, or a death."""
    if code < 0:
        import signal

        return of_death("signal", signal.Signals(-code).name, output, phase="import")
    return judging.of_output(output, "api-error", f"pytest ended with status {code}")


def _since(log: Path, start: int) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(start, log.stat().st_size - 65536))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _command(part: Part, spec: AskedTests) -> List[str]:
    tests = spec.tests
    command = [sys.executable, "-c", _START, *tests.paths]
    if not _installed():
        command += ["-p", _PLUGIN]
    command += ["-p", f"{__package__}.plugin", "-p", "no:cacheprovider"]
    command += ["--virtual-gpu", part.virtual, "--virtual-gpu-lane", part.lane]
    command += ["--crosswarp-shims" if part.mode == "shimmed" else "--crosswarp-bare"]
    command += ["--crosswarp-time-limit", str(spec.time_limit)]
    if tests.sample:
        command += ["--crosswarp-sample", str(tests.sample)]
    for module in tests.stub:
        command += ["--crosswarp-stub", module]
    # The library's own settings may stop at the first failure.
    command += ["--continue-on-collection-errors", "--maxfail=0", "-q", "--tb=short"]
    command += ["-n", str(spec.jobs), "--dist", "worksteal"]
    return [*command, "--max-worker-restart", str(_WORKER_DEATHS)]


def _installed() -> bool:
    """Whether pytest knows the plugin by itself."""
    return any(
        entry.group == "pytest11" and entry.value == _PLUGIN
        for distribution in distributions()
        for entry in distribution.entry_points
    )


def _environ(part: Part, spec: AskedTests) -> Dict[str, str]:
    tests = spec.tests
    environ = {**os.environ, **tests.env}
    # The folder itself last: tests import helpers from it.
    paths = [*tests.beside, *filter(None, [environ.get("PYTHONPATH", "")]), tests.root]
    environ.update(
        PYTHONPATH=os.pathsep.join(paths),
        PYTHONDONTWRITEBYTECODE="1",
        **specification.limits(spec),
    )
    environ[PART_ENV] = json.dumps(asdict(part))
    environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    return environ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
