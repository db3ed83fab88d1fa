"""Gated delta rule, forward, complete: the effect of each token on a [K, V] state, worked out chunk by chunk.

Token by token, with a log gate a and a writing strength b:

    S = exp(a) * S
    S = S + outer(k, b * (v - S^T k))
    o = scale * S^T q

Inside a chunk g is the running sum of a, and the writings depend on one another through the strictly lower triangle
A[i, j] = b[i] * (k[i] . k[j]) * exp(g[i] - g[j]). `_inverse_kernel` inverts I + A, and `_writing_kernel` makes of it

    u = (I + A)^-1 (b * v),   w = (I + A)^-1 (b * exp(g) * k)

`chunk_gated_delta_rule` carries the state from chunk to chunk and leaves v_new = u - w S; `_output_kernel` reads both.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import LANES as ALL_LANES
from crosswarp.kernels.case import Case, kernel_of, max_shared_memory
from crosswarp.kernels.chunk_gated_delta_rule import CHUNK
from crosswarp.kernels.chunk_gated_delta_rule import launch as carry_state


@triton.jit
def _running_sum_kernel(x_ptr, y_ptr, T, H, BT: tl.constexpr, BH: tl.constexpr, BACK: tl.constexpr):
    """Sums over each chunk up to every token, or with BACK from it on. A scan beside a product of matrices kills the
    compiler of Triton 2.3.1 (cast<BlockedEncodingAttr>); here it is alone."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    heads = tl.program_id(1) * BH + tl.arange(0, BH)
    at = (tl.program_id(2).to(tl.int64) * T + t[:, None]) * H + heads[None, :]
    mask = (t[:, None] < T) & (heads[None, :] < H)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = tl.cumsum(x, 0)
    if BACK:
        # reverse scans came with Triton 3.0
        y = tl.sum(x, 0)[None, :] - y + x
    tl.store(y_ptr + at, y, mask=mask)


@triton.jit
def decay_ratios(g, BT: tl.constexpr, STRICT: tl.constexpr):
    """exp(g[i] - g[j]) below the diagonal (and on it, unless STRICT), zero above."""
    at = tl.arange(0, BT)
    lower = at[:, None] >= at[None, :]
    if STRICT:
        lower = at[:, None] > at[None, :]
    return tl.exp(tl.where(lower, g[:, None] - g[None, :], -float("inf")))


@triton.jit
def _inverse(A, BT: tl.constexpr, TF32: tl.constexpr):
    """(I + A)^-1 of a strictly lower A with 64 rows: blocks of two, then twice as large in each step.

    With P and R the inverses of two neighbouring blocks and Q the part of A below the first and beside the second, the
    larger block's inverse has -R Q P there; products of the whole tile do it for all pairs at once.
    """
    at = tl.arange(0, BT)
    i = at[:, None]
    j = at[None, :]
    inverse = tl.where(i == j, 1.0, 0.0) - tl.where((i >> 1) == (j >> 1), A, 0.0)
    for level in range(1, 6):
        pair = (i >> (level + 1)) == (j >> (level + 1))
        below = tl.where(pair & ((i >> level) != (j >> level)), A, 0.0)
        step = tl.dot(below, inverse, allow_tf32=TF32)
        inverse -= tl.dot(inverse, step, allow_tf32=TF32)
    return inverse


