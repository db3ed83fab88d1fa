"""Loops of our own, in which two names begin with the same value or do not."""

import triton
import triton.language as tl


@triton.jit
def previous(x, y, n):
    current = tl.load(x)
    before = current
    for i in range(0, n):
        before = current
        current = tl.load(x + i + 1)
    tl.store(y, before)


@triton.jit
def previous_while(x, y, n):
    current = tl.load(x)
    before = current
    i = 0
    while i < n:
        before = current
        current = tl.load(x + i + 1)
        i += 1
    tl.store(y, before)


@triton.jit
def read_inside(x, y, n):
    current = tl.load(x)
    before = current
    for i in range(0, n):
        tl.store(y + i, before)
        before = current
        current = tl.load(x + i + 1)


@triton.jit
def two_back(x, y, n):
    current = tl.load(x)
    before = current
    older = current
    for i in range(0, n):
        older = before
        before = current
        current = tl.load(x + i + 1)
    tl.store(y, older)


@triton.jit
def swapped(x, y, n):
    a = tl.load(x)
    b = a
    for _ in range(0, n):
        a, b = b, a + 1.0
    tl.store(y, a)
    tl.store(y + 1, b)


@triton.jit
def fibonacci(x, y, n):
    a = tl.load(x)
    b = a
    for _ in range(0, n):
        total = a + b
        a = b
        b = total
    tl.store(y, a)


@triton.jit
def greatest(x, y, n):
    best = tl.load(x)
    candidate = best
    for i in range(0, n):
        if candidate > best:
            best = candidate
        candidate = tl.load(x + i + 1)
    tl.store(y, best)


@triton.jit
def through_a_temporary(x, y, n):
    current = tl.load(x)
    before = current
    for i in range(0, n):
        kept = current
        current = tl.load(x + i + 1)
        before = kept.to(tl.float32)
    tl.store(y, before)


@triton.jit
def inner_loop_copies(x, y, n):
    current = tl.load(x)
    before = current
    for i in range(0, n):
        for _ in range(0, n):
            before = current
        current = tl.load(x + i + 1)
    tl.store(y, before)


@triton.jit
def inner_loop_loads(x, y, n):
    current = tl.load(x)
    before = current
    for i in range(0, n):
        for j in range(0, n):
            before = current
            current = tl.load(x + i + j + 1)
    tl.store(y, before)


@triton.jit
def in_a_tuple(x, y, n):
    current = tl.load(x)
    two = (current, current)
    for i in range(0, n):
        two = (current, two[0])
        current = tl.load(x + i + 1)
    tl.store(y, two[0])
    tl.store(y + 1, two[1])


@triton.jit
def calls_previous(x, y, n):
    previous(x, y, n)


@triton.jit
def apart(x, y, n):
    current = tl.load(x)
    before = tl.load(x + 1)
    for i in range(0, n):
        before = current
        current = tl.load(x + i + 1)
    tl.store(y, before)


@triton.jit
def swapped_apart(x, y, n):
    a = tl.load(x)
    b = tl.load(x + 1)
    for _ in range(0, n):
        a, b = b, a
    tl.store(y, a)
    tl.store(y + 1, b)


@triton.jit
def greatest_apart(x, y, n):
    best = tl.load(x)
    for i in range(0, n):
        candidate = tl.load(x + i + 1)
        if candidate > best:
            best = candidate
    tl.store(y, best)


@triton.jit
def back_to_the_first(x, y, n):
    first = tl.load(x)
    current = first
    for i in range(0, n):
        current += tl.load(x + i + 1)
        if current > 8.0:
            current = first
    tl.store(y, current)


@triton.jit
def unused_copy(x, y, n):
    total = tl.load(x)
    start = total
    for i in range(0, n):
        total += tl.load(x + i + 1)
        x += 1
    tl.store(y, total + start)


@triton.jit
def unrolled(x, y, n):
    current = tl.load(x)
    before = current
    for i in tl.static_range(0, 3):
        before = current
        current = tl.load(x + i + 1)
    tl.store(y, before)
