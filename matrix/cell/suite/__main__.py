"""``python -m crosswarp.matrix.cell.suite SPEC.json``: run the lanes, each in a pytest of its own.

Exit status: one of the SUITE_ numbers of matrix/errors.py; done is done whatever the outcome of an item.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, List, Optional, Tuple

from crosswarp.matrix.errors import SUITE_DONE, SUITE_PYTEST

from . import specification
from .plugin import LANE_ENV, SPEC_ENV

_NEEDED = {"column": str, "records": str, "lanes": list, "expect": dict}
# pytest: 0 all passed, 1 some failed, 5 nothing collected (no kernel has a case in this lane).
FINE = (0, 1, 5)
_ASKS_AGAIN = 0.2


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, _NEEDED)
    if isinstance(spec, int):
        return spec
    status = SUITE_DONE
    for lane, code in _lanes(Path(arguments[0]).resolve(), spec):
        if code not in FINE:
            print(f"the {lane} lane: pytest ended with status {code}", file=sys.stderr)
            status = SUITE_PYTEST
    # What a case left whose modes did not run one after the other, or did not come to their end.
    shutil.rmtree(specification.launches(spec), ignore_errors=True)
    return status


def _lanes(spec_path: Path, spec: dict) -> Iterator[Tuple[str, int]]:
    """Each lane with the status of its pytest. The next one imports while the last items of one run."""
    before: Optional[Tuple[str, subprocess.Popen]] = None
    try:
        for lane in spec["lanes"]:
            while before is not None and before[1].poll() is None:
                # Nothing is measured beside another's imports.
                if "device" not in (lane, before[0]) and specification.few_left(spec, before[0]):
                    break
                time.sleep(_ASKS_AGAIN)
            started = lane, _pytest(spec_path, spec, lane)
            if before is not None:
                yield before[0], before[1].wait()
            before = started
        if before is not None:
            yield before[0], before[1].wait()
    finally:
        if before is not None and before[1].poll() is None:
            before[1].kill()


def _pytest(spec_path: Path, spec: dict, lane: str) -> subprocess.Popen:
    folder = Path(spec["records"]).parent
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", "utf-8")
    env = dict(os.environ, **{SPEC_ENV: str(spec_path), LANE_ENV: lane})
    env.update(specification.limits(spec))
    beside = [*(spec.get("beside") or ()), *filter(None, [env.get("PYTHONPATH")])]
    if beside:
        env["PYTHONPATH"] = os.pathsep.join(beside)
    # Triton 3.9 warns until this is chosen; 1 is what every version before it did.
    env.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    env.pop("TRITON_INTERPRET", None)
    if lane == "interpret":
        env["TRITON_INTERPRET"] = "1"
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
        "crosswarp.matrix.cell.suite.plugin",
        "-p",
        "no:cacheprovider",
        "-q",
        "--tb=line",
    ]
    command += [
        "--no-header",
        "--import-mode=importlib",
        "-n",
        str(spec["jobs"]),
        "--dist",
        "worksteal",
        # A worker dies with one item each time. After four a process xdist gives up, and the others are never run.
        "--max-worker-restart",
        "1000000",
    ]
    return subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
