"""Linear attention with a decay of each head, forward and backward, by chunks.

    S[t] = exp(slope) * S[t - 1] + outer(k[t], v[t]),   o[t] = scale * S[t]^T q[t]

`_carry_kernel` writes down the state before every chunk, `_read_kernel` makes o of it and of the chunk's own tokens.
The gradients are the same sum with other operands: dq reads do against v and k, dk and dv run through time backwards
with v against do and q, and with k against q and do. The state of v and k is that of k and v, transposed, so two passes
over time serve all four.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# The fastest of 48 on an H200 (Triton 3.6.0): chunks of 128 write half the states, and read slower.
CHUNK = 64
ROWS = 64
ROWS_READ = 128
COLUMNS = 64


@triton.jit
def _tokens(i_bh, chunk, T, H, BT: tl.constexpr, BACKWARDS: tl.constexpr):
    """Offsets of a chunk's tokens in [B, T, H], in 64 bits, and which of them exist."""
    t = chunk * BT + tl.arange(0, BT)
    in_t = t < T
    if BACKWARDS:
        t = T - 1 - t
    return ((i_bh // H).to(tl.int64) * T + t) * H + i_bh % H, in_t


@triton.jit
def _carry_kernel(
    k_ptr,
    v_ptr,
    slope_ptr,
    h_ptr,
    T,
    H,
    N_CHUNKS,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
    BACKWARDS: tl.constexpr,
):
    i_bh = tl.program_id(2)
    rows = tl.program_id(0) * BK + tl.arange(0, BK)
    cols = tl.program_id(1) * BV + tl.arange(0, BV)
    slope = tl.load(slope_ptr + i_bh % H)
    ahead = tl.exp(slope * (BT - 1 - tl.arange(0, BT)))
    whole = tl.exp(slope * BT)
    place = rows[:, None] * V + cols[None, :]
    mask = (rows[:, None] < K) & (cols[None, :] < V)
    state = tl.zeros([BK, BV], dtype=tl.float32)
    for chunk in range(0, N_CHUNKS):
        h = h_ptr + (i_bh.to(tl.int64) * N_CHUNKS + chunk) * K * V
        tl.store(h + place, state.to(h_ptr.dtype.element_ty), mask=mask)
        at, in_t = _tokens(i_bh, chunk, T, H, BT, BACKWARDS)
        # k is read transposed
        tall = (at * K)[None, :] + rows[:, None]
        k = tl.load(k_ptr + tall, mask=in_t[None, :] & (rows[:, None] < K), other=0.0)
        wide = (at * V)[:, None] + cols[None, :]
        v = tl.load(v_ptr + wide, mask=in_t[:, None] & (cols[None, :] < V), other=0.0)
        v = (v * ahead[:, None]).to(k.dtype)
        state = state * whole + tl.dot(k, v, allow_tf32=False)


@triton.jit
def _read_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    slope_ptr,
    h_ptr,
    o_ptr,
    T,
    H,
    N_CHUNKS,
    scale,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    BACKWARDS: tl.constexpr,
):
    cols = tl.program_id(0) * BV + tl.arange(0, BV)
    chunk = tl.program_id(1)
    i_bh = tl.program_id(2)
    at, in_t = _tokens(i_bh, chunk, T, H, BT, BACKWARDS)
    h = h_ptr + (i_bh.to(tl.int64) * N_CHUNKS + chunk) * K * V
    in_v = cols[None, :] < V
    from_state = tl.zeros([BT, BV], dtype=tl.float32)
    weight = tl.zeros([BT, BT], dtype=tl.float32)
    for first in range(0, K, BK):
        lanes = first + tl.arange(0, BK)
        place = (at * K)[:, None] + lanes[None, :]
        mask = in_t[:, None] & (lanes[None, :] < K)
        q = tl.load(q_ptr + place, mask=mask, other=0.0)
        k = tl.load(k_ptr + place, mask=mask, other=0.0)
        if TRANSPOSED:
            # it lies as [V, K]
            turned = cols[:, None] * K + lanes[None, :]
            in_h = (cols[:, None] < V) & (lanes[None, :] < K)
            state = tl.trans(tl.load(h + turned, mask=in_h, other=0.0))
        else:
            straight = lanes[:, None] * V + cols[None, :]
            state = tl.load(h + straight, mask=(lanes[:, None] < K) & in_v, other=0.0)
        from_state += tl.dot(q, state, allow_tf32=False)
        weight += tl.dot(q, tl.trans(k), allow_tf32=False)
    slope = tl.load(slope_ptr + i_bh % H)
    turn = tl.arange(0, BT)
    age = turn[:, None] - turn[None, :]
    place = (at * V)[:, None] + cols[None, :]
    mask = in_t[:, None] & in_v
    v = tl.load(v_ptr + place, mask=mask, other=0.0)
    # never the exponential of something positive: it might be infinite
    decay = tl.exp(slope * tl.maximum(age, 0))
    weight = tl.where(age >= 0, weight * decay, 0.0).to(v.dtype)
    o = from_state * tl.exp(slope * (turn + 1))[:, None]
    o = (o + tl.dot(weight, v, allow_tf32=False)) * scale
    tl.store(o_ptr + place, o.to(o_ptr.dtype.element_ty), mask=mask)


def _carried(k, v, slope, backwards=False):
    """The state before each chunk, [B * H, chunks, K, V]."""
    batch, length, heads, width = k.shape
    values = v.shape[-1]
    chunks = triton.cdiv(length, CHUNK)
    h = torch.empty((batch * heads, chunks, width, values), dtype=k.dtype, device=k.device)
    if h.numel() > 0:
        blocks = (triton.cdiv(width, ROWS), triton.cdiv(values, COLUMNS))
        _carry_kernel[(*blocks, batch * heads)](
            *(k, v, slope, h, length, heads, chunks, width, values),
            BT=CHUNK,
            BK=ROWS,
            BV=COLUMNS,
            BACKWARDS=backwards,
            num_warps=4,
            num_stages=3,
        )
    return h


def _read(q, k, v, slope, h, scale, backwards=False, transposed=False):
    """The result of q from the states `h` and from its own chunk of k and v."""
    batch, length, heads, width = k.shape
    values = v.shape[-1]
    chunks = triton.cdiv(length, CHUNK)
    o = torch.empty((batch, length, heads, values), dtype=v.dtype, device=v.device)
    if o.numel() > 0:
        _read_kernel[(triton.cdiv(values, COLUMNS), chunks, batch * heads)](
            *(q, k, v, slope, h, o, length, heads, chunks, scale, width, values),
            BT=CHUNK,
            BK=min(ROWS_READ, triton.next_power_of_2(max(width, 16))),
            BV=COLUMNS,
            TRANSPOSED=transposed,
            BACKWARDS=backwards,
            num_warps=4,
            num_stages=1,
        )
    return o


def launch(q, k, v, do, slope):
    """Forward and backward; backward reads the states of forward again."""
    scale = q.shape[-1] ** -0.5
    past = _carried(k, v, slope)
    future = _carried(q, do, slope, backwards=True)
    return {
        "o": _read(q, k, v, slope, past, scale),
        "dq": _read(do, v, k, slope, past, scale, transposed=True),
        "dk": _read(v, do, q, slope, future, scale, backwards=True, transposed=True),
        "dv": _read(k, q, do, slope, future, scale, backwards=True),
    }


def reference(q, k, v, do, slope):
    """All tokens against all, with the decay of their distance."""
    # heads first
    q, k, v = (x.double().transpose(1, 2).detach().requires_grad_() for x in (q, k, v))
    turn = torch.arange(q.shape[2], device=q.device, dtype=torch.float64)
    age = turn[:, None] - turn[None, :]
    decay = (slope.double()[:, None, None] * age.clamp(min=0)).exp().tril()
    o = (q @ k.transpose(2, 3) * q.shape[3] ** -0.5 * decay) @ v
    gradients = torch.autograd.grad(o, (q, k, v), do.double().transpose(1, 2))
    made = dict(zip(("o", "dq", "dk", "dv"), (o.detach(), *gradients)))
    return {name: x.transpose(1, 2) for name, x in made.items()}


def inputs(case, device, generator):
    batch, length, heads, width, values = (case.shape[name] for name in "BTHKV")

    def normal(size):
        made = torch.randn(batch, length, heads, size, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    # the decays of RetNet: 1 - 1/32, 1 - 1/64 and on
    slope = torch.log1p(-(2.0 ** -(5 + torch.arange(heads, dtype=torch.float32))))
    return {
        "q": normal(width),
        "k": normal(width),
        "v": normal(values),
        "do": normal(values),
        "slope": slope.to(device),
    }


def _case(id, dtype, T, K, V, B=1, H=1, **more):
    return Case(id, dtype, {"B": B, "T": T, "H": H, "K": K, "V": V}, **more)


KERNEL = kernel_of(
    globals(),
    batch="B",
    cases=(
        _case("bf16-t130-k128", "bf16", T=130, K=128, V=128, H=2),
        _case("fp16-t64-k64-v72", "fp16", T=64, K=64, V=72, B=2),
        _case("fp16-t77-k40", "fp16", T=77, K=40, V=24, H=3),
        # products of fp32 without TF32 cannot use matrix units: unrolled, they take the compilers half a minute
        _case("fp32-t1-k32", "fp32", T=1, K=32, V=64, B=2, lanes=("interpret",)),
        _case("fp32-t100-k64-v33", "fp32", T=100, K=64, V=33, H=2, lanes=("interpret",)),
    ),
    # measured: 2.3e-7, 3.2e-4, 2.5e-3
    tolerance={"fp32": 1e-6, "fp16": 1.5e-3, "bf16": 1e-2},
    uses=("dot",),
)
