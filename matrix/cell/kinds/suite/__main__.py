"""``python -m crosswarp.matrix.cell.kinds.suite SPEC.json``: run the lanes, each in a separate pytest.

A few items that the host names are run without (`again`).

Exit status: one of the SUITE_ numbers of matrix/errors.py; done is done whatever the outcome of an item.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.starting import specification
from crosswarp.matrix.cell.starting.enduring import endure
from crosswarp.matrix.errors import SUITE_DONE, SUITE_PYTEST

from .plugin import LANE_ENV, SPEC_ENV

_NEEDED = ("column", "lanes")
# pytest: 0 all passed, 1 some failed, 5 nothing collected (no kernel has a case in this lane).
FINE = (0, 1, 5)
_ASKS_AGAIN = 0.2


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, AskedSuite, _NEEDED)
    if isinstance(spec, int):
        return spec
    status = SUITE_DONE
    path = Path(arguments[0]).resolve()
    few = spec.again and spec.jobs == 1
    for lane, code in (_few if few else _lanes)(path, spec):
        if code not in ((0,) if few else FINE):
            print(f"the {lane} lane: its process ended with status {code}", file=sys.stderr)
            status = SUITE_PYTEST
    # Left by cases whose modes did not run one after the other, or did not finish.
    shutil.rmtree(specification.launches(spec), ignore_errors=True)
    return status


def _lanes(spec_path: Path, spec: AskedSuite) -> Iterator[Tuple[str, int]]:
    """Each lane with the status of its pytest. The next one imports while the last items of one run."""
    running: List[Tuple[str, subprocess.Popen]] = []
    try:
        for lane in spec.lanes:
            for before, process in running:
                # Nothing is measured beside another's imports.
                alone = "device" in (lane, before)
                while process.poll() is None and (
                    alone or not specification.few_left(spec, before)
                ):
                    time.sleep(_ASKS_AGAIN)
            running.append((lane, _pytest(spec_path, spec, lane)))
            # Two at a time.
            while len(running) > 1:
                yield running[0][0], running[0][1].wait()
                del running[0]
        for lane, process in running:
            yield lane, process.wait()
    finally:
        for _, process in running:
            if process.poll() is None:
                process.kill()


def _few(spec_path: Path, spec: AskedSuite) -> Iterator[Tuple[str, int]]:
    """The items that the host has named: those of all lanes that may share a process in one."""
    apart = [lane for lane in spec.lanes if lane == "interpret"]
    for lanes in ([lane for lane in spec.lanes if lane not in apart], apart):
        before, code = -1, 1
        while lanes and code and before < (begun := _begun(spec, lanes)):
            before = begun
            command = [sys.executable, "-m", f"{__package__}.again", str(spec_path), *lanes]
            env = _environ(spec_path, spec, lanes[0])
            folder = Path(spec.records).parent
            code = subprocess.run(command, env=env, cwd=folder, stdin=subprocess.DEVNULL).returncode
        if lanes:
            yield ", ".join(lanes), code


def _begun(spec: AskedSuite, lanes: List[str]) -> int:
    return sum(specification.done(spec, lane) for lane in lanes)


def _environ(spec_path: Path, spec: AskedSuite, lane: str) -> Dict[str, str]:
    """The environment of a process that runs items of this lane."""
    env = dict(os.environ, **{SPEC_ENV: str(spec_path), LANE_ENV: lane})
    specification.prepare(env, spec)
    beside = [*spec.beside, *filter(None, [env.get("PYTHONPATH")])]
    if beside:
        env["PYTHONPATH"] = os.pathsep.join(beside)
    if lane == "interpret":
        env["TRITON_INTERPRET"] = "1"
    return env


def _pytest(spec_path: Path, spec: AskedSuite, lane: str) -> subprocess.Popen:
    folder = Path(spec.records).parent
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", "utf-8")
    env = _environ(spec_path, spec, lane)
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(Path(__file__).with_name("test_cells.py")),
        "-c",
        str(settings),
    ]
    command += [
        "--rootdir",
        str(folder),
        "-p",
        "crosswarp.matrix.cell.kinds.suite.plugin",
        "-p",
        "no:cacheprovider",
        "-q",
        "--tb=line",
    ]
    command += [
        "--no-header",
        "--import-mode=importlib",
        "-n",
        str(spec.jobs),
        "--dist",
        "worksteal",
        # A worker dies with one item each time. After four a process xdist gives up, and the others are never run.
        "--max-worker-restart",
        "1000000",
    ]
    return subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    # Permanent in this process; a caller of `main` keeps its signal handlers.
    endure()
    sys.exit(main(sys.argv[1:]))
