"""Attention, backward: gradients of queries, keys and values from the results that forward kept (`flash_attention`).

The scores are made twice, by blocks of keys for dk and dv and by blocks of queries for dq, so that no two programs add
to the same place and every run gives the same bits.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, current_target, kernel_of, max_shared_memory
from crosswarp.kernels.flash_attention import LOG2_E, SHAPES, load_rows, store_rows
from crosswarp.kernels.flash_attention import inputs as forward_inputs
from crosswarp.kernels.flash_attention import launch as forward
from crosswarp.kernels.flash_attention import reference as forward_reference


@triton.heuristics({"BD": lambda args: max(16, triton.next_power_of_2(args["D"]))})
@triton.jit
def _delta_kernel(
    o_ptr,
    do_ptr,
    delta_ptr,
    tokens,
    o_row,
    o_head,
    do_row,
    do_head,
    D: tl.constexpr,
    BD: tl.constexpr,
    BM: tl.constexpr,
):
    """The sum of o * do of each token and head."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    o = load_rows(o_ptr + head * o_head, rows, o_row, tokens, D, BD, True).to(tl.float32)
    do = load_rows(do_ptr + head * do_head, rows, do_row, tokens, D, BD, True).to(tl.float32)
    tl.store(delta_ptr + head * tokens + rows, tl.sum(o * do, 1), mask=rows < tokens)


@triton.jit
def _key_gradients(
    dk,
    dv,
    k,
    v,
    q_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    q_row,
    do_row,
    keys,
    first,
    end,
    length,
    scale,
    D: tl.constexpr,
    BD: tl.constexpr,
    BM: tl.constexpr,
    EDGE: tl.constexpr,
):
    """Add the parts of dk and dv that the queries from `first` to `end` contribute. All tiles of scores are [keys,
    queries]."""
    for start in range(first, end, BM):
        rows = start + tl.arange(0, BM)
        q = load_rows(q_ptr, rows, q_row, length, D, BD, True)
        # an infinite sum gives a weight of zero to rows that are no queries
        lse = tl.load(lse_ptr + rows, mask=rows < length, other=float("inf"))
        p = tl.math.exp2(tl.dot(k, tl.trans(q), allow_tf32=False) * scale - lse[None, :])
        if EDGE:
            p = tl.where(keys[:, None] <= rows[None, :], p, 0.0)
        do = load_rows(do_ptr, rows, do_row, length, D, BD, True)
        dv = tl.dot(p.to(do.dtype), do, dv, allow_tf32=False)
        delta = tl.load(delta_ptr + rows, mask=rows < length, other=0.0)
        ds = p * (tl.dot(v, tl.trans(do), allow_tf32=False) - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, allow_tf32=False)
    return dk, dv


