"""Selective scan of a state-space model: h = exp(delta A) h + delta B u, y = C h + D u, token by token.

Two kernels. `sequential` holds the states of some channels and walks the tokens, with a while loop. `associative` takes
one channel and a block of tokens at a time, and combines (decay, input) pairs by an associative scan of a tuple.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

LARGEST_BLOCK_D = 32
BLOCK_T = 64


@triton.jit
def softplus(x):
    # above 20 it is x itself to the last bit of fp32
    return tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(tl.minimum(x, 20.0))))


@triton.jit
def _sequential_kernel(
    u_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    y_ptr,
    last_ptr,
    T,
    D,
    N,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # 64 bits: a whole batch may pass 2^31
    batch = tl.program_id(1).to(tl.int64)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    n = tl.arange(0, BLOCK_N)
    mask = (d[:, None] < D) & (n[None, :] < N)
    a = tl.load(a_ptr + d[:, None] * N + n[None, :], mask=mask, other=0.0).to(tl.float32)
    skip = tl.load(d_ptr + d, mask=d < D, other=0.0).to(tl.float32)
    state = tl.zeros([BLOCK_D, BLOCK_N], dtype=tl.float32)
    u_ptr += batch * T * D
    delta_ptr += batch * T * D
    y_ptr += batch * T * D
    b_ptr += batch * T * N
    c_ptr += batch * T * N
    t = 0
    while t < T:
        u = tl.load(u_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
        delta = tl.load(delta_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
        delta = softplus(delta)
        b = tl.load(b_ptr + t * N + n, mask=n < N, other=0.0).to(tl.float32)
        c = tl.load(c_ptr + t * N + n, mask=n < N, other=0.0).to(tl.float32)
        state = tl.exp(delta[:, None] * a) * state + (delta * u)[:, None] * b[None, :]
        y = tl.sum(state * c[None, :], axis=1) + skip * u
        tl.store(y_ptr + t * D + d, y.to(y_ptr.dtype.element_ty), mask=d < D)
        t += 1
    tl.store(last_ptr + batch * D * N + d[:, None] * N + n[None, :], state, mask=mask)


@triton.jit
def _after(decay, value, next_decay, next_value):
    """Compose one step, or several, with the next."""
    return decay * next_decay, value * next_decay + next_value


@triton.jit
def _associative_kernel(
    u_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    y_ptr,
    last_ptr,
    T,
    D,
    N,
    BLOCK_T: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    batch = tl.program_id(1).to(tl.int64)
    d = tl.program_id(0)
    t = tl.arange(0, BLOCK_T)
    n = tl.arange(0, BLOCK_N)
    a = tl.load(a_ptr + d * N + n, mask=n < N, other=0.0).to(tl.float32)
    skip = tl.load(d_ptr + d).to(tl.float32)
    state = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        now = start + t
        row = batch * T + now
        u = tl.load(u_ptr + row * D + d, mask=now < T, other=0.0).to(tl.float32)
        delta = tl.load(delta_ptr + row * D + d, mask=now < T, other=0.0).to(tl.float32)
        # tokens beyond the last do not change the state
        delta = tl.where(now < T, softplus(delta), 0.0)
        at = row[:, None] * N + n[None, :]
        mask = (now[:, None] < T) & (n[None, :] < N)
        b = tl.load(b_ptr + at, mask=mask, other=0.0).to(tl.float32)
        c = tl.load(c_ptr + at, mask=mask, other=0.0).to(tl.float32)
        decay = tl.exp(delta[:, None] * a[None, :])
        value = (delta * u)[:, None] * b
        decay, value = tl.associative_scan((decay, value), 0, _after)
        states = decay * state[None, :] + value
        y = tl.sum(states * c, axis=1) + skip * u
        tl.store(y_ptr + row * D + d, y.to(y_ptr.dtype.element_ty), mask=now < T)
        state = tl.sum(tl.where(t[:, None] == BLOCK_T - 1, states, 0.0), axis=0)
    tl.store(last_ptr + (batch * D + d) * N + n, state, mask=n < N)


def launch(u, delta, a, b, c, d, associative=False):
    batch, tokens, width = u.shape
    states = a.shape[1]
    y = torch.empty_like(u)
    last = torch.empty((batch, width, states), dtype=torch.float32, device=u.device)
    block_n = triton.next_power_of_2(states)
    block_t = min(BLOCK_T, triton.next_power_of_2(tokens))
    arguments = (u, delta, a, b, c, d, y, last, tokens, width, states)
    if associative:
        _associative_kernel[(width, batch)](
            *arguments, BLOCK_T=block_t, BLOCK_N=block_n, num_warps=4
        )
    else:
        block_d = min(LARGEST_BLOCK_D, triton.next_power_of_2(width))
        _sequential_kernel[(triton.cdiv(width, block_d), batch)](
            *arguments, BLOCK_D=block_d, BLOCK_N=block_n, num_warps=1
        )
    return {"y": y, "last": last}


def reference(u, delta, a, b, c, d):
    u64, a64, b64, c64, d64 = (x.double() for x in (u, a, b, c, d))
    delta64 = torch.nn.functional.softplus(delta.double(), threshold=1000)
    batch, tokens, width = u.shape
    state = torch.zeros(batch, width, a.shape[1], dtype=torch.float64, device=u.device)
    rows = []
    for t in range(tokens):
        step = delta64[:, t, :, None]
        state = (step * a64).exp() * state + step * u64[:, t, :, None] * b64[:, t, None, :]
        rows.append((state * c64[:, t, None, :]).sum(2) + d64 * u64[:, t])
    return {"y": torch.stack(rows, 1), "last": state}


def inputs(case, device, generator):
    batch, tokens, width, states = (case.shape[name] for name in "BTDN")

    def normal(*size):
        return torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)

    given = {
        "u": normal(batch, tokens, width),
        "delta": normal(batch, tokens, width) - 1,
        "b": normal(batch, tokens, states),
        "c": normal(batch, tokens, states),
        "d": normal(width),
    }
    given = {name: value.to(device, case.torch_dtype) for name, value in given.items()}
    # decays, kept in fp32 as models do
    given["a"] = -normal(width, states).exp().to(device)
    return given


SCAN = {"associative": True}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-2x19x37-n16", "fp32", {"B": 2, "T": 19, "D": 37, "N": 16}),
        Case("fp16-1x1x1-n1", "fp16", {"B": 1, "T": 1, "D": 1, "N": 1}),
        Case("bf16-1x33x64-n5", "bf16", {"B": 1, "T": 33, "D": 64, "N": 5}),
        Case(
            "fp32-2x70x1-n4-scan",
            "fp32",
            {"B": 2, "T": 70, "D": 1, "N": 4},
            options=SCAN,
            requires=("scan-of-tuple",),
        ),
        Case(
            "bf16-1x33x2-n3-scan",
            "bf16",
            {"B": 1, "T": 33, "D": 2, "N": 3},
            options=SCAN,
            requires=("scan-of-tuple",),
        ),
    ),
    # measured: 1.5e-7, 1.2e-4 (of a single element); bf16 is the rounding of the output, 2.0e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
