"""What `autocast("cuda")` casts on the virtual GPU is what torch's own lists for CUDA say, in this column's torch."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from crosswarp.compat.record import Patches
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins.virtual_torch import autocast
from crosswarp.matrix.cell.standins.virtual_torch import autocast_policies as policies

pytestmark = pytest.mark.both_ends

HALF, FULL, DOUBLE = torch.bfloat16, torch.float32, torch.float64
LISTS = (
    *(policies.LOWER, policies.FLOAT32, policies.DTYPE, policies.PROMOTE),
    *(policies.OVERLOAD, policies.BANNED, policies.CUDNN, policies.UNLISTED),
)

# What a function of a half and a full matrix returns under autocast to bfloat16; from CUDA's lists, not from ours.
RETURNS = {
    "log_softmax": (lambda half, full: F.log_softmax(half, -1), FULL),
    "softmax that was asked for half": (lambda half, full: half.softmax(-1, dtype=HALF), HALF),
    "layer_norm": (lambda half, full: F.layer_norm(half, (8,)), FULL),
    "group_norm": (lambda half, full: F.group_norm(half, 2), FULL),
    "exp": (lambda half, full: half.exp(), FULL),
    "sum": (lambda half, full: half.sum(), FULL),
    "sum of a dimension": (lambda half, full: half.sum(-1, keepdim=True), FULL),
    "norm": (lambda half, full: half.norm(), FULL),
    "norm of a dimension": (lambda half, full: half.norm(2, -1, keepdim=True), FULL),
    "norm by its method": (lambda half, full: torch.norm(half, dim=-1), FULL),
    "cross_entropy, which calls what is cast": (
        lambda half, full: F.cross_entropy(half, torch.zeros(8, dtype=torch.long)),
        FULL,
    ),
    "matmul": (lambda half, full: full @ full, HALF),
    "einsum": (lambda half, full: torch.einsum("ij,jk->ik", full, half), HALF),
    "linear": (lambda half, full: F.linear(full, full), HALF),
    "promotes": (lambda half, full: torch.addcmul(half, half, full), FULL),
    "has nothing to promote": (lambda half, full: torch.atan2(half, half), HALF),
    "mean, which no list names": (lambda half, full: half.mean(), HALF),
    "a product that no list names": (lambda half, full: half * 2, HALF),
    "the CPU casts to full": (lambda half, full: torch.stack([half, half]), HALF),
    "double": (lambda half, full: F.log_softmax(full.double(), -1), DOUBLE),
    "a product of doubles": (lambda half, full: full.double() @ full.double(), DOUBLE),
    "integers": (lambda half, full: full.long().sum(), torch.int64),
}


def test_the_lists_are_those_of_this_torch():
    casts = torch._C._dispatch_has_kernel_for_dispatch_key
    here = {
        name[len("aten::") :]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and casts(name, "AutocastCUDA")
    }
    known = set().union(*LISTS)
    assert here - known == set(), "cast by CUDA's autocast, and in no list"
    assert len(here) > 100 and sum(map(len, LISTS)) == len(known)


# Where torch ships the macros (2.6): each list of the header, and ours.
_OF_THE_HEADER = {
    "LOWER_PRECISION_FP": policies.LOWER,
    "FP32": policies.FLOAT32,
    "FP32_SET_OPT_DTYPE": policies.DTYPE,
    "PROMOTE": policies.PROMOTE,
}


def test_the_lists_are_those_of_the_header():
    header = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
    text = header.read_text()
    # Breakpoint: torch 2.6 has the lists in a header, before that in a file that no wheel has.
    compared = 0
    for name, ours in _OF_THE_HEADER.items():
        found = re.search(rf"define AT_FORALL_{name}\(_\)((?:.*\\\n)+.*)", text)
        if found is None:
            continue
        theirs = {
            ".".join(part.strip() for part in entry.split(","))
            for entry in re.findall(r"_\(([^)]*)\)", found[1])
        }
        # Older and newer lists hold names of their own.
        assert theirs <= ours, (name, theirs - ours)
        assert not theirs & set().union(*(other for other in LISTS if other is not ours))
        compared += 1
    assert compared == (0 if in_window("<2.5", torch.__version__) else 4)


def types(wanted=RETURNS):
    half = torch.randn(8, 8, dtype=HALF, requires_grad=True)
    full = torch.randn(8, 8, requires_grad=True)
    found = {}
    with torch.autocast("cpu", dtype=HALF):
        for name in wanted:
            made = RETURNS[name][0](half, full)
            found[name] = made.dtype
            if made.requires_grad:
                made.sum().backward()
    assert half.grad.dtype == HALF and full.grad.dtype == FULL
    return found


def test_what_is_cast(in_fork):
    def run():
        before = types()
        patches = Patches()
        autocast.cast_as_cuda(patches)
        during = types()
        without = F.log_softmax(torch.randn(8, 8, dtype=HALF), -1).dtype
        with torch.autocast("cpu", dtype=HALF):
            try:
                F.binary_cross_entropy(torch.rand(4), torch.rand(4))
            except RuntimeError as error:
                banned = str(error)
        patches.undo()
        return before, during, types(), without, banned

    before, during, after, without, banned = in_fork(run)
    assert during == {name: dtype for name, (_, dtype) in RETURNS.items()}
    # Each of the two is what it was, and not what is wanted.
    assert before == after and before != during
    assert without == HALF and "BCEWithLogitsLoss" in banned


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_through_the_mapping(in_fork, half):
    def run():
        import targets

        from crosswarp.matrix.cell.standins import virtual_torch

        patches = virtual_torch.install(targets.SM_90)
        x = torch.randn(8, 8, device="cuda")
        with torch.autocast("cuda", dtype=half):
            inside = (x @ x).dtype, F.log_softmax(x @ x, -1).dtype
            with torch.autocast("cuda", enabled=False):
                off = (x @ x).dtype
        patches.undo()
        return inside, off, (x @ x).dtype

    assert in_fork(run) == ((half, FULL), FULL, FULL)
