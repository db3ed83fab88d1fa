"""Kernels that store and load in loops in many ways; whether the store comes above a load, each one's name says."""

import triton
import triton.language as tl

take = tl.load


@triton.jit
def _read(p):
    return tl.load(p)


@triton.jit
def _write(p, value):
    tl.store(p, value)


@triton.jit
def _read_and_write(p):
    tl.store(p, tl.load(p) + 1.0)


@triton.jit
def _read_it(read: tl.constexpr, p):
    return read(p)


@triton.jit
def _write_and_read(p, value):
    tl.store(p, value)
    return tl.load(p)


@triton.jit
def above_store_then_load(x, n):
    for i in range(n):
        tl.store(x + i, 1.0)
        tl.store(x + 64 + i, tl.load(x + i))


@triton.jit
def below_load_then_store(x, n):
    for i in range(n):
        tl.store(x + i, tl.load(x + i) + 1.0)


@triton.jit
def below_load_in_another_loop(x, n):
    for i in range(n):
        tl.store(x + i, 1.0)
    total = 0.0
    for i in range(n):
        total += tl.load(x + i)
    tl.store(x, total)


@triton.jit
def below_no_loop(x, n):
    tl.store(x, 1.0)
    tl.store(x + 1, tl.load(x))


@triton.jit
def above_in_two_turns_of_an_unrolled_loop(x, n):
    for i in range(n):
        for j in tl.static_range(2):
            tl.store(x + i, tl.load(x + i) + j)


@triton.jit
def above_in_a_branch(x, n):
    for i in range(n):
        if i > 2:
            tl.store(x + i, 1.0)
        total = tl.load(x + i)
        tl.store(x + 64 + i, total)


@triton.jit
def above_around_an_inner_loop_of_one_turn(x, n):
    for i in range(n):
        for _ in range(1):
            tl.store(x + i, 1.0)
        tl.store(x + 64 + i, tl.load(x + i))


@triton.jit
def above_by_functions(x, n):
    for i in range(n):
        _write(x + i, 1.0)
        tl.store(x + 64 + i, _read(x + i))


@triton.jit
def below_by_functions(x, n):
    for i in range(n):
        _write(x + i, _read(x + i))


@triton.jit
def above_by_a_function_called_twice(x, n):
    for i in range(n):
        _read_and_write(x + i)
        _read_and_write(x + i)


@triton.jit
def above_by_a_function_that_does_both(x, n):
    for i in range(n):
        tl.store(x + 64 + i, _write_and_read(x + i, 1.0))


@triton.jit
def above_by_another_name(x, n):
    for i in range(n):
        tl.store(x + i, 1.0)
        tl.store(x + 64 + i, take(x + i))


@triton.jit
def above_by_what_it_is_given(x, n):
    for i in range(n):
        tl.store(x + i, 1.0)
        tl.store(x + 64 + i, _read_it(_read, x + i))


@triton.jit
def above_atomically(x, n):
    for i in range(n):
        tl.atomic_add(x + i, 1.0)
        tl.store(x + 64 + i, tl.load(x + i))


@triton.jit
def above_in_while(x, n):
    i = 0
    while i < n:
        tl.store(x + i, 1.0)
        tl.store(x + 64 + i, tl.load(x + i))
        i += 1


@triton.jit
def below_a_sum_of_what_was_loaded(x, n):
    at = tl.arange(0, 16)
    tl.store(x + at, at)
    for i in range(n):
        tl.store(x + i, tl.sum(tl.load(x + at + i), 0).to(tl.float32))


@triton.jit
def below_a_sort(x, n):
    at = tl.arange(0, 4)
    tl.store(x + at, tl.sort(tl.load(x + at)))


@triton.jit
def above_in_two_branches_of_which_one_is_left(x, n, ASKED: tl.constexpr = 0):
    for i in range(n):
        if ASKED == 1:
            tl.store(x + i, 1.0)
        tl.store(x + 64 + i, tl.load(x + i))
