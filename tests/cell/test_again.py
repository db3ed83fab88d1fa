"""Items that the host names run one by one, without pytest, and go on behind one that kills the process."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.both_ends

HEAD = """
import os, signal
from crosswarp.kernels import Case, Kernel

def launch():
    {}
    return {{"lane": os.environ.get("TRITON_INTERPRET")}}

def reference():
    raise ValueError("asked for")

KERNEL = Kernel(name="{}", cases=(Case("a", "fp32", {{}}),), inputs=None, launch=launch, reference=reference,
                tolerance={{"fp32": 0.0}})
"""
KILLS = "os.kill(os.getppid(), signal.SIGKILL)"


def events(tmp_path, items, jobs=1):
    suite = tmp_path / "suite"
    suite.mkdir()
    for name, does in (("kills", KILLS), ("lives", "pass")):
        (suite / f"{name}.py").write_text(HEAD.format(does, name))
    spec = {
        "column": "c", "expect": {}, "records": str(tmp_path / "r.jsonl"), "lanes": ["interpret"], "modes": ["bare"],
        "targets": {}, "kernels": ["*"], "suite": str(suite), "jobs": jobs, "time_limit": 60,
        "cache": str(tmp_path / "cache"), "again": {"interpret": items}, "planned": {"interpret": 9},
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    command = [
        sys.executable,
        "-m",
        "crosswarp.matrix.cell.kinds.suite",
        str(tmp_path / "spec.json"),
    ]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]


@pytest.mark.triton(">=3.9")
def test_one_that_kills_its_process_costs_itself_alone(tmp_path):
    items = [f"cpu/interpret/bare/{name}/a" for name in ("kills", "lives")]
    told = events(tmp_path, items)
    assert [event["event"] for event in told] == ["session", "start", "start", "cell", "end"]
    # The host sees whose end did not come.
    assert [event["item"] for event in told if event["event"] == "start"] == items
    assert told[0]["planned"] == 9 and told[-1]["item"] == items[1]
    # As the lane wants it, and nothing else was begun.
    assert told[-2]["message"].startswith("ValueError: asked for")
    assert not (tmp_path / "pytest.ini").exists()
