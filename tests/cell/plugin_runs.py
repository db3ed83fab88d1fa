"""Runs of pytest with the plugin, each in a process of its own."""

import json
import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import crosswarp.matrix.cell as cell

LIBRARY = Path(__file__).parents[1] / "suites" / "a_library"
# The folder that holds the package crosswarp, installed or as links.
HOME = Path(cell.__path__[0]).parents[2]
PLUGIN = "crosswarp.matrix.cell.pytest_plugin"
# Where crosswarp is installed, pytest knows it already.
INSTALLED = any(
    entry.group == "pytest11" and entry.value == PLUGIN
    for distribution in distributions()
    for entry in distribution.entry_points
)
NAMED = [] if INSTALLED else ["-p", PLUGIN]


class Run:
    """What one run of pytest said: exit code, output, records by test."""

    def __init__(self, done, records):
        self.code, self.text = done.returncode, done.stdout + done.stderr
        lines = records.read_text().splitlines() if records.exists() else []
        self.lines = {}
        for line in map(json.loads, lines):
            self.lines[line["test"].rpartition("::")[2]] = line

    def outcomes(self):
        return {name: line["outcome"] for name, line in self.lines.items()}


class Runs:
    """Called, it is one run of the plugin; caches, and what the last one recorded, lie in `folder`."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, library=LIBRARY, target="sm_90"):
        records = self.folder / "records.jsonl"
        records.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", *NAMED, "-p", "no:cacheprovider"]
        command += ["-c", os.devnull, "--rootdir", str(library)]
        command += ["--crosswarp-records", str(records)]
        command += [] if target is None else ["--virtual-gpu", target]
        environment = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join((str(library), str(HOME))),
            TRITON_CACHE_DIR=str(self.folder / "triton"),
            CROSSWARP_CACHE_DIR=str(self.folder / "crosswarp"),
        )
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=library,
            timeout=900,
            check=False,
        )
        return Run(done, records)
