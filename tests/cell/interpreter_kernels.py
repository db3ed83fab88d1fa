"""The kernels of interpreter_cases.py; Triton reads their source from this file."""

import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.libdevice import tanh


@triton.jit
def binary(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    if OP == "add":
        r = a + b
    elif OP == "sub":
        r = a - b
    elif OP == "mul":
        r = a * b
    elif OP == "mod":
        r = a % b
    elif OP == "neg":
        r = -a
    elif OP == "abs":
        r = tl.abs(a)
    elif OP == "where":
        r = tl.where(a < b, a, b)
    elif OP == "less":
        r = (a < b).to(tl.float32)
    elif OP == "maximum":
        r = tl.maximum(a, b)
    elif OP == "minimum":
        r = tl.minimum(a, b)
    elif OP == "propagate":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "fma":
        r = tl.fma(a, b, a)
    elif OP == "div":
        r = a / b
    elif OP == "clamp":
        r = tl.clamp(a, -1.0, 1.0)
    elif OP == "tanh":
        r = libdevice.tanh(a)
    elif OP == "by_name":
        r = tanh(a)
    elif OP == "cuda":
        r = tl.extra.cuda.libdevice.tanh(a)
    elif OP == "pow":
        r = libdevice.pow(a, b)
    elif OP == "erf":
        r = libdevice.erf(a)
    elif OP == "isnan":
        r = libdevice.isnan(a).to(tl.float32)
    elif OP == "lgamma":
        r = libdevice.lgamma(a)
    elif OP == "round":
        r = libdevice.round(a)
    elif OP == "rint":
        r = libdevice.rint(a)
    elif OP == "ffs":
        r = libdevice.ffs(a)
    elif OP == "popc":
        r = libdevice.popc(a)
    elif OP == "bits":
        r = libdevice.float_as_int(a)
    elif OP == "bessel":
        r = libdevice.j0(a)
    tl.store(out + at, r)


@triton.jit
def cast(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(out.dtype.element_ty))


@triton.jit
def cast_down(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(out.dtype.element_ty, fp_downcast_rounding="rtz"))


@triton.jit
def dot(a, b, c, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = rows * N + columns
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def reduce(x, out, OP: tl.constexpr, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    if OP == "sum":
        r = tl.sum(a, 0)
    elif OP == "max":
        r = tl.max(a, 0)
    elif OP == "argmax":
        v, i = tl.max(a, 0, return_indices=True)
        r = v.to(tl.float32) * 1000 + i
    elif OP == "positive":
        r = tl.sum(a > 0, 0)
    tl.store(out, r)


@triton.jit
def sums(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    a = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    r = tl.sum(a, AXIS)
    tl.store(out + tl.arange(0, N if AXIS == 0 else M), r)


@triton.jit
def running(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def _larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def custom(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, _larger))


@triton.jit
def constants(out, N: tl.constexpr):
    tl.store(
        out + tl.arange(0, N), tl.full((N,), 1.00585, tl.bfloat16) + tl.zeros((N,), tl.bfloat16)
    )


@triton.jit
def counted(out, turns):
    left = turns
    done = 0
    while tl.condition(left > 0):
        # without it a hang
        assert left > 0, "a turn too many"
        left -= 1
        done += 1
    tl.store(out, done)


@triton.jit
def atomics(x, out, at, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(out + tl.load(at + i), tl.load(x + i), mask=i < n)


@triton.jit
def scaled(x, out, factor, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * factor)


@triton.jit
def masked(x, out, rows, N: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    mask = (at < N) & (row < rows)
    tl.store(out + row * N + at, tl.load(x + at, mask=mask, other=0.0), mask=mask)


@triton.jit
def methods(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    tl.store(out + at, a.abs().log() + a.exp().rsqrt() * a.floor())


@triton.jit
def warps(x, out, N: tl.constexpr, num_warps: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * num_warps)


@triton.jit
def looped(x, out, n):
    total = 0.0
    for i in range(0, n):
        total += tl.load(x + i)
    tl.store(out, total)


@triton.jit
def padded(x, out, N: tl.constexpr):
    block = tl.make_block_ptr(x, (N // 2,), (1,), (0,), (N,), (0,))
    tl.store(out + tl.arange(0, N), tl.load(block, boundary_check=(0,), padding_option="nan"))
