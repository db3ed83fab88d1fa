"""Globals that are annotated as constexprs: read with the shim, with their value in the key; others stay refused."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.shims import annotated_globals as shim
from crosswarp.kernels.known_issues import annotated_globals as case
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

PLAIN = 2


@triton.jit
def plain_kernel(x_ptr):
    tl.store(x_ptr, PLAIN)


def installed():
    virtual_gpu.activate(targets.SM_80)
    compat.install(only=["annotated_globals"], guard="off")


def test_what_counts_as_annotated():
    scope = {"A": 1, "B": 2, "C": 3, "D": 4}
    scope["__annotations__"] = {
        "A": tl.constexpr,
        "B": "tl.constexpr",
        "C": int,
        "gone": tl.constexpr,
    }
    assert [name for name in ("A", "B", "C", "D", "gone") if shim.is_annotated(scope, name)] == [
        "A",
        "B",
    ]
    used = {(name, 0): (scope[name], scope) for name in "ABCD"}
    assert shim.annotated_values(used) == [("A", "1"), ("B", "2")]


@pytest.mark.triton(">=3.3")
def test_a_kernel_reads_them_and_its_key_has_their_values(in_fork):
    def run():
        from triton.compiler.compiler import ASTSource

        keys, own = [], ASTSource.hash
        installed()
        told = ASTSource.hash
        ASTSource.hash = lambda self: keys.append((own(self), told(self))) or keys[-1][1]
        case.launch(torch.ones(8))
        assert launches
        bare, shimmed = keys[0]
        return compat.acted(), bare != shimmed

    assert in_fork(run) == (["annotated_globals"], True)


@pytest.mark.triton(">=3.3")
def test_a_global_without_the_annotation_stays_refused(in_fork):
    def run():
        installed()
        with pytest.raises(Exception, match="Cannot access global variable PLAIN"):
            plain_kernel[(1,)](torch.ones(8))
        return compat.acted()

    assert in_fork(run) == []
