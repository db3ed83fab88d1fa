"""Ten kernels of a user on Triton 3.9.0: each fails her run, with its owner and the next step in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import ten_kernels

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")
SAID = {
    "removed_api": "Triton: known issue triton-10833",
    "shared_memory": "your kernel: too large for sm_90: smaller blocks",
    "syntax": "your kernel: correct its syntax",
    "undefined_name": "your kernel: define factor",
    "missing_package": "your environment: pip install einops_of_nobody",
    "known_crash": "Triton: known issue triton-9859",
    "unknown_crash": "Triton: its compiler dies: no known issue is like it, so report it upstream",
    "wrong_numbers": "your kernel: its numbers differ from its reference",
    "hang": "your kernel: it does not end",
    "amd_limit": "your kernel: too large for gfx942: smaller blocks",
}


def crosswarp(folder, *arguments):
    command = [sys.executable, "-m", "crosswarp.reports.cli", *arguments, "--store", "s.db"]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=folder
    )


def run(folder, names, modes):
    """The exit status of a run of these kernels alone, its output, and its cells."""
    where = ("--columns", "triton-3.9.0", "--targets", "sm_90,gfx942", "--work", str(WORK))
    what = ("--suite", "mine", "--kernels", ",".join(names), "--modes", modes)
    how = ("--lanes", "compile,emulate", "--time-limit", "60", "--time-limit-alone", "0")
    done = crosswarp(folder, "run", *what, *where, *how)
    report = crosswarp(folder, "report", "--format", "json")
    assert report.returncode == 0, done.stdout + done.stderr + report.stderr
    return done.returncode, done.stdout, json.loads(report.stdout)["cells"]


@pytest.fixture(scope="module")
def hers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hers")
    ten_kernels.write(folder / "mine")
    return folder


def test_each_fails_with_its_owner_and_the_next_step(hers):
    status, said, cells = run(hers, ten_kernels.NAMES, "bare")
    assert status == 1, said
    failed = {one["kernel"] for one in cells if one["outcome"] not in ("pass", "not-run")}
    assert failed == set(ten_kernels.NAMES)
    shown = [line.strip() for line in said.splitlines()]
    for name, line in SAID.items():
        assert any(one.startswith(line) for one in shown), (name, shown)


def test_what_a_shim_fixes_passes_where_her_settings_install_compat(hers):
    (hers / "crosswarp.toml").write_text("compat = true\n")
    try:
        status, said, _ = run(hers, ten_kernels.FIXED, "*")
    finally:
        (hers / "crosswarp.toml").unlink()
    assert status == 0, said
