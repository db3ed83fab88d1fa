"""``python -m crosswarp.matrix.cell.suite SPEC.json``: run the lanes, each in a pytest of its own.

Exit status: one of the SUITE_ numbers of matrix/errors.py; done is done whatever the outcome of an item.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

from crosswarp.compat import facts
from crosswarp.compat.versions import as_planned
from crosswarp.matrix.cell.protocol import Note
from crosswarp.matrix.errors import SUITE_DONE, SUITE_PYTEST, SUITE_SPEC, SUITE_WRONG_VERSIONS

from .plugin import LANE_ENV, SPEC_ENV
from .stream import Stream, read_spec

_NEEDED = {"column": str, "records": str, "lanes": list, "expect": dict}
# pytest: 0 all passed, 1 some failed, 5 nothing collected (no kernel has a case in this lane).
FINE = (0, 1, 5)


def main(arguments: List[str]) -> int:
    try:
        spec_path = Path(arguments[0]).resolve()
        spec = read_spec(spec_path)
        for name, kind in _NEEDED.items():
            if not isinstance(spec.get(name), kind):
                msg = f"{name} is not there, or is no {kind.__name__}"
                raise ValueError(msg)
    except (IndexError, OSError, ValueError, RecursionError) as error:
        print(
            f"the specification cannot be read: {error}; give the path of a SPEC.json",
            file=sys.stderr,
        )
        return SUITE_SPEC
    wrong = wrong_versions(spec["expect"])
    if wrong:
        Stream(spec["records"]).write(Note(f"wrong versions: {wrong}"))
        print(f"wrong versions: {wrong}", file=sys.stderr)
        return SUITE_WRONG_VERSIONS
    status = SUITE_DONE
    for lane in spec["lanes"]:
        code = _pytest(spec_path, spec, lane)
        if code not in FINE:
            print(f"the {lane} lane: pytest ended with status {code}", file=sys.stderr)
            status = SUITE_PYTEST
    return status


def wrong_versions(expect: Dict[str, str]) -> str:
    """How the installed distributions differ from those planned, or an empty string."""
    wrong = []
    for name, planned in expect.items():
        found = platform.python_version() if name == "python" else facts.version_of(name)
        if found is None:
            wrong.append(f"{name} not installed, planned {planned}")
        elif not as_planned(name, found, planned):
            wrong.append(f"{name} {found}, planned {planned}")
    return "; ".join(wrong)


def _pytest(spec_path: Path, spec: dict, lane: str) -> int:
    folder = Path(spec["records"]).parent
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", "utf-8")
    env = dict(os.environ, **{SPEC_ENV: str(spec_path), LANE_ENV: lane})
    env.update(
        TRITON_CACHE_DIR=spec["cache"],
        CROSSWARP_CACHE_DIR=str(folder / "crosswarp-cache"),
        CROSSWARP_COMPILE_SECONDS=str(spec["time_limit"]),
        CROSSWARP_COMPILE_MB=str(spec.get("memory_limit_mb") or ""),
        OMP_NUM_THREADS="1",
    )
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
    return subprocess.run(
        command, env=env, cwd=folder, stdin=subprocess.DEVNULL, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
