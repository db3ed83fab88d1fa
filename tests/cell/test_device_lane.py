"""The device lane without a device: tensors of the CPU, and events that a clock of ours answers for."""

from types import SimpleNamespace

import pytest
import small_kernels
import targets
import torch

from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix.cell.judging.tuning import ConfigLog
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.kinds.suite import device, in_child
from crosswarp.matrix.cell.standins import virtual_gpu

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


def measure(made, monkeypatch, folder, jobs=1):
    monkeypatch.setattr(in_child, "_inputs", lambda kernel, case, where, seed: {"x": torch.ones(4)})
    return in_child._measure(
        SimpleNamespace(cache=str(folder), jobs=jobs), made, CASE, Verdict("pass")
    )


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
    assert timing["alone"] is True and timing["host_bound"] is False
    # 8,000 bytes were copied in the time of events 51 to 100, these 32 in that of 1 to 50
    assert timing["of_copy"] == pytest.approx(32 / 8000 * (50 + 26) / 26, rel=0.1)
    (kept,) = files(tmp_path)
    measured = Event.waited
    again = measure(kernel(lambda x: {"y": x * 2}), monkeypatch, tmp_path)
    assert again.outcome == "pass" and files(tmp_path) == [kept]
    # the copy was not timed a second time
    assert Event.waited - measured == device.REPEATS < measured


def files(folder):
    return sorted((path.name, path.read_text()) for path in folder.iterdir())


def test_another_gpu_has_a_bandwidth_of_its_own(clock, monkeypatch, tmp_path):
    made = kernel(lambda x: {"y": x * 2})
    measure(made, monkeypatch, tmp_path)
    first = files(tmp_path)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "another/GPU")
    assert measure(made, monkeypatch, tmp_path).outcome == "pass"
    assert len(files(tmp_path)) == 2 and set(first) < set(files(tmp_path))


def test_beside_other_jobs_no_bandwidth_is_kept_and_a_kept_one_is_used(
    clock, monkeypatch, tmp_path
):
    made = kernel(lambda x: {"y": x * 2})
    beside = measure(made, monkeypatch, tmp_path, jobs=2).resources["timing"]
    assert beside["alone"] is False and beside["of_copy"] > 0 and files(tmp_path) == []
    measure(made, monkeypatch, tmp_path)
    kept, measured = files(tmp_path), Event.waited
    measure(made, monkeypatch, tmp_path, jobs=2)
    assert files(tmp_path) == kept and Event.waited - measured == device.REPEATS


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 9000, '{"a GPU": 1.0}', '{"gpu": "a GPU", "bytes_per_second": "fast"}',
     '{"gpu": "a GPU", "bytes_per_second": 0}', '{"gpu": "a GPU", "bytes_per_second": Infinity}',
     '{"gpu": "a GPU", "bytes_per_second": true}', '{"gpu": "other", "bytes_per_second": 1.0}'],
)  # fmt: skip
def test_a_broken_file_is_measured_anew(clock, monkeypatch, tmp_path, text):
    made = kernel(lambda x: {"y": x * 2})
    measure(made, monkeypatch, tmp_path)
    ((name, _),) = files(tmp_path)
    (tmp_path / name).write_text(text)
    assert measure(made, monkeypatch, tmp_path).outcome == "pass"
    ((_, again),) = files(tmp_path)
    assert again != text and '"gpu": "a GPU"' in again


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

    monkeypatch.setattr(in_child, "_inputs", inputs)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    found = in_child._launch(DEVICE, {}, kernel(launch), CASE, None)
    assert (found.outcome, found.reason) == ("mismatch", "wrong")
    assert len(set(seeds)) == 2


def test_configurations_are_told_of_the_first_launch_alone(in_fork, monkeypatch):
    """The launches that follow only repeat it, and this launcher makes an autotuner each time."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(in_child, "_inputs", lambda *args: {"x": torch.ones(4)})

    def measure(spec, kernel, case, verdict):
        kernel.launch(torch.ones(4))
        return verdict

    monkeypatch.setattr(in_child, "_measure", measure)

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

        return in_child._launch(DEVICE, {}, kernel(launch), CASE, log).outcome, launches, len(told)

    assert in_fork(run) == ("pass", [0, 3, 3], 3)
