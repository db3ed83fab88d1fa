"""tl.gather where Triton has none: elements come out as they went in, and what does not fit says so."""

import gather_kernels as kernels
import pytest
import targets
import torch
from triton.compiler.compiler import ASTSource

from crosswarp import compat
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

# The meaning is that of 3.3: what bits, dimensions and truths become held on 3.8.0 as well (by hand, 2026-11-23).
pytestmark = pytest.mark.triton("<3.3")

FROM, TO = 32, 64


def gathered(kernel, x, index, out, dtype=None, **sizes):
    """What `kernel` writes for `out` elements, executed, and the shims that acted."""
    virtual_gpu.activate(targets.SM_80)
    launching.run_with(emulate.Machine(100))
    compat.install(only=["gather"])
    y = torch.zeros(out, dtype=dtype or x.dtype)
    kernel[(1,)](x, index, y, **(sizes or {"FROM": FROM, "TO": TO}))
    return y, compat.acted()


def places(*shape, size):
    return torch.randint(0, size, shape, generator=torch.Generator().manual_seed(1))


def elements(dtype):
    if dtype.is_floating_point:
        made = torch.randn(FROM, generator=torch.Generator().manual_seed(2))
        made[:3] = torch.tensor([-0.0, float("nan"), -float("inf")])
        return made.to(dtype)
    return (torch.arange(FROM) - FROM // 2).to(dtype)


def bits(tensor):
    return tensor.view(torch.uint8).tolist()


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.bfloat16, torch.uint8, torch.int32],
    ids=str,
)
def test_bits_come_out_as_they_went_in(in_fork, dtype):
    x, index = elements(dtype), places(TO, size=FROM)
    found, acted = in_fork(lambda: gathered(kernels.of_one_dimension, x, index, TO))
    assert bits(found) == bits(x[index])
    assert acted == ["gather"]


@pytest.mark.parametrize("kind", [torch.uint8, torch.int64])
def test_the_middle_of_three_dimensions(in_fork, kind):
    x = torch.randn(2, 8, 4)
    index = places(2, 4, 4, size=8)
    found, _ = in_fork(
        lambda: gathered(kernels.of_three_dimensions, x, index.to(kind), index.shape, A=2, B=8, C=4)
    )
    assert found.tolist() == x.gather(1, index).tolist()


def test_truths(in_fork):
    x, index = elements(torch.float16), places(TO, size=FROM)
    found, _ = in_fork(lambda: gathered(kernels.of_truths, x, index, TO, torch.int32))
    assert found.tolist() == (x > 0)[index].int().tolist()


def test_pointers(in_fork):
    """Which Triton refuses from 3.3 on."""
    x, index = elements(torch.float16), places(TO, size=FROM)
    found, _ = in_fork(lambda: gathered(kernels.of_pointers, x, index, TO))
    assert bits(found) == bits(x[index])


def test_what_takes_too_large_a_tensor_says_so(in_fork):
    def run():
        x, index = torch.zeros(1024), torch.zeros(2048, dtype=torch.int32)
        try:
            gathered(kernels.of_one_dimension, x, index, 2048, FROM=1024, TO=2048)
        except Exception as error:
            return f"{error} {error.__cause__}"

    assert "gather smaller tiles, or load from a pointer" in in_fork(run)


def test_what_gathers_nothing_keeps_its_key(in_fork):
    def key(shimmed):
        if shimmed:
            compat.install(only=["gather"])
        return ASTSource(kernels.plain, {}, {}).hash()

    assert in_fork(lambda: key(True)) == in_fork(lambda: key(False))


@pytest.mark.both_ends
def test_the_interpreter_does_as_well(interpreted):
    code = (
        "import torch, gather_kernels as kernels\n"
        "from crosswarp import compat\n"
        "compat.install()\n"
        "x, index = torch.tensor([-0.0, 5, 7, 9]), torch.tensor([3, 0, 0, 2, 1, 1, 0, 3])\n"
        "y = torch.ones(8)\n"
        "kernels.of_one_dimension[(1,)](x, index, y, FROM=4, TO=8)\n"
        "print(y.tolist(), 'gather' in compat.acted())\n"
    )
    expected = "[9.0, -0.0, -0.0, 7.0, 5.0, 5.0, -0.0, 9.0] True"
    assert interpreted(code) == expected
