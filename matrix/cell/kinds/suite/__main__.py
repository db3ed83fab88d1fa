"""``python -m crosswarp.matrix.cell.kinds.suite SPEC.json``: run all lanes in a process that forks (`workers`).

Exit status: one of the SUITE_ numbers of matrix/errors.py; done is done whatever the outcome of an item.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.starting import specification
from crosswarp.matrix.cell.starting.enduring import endure
from crosswarp.matrix.errors import SUITE_DONE, SUITE_FAILED

_NEEDED = ("column", "lanes")


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, AskedSuite, _NEEDED)
    if isinstance(spec, int):
        return spec
    status = _run(Path(arguments[0]).resolve(), spec)
    # Left by cases whose modes did not run one after the other, or did not finish.
    shutil.rmtree(specification.launches(spec), ignore_errors=True)
    if status:
        print(f"the process of the lanes ended with status {status}", file=sys.stderr)
    return SUITE_FAILED if status else SUITE_DONE


def _run(spec_path: Path, spec: AskedSuite) -> int:
    command = [sys.executable, "-m", f"{__package__}.workers", str(spec_path)]
    folder = Path(spec.records).parent
    env = _environ(spec_path, spec)
    return subprocess.run(command, env=env, cwd=folder, stdin=subprocess.DEVNULL).returncode


def _environ(spec_path: Path, spec: AskedSuite) -> Dict[str, str]:
    env = dict(os.environ, **{specification.SPEC_ENV: str(spec_path)})
    specification.prepare(env, spec)
    beside = [*spec.beside, *filter(None, [env.get("PYTHONPATH")])]
    if beside:
        env["PYTHONPATH"] = os.pathsep.join(beside)
    return env


if __name__ == "__main__":
    # Permanent in this process; a caller of `main` keeps its signal handlers.
    endure()
    sys.exit(main(sys.argv[1:]))
