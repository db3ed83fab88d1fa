"""Selective scan, backward: gradients of all inputs from the forward's inputs alone (`selective_scan`).

`_checkpoint_kernel` walks the tokens once more and keeps the states before every CHUNK-th. `_gradient_kernel` takes the
chunks from the last to the first: it makes the states of a chunk again, puts them aside, and walks back with ds, the
gradient of the state, of which each token leaves exp(delta A) ds to the one before it.

A program has some channels of one batch. A, D are shared by the batches and B, C by the channels: each program writes
its part of their gradients, the host adds the parts, and every run gives the same bits.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.selective_scan import inputs as forward_inputs
from crosswarp.kernels.selective_scan import reference as forward_reference
from crosswarp.kernels.selective_scan import softplus

CHUNK = 16
# A program is one warp that walks every token: few channels, for many programs. Fewer make more parts of db and dc.
LARGEST_BLOCK_D = 16
# channels times states of a program; five such tiles are in registers at once
LARGEST_TILE = 512


@triton.jit
def _next_state(state, u_ptr, delta_ptr, b_ptr, a, t, d, n, D, N):
    """The state after token `t`; elements that are no channel or state stay zero."""
    u = tl.load(u_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
    delta = tl.load(delta_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
    delta = softplus(delta)
    b = tl.load(b_ptr + t * N + n, mask=n < N, other=0.0).to(tl.float32)
    return tl.exp(delta[:, None] * a) * state + (delta * u)[:, None] * b[None, :]


@triton.jit
def _checkpoint_kernel(
    u_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    kept_ptr,
    T,
    D,
    N,
    N_CHUNKS,
    CHUNK: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # 64 bits: a whole batch may pass 2^31
    batch = tl.program_id(1).to(tl.int64)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    n = tl.arange(0, BLOCK_N)
    at = d[:, None] * N + n[None, :]
    mask = (d[:, None] < D) & (n[None, :] < N)
    a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float32)
    state = tl.zeros([BLOCK_D, BLOCK_N], dtype=tl.float32)
    u_ptr += batch * T * D
    delta_ptr += batch * T * D
    b_ptr += batch * T * N
    tl.store(kept_ptr + batch * N_CHUNKS * D * N + at, state, mask=mask)
    for chunk in range(1, N_CHUNKS):
        for t in range((chunk - 1) * CHUNK, chunk * CHUNK):
            state = _next_state(state, u_ptr, delta_ptr, b_ptr, a, t, d, n, D, N)
        tl.store(kept_ptr + (batch * N_CHUNKS + chunk) * D * N + at, state, mask=mask)


@triton.jit
def _gradient_kernel(
    u_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    dy_ptr,
    dlast_ptr,
    kept_ptr,
    states_ptr,
    du_ptr,
    ddelta_ptr,
    da_ptr,
    db_ptr,
    dc_ptr,
    dd_ptr,
    T,
    D,
    N,
    N_CHUNKS,
    CHUNK: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    block = tl.program_id(0)
    batch = tl.program_id(1).to(tl.int64)
    d = block * BLOCK_D + tl.arange(0, BLOCK_D)
    n = tl.arange(0, BLOCK_N)
    at = d[:, None] * N + n[None, :]
    mask = (d[:, None] < D) & (n[None, :] < N)
    a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float32)
    skip = tl.load(d_ptr + d, mask=d < D, other=0.0).to(tl.float32)
    ds = tl.load(dlast_ptr + batch * D * N + at, mask=mask, other=0.0).to(tl.float32)
    da = tl.zeros([BLOCK_D, BLOCK_N], dtype=tl.float32)
    dd = tl.zeros([BLOCK_D], dtype=tl.float32)
    u_ptr += batch * T * D
    delta_ptr += batch * T * D
    b_ptr += batch * T * N
    c_ptr += batch * T * N
    dy_ptr += batch * T * D
    du_ptr += batch * T * D
    ddelta_ptr += batch * T * D
    # its own of everybody's parts, and its own states of a chunk: whole blocks, without masks
    own = batch * tl.num_programs(0) + block
    db_ptr += own * T * N
    dc_ptr += own * T * N
    states_ptr += own * (CHUNK + 1) * BLOCK_D * BLOCK_N
    aside = tl.arange(0, BLOCK_D)[:, None] * BLOCK_N + n[None, :]
    for back in range(0, N_CHUNKS):
        chunk = N_CHUNKS - 1 - back
        first = chunk * CHUNK
        end = tl.minimum(first + CHUNK, T)
        state = tl.load(kept_ptr + (batch * N_CHUNKS + chunk) * D * N + at, mask=mask, other=0.0)
        # another thread may have written the elements read back below
        tl.debug_barrier()
        # Each token puts aside the states after it. Those before it are what the loop carries, and a store of that
        # kills Triton 3.0 and 3.1 on AMD: their OptimizeEpilogue asks which operation made it, and there is none.
        tl.store(states_ptr + aside, state)
        for t in range(first, end):
            state = _next_state(state, u_ptr, delta_ptr, b_ptr, a, t, d, n, D, N)
            tl.store(states_ptr + (t - first + 1) * BLOCK_D * BLOCK_N + aside, state)
        tl.debug_barrier()
        for later in range(first, end):
            t = first + end - 1 - later
            u = tl.load(u_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
            raw = tl.load(delta_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
            dy = tl.load(dy_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
            b = tl.load(b_ptr + t * N + n, mask=n < N, other=0.0).to(tl.float32)
            c = tl.load(c_ptr + t * N + n, mask=n < N, other=0.0).to(tl.float32)
            before = tl.load(states_ptr + (t - first) * BLOCK_D * BLOCK_N + aside)
            delta = softplus(raw)
            decayed = tl.exp(delta[:, None] * a)
            tl.store(dc_ptr + t * N + n, tl.sum(state * dy[:, None], axis=0), mask=n < N)
            ds += dy[:, None] * c[None, :]
            tl.store(db_ptr + t * N + n, tl.sum(ds * (delta * u)[:, None], axis=0), mask=n < N)
            into = tl.sum(ds * b[None, :], axis=1)
            ds = ds * decayed
            # of delta * A
            exponent = ds * before
            da += exponent * delta[:, None]
            dd += u * dy
            du = into * delta + skip * dy
            ddelta = (into * u + tl.sum(exponent * a, axis=1)) / (1.0 + tl.exp(-raw))
            tl.store(du_ptr + t * D + d, du.to(du_ptr.dtype.element_ty), mask=d < D)
            tl.store(ddelta_ptr + t * D + d, ddelta.to(ddelta_ptr.dtype.element_ty), mask=d < D)
            state = before
    tl.store(da_ptr + batch * D * N + at, da, mask=mask)
    tl.store(dd_ptr + batch * D + d, dd, mask=d < D)


def launch(u, delta, a, b, c, d, dy, dlast):
    batch, tokens, width = u.shape
    states = a.shape[1]
    block_n = triton.next_power_of_2(states)
    block_d = min(LARGEST_BLOCK_D, triton.next_power_of_2(width), max(1, LARGEST_TILE // block_n))
    blocks = triton.cdiv(width, block_d)
    chunks = triton.cdiv(tokens, CHUNK)
    block = {"CHUNK": CHUNK, "BLOCK_D": block_d, "BLOCK_N": block_n}
    options = {"num_warps": 1, "num_stages": 1, **block}

    def parts(*shape):
        return torch.empty(shape, dtype=torch.float32, device=u.device)

    checkpoints = parts(batch, chunks, width, states)
    sizes = (tokens, width, states, chunks)
    _checkpoint_kernel[(blocks, batch)](u, delta, a, b, checkpoints, *sizes, **options)
    du, ddelta = torch.empty_like(u), torch.empty_like(delta)
    da, dd = parts(batch, width, states), parts(batch, width)
    db, dc = parts(batch, blocks, tokens, states), parts(batch, blocks, tokens, states)
    put_aside = parts(batch, blocks, CHUNK + 1, block_d, block_n)
    _gradient_kernel[(blocks, batch)](
        u, delta, a, b, c, d, dy, dlast, checkpoints, put_aside, du, ddelta, da, db, dc, dd, *sizes, **options
    )  # fmt: skip
    return {
        "du": du,
        "ddelta": ddelta,
        "da": da.double().sum(0).to(a.dtype),
        "db": db.double().sum(1).to(b.dtype),
        "dc": dc.double().sum(1).to(c.dtype),
        "dd": dd.double().sum(0).to(d.dtype),
    }


def reference(u, delta, a, b, c, d, dy, dlast):
    given = {"u": u, "delta": delta, "a": a, "b": b, "c": c, "d": d}
    given = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    made = forward_reference(**given)
    gradients = torch.autograd.grad(
        (made["y"], made["last"]), tuple(given.values()), (dy.double(), dlast.double())
    )
    return {f"d{name}": gradient for name, gradient in zip(given, gradients)}


def inputs(case, device, generator):
    made = forward_inputs(case, device, generator)
    batch, tokens, width, states = (case.shape[name] for name in "BTDN")

    def normal(*size):
        return torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)

    made["dy"] = normal(batch, tokens, width).to(device, case.torch_dtype)
    made["dlast"] = normal(batch, width, states).to(device)
    return made


KERNEL = kernel_of(
    globals(),
    cases=(
        # a chunk of three tokens after a whole one; three blocks of channels, the last of five
        Case("fp32-2x19x37-n16", "fp32", {"B": 2, "T": 19, "D": 37, "N": 16}),
        Case("fp16-1x1x1-n1", "fp16", {"B": 1, "T": 1, "D": 1, "N": 1}),
        # a chunk of one token after two whole ones
        Case("bf16-1x33x64-n5", "bf16", {"B": 1, "T": 33, "D": 64, "N": 5}),
        # so many states that a program has four channels
        Case("fp16-3x32x5-n70", "fp16", {"B": 3, "T": 32, "D": 5, "N": 70}),
    ),
    # Measured in the interpreters: 2.3e-7, 3.9e-4 (of a single element), 1.9e-3; the last two round the outputs. In
    # fp32 as much is allowed as of the forward, whose exponentials it takes: a GPU's are not exact to the last bit.
    tolerance={"fp32": 5e-6, "fp16": 1.5e-3, "bf16": 8e-3},
)
