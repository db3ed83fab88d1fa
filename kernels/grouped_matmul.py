"""One matrix product for each group of rows, in one launch: the experts of a mixture, some of which get no token.

A program finds its group by walking the groups' tile counts, so the host never learns how many rows each has.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _grouped_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    starts_ptr,
    GROUPS,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    number = tl.program_id(1)
    group = 0
    before = 0
    tiles = 0
    start = tl.load(starts_ptr)
    # the last group whose tiles start at or before this program's number
    for g in range(0, GROUPS):
        end = tl.load(starts_ptr + g + 1)
        mine = (number >= tiles).to(tl.int32)
        group = group + (g - group) * mine
        before = before + (tiles - before) * mine
        tiles += tl.cdiv(end - start, BM)
        start = end
    first = tl.load(starts_ptr + group)
    # the grid has the largest size that may be needed: programs past the last tile get no rows
    end = tl.where(number < tiles, tl.load(starts_ptr + group + 1), first)
    rows = first + (number - before) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    in_group = rows[:, None] < end
    a = a_ptr + rows[:, None].to(tl.int64) * K + inner[None, :]
    b = b_ptr + group.to(tl.int64) * N * K + cols[None, :] * K + inner[:, None]
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + k, mask=in_group & (inner[None, :] < K - k), other=0.0)
        y = tl.load(b + k, mask=(inner[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        total += tl.dot(x, y, allow_tf32=False)
    mask = in_group & (cols[None, :] < N)
    c = c_ptr + rows[:, None].to(tl.int64) * N + cols[None, :]
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=mask)


def launch(a, b, starts):
    """Rows starts[g] to starts[g + 1] of `a` times the transpose of the [N, K] matrix `b[g]`."""
    m, k = a.shape
    groups, n = b.shape[:2]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    tile = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 2}
    if a.dtype == torch.float32:
        tile = {"BM": 16, "BN": 32, "BK": 32, "num_warps": 4, "num_stages": 2}
    # every group may end with a tile that is not full
    tiles = m // tile["BM"] + groups
    _grouped_kernel[(triton.cdiv(n, tile["BN"]), tiles)](a, b, c, starts, groups, n, k, **tile)
    return {"c": c}


def reference(a, b, starts):
    bounds = starts.tolist()
    parts = zip(bounds, bounds[1:], b.double())
    return {"c": torch.cat([a[i:j].double() @ matrix.t() for i, j, matrix in parts])}


def inputs(case, device, generator):
    sizes = [case.shape[f"M{g}"] for g in range(case.shape["groups"])]
    n, k = case.shape["N"], case.shape["K"]

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    return {
        "a": normal(sum(sizes), k),
        "b": normal(len(sizes), n, k),
        "starts": torch.tensor([0, *sizes]).cumsum(0).to(device, torch.int32),
    }


def _case(id, dtype, sizes, N, K):
    rows = {f"M{g}": size for g, size in enumerate(sizes)}
    return Case(id, dtype, {"groups": len(sizes), "N": N, "K": K, **rows})


KERNEL = kernel_of(
    globals(),
    cases=(
        _case("fp16-with-empty-groups", "fp16", (0, 130, 0, 0, 7, 128, 0), 72, 96),
        _case("bf16-one-row-each", "bf16", (1, 1, 1), 130, 64),
        _case("fp32-n33-k50", "fp32", (17, 0, 32), 33, 50),
    ),
    # measured: 8.9e-8, 2.1e-4; bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-7, "fp16": 1e-3, "bf16": 8e-3},
    uses=("dot",),
)
