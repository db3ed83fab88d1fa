"""The estimate in this column: its own nvdisasm, its own cubin, beside the counters of a launch; programs left out."""

import emulate_kernels
import targets
import torch

from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.estimate import machine_code
from crosswarp.matrix.cell.kinds.suite import in_child, plan
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

PROGRAMS, BLOCK = 9, 64


def launch(x, one):
    y = torch.zeros(PROGRAMS * BLOCK)
    emulate_kernels.of_all_kinds[(PROGRAMS,)](x, None, y, one, 1 << 20, 0.5, 7, False, BLOCK=BLOCK)
    return {"y": y}


def inputs(case, device, generator):
    return {"x": torch.randn(case.shape["size"], generator=generator), "one": 1}


def estimates(sample=None):
    virtual_gpu.activate(targets.SM_80)
    machine = emulate.Machine(100, estimates=emulate.Estimates(), sample=sample)
    launching.run_with(machine)
    return machine


def test_a_launch_is_estimated_from_its_own_machine_code(in_fork):
    def run():
        machine = estimates()
        launch(torch.randn(PROGRAMS * BLOCK), 1)
        launch(torch.randn(PROGRAMS * BLOCK), 1)
        return machine.resources()["counters"]

    (counted,) = in_fork(run)
    assert counted["times"] == 2
    estimate = counted["estimate"]
    # A load from the L2 and a store: more than a load takes, and no loop.
    assert 262 < estimate["path"] < 5000 and 10 < estimate["instructions"] < 1000
    assert estimate["waits"] and estimate["units"]["lsu"] > 0 and estimate["registers"] > 0


def test_some_programs_of_a_launch(in_fork):
    def run():
        machine = estimates(sample=4)
        written = launch(torch.full((PROGRAMS * BLOCK,), 2.0), 1)["y"]
        return (written.view(PROGRAMS, BLOCK) != 0).any(1).tolist(), machine.resources()

    written, resources = in_fork(run)
    # At equal distances, the last among them.
    assert [at for at, some in enumerate(written) if some] == [0, 2, 5, 8]
    (counted,) = resources["counters"]
    assert counted["estimate"]["path"] > 0


def test_a_cell_of_a_sample_runs_its_real_sizes_and_compares_nothing(in_fork):
    case = Case("a", "fp32", {"size": 1}, real={"size": PROGRAMS * BLOCK})

    def wrong(**inputs):
        raise AssertionError("no numbers are compared")

    kernel = Kernel("k", (case,), inputs, launch, wrong, {"fp32": 1e-6})

    def run():
        spec = AskedSuite(time_limit=100, sample=4)
        machine = estimates(sample=spec.sample)
        item = plan.Item("sm_80", "emulate", "bare", "k", "a")
        verdict = in_child._emulated(item, kernel, case, machine)
        return verdict.outcome, verdict.message, verdict.resources

    outcome, message, resources = in_fork(run)
    assert (outcome, message, resources["sampled"]) == ("pass", "", 4)
    assert "estimate" in resources["counters"][0] and "outputs" not in resources


def test_without_nvdisasm_the_cell_says_so(in_fork, monkeypatch):
    monkeypatch.setattr(machine_code, "nvdisasm", lambda: None)

    def run():
        machine = estimates()
        launch(torch.randn(PROGRAMS * BLOCK), 1)
        return machine.resources()["counters"]

    (counted,) = in_fork(run)
    assert "without nvdisasm" in counted["not_estimated"] and "estimate" not in counted
