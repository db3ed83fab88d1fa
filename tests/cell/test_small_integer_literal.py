"""A number beside a small integer has its type, as in PyTorch; what it does not concern keeps its key."""

import pytest
import small_integer_kernels as kernels
import targets
import torch
from triton.compiler.compiler import ASTSource

from crosswarp import compat
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

SHIM = "small_integer_literal"
BLOCK = 64


def executed(kernel, x, rows, shimmed=True, **options):
    """What `kernel` writes, executed; with the shim, and whether it acted."""
    virtual_gpu.activate(targets.SM_80)
    launching.run_with(emulate.Machine(100))
    if shimmed:
        compat.install(only=[SHIM])
    y = torch.zeros(rows, BLOCK, dtype=torch.int32)
    kernel[(1,)](x, y, BLOCK=BLOCK, **options)
    return y.tolist(), compat.acted()


def not_negative(dtype):
    return (torch.arange(BLOCK) * torch.iinfo(dtype).max // (BLOCK - 1)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
def test_it_wraps_around_as_in_pytorch(in_fork, dtype):
    x = not_negative(dtype)
    expected = kernels.rows(x)
    found, _ = in_fork(lambda: executed(kernels.wraps_around, x, len(expected), ONE=1))
    assert [at for at, row in enumerate(found) if row != expected[at]] == []


@pytest.mark.triton("<3.2")
def test_without_the_shim_it_does_not(in_fork):
    x = not_negative(torch.int8)
    expected = kernels.rows(x)
    found, acted = in_fork(
        lambda: executed(kernels.wraps_around, x, len(expected), shimmed=False, ONE=1)
    )
    # nothing wraps around in a difference, where nothing is large, in the comparison, and beside the variable
    assert [at for at, row in enumerate(found) if row == expected[at]] == [2, 3, 6, 12, 16]
    assert acted == []


@pytest.mark.triton("<3.2")
def test_what_does_not_fit_stays_what_it_is(in_fork):
    x = not_negative(torch.int8)
    (found,), acted = in_fork(lambda: executed(kernels.does_not_fit, x, 1))
    assert found == (x.int() + 300).tolist()
    assert acted == []


def test_a_truth_is_no_small_integer(in_fork):
    """Not on the releases either on which it is loaded as int8."""
    x = torch.arange(BLOCK) % 2 == 0
    (found,), acted = in_fork(lambda: executed(kernels.of_bools, x, 1))
    assert found == (x.int() * 100 + 100).tolist()
    assert acted == []


@pytest.mark.triton("<3.2")
def test_only_kernels_of_small_integers_are_compiled_anew(in_fork):
    def keys(shimmed):
        if shimmed:
            compat.install(only=[SHIM])
        return [
            ASTSource(kernel, {"x": kind, "y": "*fp32"}, {}).hash()
            for kernel, kind in (
                (kernels.of_floats, "*fp32"),
                (kernels.of_floats, "*i32"),
                (kernels.of_floats, "*i16"),
                (kernels.of_floats, "u8"),
                (kernels.makes_small_integers, "*fp32"),
            )
        ]

    same = [a == b for a, b in zip(in_fork(lambda: keys(True)), in_fork(lambda: keys(False)))]
    assert same == [True, True, False, False, False]


@pytest.mark.triton("<3.2")
def test_the_interpreter_does_as_well(interpreted):
    code = (
        "import torch, small_integer_kernels as kernels\n"
        "from crosswarp import compat\n"
        f"compat.install(only=[{SHIM!r}])\n"
        "y = torch.zeros(4, dtype=torch.int8)\n"
        "x = torch.tensor([127, 1, -128, 5], dtype=torch.int8)\n"
        "kernels.increment[(1,)](x, y, BLOCK=4)\n"
        "print(y.tolist(), compat.acted())\n"
    )
    assert interpreted(code) == f"[-128, 2, 5, 6] ['{SHIM}']"