@triton.heuristics({"BD": lambda args: max(16, triton.next_power_of_2(args["D"]))})
@triton.jit
def _key_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    dk_ptr,
    dv_ptr,
    lse_ptr,
    delta_ptr,
    starts_ptr,
    tokens,
    q_row,
    q_head,
    k_row,
    k_head,
    v_row,
    v_head,
    do_row,
    do_head,
    dk_row,
    dk_head,
    scale,
    factor,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    BD: tl.constexpr,
    CAUSAL: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    # the first blocks of a causal sequence have the most queries, and start first, in all heads
    block = tl.program_id(1)
    kv_head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2)).to(tl.int64)
    length = (tl.load(starts_ptr + tl.program_id(2) + 1) - begin).to(tl.int32)
    keys = block * BN + tl.arange(0, BN)
    k = load_rows(k_ptr + begin * k_row + kv_head * k_head, keys, k_row, length, D, BD, True)
    v = load_rows(v_ptr + begin * v_row + kv_head * v_head, keys, v_row, length, D, BD, True)
    dk = tl.zeros([BN, BD], dtype=tl.float32)
    dv = tl.zeros([BN, BD], dtype=tl.float32)
    end = tl.where(block * BN < length, length, 0)
    first = 0
    if CAUSAL:
        first = block * BN
    for h in range(0, GROUP):
        head = (kv_head * GROUP + h).to(tl.int64)
        q = q_ptr + begin * q_row + head * q_head
        do = do_ptr + begin * do_row + head * do_head
        lse = lse_ptr + head * tokens + begin
        delta = delta_ptr + head * tokens + begin
        whole = first
        if CAUSAL:
            whole = first + ((BN + BM - 1) // BM) * BM
            dk, dv = _key_gradients(
                dk, dv, k, v, q, do, lse, delta, q_row, do_row, keys,
                first, tl.minimum(whole, end), length, scale, D, BD, BM, True,
            )  # fmt: skip
        dk, dv = _key_gradients(
            dk, dv, k, v, q, do, lse, delta, q_row, do_row, keys, whole, end, length, scale,
            D, BD, BM, False,
        )  # fmt: skip
    store_rows(
        dk_ptr + begin * dk_row + kv_head * dk_head, dk * factor, keys, dk_row, length, D, BD
    )
    store_rows(dv_ptr + begin * dk_row + kv_head * dk_head, dv, keys, dk_row, length, D, BD)


@triton.jit
def _query_gradient(
    dq,
    q,
    do,
    lse,
    delta,
    k_ptr,
    v_ptr,
    k_row,
    v_row,
    rows,
    first,
    end,
    length,
    scale,
    D: tl.constexpr,
    BD: tl.constexpr,
    BN: tl.constexpr,
    EDGE: tl.constexpr,
):
    """Add the part of dq that the keys from `first` to `end` contribute; rows that are no keys are zero and add
    nothing."""
    for start in range(first, end, BN):
        keys = start + tl.arange(0, BN)
        k = load_rows(k_ptr, keys, k_row, length, D, BD, True)
        v = load_rows(v_ptr, keys, v_row, length, D, BD, True)
        p = tl.math.exp2(tl.dot(q, tl.trans(k), allow_tf32=False) * scale - lse[:, None])
        if EDGE:
            p = tl.where(keys[None, :] <= rows[:, None], p, 0.0)
        ds = p * (tl.dot(do, tl.trans(v), allow_tf32=False) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, allow_tf32=False)
    return dq


@triton.heuristics({"BD": lambda args: max(16, triton.next_power_of_2(args["D"]))})
@triton.jit
def _query_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    dq_ptr,
    lse_ptr,
    delta_ptr,
    starts_ptr,
    tokens,
    q_row,
    q_head,
    k_row,
    k_head,
    v_row,
    v_head,
    do_row,
    do_head,
    dq_row,
    dq_head,
    scale,
    factor,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    BD: tl.constexpr,
    CAUSAL: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    block = tl.num_programs(1) - 1 - tl.program_id(1)
    head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2)).to(tl.int64)
    length = (tl.load(starts_ptr + tl.program_id(2) + 1) - begin).to(tl.int32)
    rows = block * BM + tl.arange(0, BM)
    q = load_rows(q_ptr + begin * q_row + head * q_head, rows, q_row, length, D, BD, True)
    do = load_rows(do_ptr + begin * do_row + head * do_head, rows, do_row, length, D, BD, True)
    at = head.to(tl.int64) * tokens + begin + rows
    lse = tl.load(lse_ptr + at, mask=rows < length, other=float("inf"))
    delta = tl.load(delta_ptr + at, mask=rows < length, other=0.0)
    k_ptr += begin * k_row + (head // GROUP) * k_head
    v_ptr += begin * v_row + (head // GROUP) * v_head
    dq = tl.zeros([BM, BD], dtype=tl.float32)
    end = tl.where(block * BM < length, length, 0)
    whole = end
    if CAUSAL:
        end = tl.minimum(end, (block + 1) * BM)
        whole = tl.minimum(end, ((block * BM) // BN) * BN)
    dq = _query_gradient(
        dq, q, do, lse, delta, k_ptr, v_ptr, k_row, v_row, rows, 0, whole, length, scale,
        D, BD, BN, False,
    )  # fmt: skip
    if CAUSAL:
        dq = _query_gradient(
            dq, q, do, lse, delta, k_ptr, v_ptr, k_row, v_row, rows, whole, end, length, scale,
            D, BD, BN, True,
        )  # fmt: skip
    store_rows(dq_ptr + begin * dq_row + head * dq_head, dq * factor, rows, dq_row, length, D, BD)


def launch(
    q, k, v, do, cu_seqlens, max_length, causal, forward_tile=None, key_tile=None, query_tile=None
):
    """A tile has BM (queries), BN (keys), num_warps and num_stages."""
    sizes = (cu_seqlens, max_length, causal)
    saved = forward(q, k, v, *sizes, tile=forward_tile)
    return backward(q, k, v, do, saved["o"], saved["lse"], *sizes, key_tile, query_tile)


def tiles_of(dtype):
    """Tiles by blocks of keys and by blocks of queries: one side is kept in registers, the other walked."""
    if dtype == torch.float32:
        keys, queries = (32, 32, 4, 1), (32, 32, 4, 1)
    elif max_shared_memory() < 100_000 and current_target()[0] == "cuda":
        # Turing's 64 KB, which hold every operand
        keys, queries = (32, 32, 4, 1), (32, 32, 4, 1)
    elif max_shared_memory() < 100_000:
        # AMD's 64 KB, where some Tritons keep both long tiles in shared memory
        keys, queries = (32, 64, 4, 1), (64, 32, 4, 1)
    elif max_shared_memory() < 200_000:
        keys, queries = (32, 128, 8, 2), (128, 32, 8, 2)
    else:
        # measured on an H100: the best of seven and of five
        keys, queries = (64, 64, 4, 2), (128, 64, 8, 3)
    names = ("BM", "BN", "num_warps", "num_stages")
    return dict(zip(names, keys)), dict(zip(names, queries))


def backward(q, k, v, do, o, lse, cu_seqlens, max_length, causal, key_tile=None, query_tile=None):
    tokens, heads, width = q.shape
    kv_heads = k.shape[1]
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    delta = torch.empty_like(lse)
    shared = {"D": width, "GROUP": heads // kv_heads, "CAUSAL": causal}
    factor = width**-0.5
    tiles = tiles_of(q.dtype)
    key_tile, query_tile = key_tile or tiles[0], query_tile or tiles[1]
    sequences = len(cu_seqlens) - 1

    def strides(*tensors):
        return [stride for x in tensors for stride in x.stride()[:2]]

    _delta_kernel[(triton.cdiv(tokens, 32), heads)](
        o, do, delta, tokens, *strides(o, do), D=width, BM=32, num_warps=4
    )
    _key_kernel[(kv_heads, triton.cdiv(max_length, key_tile["BN"]), sequences)](
        q,
        k,
        v,
        do,
        dk,
        dv,
        lse,
        delta,
        cu_seqlens,
        tokens,
        *strides(q, k, v, do, dk),
        factor * LOG2_E,
        factor,
        **shared,
        **key_tile,
    )
    _query_kernel[(heads, triton.cdiv(max_length, query_tile["BM"]), sequences)](
        q,
        k,
        v,
        do,
        dq,
        lse,
        delta,
        cu_seqlens,
        tokens,
        *strides(q, k, v, do, dq),
        factor * LOG2_E,
        factor,
        **shared,
        **query_tile,
    )
    return {"dq": dq, "dk": dk, "dv": dv}


def reference(q, k, v, do, cu_seqlens, max_length, causal):
    q64, k64, v64 = (x.detach().double().requires_grad_() for x in (q, k, v))
    o = forward_reference(q64, k64, v64, cu_seqlens, max_length, causal)["o"]
    gradients = torch.autograd.grad(o, (q64, k64, v64), do.double())
    return dict(zip(("dq", "dk", "dv"), gradients))


def inputs(case, device, generator):
    made = forward_inputs(case, device, generator)
    shape = made["q"].shape
    do = torch.randn(shape, generator=generator, device=generator.device, dtype=torch.float32)
    return {**made, "do": do.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=tuple(Case(id, dtype, shape) for id, (dtype, shape) in SHAPES.items()),
    # measured: 2.7e-7, 3.3e-4, 2.7e-3
    tolerance={"fp32": 1.5e-6, "fp16": 1.5e-3, "bf16": 1.1e-2},
    uses=("dot",),
)
