"""Small kernels of our own; Triton reads their source from this file."""

import triton
import triton.language as tl


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def declares_num_warps(x, y, n, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * num_warps, mask=at < n)


@triton.jit
def wrong(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.no_such_function(tl.load(x + at)))


def tuned():
    """An autotuned kernel; made when called, because Triton 3.2 asks for a driver then."""
    configs = [
        triton.Config({"BLOCK": block}, num_warps=warps)
        for block, warps in ((64, 1), (128, 4), (256, 32))
    ]
    return triton.autotune(configs=configs, key=["n"])(scaled)
