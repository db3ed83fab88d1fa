"""The same launch once: what is not executed again stores what it stored, and whatever differs is executed."""

from types import SimpleNamespace

import emulate_kernels
import numpy as np
import pytest
import targets
import torch

from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.emulate import recall
from crosswarp.matrix.cell.kinds.suite import in_child
from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

pytestmark = pytest.mark.both_ends


def launches_kept(folder):
    """The files of launches; what was counted of each lies beside it."""
    return [path for path in (folder / "case").iterdir() if path.suffix != ".json"]


GRID, BLOCK = (2,), 64


@pytest.fixture
def machine(tmp_path):
    """`machine()`: another one, as of the other mode of the same case."""

    def make():
        virtual_gpu.activate(targets.SM_80)
        made = emulate.Machine(100, recall=emulate.Recall(tmp_path / "case"))
        launching.run_with(made)
        return made

    return make


def doubled(x, y, n=100, factor=2, grid=GRID, block=BLOCK):
    emulate_kernels.times[grid](x, y, n, BLOCK=block, FACTOR=factor)


def test_the_same_launch_is_executed_once_and_stores_the_same_bytes(in_fork, machine, monkeypatch):
    def run():
        x = torch.randn(100)
        first, again = torch.full((100,), float("nan")), torch.full((100,), float("nan"))
        one = machine()
        doubled(x, first)
        other = machine()
        # The PTX is not even read.
        monkeypatch.setattr(ptx, "load", None)
        doubled(x.clone(), again)
        spent = other.resources()["emulated"]
        return (
            (one.recalled, other.recalled, other.executed),
            (spent["instructions"], spent["recalled"], "recalled" in one.resources()["emulated"]),
            torch.equal(first.view(torch.int32), again.view(torch.int32)),
            torch.equal(again, 2 * x),
        )

    assert in_fork(run) == ((0, 1, 1), (0, 1, False), True, True)


def of_another_value(x, y):
    x[99] = 5.0
    doubled(x, y)


def of_minus_zero(x, y):
    x[3] = -0.0
    doubled(x, y)


def of_another_output(x, y):
    y[99] = 1.0
    doubled(x, y)


def of_another_scalar(x, y):
    doubled(x, y, n=99)


def of_another_text(x, y):
    doubled(x, y, factor=3)


def of_another_grid(x, y):
    doubled(x, y, grid=(3,))


def of_a_longer_memory(x, y):
    doubled(torch.cat([torch.zeros(4), x])[4:], y)


def of_one_memory(x, y):
    doubled(y, y)


@pytest.mark.parametrize(
    "launch",
    [
        of_another_value, of_minus_zero, of_another_output, of_another_scalar, of_another_text, of_another_grid,
        of_a_longer_memory, of_one_memory,
    ],
    ids=lambda launch: launch.__name__,
)  # fmt: skip
def test_what_differs_is_executed(in_fork, machine, launch):
    def run():
        made = machine()
        for _ in range(2):
            x, y = torch.zeros(100), torch.zeros(100)
            doubled(x, y)
        before = made.recalled
        launch(torch.zeros(100), torch.zeros(100))
        return before, made.recalled, made.executed

    assert in_fork(run) == (1, 1, 3)


def test_another_place_in_the_same_memory_is_another_launch(in_fork, machine):
    def run():
        made, x = machine(), torch.arange(120.0)
        found = []
        for first in (0, 4, 0):
            y = torch.zeros(100)
            doubled(x[first:], y)
            found.append((y[0].item(), made.recalled))
        return found

    assert in_fork(run) == [(0.0, 0), (8.0, 0), (0.0, 1)]


def test_views_of_one_memory_are_not_taken_for_two():
    memory = np.zeros(64, np.uint8)
    at = memory.ctypes.data
    window = recall.memory.Window
    assert recall._overlap([window(at + 16, 8, "b"), window(at, 17, "a")])
    assert not recall._overlap([window(at + 16, 8, "b"), window(at, 16, "a")])


def test_what_a_launch_changed_in_place_is_another_launch_the_next_time(in_fork, machine):
    def run():
        found = []
        for _ in range(2):
            made, x = machine(), torch.ones(100)
            for _ in range(3):
                emulate_kernels.plus_one[GRID](x, x, 100, BLOCK=BLOCK)
            found.append((made.recalled, bool((x == 4).all())))
        return found

    assert in_fork(run) == [(0, True), (3, True)]


