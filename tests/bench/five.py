"""Five kernels as a library has them, for `crosswarp check tests/bench/five.py`: how fast a first verdict comes.

time crosswarp check tests/bench/five.py --here PYTHON --targets A100,A10G,L4,H100,B200,RTX 5090,MI250X,MI300X,MI355X
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _rms_norm(X, W, Y, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(Y + row * stride + cols, x * scale * w, mask=cols < n_cols)


@triton.jit
def _softmax(X, Y, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride + cols, x / tl.sum(x, axis=0), mask=cols < n_cols)


@triton.jit
def _swiglu(A, B, C, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(A + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(B + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(C + at, a * tl.sigmoid(a) * b, mask=at < n)


@triton.jit
def _column_sum(X, Y, rows, n_cols, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(rows):
        total += tl.load(X + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.store(Y + cols, total, mask=cols < n_cols)


@triton.jit
def _product(A, B, C, M, N, K, SIDE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    cols = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    deep = tl.arange(0, DEPTH)
    total = tl.zeros([SIDE, SIDE], dtype=tl.float32)
    for start in range(0, K, DEPTH):
        k = start + deep
        a = tl.load(
            A + rows[:, None] * K + k[None, :],
            mask=(rows[:, None] < M) & (k[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            B + k[:, None] * N + cols[None, :],
            mask=(k[:, None] < K) & (cols[None, :] < N),
            other=0.0,
        )
        total += tl.dot(a, b)
    tl.store(
        C + rows[:, None] * N + cols[None, :], total, mask=(rows[:, None] < M) & (cols[None, :] < N)
    )


def launches():
    x = torch.empty(64, 4096, dtype=torch.bfloat16, device="cuda")
    y = torch.empty_like(x)
    w = torch.empty(4096, dtype=torch.bfloat16, device="cuda")
    total = torch.empty(4096, dtype=torch.float32, device="cuda")
    rows, cols = x.shape
    _rms_norm[(rows,)](x, w, y, x.stride(0), cols, 1e-6, BLOCK=4096, num_warps=8)
    _softmax[(rows,)](x, y, x.stride(0), cols, BLOCK=4096, num_warps=8)
    _swiglu[(triton.cdiv(x.numel(), 1024),)](x, x, y, x.numel(), BLOCK=1024, num_warps=4)
    _column_sum[(triton.cdiv(cols, 256),)](x, total, rows, cols, BLOCK=256, num_warps=4)
    _product[(1, 1)](x, x, y, rows, cols, cols, SIDE=64, DEPTH=32, num_warps=4)