@triton.jit
def _inverse_kernel(
    k_ptr,
    b_ptr,
    g_ptr,
    inverse_ptr,
    T,
    H,
    K: tl.constexpr,
    BT: tl.constexpr,
    TF32: tl.constexpr,
):
    i_bh = tl.program_id(1)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    in_t = t < T
    # of [B, T, H, *], in 64 bits
    at = ((i_bh // H).to(tl.int64) * T + t) * H + i_bh % H
    lanes = tl.arange(0, 64)
    g = tl.load(g_ptr + at, mask=in_t, other=0.0)
    b = tl.load(b_ptr + at, mask=in_t, other=0.0).to(tl.float32)

    A = tl.zeros([BT, BT], dtype=tl.float32)
    for first in range(0, K, 64):
        place = (at * K)[:, None] + first + lanes[None, :]
        k = tl.load(k_ptr + place, mask=in_t[:, None], other=0.0)
        A += tl.dot(k, tl.trans(k), allow_tf32=False)
    inverse = _inverse(A * b[:, None] * decay_ratios(g, BT, True), BT, TF32)
    place = (at * BT)[:, None] + tl.arange(0, BT)[None, :]
    tl.store(inverse_ptr + place, inverse.to(inverse_ptr.dtype.element_ty), mask=in_t[:, None])


@triton.jit
def _writing_kernel(
    k_ptr,
    v_ptr,
    b_ptr,
    g_ptr,
    w_ptr,
    u_ptr,
    inverse_ptr,
    T,
    H,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
):
    """w and u; with the inverse in one kernel, Triton 2.3.1 cannot compile it for Hopper."""
    i_bh = tl.program_id(1)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    in_t = t < T
    at = ((i_bh // H).to(tl.int64) * T + t) * H + i_bh % H
    lanes = tl.arange(0, 64)
    g = tl.load(g_ptr + at, mask=in_t, other=0.0)
    b = tl.load(b_ptr + at, mask=in_t, other=0.0).to(tl.float32)
    place = (at * BT)[:, None] + tl.arange(0, BT)[None, :]
    inverse = tl.load(inverse_ptr + place, mask=in_t[:, None], other=0.0)
    for first in range(0, K, 64):
        place = (at * K)[:, None] + first + lanes[None, :]
        k = tl.load(k_ptr + place, mask=in_t[:, None], other=0.0)
        scaled = (k * (b * tl.exp(g))[:, None]).to(k.dtype)
        w = tl.dot(inverse, scaled, allow_tf32=False)
        tl.store(w_ptr + place, w.to(w_ptr.dtype.element_ty), mask=in_t[:, None])
    for first in range(0, V, 64):
        cols = first + lanes
        place = (at * V)[:, None] + cols[None, :]
        mask = in_t[:, None] & (cols[None, :] < V)
        v = tl.load(v_ptr + place, mask=mask, other=0.0)
        u = tl.dot(inverse, (v * b[:, None]).to(v.dtype), allow_tf32=False)
        tl.store(u_ptr + place, u.to(u_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _output_kernel(
    q_ptr,
    k_ptr,
    v_new_ptr,
    g_ptr,
    h_ptr,
    o_ptr,
    T,
    H,
    N_CHUNKS,
    scale,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BV: tl.constexpr,
):
    cols = tl.program_id(0) * BV + tl.arange(0, BV)
    chunk = tl.program_id(1)
    i_bh = tl.program_id(2)
    t = chunk * BT + tl.arange(0, BT)
    in_t = t < T
    in_v = cols[None, :] < V
    at = ((i_bh // H).to(tl.int64) * T + t) * H + i_bh % H
    lanes = tl.arange(0, 64)
    h = h_ptr + (i_bh.to(tl.int64) * N_CHUNKS + chunk) * K * V + cols[None, :]
    from_state = tl.zeros([BT, BV], dtype=tl.float32)
    weight = tl.zeros([BT, BT], dtype=tl.float32)
    for first in range(0, K, 64):
        place = (at * K)[:, None] + first + lanes[None, :]
        q = tl.load(q_ptr + place, mask=in_t[:, None], other=0.0)
        k = tl.load(k_ptr + place, mask=in_t[:, None], other=0.0)
        state = tl.load(h + (first + lanes[:, None]) * V, mask=in_v, other=0.0)
        from_state += tl.dot(q, state, allow_tf32=False)
        weight += tl.dot(q, tl.trans(k), allow_tf32=False)
    g = tl.load(g_ptr + at, mask=in_t, other=0.0)
    place = (at * V)[:, None] + cols[None, :]
    mask = in_t[:, None] & in_v
    v = tl.load(v_new_ptr + place, mask=mask, other=0.0)
    weight = (weight * decay_ratios(g, BT, False)).to(v.dtype)
    o = (from_state * tl.exp(g)[:, None] + tl.dot(weight, v, allow_tf32=False)) * scale
    tl.store(o_ptr + place, o.to(o_ptr.dtype.element_ty), mask=mask)


def sum_in_chunks(x, back=False):
    batch, length, heads = x.shape
    y = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    blocks = (triton.cdiv(length, CHUNK), triton.cdiv(heads, 16), batch)
    _running_sum_kernel[blocks](x, y, length, heads, BT=CHUNK, BH=16, BACK=back, num_warps=4)
    return y


def forward(q, k, v, a, b, initial=None):
    """All that the forward makes; the backward needs most of it."""
    batch, length, heads, width = k.shape
    values = v.shape[-1]
    chunks = triton.cdiv(length, CHUNK)
    g = sum_in_chunks(a)
    w, u = torch.empty_like(k), torch.empty_like(v)
    inverse = torch.empty((batch, length, heads, CHUNK), dtype=k.dtype, device=k.device)
    options = {"K": width, "V": values, "BT": CHUNK, "num_warps": 4}
    _inverse_kernel[(chunks, batch * heads)](
        k,
        b,
        g,
        inverse,
        length,
        heads,
        K=width,
        BT=CHUNK,
        # values that are rounded to 16 bits afterwards may use the matrix units
        TF32=k.dtype != torch.float32,
        num_warps=4,
        num_stages=1,
    )
    _writing_kernel[(chunks, batch * heads)](
        k, v, b, g, w, u, inverse, length, heads, num_stages=2, **options
    )
    # four warps: with more, Triton 3.2 cannot compile the state for Hopper; narrow slices make more programs
    state = carry_state(k, w, u, g, initial, num_warps=4, block_v=32, num_stages=stages(width, 3))
    o = torch.empty_like(v)
    _output_kernel[(triton.cdiv(values, 64), chunks, batch * heads)](
        q,
        k,
        state["v_new"],
        g,
        state["h"],
        o,
        length,
        heads,
        chunks,
        width**-0.5,
        BV=64,
        num_stages=2,
        **options,
    )
    return {"o": o, "g": g, "w": w, "inverse": inverse, **state}


def stages(width, wanted):
    """The stages that are fastest on an H100, where shared memory holds them; else one."""
    return wanted if width <= 128 and max_shared_memory() > 200_000 else 1


def launch(q, k, v, a, b, initial=None):
    made = forward(q, k, v, a, b, initial)
    return {"o": made["o"], "final": made["final"]}


def reference(q, k, v, a, b, initial=None):
    """Token by token."""
    # heads first
    q, k, v, a, b = (x.double().transpose(1, 2) for x in (q, k, v, a, b))
    if initial is None:
        state = torch.zeros(*k.shape[:2], k.shape[3], v.shape[3], dtype=k.dtype, device=k.device)
    else:
        state = initial.double()
    o = []
    for t in range(k.shape[2]):
        state = state * a[:, :, t, None, None].exp()
        key = k[:, :, t, :, None]
        new = b[:, :, t, None] * (v[:, :, t] - (state * key).sum(2))
        state = state + key * new[:, :, None]
        o.append((state * q[:, :, t, :, None]).sum(2) * q.shape[3] ** -0.5)
    return {"o": torch.stack(o, 1), "final": state}


def inputs(case, device, generator):
    batch, length, heads, width, values = (case.shape[name] for name in "BTHKV")

    def normal(*size):
        return torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)

    q, k = (
        torch.nn.functional.normalize(normal(batch, length, heads, width), dim=-1) for _ in "qk"
    )
    made = {"q": q, "k": k, "v": normal(batch, length, heads, values)}
    made = {name: value.to(device, case.torch_dtype) for name, value in made.items()}
    # a log gate is never positive
    made["a"] = (torch.nn.functional.logsigmoid(normal(batch, length, heads)) / 16).to(device)
    made["b"] = normal(batch, length, heads).sigmoid().to(device)
    if case.shape.get("initial"):
        made["initial"] = (normal(batch, heads, width, values) / 4).to(device)
    return made


def _shape(T, K, V, B=1, H=1, initial=0):
    return {"B": B, "T": T, "H": H, "K": K, "V": V, "initial": initial}


SHAPES = {
    "bf16-k128-t130": ("bf16", _shape(130, 128, 128, H=2, initial=1)),
    "fp16-k64-t65-v72": ("fp16", _shape(65, 64, 72, B=2)),
    "fp16-k256-t64": ("fp16", _shape(64, 256, 64, initial=1)),
    "fp32-k64-t1": ("fp32", _shape(1, 64, 40, B=2, initial=1)),
    "fp32-k64-t100-v33": ("fp32", _shape(100, 64, 33, H=3)),
}

# products of fp32 without TF32 cannot use matrix units: unrolled, they take the compilers a minute
LANES = {"fp32": ("interpret",)}

KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(id, dtype, shape, lanes=LANES.get(dtype, ALL_LANES))
        for id, (dtype, shape) in SHAPES.items()
    ),
    # measured: 2.2e-7, 4.3e-4, 3.6e-3, without TF32
    tolerance={"fp32": 1e-6, "fp16": 2e-3, "bf16": 1.5e-2},
    uses=("dot",),
)