@pytest.mark.parametrize("spoil", ["empty", "cut", "flipped", "folder"])
def test_a_file_that_is_not_whole_is_a_launch_that_is_not_known(in_fork, machine, tmp_path, spoil):
    def run():
        x, y = torch.ones(100), torch.zeros(100)
        machine()
        doubled(x, y)
        (file,) = launches_kept(tmp_path)
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.unlink()
        if spoil == "folder":
            file.mkdir()
        else:
            file.write_bytes({"empty": b"", "cut": data[:-1], "flipped": data}[spoil])
        other, again = machine(), torch.zeros(100)
        doubled(x, again)
        return other.recalled, torch.equal(again, 2 * x)

    assert in_fork(run) == (0, True)


def test_what_holds_addresses_is_never_kept(in_fork, machine, tmp_path):
    def run():
        made = machine()
        sources = [torch.ones(16), torch.full((16,), 2.0)]
        table = torch.tensor([one.data_ptr() for one in sources])
        y = torch.zeros(32)
        for _ in range(2):
            emulate_kernels.through_a_table[(2,)](table, y.zero_(), BLOCK=16)
        return made.recalled, y[16].item(), (tmp_path / "case").exists()

    assert in_fork(run) == (0, 2.0, False)


def test_a_stored_address_is_not_kept(tmp_path):
    memory = np.zeros(64, np.uint8)
    address = memory.ctypes.data
    kept = emulate.Recall(tmp_path)
    call = recall.Call("k", [recall.memory.Window(address, 64, "y")], [memory.tobytes()])
    memory.view(np.uint64)[3] = address + 8
    kept.keep(call)
    assert not kept.again(call) and not list(tmp_path.iterdir())
    memory.view(np.uint64)[3] = 7
    kept.keep(call)
    memory[:] = 0
    assert kept.again(call) and memory.view(np.uint64)[3] == 7


def test_a_launch_that_goes_wrong_is_not_kept(in_fork, machine, tmp_path):
    def run():
        x, y = torch.ones(17), torch.zeros(16)
        told = []
        for _ in range(2):
            machine()
            with pytest.raises(RuntimeError) as caught:
                emulate_kernels.one_too_far[(1,)](x, y, 16, BLOCK=64)
            told.append(caught.value.crosswarp_verdict.fingerprint)
        return told, (tmp_path / "case").exists()

    told, kept = in_fork(run)
    assert told == ["fault: out-of-bounds access in one_too_far"] * 2 and not kept


def test_no_more_is_kept_than_there_is_room_for(in_fork, machine, tmp_path, monkeypatch):
    monkeypatch.setattr(recall, "MOST_KEPT", 1000)

    def run():
        made = machine()
        for value in (1.0, 2.0, 3.0, 1.0, 3.0):
            doubled(torch.full((100,), value), torch.zeros(100))
        monkeypatch.setattr(recall, "MOST", 399)
        doubled(torch.full((100,), 1.0), torch.zeros(100))
        return made.recalled, len(launches_kept(tmp_path))

    assert in_fork(run) == (1, 2)


def test_no_launch_is_recalled_where_a_detector_looks_on(in_fork, tmp_path):
    def run():
        virtual_gpu.activate(targets.SM_80)
        made = emulate.Machine(100, sanitize=True, recall=emulate.Recall(tmp_path / "case"))
        launching.run_with(made)
        for _ in range(2):
            doubled(torch.ones(100), torch.zeros(100))
        return made.recalled, (tmp_path / "case").exists()

    assert in_fork(run) == (0, False)


def test_a_mismatch_leads_to_its_line_though_the_launch_was_recalled(in_fork, tmp_path):
    def run():
        def launch(x):
            y = torch.empty_like(x)
            doubled(x, y, factor=3)
            return {"y": y}

        made = Kernel(
            name="made",
            cases=(Case("c", "fp32", {"n": 100}),),
            inputs=lambda case, where, generator: {"x": torch.randn(100, generator=generator)},
            launch=launch,
            reference=lambda x: {"y": x * 2},
            tolerance={"fp32": 1e-6},
        )
        spec = AskedSuite(
            time_limit=100,
            targets={"sm_80": vars(targets.SM_80)},
            records=str(tmp_path / "records"),
        )
        told = []
        for mode in ("bare", "shimmed"):
            one = SimpleNamespace(
                lane="emulate", target="sm_80", mode=mode, kernel="made", case="c"
            )
            in_child._prepare_lane(one, spec)
            log = in_child._watched(one, spec, print, print)
            verdict = in_child._launch(one, spec, made, made.cases[0], log)
            told.append((verdict.outcome, verdict.message, log.machine.recalled))
        return told

    bare, shimmed = in_fork(run)
    assert bare == shimmed and bare[0] == "mismatch" and bare[2] == 0
    assert "was stored by emulate_kernels.py" in bare[1]
