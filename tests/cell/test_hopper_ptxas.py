"""For Hopper, and only for it, the other ptxas of the wheel assembles on Triton 3.6 to 3.8; who chose one keeps it."""

import os
from pathlib import Path

import pytest
import small_kernels
import targets
import torch

from crosswarp import compat
from crosswarp.compat.shims import hopper_ptxas
from crosswarp.compat.versions import in_window, triton_version
from crosswarp.matrix.cell.standins import virtual_gpu

pytestmark = pytest.mark.triton(">=3.6,<3.9")

OWN = "12.9" if in_window(">=3.8", triton_version()) else "12.8"
HINT = "a driver of CUDA 13 loads it" if OWN == "12.9" else "set TRITON_PTXAS_PATH to a ptxas 12.9"


def compile_small(target):
    virtual_gpu.activate(target)
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)


def assembled_by(target):
    """The release of the ptxas that a kernel is assembled with, with the shims."""
    from triton import knobs
    from triton.backends.nvidia import compiler

    ran, run = Path(os.environ["TRITON_CACHE_DIR"]) / "ran", compiler.subprocess.run

    def noted(command, *args, **kwargs):
        if "--version" not in command:
            with ran.open("a") as lines:
                lines.write(f"{command[0]}\n")
        return run(command, *args, **kwargs)

    compat.install()
    ran.parent.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler.subprocess, "run", noted)
        compile_small(target)
    # It may have been assembled in a child of the guard's.
    (path,) = ran.read_text().splitlines()
    ran.unlink()
    return type(knobs.nvidia.ptxas).from_path(path).version


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch):
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)


def tools():
    from triton import knobs

    return knobs.nvidia.ptxas, knobs.nvidia.ptxas_blackwell


def test_hopper_gets_the_other_ptxas_and_the_rest_its_own(in_fork):
    own, other = tools()
    assert own.version == OWN and other.version != OWN
    assert in_fork(lambda: assembled_by(targets.SM_80)) == own.version
    assert in_fork(lambda: assembled_by(targets.SM_90)) == other.version


def test_a_chosen_ptxas_is_kept(in_fork, monkeypatch):
    monkeypatch.setenv("TRITON_PTXAS_PATH", tools()[0].path)
    assert in_fork(lambda: assembled_by(targets.SM_90)) == OWN


def test_what_the_old_one_made_is_not_taken_from_the_cache(in_fork):
    def bare_then_shimmed():
        compile_small(targets.SM_90)
        small_kernels.scaled.device_caches.clear()
        return assembled_by(targets.SM_90)

    assert in_fork(bare_then_shimmed) == tools()[1].version


@pytest.mark.parametrize("newer", [True, False])
def test_a_driver_too_old_for_the_other_ptxas_is_told(in_fork, monkeypatch, newer):
    major = int(tools()[1].version.split(".")[0])
    monkeypatch.setattr(hopper_ptxas, "_driver_version", lambda: (major if newer else major - 1, 4))

    def run():
        if newer:
            return assembled_by(targets.SM_90), compat.acted()
        with pytest.warns(compat.CompatWarning, match=HINT):
            return assembled_by(targets.SM_90), compat.acted()

    version, acted = in_fork(run)
    assert (version != OWN) is newer and ("hopper_ptxas" in acted) is newer


def test_without_the_other_ptxas_it_is_told(in_fork, monkeypatch):
    monkeypatch.setenv("TRITON_PTXAS_BLACKWELL_PATH", "/nonexistent")

    def run():
        from triton import knobs

        tool = type(knobs.nvidia).__dict__["ptxas_blackwell"]
        monkeypatch.setattr(tool, "default_path", "/nonexistent")
        with pytest.warns(compat.CompatWarning, match="no other to take its place"):
            return assembled_by(targets.SM_90)

    assert in_fork(run) == OWN
