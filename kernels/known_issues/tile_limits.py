"""Matrix products whose tiles are more than a GPU holds, although they fit the one that they were tuned for.

A block of an RTX 4090 or 5090 has 101,376 bytes of shared memory, one of a T4 65,536, and a multiprocessor of a B200
has 512 columns of tensor memory. Nothing but compiling for the GPU in question says so.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _tile_kernel(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    row, col, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros([M, N], dtype=tl.float32)
    # with an argument of 3.3, since which it was measured
    for start in tl.range(0, K, BLOCK, flatten=False):
        a = tl.load(a_ptr + row[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * N + col[None, :])
        total += tl.dot(a, b)
    tl.store(c_ptr + row[:, None] * N + col[None, :], total)


def launch(m, n, k, block, stages, warps):
    a = torch.empty(m, k, dtype=torch.float16)
    b = torch.empty(k, n, dtype=torch.float16)
    c = torch.empty(m, n, dtype=torch.float32)
    _tile_kernel[(1,)](a, b, c, k, M=m, N=n, BLOCK=block, num_stages=stages, num_warps=warps)
    return {"c": c}


def inputs(case, device, generator):
    return dict(case.shape)


def _case(name, target, **shape):
    return Case(name, "fp16", shape, lanes=("compile",), targets=target)


KERNEL = kernel_of(
    globals(),
    cases=(
        # four stages of two tiles of 16 KiB: fits an A100 and an H100
        _case("shared-128k", ("sm_86", "sm_89", "sm_12*"), m=128, n=128, k=512, block=64, stages=5, warps=8),
        # both tiles at once, 72 KiB: there is no pipelining before sm_80
        _case("shared-72k", ("sm_75",), m=16, n=128, k=256, block=256, stages=1, warps=8),
        _case("tensor-1024", ("sm_10*",), m=128, n=1024, k=64, block=16, stages=2, warps=8),
    ),
    uses=("dot", "tl-range", "tl-range-flatten"),
)  # fmt: skip
