"""Attention, backward in one pass: the scores are made once, and dq is summed in memory.

Here for the atomic_add of tensor descriptors (a reduction by TMA where the GPU has it), not for speed. It has five
products rather than seven, and yet is slower than the two passes of `flash_attention_backward_descriptors`. Backward
took 4.060 ms on an H100 (Triton 3.6.0) where those took 3.059, and the bits of dq change from run to run.
"""

import torch

from crosswarp.kernels.case import Case, current_target, kernel_of, max_shared_memory
from crosswarp.kernels.flash_attention import launch as forward
from crosswarp.kernels.flash_attention_backward_descriptors import (
    SHAPES,
    check_width,
    inputs,
    key_gradients,
    reference,
    start,
)


def launch(q, k, v, do, cu_seqlens, max_length, causal, forward_tile=None, tile=None):
    """A tile has BM (queries), BN (keys), num_warps and num_stages."""
    check_width(q.shape[2])
    sizes = (cu_seqlens, max_length, causal)
    saved = forward(q, k, v, *sizes, tile=forward_tile, descriptors=True)
    return backward(q, k, v, do, saved["o"], saved["lse"], *sizes, tile)


def _tile(dtype):
    if dtype == torch.float32:
        chosen = (32, 32, 4, 1)
    elif max_shared_memory() < 100_000 and current_target()[0] == "cuda":
        # Turing's 64 KB, which hold every operand
        chosen = (32, 32, 4, 1)
    elif max_shared_memory() < 100_000:
        chosen = (32, 64, 4, 1)
    elif max_shared_memory() < 200_000:
        chosen = (32, 64, 8, 2)
    elif current_target()[0] == "cuda" and current_target()[1] >= 100:
        # compiled, not timed: 128 keys of width 128 do not fit beside what waits for tensor memory (3.5.1)
        chosen = (64, 64, 8, 2)
    else:
        # measured on an H100: the best of eight
        chosen = (64, 128, 8, 3)
    return dict(zip(("BM", "BN", "num_warps", "num_stages"), chosen))


def backward(q, k, v, do, o, lse, cu_seqlens, max_length, causal, tile=None):
    tile = tile or _tile(q.dtype)
    gap = tile["BM"] + 4
    sums, deltas = start(o, do, lse, cu_seqlens, max_length, gap)
    total = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    dk, dv = key_gradients(
        q, k, v, do, sums, deltas, cu_seqlens, max_length, causal, gap, tile, total
    )
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    torch.mul(total, q.shape[2] ** -0.5, out=dq)
    return {"dq": dq, "dk": dk, "dv": dv}


KERNEL = kernel_of(
    globals(),
    cases=tuple(Case(id, dtype, shape) for id, (dtype, shape) in SHAPES.items()),
    inputs=inputs,
    reference=reference,
    # measured on an H100, 3.6.0: 3.0e-7, 3.2e-4, 2.7e-3
    tolerance={"fp32": 1.5e-6, "fp16": 1.5e-3, "bf16": 1.1e-2},
    uses=("atomic", "descriptor-atomic", "dot", "tensor-descriptor"),
)
