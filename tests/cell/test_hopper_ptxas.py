"""For Hopper the other ptxas of the wheel assembles, on Triton 3.6 to 3.8, what their own gets wrong, and no more."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import small_kernels
import targets
import torch

from crosswarp import compat, kernels
from crosswarp.compat.shims import hopper_ptxas
from crosswarp.compat.versions import in_window, triton_version
from crosswarp.matrix.cell.standins import virtual_gpu

pytestmark = pytest.mark.triton(">=3.6,<3.9")

HAS_12_9 = in_window(">=3.8", triton_version())
OWN = "12.9" if HAS_12_9 else "12.8"
HINT = "a driver of CUDA 13 loads it" if HAS_12_9 else "set TRITON_PTXAS_PATH to a ptxas 12.9"


def tools():
    from triton import knobs

    return knobs.nvidia.ptxas, knobs.nvidia.ptxas_blackwell


def launch(name, case_id):
    kernel = kernels.load(name)
    (case,) = (one for one in kernel.cases if one.id == case_id)
    kernel.launch(**kernel.inputs(case, torch.device("cpu"), torch.Generator()), **case.options)


def miscompiled():
    launch(*(("packed_add", "rows-32") if HAS_12_9 else ("masked_product", "dq-32")))


def right():
    """Of 64 columns both matmuls have one layout."""
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)
    if not HAS_12_9:
        launch("masked_product", "both-64")


def assembled_by(run, target=targets.SM_90, installed=True):
    """The releases of the ptxas that the kernels of `run` are assembled with."""
    from triton import knobs
    from triton.backends.nvidia import compiler

    ran, own = Path(os.environ["TRITON_CACHE_DIR"]) / "ran", compiler.subprocess.run

    def noted(command, *args, **kwargs):
        if "--version" not in command:
            with ran.open("a") as lines:
                lines.write(f"{command[0]}\n")
        return own(command, *args, **kwargs)

    if installed:
        compat.install()
    ran.parent.mkdir(exist_ok=True)
    virtual_gpu.activate(target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler.subprocess, "run", noted)
        run()
    # It may have been assembled in a child of the guard's.
    paths = ran.read_text().splitlines()
    ran.unlink()
    return {type(knobs.nvidia.ptxas).from_path(path).version for path in paths}


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch):
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)


def test_what_it_gets_wrong_gets_the_other_ptxas_and_the_rest_its_own(in_fork):
    own, other = tools()
    assert own.version == OWN and other.version != OWN
    assert in_fork(lambda: (assembled_by(right), compat.acted())) == ({OWN}, [])
    versions, acted = in_fork(lambda: (assembled_by(miscompiled), compat.acted()))
    assert other.version in versions and acted == ["hopper_ptxas"]
    if not HAS_12_9:
        # It is tried by its own first, and another target has no such instructions.
        assert in_fork(lambda: assembled_by(miscompiled, targets.SM_80)) == {OWN}


def test_a_chosen_ptxas_is_kept(in_fork, monkeypatch):
    monkeypatch.setenv("TRITON_PTXAS_PATH", tools()[0].path)
    assert in_fork(lambda: assembled_by(miscompiled)) == {OWN}


def test_what_the_old_one_made_is_not_taken_from_the_cache(in_fork):
    def without_and_with():
        assert assembled_by(miscompiled, installed=False) == {OWN}
        name = "packed_add" if HAS_12_9 else "masked_product"
        for function in vars(sys.modules[kernels.load(name).launch.__module__]).values():
            getattr(function, "device_caches", {}).clear()
        return assembled_by(miscompiled)

    assert tools()[1].version in in_fork(without_and_with)


@pytest.mark.triton(">=3.6,<3.8")
def test_what_is_chosen_reads_a_register_that_nothing_has_written(in_fork, tmp_path):
    """The bug itself, in the machine code: a word of a descriptor out of nothing."""
    (tmp_path / "kernel.ptx").write_text(in_fork(ptx_of_miscompiled))
    unwritten = []
    for tool in tools():
        made = str(tmp_path / "kernel.cubin")
        command = [tool.path, "--gpu-name=sm_90a", str(tmp_path / "kernel.ptx"), "-o", made]
        subprocess.run(command, check=True)
        command = [str(Path(tool.path).with_name("nvdisasm")), made]
        code = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        unwritten.append(read_before_written(code))
    assert unwritten[0] and not unwritten[1]


def ptx_of_miscompiled():
    from triton.compiler import compiler

    made, init = [], compiler.CompiledKernel.__init__

    def noted(self, *args):
        init(self, *args)
        made.append(self.asm["ptx"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler.CompiledKernel, "__init__", noted)
        virtual_gpu.activate(targets.SM_90, guarded=False)
        miscompiled()
    return made[0]


def read_before_written(code):
    """Uniform registers that 64-bit additions read, by carry, before an instruction above has written them."""
    written, found = set(), set()
    for line in code.splitlines():
        said = re.search(r"\*/\s+(?:@\S+ )?(U?\w[\w.]*) (.*) ;", line)
        if said is None:
            continue
        name, (first, *rest) = said[1], said[2].split(", ")
        if name.startswith("UIADD3") and ".64" not in name:
            found |= {one for one in rest if re.fullmatch(r"UR\d+", one)} - written
        if re.fullmatch(r"UR\d+", first):
            number = int(first[2:])
            width = 2 if ".64" in name or "WIDE" in name else 1
            written |= {f"UR{at}" for at in range(number, number + width)}
    return found


@pytest.mark.parametrize("newer", [True, False])
def test_a_driver_too_old_for_the_other_ptxas_is_told(in_fork, monkeypatch, newer):
    major = int(tools()[1].version.split(".")[0])
    monkeypatch.setattr(hopper_ptxas, "_driver_version", lambda: (major if newer else major - 1, 4))

    def run():
        if newer:
            return assembled_by(miscompiled), compat.acted()
        with pytest.warns(compat.CompatWarning, match=HINT):
            return assembled_by(miscompiled), compat.acted()

    versions, acted = in_fork(run)
    assert (versions != {OWN}) is newer and ("hopper_ptxas" in acted) is newer


def test_without_the_other_ptxas_it_is_told(in_fork, monkeypatch):
    monkeypatch.setenv("TRITON_PTXAS_BLACKWELL_PATH", "/nonexistent")

    def run():
        from triton import knobs

        tool = type(knobs.nvidia).__dict__["ptxas_blackwell"]
        monkeypatch.setattr(tool, "default_path", "/nonexistent")
        with pytest.warns(compat.CompatWarning, match="no other to take its place"):
            return assembled_by(miscompiled)

    assert in_fork(run) == {OWN}
