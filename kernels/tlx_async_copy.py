"""TLX: sums of rows whose tiles come by cp.async, two of them under way, into buffers of shared memory."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.tlx_import import lacking, tlx

TARGETS = ("sm_80", "sm_90", "sm_100")


@triton.jit
def _sums_kernel(x_ptr, y_ptr, n, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    pointers = x_ptr + rows[:, None] * stride + cols[None, :]
    tiles = tlx.local_alloc((ROWS, COLS), tl.float32, 2)
    tlx.async_load(pointers, tlx.local_view(tiles, 0), mask=cols[None, :] < n, other=0.0)
    tlx.async_load_commit_group()
    total = tl.zeros((ROWS, COLS), tl.float32)
    stage = 0
    for start in tl.range(0, n, COLS, num_stages=0):
        # elements beyond the row are not read, and are zero in the tile
        within = cols[None, :] + start + COLS < n
        after = tlx.local_view(tiles, 1 - stage)
        tlx.async_load(pointers + start + COLS, after, mask=within, other=0.0)
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(1)
        total += tlx.local_load(tlx.local_view(tiles, stage))
        stage = 1 - stage
    tlx.async_load_wait_group(0)
    tl.store(y_ptr + rows, tl.sum(total, axis=1))


def launch(x):
    m, n = x.shape
    y = torch.empty(m, dtype=torch.float32, device=x.device)
    _sums_kernel[(m // 16,)](x, y, n, x.stride(0), ROWS=16, COLS=32, num_warps=4)
    return {"y": y}


def reference(x):
    return {"y": x.double().sum(1)}


def inputs(case, device, generator):
    m, n = case.shape["M"], case.shape["N"]
    x = torch.randn(m, n, generator=generator, device=generator.device)
    return {"x": x.to(device)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("whole", "fp32", {"M": 32, "N": 96}, targets=TARGETS),
        Case("ragged", "fp32", {"M": 16, "N": 77}, targets=TARGETS),
    ),
    # measured in the lane emulate of fbtriton 3.7.4: 9.6e-8
    tolerance={"fp32": 4e-7},
    uses=("tlx",),
    probes={"tlx": lacking},
)
