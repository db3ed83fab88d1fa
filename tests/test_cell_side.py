"""tests/cell inside of the environments of real columns, at both ends and between: Triton 2.3.1, 3.2.0 and 3.9.0.

Between the ends, what is marked both_ends is left out: it takes long, or is about processes, pytest or torch.
On the oldest alone runs what is marked one_release. NIGHTLY=1 runs each test on each of the three.

Each column is given to a worker by itself (tests/conftest.py): it takes minutes.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.facts import columns

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")
LEFT_OUT = {"triton-3.2.0": "not both_ends and not one_release", "triton-3.9.0": "not one_release"}


@pytest.fixture
def python(request):
    """That of the column's environment, built where it is not there yet, and held for the time of the test."""
    table = columns.load()
    (column,) = [column for column in table if column.id == request.param]
    environment = Builder(WORK.absolute() / "envs", table, Uv())(column)
    yield environment.python
    environment.release()


def failures(log):
    """The names of the tests that failed, the lines about each, cut in their middle, and the end of the log."""
    names = re.findall(r"^(\S+::.+?) (?:FAILED|ERROR)\b", log, re.MULTILINE)
    sections = re.split(r"^(?=_{3,} .+ _{3,}$)", log, flags=re.MULTILINE)[1:]
    return "\n".join([*names, *map(_cut, sections), _cut(log[-3000:])])


def _cut(text, most=3000):
    gap = f"\n… {len(text) - most} characters left out …\n"
    return text if len(text) <= most else text[: most // 2] + gap + text[-most // 2 :]


# The newest first: the other worker begins with the oldest, and one waits where the other builds.
@pytest.mark.integration
@pytest.mark.parametrize("python", ("triton-3.9.0", "triton-3.2.0", "triton-2.3.1"), indirect=True)
def test_the_cell_side_on_this_column(python, tmp_path, request):
    folder = ROOT / "tests" / "cell"
    # In one process: each worker would import torch, collect and make the fixtures of their modules again, and
    # other workers of this session have the other cores. Without PYTHONDONTWRITEBYTECODE torch is compiled once.
    unset = ("PYTEST", "TRITON", "PYTHONDONTWRITEBYTECODE")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(unset)}
    command = [
        str(python),
        "-m",
        "pytest",
        "-v",
        "--tb=short",
        "-c",
        str(folder / "pytest.ini"),
        str(folder),
    ]
    chosen = LEFT_OUT.get(request.node.callspec.params["python"])
    command += ["-m", chosen] if chosen and not os.environ.get("NIGHTLY") else []
    # Into a file, and in a session of its own: a child that hangs holds a pipe open, and hides which test it was.
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environ, cwd=tmp_path, start_new_session=True
        )  # fmt: skip
        try:
            code = process.wait(timeout=2400)
        except subprocess.TimeoutExpired:
            code = "longer than 40 minutes"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = log.read_text(errors="replace")
    assert code == 0, f"{code}\n{failures(text)}"
    assert " SKIPPED" not in text


TWO = """
def test_long():
    raise ValueError("begins" + "x" * 20_000 + "ends")

def test_short():
    assert "this" == "that"
"""


def test_each_test_that_failed_is_named_and_shown(tmp_path):
    (tmp_path / "test_two.py").write_text(TWO)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
    ]
    done = subprocess.run([*command, "test_two.py"], capture_output=True, text=True, cwd=tmp_path)
    text = failures(done.stdout)
    names = [f"test_two.py::test_{name}" for name in ("long", "short")]
    assert text.splitlines()[:2] == names, text
    assert "begins" in text and "ends" in text and "'this' == 'that'" in text
    # The long one twice: its own lines, and pytest's summary.
    assert len(text) < 10_000
    # One that was ended before it said more.
    cut_off = failures(done.stdout.partition(" FAILURES ")[0])
    assert cut_off.splitlines()[:2] == names
