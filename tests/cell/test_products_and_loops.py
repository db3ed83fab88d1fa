"""Shims that change what a product or a flattened loop becomes: they do where it is wrong, and nowhere else."""

import pytest
import targets
import torch

from crosswarp import compat
from crosswarp.compat.shims import scanned_product as scans
from crosswarp.kernels.known_issues import (
    batched_dot,
    dot_precision,
    flattened_loops,
    scanned_product,
)
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches


def acted(launch, target, shim):
    """The shims that acted when it was launched, of this one."""
    virtual_gpu.activate(target)
    compat.install(only=[shim, "compiler_crash"], guard="off")
    launch()
    assert launches
    return compat.acted()


def batch(precision, dtype):
    operand = torch.ones(2, 32, 32, dtype=dtype)
    return lambda: batched_dot.launch(operand, operand, precision, 4)


@pytest.mark.triton(">=3.0,<3.3")
@pytest.mark.parametrize("precision, dtype", [("ieee", torch.float32), ("ieee", torch.float16)])
def test_a_product_of_three_dimensions_is_compiled(in_fork, precision, dtype):
    def run():
        return acted(batch(precision, dtype), targets.SM_80, "batched_dot")

    assert in_fork(run) == ["batched_dot"]


@pytest.mark.triton(">=3.0,<3.3")
def test_a_product_of_two_dimensions_is_left_alone(in_fork):
    def run():
        one = torch.ones(32, 32)
        return acted(lambda: dot_precision.launch(one, one, "ieee"), targets.SM_80, "batched_dot")

    assert in_fork(run) == []


@pytest.mark.triton(">=3.3,<3.7")
@pytest.mark.parametrize("rows, warps", [(32, 4), (64, 8)])
def test_a_scan_of_one_column_beside_a_product_is_compiled(in_fork, rows, warps):
    def run():
        g, a = torch.ones(rows), torch.ones(rows, 16, dtype=torch.float16)
        one = lambda: scanned_product.launch(g, a, a.T.contiguous(), warps)  # noqa: E731
        return acted(one, targets.SM_80, "scanned_product")

    assert in_fork(run) == ["scanned_product"]


def test_only_a_scan_of_one_column_is_looked_for():
    def ir(types):
        return f'%1 = "tt.scan"(%0) <{{axis = 0 : i32}}> ({{\n tt.scan.return %2 : f32\n}}) : ({types}) -> {types}'

    assert scans.scans_a_column(ir("tensor<64x1xf32>"))
    assert scans.scans_a_column(ir("tensor<1x64xf32>"))
    assert not scans.scans_a_column(ir("tensor<64x16xf32>"))
    assert not scans.scans_a_column(ir("tensor<64xf32>"))
    assert not scans.scans_a_column("%1 = arith.addf %0, %0 : tensor<64x1xf32>")


@pytest.mark.triton(">=3.0")
@pytest.mark.parametrize("precision", ["tf32", "ieee"])
def test_a_precision_is_replaced_where_it_is_not_at_hand(in_fork, precision):
    def run(target):
        one = torch.ones(32, 32)
        return acted(lambda: dot_precision.launch(one, one, precision), target, "dot_precision")

    assert in_fork(lambda: run(targets.SM_80)) == []
    assert in_fork(lambda: run(targets.GFX90A)) == (
        ["dot_precision"] if precision == "tf32" else []
    )


@pytest.mark.triton(">=3.3,<3.9")
def test_only_kernels_that_flatten_are_compiled_anew(in_fork):
    def key(kernel, shimmed):
        virtual_gpu.activate(targets.SM_80)
        if shimmed:
            compat.install(only=["flattened_loops"])
        one = torch.ones(32, 32)
        if kernel == "flattens":
            return flattened_loops._flattened_kernel[(1,)](one, one, 3, 2, 5, BLOCK=32).hash
        return dot_precision._product_kernel[(1,)](one, one, one, SIZE=32, PRECISION="ieee").hash

    def same(kernel):
        return in_fork(lambda: key(kernel, True)) == in_fork(lambda: key(kernel, False))

    assert same("does not")
    assert not same("flattens")
