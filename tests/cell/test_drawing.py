"""A case's inputs: as torch draws them, and with the same bits on a processor that takes other code of torch's."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from crosswarp.matrix.cell.kinds.suite.drawing import Alike

OLDER = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "OPENBLAS_CORETYPE": "Prescott",
}
COMPUTED = {
    "randn": lambda x: torch.randn(33, 70, generator=torch.Generator().manual_seed(5)),
    "exp": lambda x: x.exp(),
    "log1p": torch.log1p,
    "logsigmoid": torch.nn.functional.logsigmoid,
    "matmul": lambda x: x @ x.t(),
    "normalize": lambda x: torch.nn.functional.normalize(x, dim=-1),
    "power": lambda x: 3.0**x,
    "sigmoid": lambda x: x.sigmoid(),
    "softmax": lambda x: x.softmax(1),
    "sum": lambda x: x.sum(0),
}  # fmt: skip


def bits():
    x = torch.rand(33, 700, generator=torch.Generator().manual_seed(5)) * 8
    with Alike():
        made = {name: compute(x) for name, compute in COMPUTED.items()}
    return {
        name: hashlib.sha256(value.numpy().tobytes()).hexdigest() for name, value in made.items()
    }


@pytest.mark.both_ends
def test_an_older_processor_makes_the_same_inputs():
    environment = {name: value for name, value in os.environ.items() if name not in OLDER}
    usual, older = (
        subprocess.run(
            [sys.executable, Path(__file__)],
            env={**environment, **switches},
            capture_output=True,
            check=True,
        ).stdout.splitlines()
        for switches in ({}, OLDER)
    )
    assert len(usual) == len(COMPUTED) and set(usual) ^ set(older) == set()


@pytest.mark.parametrize("size", [(0,), (3,), (16,), (17,), (5, 7), ([4, 40],)])
def test_normal_numbers_are_torch_s_to_within_rounding(size):
    ours, theirs = (torch.Generator().manual_seed(7) for _ in range(2))
    with Alike():
        drawn = torch.randn(*size, generator=ours)
    expected = torch.randn(*size, generator=theirs)
    assert drawn.shape == expected.shape and drawn.dtype == expected.dtype
    assert torch.allclose(drawn, expected, rtol=0, atol=1e-5)
    assert torch.equal(ours.get_state(), theirs.get_state())


def test_a_function_keeps_its_type_and_where_it_is_asked_for_another_its_own_way():
    half, single = torch.rand(20).half(), torch.rand(20)
    with Alike():
        found = [
            value.dtype
            for value in (half.exp(), half * single, torch.arange(3).sum(), 2.0 ** torch.arange(3))
        ]
        assert half.softmax(0, dtype=torch.float64).dtype == torch.float64
        assert single.double().exp().dtype == torch.float64
    assert found == [torch.float16, torch.float32, torch.int64, torch.float32]


if __name__ == "__main__":
    for name, digest in bits().items():
        print(name, digest)
