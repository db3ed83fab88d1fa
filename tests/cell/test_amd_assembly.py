"""A fix of AMD's assembly: the assembler gets its text, and kernels of another backend are not asked about."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.record import Concerned, Patches, RewriteAssembly, Shim
from crosswarp.compat.seams import pipeline
from crosswarp.matrix.cell.standins import virtual_gpu

MARK = "; marked by a fix"


@triton.jit
def _doubled(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


def _marked(text):
    assert "amdgcn_target" in text
    return f"{text}{MARK}\n"


@pytest.mark.triton(">=3.0")
@pytest.mark.parametrize("target, acts", [("GFX942", True), ("SM_90", False)])
def test_amds_assembler_gets_the_other_text(in_fork, target, acts):
    def run():
        virtual_gpu.activate(getattr(targets, target))
        compat.install(only=["overwritten_operands"])
        shim = Shim(
            *("a fix", "", "", "", "", ""),
            concerns=Concerned(lambda reached: True),
            changes=(RewriteAssembly(_marked, lambda text: True, "amdgcn"),),
        )
        pipeline.open_for(shim, Patches(fix="a fix"))
        compiled = _doubled[(1,)](torch.ones(256), torch.zeros(256), SIZE=256)
        return MARK in compiled.asm.get("amdgcn", ""), compat.acted(), compat.left_out()

    text, acted, left = in_fork(run)
    assert (text, "a fix" in acted, list(left)) == (acts, acts, [])
