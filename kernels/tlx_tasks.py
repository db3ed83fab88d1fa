"""TLX: one task of a block fetches tiles by TMA, another adds them up; each buffer has two mbarriers between them."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.tlx_import import lacking, tlx

TARGETS = ("sm_90", "sm_100")


@triton.jit
def _sums_kernel(x_ptr, y_ptr, M, N, ROWS: tl.constexpr, COLS: tl.constexpr, STAGES: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [ROWS, COLS])
    tiles = tlx.local_alloc((ROWS, COLS), tl.float32, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    row = tl.program_id(0) * ROWS
    with tlx.async_tasks():
        with tlx.async_task("default"):
            total = tl.zeros((ROWS, COLS), tl.float32)
            for step in tl.range(0, tl.cdiv(N, COLS), num_stages=0):
                stage, phase = step % STAGES, (step // STAGES) & 1
                tlx.barrier_wait(tlx.local_view(full, stage), phase)
                total += tlx.local_load(tlx.local_view(tiles, stage))
                tlx.barrier_arrive(tlx.local_view(empty, stage))
            tl.store(y_ptr + row + tl.arange(0, ROWS), tl.sum(total, axis=1))
        with tlx.async_task(num_warps=1, num_regs=24):
            for step in tl.range(0, tl.cdiv(N, COLS), num_stages=0):
                stage, phase = step % STAGES, (step // STAGES) & 1
                # the first time round each buffer is empty: the phase before the first has ended
                tlx.barrier_wait(tlx.local_view(empty, stage), phase ^ 1)
                arrived = tlx.local_view(full, stage)
                tlx.barrier_expect_bytes(arrived, ROWS * COLS * 4)
                tile = tlx.local_view(tiles, stage)
                tlx.async_descriptor_load(source, tile, [row, step * COLS], arrived)


def launch(x):
    m, n = x.shape
    y = torch.empty(m, dtype=torch.float32, device=x.device)
    # the descriptor is made in the kernel, in memory of the allocator
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=x.device)
    )
    _sums_kernel[(m // 32,)](x, y, m, n, ROWS=32, COLS=32, STAGES=2, num_warps=4)
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
        Case("even", "fp32", {"M": 64, "N": 128}, targets=TARGETS),
        # five tiles, of which the last reaches beyond the row; TMA wants rows of a multiple of 16 bytes
        Case("odd", "fp32", {"M": 32, "N": 148}, targets=TARGETS),
    ),
    # measured in the lane emulate of fbtriton 3.7.4: 8.7e-8
    tolerance={"fp32": 4e-7},
    uses=("tlx",),
    probes={"tlx": lacking},
)
