"""The device lane without a device: tensors of the CPU, and events that a clock of ours answers for."""

from types import SimpleNamespace

import pytest
import small_kernels
import targets
import torch

from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix import virtual_gpu
from crosswarp.matrix.suite import device, item
from crosswarp.matrix.suite.tuning import ConfigLog
from crosswarp.matrix.suite.verdict import Verdict

DEVICE = SimpleNamespace(lane="device", target="sm_90")
CASE = Case("fp32-4", "fp32", {"N": 4})


class Event:
    """Each launch takes a millisecond more than the last."""

    marks = 0
    waited = 0
    # Whether the GPU has come to an event by the time that its launch is done with.
    waits_in_between = False

    def __init__(self, enable_timing):
        assert enable_timing

    @classmethod
    def wait(cls, cycles):
        cls.waited += 1

    def record(self):
        # the GPU has been kept waiting for each start
        assert Event.marks // 2 < Event.waited
        Event.marks += 1
        self.at = Event.marks * (Event.marks + 1) / 2

    def query(self):
        return Event.waits_in_between

    def elapsed_time(self, end):
        return end.at - self.at


@pytest.fixture
def clock(monkeypatch):
    Event.marks = Event.waited = 0
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "_sleep", Event.wait)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, device=None, **more: empty(*size, **more))
    monkeypatch.setattr(device, "_COPIED", 1000)


def kernel(launch, **more):
    return Kernel(
        name="made",
        cases=(CASE,),
        inputs=lambda case, where, generator: {"x": torch.ones(case.shape["N"])},
        launch=launch,
        reference=lambda x: {"y": x},
        tolerance={"fp32": 1e-6},
        **more,
    )


def measure(made, monkeypatch, folder):
    monkeypatch.setattr(item, "_inputs", lambda kernel, case, where, seed: {"x": torch.ones(4)})
    return item._measure({"cache": str(folder), "jobs": 2}, made, CASE, Verdict("pass"))


def test_nan_is_the_same_bits_and_a_sign_is_not():
    nan = torch.tensor([float("nan"), 0.0, 1.0])
    assert device.same_bits({"y": nan}, {"y": nan.clone()}) == []
    assert device.same_bits({"y": nan}, {"y": nan * torch.tensor([1.0, -1.0, 1.0])}) == ["y"]
    assert device.same_bits({"y": nan}, {"y": nan[:2]}) == ["y"]


def test_a_launch_that_waits_for_the_gpu_says_so(clock, monkeypatch, tmp_path):
    monkeypatch.setattr(Event, "waits_in_between", True)
    verdict = measure(kernel(lambda x: {"y": x * 2}), monkeypatch, tmp_path)
    assert verdict.resources["timing"]["host_bound"] is True


def test_a_passing_case_has_its_time_and_its_share_of_a_copy(clock, monkeypatch, tmp_path):
    verdict = measure(kernel(lambda x: {"y": x * 2}), monkeypatch, tmp_path)
    timing = verdict.resources["timing"]
    assert verdict.outcome == "pass" and verdict.resources["deterministic"] is True
    assert timing["low"] < timing["median"] < timing["high"] and timing["bytes"] == 32
    assert timing["alone"] is False and timing["host_bound"] is False
    # 8,000 bytes were copied in the time of events 51 to 100, these 32 in that of 1 to 50
    assert timing["of_copy"] == pytest.approx(32 / 8000 * (50 + 26) / 26, rel=0.1)
    kept = (tmp_path / "copy-bandwidth.json").read_text()
    again = measure(kernel(lambda x: {"y": x * 2}), monkeypatch, tmp_path)
    assert again.outcome == "pass" and (tmp_path / "copy-bandwidth.json").read_text() == kept


def test_different_bits_are_a_mismatch_unless_the_kernel_adds_atomically(
    clock, monkeypatch, tmp_path
):
    launches = []

    def launch(x):
        launches.append(x)
        return {"y": x + len(launches), "z": x}

    found = measure(kernel(launch), monkeypatch, tmp_path)
    assert (found.outcome, found.reason) == ("mismatch", "not deterministic")
    assert found.fingerprint == "mismatch: not deterministic: y"
    found = measure(kernel(launch, uses=("atomic",)), monkeypatch, tmp_path)
    assert found.outcome == "pass" and found.resources["deterministic"] is False


def test_fresh_inputs_are_compared_as_well(monkeypatch):
    seeds = []

    def inputs(kernel, case, where, seed):
        seeds.append(seed)
        return {"x": torch.full((4,), float(len(seeds)))}

    remembered = {}

    def launch(x):
        # gives the first call's answer for ever
        return {"y": remembered.setdefault("y", x.clone())}

    monkeypatch.setattr(item, "_inputs", inputs)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    found = item._launch(DEVICE, {}, kernel(launch), CASE, None)
    assert (found.outcome, found.reason) == ("mismatch", "wrong")
    assert len(set(seeds)) == 2


def test_configurations_are_told_of_the_first_launch_alone(in_fork, monkeypatch):
    """The launches that follow only repeat it, and this launcher makes an autotuner each time."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(item, "_inputs", lambda *args: {"x": torch.ones(4)})

    def measure(spec, kernel, case, verdict):
        kernel.launch(torch.ones(4))
        return verdict

    monkeypatch.setattr(item, "_measure", measure)

    def run():
        virtual_gpu.activate(targets.SM_90)
        told = []
        log = ConfigLog(lambda config: None, lambda config, verdict: told.append(config))
        log.install()
        launches = []

        def launch(x):
            launches.append(len(told))
            small_kernels.tuned()[(1,)](x, torch.zeros(4), 4)
            return {"y": x}

        return item._launch(DEVICE, {}, kernel(launch), CASE, log).outcome, launches, len(told)

    assert in_fork(run) == ("pass", [0, 3, 3], 3)
