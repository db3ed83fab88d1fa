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


@triton.jit
def defaults_num_warps(
    x, y, n, BLOCK: tl.constexpr, num_warps: tl.constexpr = 2, num_stages: tl.constexpr = 5
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * num_warps + num_stages, mask=at < n)


@triton.jit
def declares_waves_per_eu(x, y, n, BLOCK: tl.constexpr, waves_per_eu: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * waves_per_eu, mask=at < n)


@triton.jit
def asserts_a_small_block(x, y, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def product(a, b, c):
    at = tl.arange(0, 16)
    tile = at[:, None] * 16 + at[None, :]
    tl.store(c + tile, tl.dot(tl.load(a + tile), tl.load(b + tile)))


@triton.jit
def holds_much(x, y):
    """512 values a thread with one warp, all of them needed again after their sum."""
    at = tl.arange(0, 16384)
    values = tl.load(x + at)
    tl.store(y + at, values / tl.sum(values))


multiplied = tl.dot


@triton.jit
def _multiply(x, y):
    return multiplied(x, y)


@triton.jit
def product_by_another_name(a, b, c):
    at = tl.arange(0, 16)
    tile = at[:, None] * 16 + at[None, :]
    tl.store(c + tile, _multiply(tl.load(a + tile), tl.load(b + tile)))


@triton.jit
def _wider(a, b):
    return (a + b).to(tl.float64)


@triton.jit
def widened(x_ptr, y_ptr, BLOCK: tl.constexpr):
    # The compiler prints the reason, and its exception does not have it.
    tl.store(y_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, BLOCK)), 0, _wider))
