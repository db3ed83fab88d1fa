"""tests/cell inside of the environments of real columns, at both ends and between: Triton 2.3.1, 3.2.0 and 3.9.0.

A file of its own, so that another worker runs it than tests/test_real_columns.py: CI has 30 minutes, and both are long.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.facts import columns

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")


@pytest.fixture
def python(request):
    """That of the column's environment, built where it is not there yet, and held for the time of the test."""
    table = columns.load()
    (column,) = [column for column in table if column.id == request.param]
    environment = Builder(WORK.absolute() / "envs", table, Uv())(column)
    yield environment.python
    environment.release()


# The newest first: the other worker begins with the oldest, and one waits where the other builds.
@pytest.mark.parametrize("python", ("triton-3.9.0", "triton-3.2.0", "triton-2.3.1"), indirect=True)
def test_the_cell_side_on_this_column(python, tmp_path):
    folder = ROOT / "tests" / "cell"
    # Many tests start a process that imports torch, which is to be compiled once.
    left_out = ("PYTEST", "TRITON", "PYTHONDONTWRITEBYTECODE")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-n", "auto", "-c", str(folder / "pytest.ini"), str(folder)],
        capture_output=True, text=True, timeout=1200, env=environ, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " skipped" not in done.stdout
