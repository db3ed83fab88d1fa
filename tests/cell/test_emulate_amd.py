"""The lane emulate for AMD targets in this column: the assembly that this Triton makes is executed."""

from types import SimpleNamespace

import emulate_kernels
import pytest
import targets
import torch
from test_emulate import line_of, machine

from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.judging.verdict import of_error
from crosswarp.matrix.cell.standins.virtual_gpu import launching

# Triton 2.3.1 compiles for none of them.
pytestmark = pytest.mark.triton(">=3.0")


def test_arguments_of_all_kinds_arrive(in_fork):
    """Those that Triton specialises (to 1, to None, to multiples of 16) have no parameter, or another type."""

    def run():
        machine(targets.GFX942)
        found = []
        for one, big, flag in ((1, 1 << 40, True), (2, 16, False), (1, -(1 << 40), False)):
            x, y = torch.randn(300), torch.zeros(100)
            emulate_kernels.of_all_kinds[(2,)](x, None, y, one, 100, 0.5, big, flag, BLOCK=64)
            expected = x[: 100 * one : one] * 0.5 + float(big) + float(flag)
            found.append(torch.allclose(y, expected))
        return found

    assert in_fork(run) == [True, True, True]


@pytest.mark.parametrize("name", ["GFX90A", "GFX942", "GFX1100"])
def test_products_reductions_and_atomics_give_the_numbers_of_pytorch(in_fork, name):
    def run():
        made = machine(getattr(targets, name))
        a, b = torch.randn(32, 32).half(), torch.randn(32, 32).half()
        y, total = torch.full((32, 32), float("nan")), torch.zeros(1)
        emulate_kernels.scores[(1,)](a, b, y, total, SIZE=32)
        expected = torch.softmax(a.float() @ b.float(), 1)
        small = expected[expected < 0.5].sum()
        close = torch.allclose(y, expected, atol=1e-5) and torch.allclose(total, small, atol=1e-3)
        return close, made.resources()["emulated"]["instructions"]

    close, instructions = in_fork(run)
    assert close and instructions > 1000


@pytest.mark.parametrize("warps", [1, 8])
def test_the_numbers_do_not_depend_on_the_number_of_warps(in_fork, warps):
    def run():
        machine(targets.GFX942)
        x, y = torch.randn(3000), torch.zeros(3000)
        emulate_kernels.times[(3,)](x, y, 3000, BLOCK=1024, FACTOR=3, num_warps=warps)
        return torch.equal(y, x * 3)

    assert in_fork(run)


def test_a_launch_is_counted_by_source_line(in_fork):
    def run():
        made = machine(targets.GFX942)
        x, y = torch.randn(3072), torch.zeros(3072)
        emulate_kernels.times[(3,)](x, y, 3072, BLOCK=1024, FACTOR=3)
        return made.resources()["counters"]

    (counted,) = in_fork(run)
    moved = {row["what"]: row for row in counted["memory"] if row["what"] in ("load", "store")}
    assert {what: row["bytes"] for what, row in moved.items()} == {"load": 12_288, "store": 12_288}
    # 16 floats are a sector of 64 bytes.
    assert {row["sectors"] for row in moved.values()} == {192}
    assert f":{moved['store']['line']}" in line_of("* FACTOR, mask")
    assert counted["instructions"]["wait"] and counted["waits"][0]["line"]
    assert (counted["times"], counted["grid"]) == (1, [3, 1, 1])


def test_launches_are_alike_wherever_their_tensors_lie(in_fork):
    def run():
        made = machine(targets.GFX942)
        for first in (0, 16):
            x, y = torch.ones(first + 3072)[first:], torch.zeros(first + 3072)[first:]
            emulate_kernels.times[(3,)](x, y, 3072, BLOCK=1024, FACTOR=3)
        return made.resources()["counters"]

    # The second is in half a line more.
    assert [counted["times"] for counted in in_fork(run)] == [2]


def test_a_launch_of_no_program_counts_nothing(in_fork):
    def run():
        made = machine(targets.GFX942)
        x, y = torch.ones(64), torch.zeros(64)
        emulate_kernels.times[(0,)](x, y, 64, BLOCK=64, FACTOR=3)
        return made.resources().get("counters", [])

    assert not any(counted["instructions"] or counted["memory"] for counted in in_fork(run))


def test_some_programs_of_a_launch(in_fork):
    def run():
        machine(targets.GFX942)
        made = emulate.Machine(100, sample=2)
        launching.run_with(made)
        x, y = torch.ones(9 * 64), torch.zeros(9 * 64)
        emulate_kernels.times[(9,)](x, y, 9 * 64, BLOCK=64, FACTOR=3)
        return (y.view(9, 64) != 0).any(1).tolist(), made.resources()["counters"]

    written, (counted,) = in_fork(run)
    assert [at for at, some in enumerate(written) if some] == [0, 8]
    assert counted["bytes"]["global"] >= 2 * 2 * 64 * 4


def test_tensors_in_a_table_of_pointers_may_be_read(in_fork):
    def run():
        machine(targets.GFX942)
        rows = [torch.randn(64) for _ in range(3)]
        table = torch.tensor([row.data_ptr() for row in rows])
        y = torch.zeros(3, 64)
        emulate_kernels.through_a_table[(3,)](table, y, BLOCK=64)
        return torch.equal(y, torch.stack(rows))

    assert in_fork(run)


def test_a_store_out_of_bounds_is_a_fault_that_names_line_and_tensor(in_fork):
    def run():
        machine(targets.GFX942)
        # 16 floats are all of the storage, and nothing is known of the size of a buffer: it is a real address.
        x, y = torch.ones(80), torch.zeros(16)
        try:
            emulate_kernels.times[(1,)](x, y, 80, BLOCK=128, FACTOR=2)
        except RuntimeError as error:
            return vars(of_error(error))

    found = in_fork(run)
    assert (found["outcome"], found["reason"], found["phase"]) == ("crash", "fault", "execute")
    assert line_of("* FACTOR, mask") in found["message"] and "y of 64 bytes" in found["message"]


def test_what_the_emulator_does_not_know_is_unsupported_by_its_name(in_fork):
    def run():
        made = machine(targets.GFX942)
        function = SimpleNamespace(text=_TEXT, form="amdgcn", name="odd")
        source = SimpleNamespace(signature={}, constants={}, fn=None)
        metadata = {"shared": 0, "num_warps": 1}
        try:
            made(launching.Handed(function, source, metadata, (1, 1, 1), ()))
        except RuntimeError as error:
            return vars(of_error(error))

    found = in_fork(run)
    assert (found["outcome"], found["reason"]) == ("unsupported", "amdgcn: v_odd_f32")


_TEXT = """	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
odd:
	v_odd_f32 v0, v1
	s_endpgm
	.section	.rodata
	.amdhsa_kernel odd
	.end_amdhsa_kernel
"""
