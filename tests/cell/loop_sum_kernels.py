"""Loops that update what they carry by a reduction of loaded rows: x is [8, L], y [8], steps [L // 64, 8], fp32."""

import triton
import triton.language as tl


@triton.jit
def _row_sum(x, start, L):
    rows = tl.arange(0, 8)[:, None] * L + start + tl.arange(0, 64)[None, :]
    return tl.sum(tl.load(x + rows), axis=1)


@triton.jit
def plain(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total += _row_sum(x, start, L)
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def part_first(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total = _row_sum(x, start, L) + total
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def greatest(x, y, steps, L):
    at = tl.arange(0, 8)
    best = tl.full([8], float("-inf"), dtype=tl.float32)
    for start in range(0, L, 64):
        block = tl.load(x + at[:, None] * L + start + tl.arange(0, 64)[None, :])
        best = tl.maximum(best, tl.max(block, axis=1))
    tl.store(y + at, best)


@triton.jit
def two_sums(x, y, steps, L):
    first = tl.zeros([8], dtype=tl.float32)
    second = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        first += _row_sum(x, start, L)
        second += _row_sum(x, L - 64 - start, L)
    tl.store(y + tl.arange(0, 8), first)
    tl.store(steps + tl.arange(0, 8), second)


@triton.jit
def computed_rows(x, y, steps, L):
    # What is reduced was not loaded: the pass leaves it alone, and so it may be read.
    at = tl.arange(0, 8)
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        tl.store(steps + start // 64 * 8 + at, total)
        block = tl.load(x + at[:, None] * L + start + tl.arange(0, 64)[None, :])
        total += tl.sum(block * block, axis=1)
    tl.store(y + at, total)


@triton.jit
def read(x, y, steps, L):
    at = tl.arange(0, 8)
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        tl.store(steps + start // 64 * 8 + at, total)
        total += _row_sum(x, start, L)
    tl.store(y + at, total)


@triton.jit
def read_in_the_second_of_two_loops(x, y, steps, L):
    at = tl.arange(0, 8)
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total += _row_sum(x, start, L)
    tl.store(y + at, total)
    again = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        tl.store(steps + start // 64 * 8 + at, again)
        again += _row_sum(x, start, L)
    tl.store(y + at, again)


@triton.jit
def read_in_a_branch(x, y, steps, L):
    at = tl.arange(0, 8)
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        if start == 128:
            tl.store(steps + at, total)
        total += _row_sum(x, start, L)
    tl.store(y + at, total)


@triton.jit
def minus(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total -= _row_sum(x, start, L)
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def greatest_sum(x, y, steps, L):
    best = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        best = tl.maximum(best, _row_sum(x, start, L))
    tl.store(y + tl.arange(0, 8), best)


@triton.jit
def branch(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        part = _row_sum(x, start, L)
        if start % 128 == 0:
            total += part
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def nested(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        part = _row_sum(x, start, L)
        for _ in range(0, L, 256):
            total += part
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def decay(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total = total * 0.5 + _row_sum(x, start, L)
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def last_negated(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total = -_row_sum(x, start, L)
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def unrolled(x, y, steps, L):
    # No loop is left of it.
    total = tl.zeros([8], dtype=tl.float32)
    for start in tl.static_range(0, 256, 64):
        total += _row_sum(x, start, L)
    tl.store(y + tl.arange(0, 8), total)


@triton.jit
def used_twice(x, y, steps, L):
    total = tl.zeros([8], dtype=tl.float32)
    for start in range(0, L, 64):
        total += _row_sum(x, start, L)
    tl.store(y + tl.arange(0, 8), total + total)
