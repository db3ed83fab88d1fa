"""A row computed alone and in a batch: alike, by another order, without rows."""

import batch_kernels
import targets
import torch

from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.judging import batch
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

N = 200
CASE = Case("a", "fp32", {"M": 3, "N": N})


def inputs(case):
    generator = torch.Generator().manual_seed(1)
    return {"x": torch.randn(case.shape["M"], N, generator=generator), "scale": 2}


def kernel(of_many):
    def launch(x, scale):
        rows = x.shape[0]
        y = torch.empty(rows)
        one = batch_kernels.row_sums if rows == 1 else of_many
        one[(rows,)](x, y, N, BLOCK=256)
        return {"y": y, "total": y.sum()}

    return Kernel("k", (CASE,), None, launch, batch="M")


def compared(in_fork, of_many, inputs=inputs):
    def run():
        virtual_gpu.activate(targets.SM_80)
        launching.run_with(emulate.Machine(100))
        return batch.tried(kernel(of_many), CASE, inputs)

    return in_fork(run)


def test_rows_that_know_nothing_of_each_other_have_the_same_bits(in_fork):
    found = compared(in_fork, batch_kernels.row_sums)
    # The sum over all rows is no row's.
    assert found == {"size": "M", "rows": 64, "outputs": {"y": []}}


def test_another_order_in_a_batch_is_kept_with_both_sides(in_fork):
    (alone, within) = compared(in_fork, batch_kernels.halves_first)["outputs"]["y"]
    assert alone["shape"] == within["shape"] == [1] and alone["digest"] != within["digest"]


def test_inputs_without_rows_are_not_compared(in_fork):
    def offsets(case):
        return {**inputs(case), "scale": case.shape["M"]}

    assert (
        "scale is not the same"
        in compared(in_fork, batch_kernels.row_sums, offsets)["not_compared"]
    )

    def broken(case):
        raise RuntimeError("no such size")

    assert "no such size" in compared(in_fork, batch_kernels.row_sums, broken)["not_compared"]
