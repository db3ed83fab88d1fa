"""Attention, backward, in the two passes of `flash_attention_backward`: loops read by tensor descriptors.

They are TMA where the GPU has it, and take heads of 16, 32, 64 or 128. On an H100 (Triton 3.6.0; 8192 causal tokens, 32
and 8 heads of 128, bf16) backward took 3.059 ms against 3.778 by pointers: 1.783 for dk and dv, 1.166 for dq and 0.059
for the start. With forward it was 4.217 ms, 0.858 of torch's speed. A block that goes over the end of its sequence
reads the elements behind it and multiplies them by an exact zero: they have to be finite.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of, max_shared_memory
from crosswarp.kernels.flash_attention import LOG2_E, described, load_rows, packed_shape, store_rows
from crosswarp.kernels.flash_attention import launch as forward
from crosswarp.kernels.flash_attention_backward import inputs, reference
from crosswarp.kernels.flash_attention_backward import tiles_of as pointer_tiles


@triton.jit
def _sums_at(begin, GAP: tl.constexpr):
    """Offset of the sums of this program's sequence: at 16 bytes, and behind those of the one before is room for a
    block of infinities, which give a weight of zero to rows that are no queries."""
    return begin // 4 * 4 + tl.program_id(2) * GAP


@triton.jit
def _start_kernel(
    o_ptr,
    do_ptr,
    lse_ptr,
    sums_ptr,
    deltas_ptr,
    starts_ptr,
    tokens,
    padded,
    o_row,
    o_head,
    do_row,
    do_head,
    D: tl.constexpr,
    BM: tl.constexpr,
    GAP: tl.constexpr,
):
    """The sum of o * do of each row, and its sum of exponentials, laid out as by `_sums_at`."""
    head = tl.program_id(1).to(tl.int64)
    begin = tl.load(starts_ptr + tl.program_id(2)).to(tl.int64)
    length = (tl.load(starts_ptr + tl.program_id(2) + 1) - begin).to(tl.int32)
    if tl.program_id(0) * BM >= length + GAP - 4:
        return
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    o = load_rows(o_ptr + begin * o_row + head * o_head, rows, o_row, length, D, D, True)
    do = load_rows(do_ptr + begin * do_row + head * do_head, rows, do_row, length, D, D, True)
    lse = tl.load(lse_ptr + head * tokens + begin + rows, mask=rows < length, other=float("inf"))
    at = head * padded + _sums_at(begin, GAP) + rows
    stored = rows < length + GAP - 4
    tl.store(sums_ptr + at, lse, mask=stored)
    tl.store(deltas_ptr + at, tl.sum(o.to(tl.float32) * do.to(tl.float32), 1), mask=stored)


@triton.jit
def _key_kernel(
    q_rows,
    k_rows,
    v_rows,
    do_rows,
    sums,
    deltas,
    dq_rows,
    dk_ptr,
    dv_ptr,
    starts_ptr,
    dk_row,
    dk_head,
    scale,
    factor,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    WITH_DQ: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    GAP: tl.constexpr,
):
    """dk and dv of a block of keys; WITH_DQ adds up what they make of dq as well. Tiles of scores are [keys, queries]:
    as they come, they are the left operand of dv and dk."""
    # the first blocks of a causal sequence have the most queries, and start first, in all heads
    block = tl.program_id(1)
    kv_head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2))
    length = tl.load(starts_ptr + tl.program_id(2) + 1) - begin
    if block * BN >= length:
        return
    sums_at = _sums_at(begin, GAP)
    key = block * BN + tl.arange(0, BN)
    keys = key[:, None]
    k = k_rows.load([begin + block * BN, kv_head * D])
    v = v_rows.load([begin + block * BN, kv_head * D])
    dk = tl.zeros([BN, D], dtype=tl.float32)
    dv = tl.zeros([BN, D], dtype=tl.float32)
    # Rows that are no keys have no stored rows of dk and dv; only in dq must they be masked.
    if CAUSAL:
        first = block * BN
        edge = (block + 1) * BN
    else:
        first = 0
        edge = tl.where((block + 1) * BN > length, length, 0)
    for h in range(0, GROUP):
        head = kv_head * GROUP + h
        for start in range(first, length, BM):
            # The sums too by descriptors: masked pointers of a row make dozens of asynchronous copies of 4 bytes, 96
            # instructions of each thread (sm_90, Triton 3.6).
            q = q_rows.load([begin + start, head * D])
            lse = sums.load([head, sums_at + start])
            do = do_rows.load([begin + start, head * D])
            delta = deltas.load([head, sums_at + start])
            p = tl.math.exp2(tl.dot(k, tl.trans(q), allow_tf32=False) * scale - lse)
            if CAUSAL or WITH_DQ:
                # A mask costs more than this branch, and the branch less than a separate loop (2.047 ms, not 2.134).
                if start < edge:
                    seen = keys < length
                    if CAUSAL:
                        seen = keys <= start + tl.arange(0, BM)[None, :]
                    p = tl.where(seen, p, 0.0)
            dv = tl.dot(p.to(do.dtype), do, dv, allow_tf32=False)
            # Subtracted: a term added to a product becomes its initial value, whose load is not pipelined (Triton 3.6).
            ds = (p * (tl.dot(v, tl.trans(do), allow_tf32=False) - delta)).to(q.dtype)
            if WITH_DQ:
                # before dk, which the matrix units then work on while this one is added
                dq = tl.dot(tl.trans(ds), k, allow_tf32=False)
            dk = tl.dot(ds, q, dk, allow_tf32=False)
            if WITH_DQ:
                dq_rows.atomic_add([begin + start, head * D], dq)
    dk_ptr += begin.to(tl.int64) * dk_row + kv_head * dk_head
    dv_ptr += begin.to(tl.int64) * dk_row + kv_head * dk_head
    store_rows(dk_ptr, dk * factor, key, dk_row, length, D, D)
    store_rows(dv_ptr, dv, key, dk_row, length, D, D)


@triton.jit
def _query_gradient(
    dq,
    q,
    do,
    lse,
    delta,
    k_rows,
    v_rows,
    rows,
    begin,
    col,
    first,
    end,
    length,
    scale,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
    EDGE: tl.constexpr,
):
    """Add the part of dq that the keys from `first` to `end` contribute; EDGE where some of them must be masked."""
    for start in range(first, end, BN):
        k = k_rows.load([begin + start, col])
        v = v_rows.load([begin + start, col])
        p = tl.math.exp2(tl.dot(q, tl.trans(k), allow_tf32=False) * scale - lse)
        if EDGE:
            keys = (start + tl.arange(0, BN))[None, :]
            seen = keys < length
            if CAUSAL:
                seen = seen & (keys <= rows)
            p = tl.where(seen, p, 0.0)
        # Added, as the keys do not: loaded before the loop, it is a start for the product that costs nothing.
        ds = p * (tl.dot(do, tl.trans(v), allow_tf32=False) + (-delta))
        dq = tl.dot(ds.to(k.dtype), k, dq, allow_tf32=False)
    return dq


@triton.jit
def _query_kernel(
    q_rows,
    k_rows,
    v_rows,
    do_rows,
    sums_ptr,
    deltas_ptr,
    dq_ptr,
    starts_ptr,
    padded,
    dq_row,
    dq_head,
    scale,
    factor,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    GAP: tl.constexpr,
):
    # the last blocks of a causal sequence have the most keys, and start first, in all heads
    block = tl.num_programs(1) - 1 - tl.program_id(1)
    head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2))
    length = tl.load(starts_ptr + tl.program_id(2) + 1) - begin
    if block * BM >= length:
        return
    row = block * BM + tl.arange(0, BM)
    rows = row[:, None]
    q = q_rows.load([begin + block * BM, head * D])
    do = do_rows.load([begin + block * BM, head * D])
    at = head.to(tl.int64) * padded + _sums_at(begin, GAP) + row
    lse = tl.load(sums_ptr + at)[:, None]
    delta = tl.load(deltas_ptr + at)[:, None]
    dq = tl.zeros([BM, D], dtype=tl.float32)
    col = (head // GROUP) * D
    end = length
    whole = (length // BN) * BN
    if CAUSAL:
        end = tl.minimum(end, (block + 1) * BM)
        whole = tl.minimum(whole, ((block * BM) // BN) * BN)
    dq = _query_gradient(
        dq, q, do, lse, delta, k_rows, v_rows, rows, begin, col, 0, whole, length, scale,
        BN, CAUSAL, False,
    )  # fmt: skip
    dq = _query_gradient(
        dq, q, do, lse, delta, k_rows, v_rows, rows, begin, col, whole, end, length, scale,
        BN, CAUSAL, True,
    )  # fmt: skip
    dq_ptr += begin.to(tl.int64) * dq_row + head * dq_head
    store_rows(dq_ptr, dq * factor, row, dq_row, length, D, D)


def launch(
    q, k, v, do, cu_seqlens, max_length, causal, forward_tile=None, key_tile=None, query_tile=None
):
    """A tile has BM (queries), BN (keys), num_warps and num_stages."""
    check_width(q.shape[2])
    sizes = (cu_seqlens, max_length, causal)
    saved = forward(q, k, v, *sizes, tile=forward_tile, descriptors=True)
    return backward(q, k, v, do, saved["o"], saved["lse"], *sizes, key_tile, query_tile)


def check_width(width):
    if width not in (16, 32, 64, 128):
        msg = (
            f"heads of {width} are not for descriptors, which take 16, 32, 64 or 128: "
            "use flash_attention_backward"
        )
        raise ValueError(msg)


def _tiles(dtype):
    """Tiles by blocks of keys and by blocks of queries."""
    if dtype == torch.float32 or max_shared_memory() < 100_000:
        return pointer_tiles(dtype)
    if max_shared_memory() < 200_000:
        # Without TMA each element's address takes registers: on sm_80 these tiles spill least (compiled, not timed).
        keys, queries = (32, 64, 8, 2), (64, 32, 8, 2)
    else:
        # measured on an H100: the best of six and of eight
        keys, queries = (64, 128, 8, 3), (128, 64, 8, 3)
    names = ("BM", "BN", "num_warps", "num_stages")
    return dict(zip(names, keys)), dict(zip(names, queries))


def start(o, do, lse, cu_seqlens, max_length, gap):
    """Sums of exponentials and of o * do, by head, for blocks of up to `gap` - 4 queries."""
    tokens, heads, width = o.shape
    sequences = len(cu_seqlens) - 1
    # A row of whole 16 bytes, 4 sums, would do, but for the interpreter of Triton 3.4, which counts 16 elements.
    padded = triton.cdiv(tokens + sequences * gap, 16) * 16
    sums, deltas = (lse.new_empty((heads, padded)) for _ in range(2))
    _start_kernel[(triton.cdiv(max_length + gap - 4, 32), heads, sequences)](
        o,
        do,
        lse,
        sums,
        deltas,
        cu_seqlens,
        tokens,
        padded,
        *o.stride()[:2],
        *do.stride()[:2],
        D=width,
        BM=32,
        GAP=gap,
        num_warps=4,
    )
    return sums, deltas


def _by_head(x, rows):
    """A descriptor of `x` [heads, rows of all sequences]."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, rows])


def key_gradients(q, k, v, do, sums, deltas, cu_seqlens, max_length, causal, gap, tile, total=None):
    """dk and dv; their part of dq is added to `total` [tokens, heads, width], if that is given."""
    heads, (_, kv_heads, width) = q.shape[1], k.shape
    bm, bn = tile["BM"], tile["BN"]
    dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (k, v))
    factor = width**-0.5
    _key_kernel[(kv_heads, triton.cdiv(max_length, bn), len(cu_seqlens) - 1)](
        described(q, bm),
        described(k, bn),
        described(v, bn),
        described(do, bm),
        _by_head(sums, bm),
        _by_head(deltas, bm),
        None if total is None else described(total, bm),
        dk,
        dv,
        cu_seqlens,
        *dk.stride()[:2],
        factor * LOG2_E,
        factor,
        GROUP=heads // kv_heads,
        D=width,
        CAUSAL=causal,
        WITH_DQ=total is not None,
        GAP=gap,
        **tile,
    )
    return dk, dv


def backward(q, k, v, do, o, lse, cu_seqlens, max_length, causal, key_tile=None, query_tile=None):
    heads, width = q.shape[1:]
    tiles = _tiles(q.dtype)
    key_tile, query_tile = key_tile or tiles[0], query_tile or tiles[1]
    bm, bn = query_tile["BM"], query_tile["BN"]
    gap = max(key_tile["BM"], bm) + 4
    sums, deltas = start(o, do, lse, cu_seqlens, max_length, gap)
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    factor = width**-0.5
    _query_kernel[(heads, triton.cdiv(max_length, bm), len(cu_seqlens) - 1)](
        described(q, bm),
        described(k, bn),
        described(v, bn),
        described(do, bm),
        sums,
        deltas,
        dq,
        cu_seqlens,
        sums.stride(0),
        *dq.stride()[:2],
        factor * LOG2_E,
        factor,
        GROUP=heads // k.shape[1],
        D=width,
        CAUSAL=causal,
        GAP=gap,
        **query_tile,
    )
    dk, dv = key_gradients(q, k, v, do, sums, deltas, cu_seqlens, max_length, causal, gap, key_tile)
    return {"dq": dq, "dk": dk, "dv": dv}


# powers of two; one sequence longer than a block of 128, an empty one, one of a single token
SHAPES = {
    "fp16-d128-causal-gqa": ("fp16", packed_shape((141, 0, 1, 37), 128, 4, 2, 1)),
    "bf16-d128-causal-gqa": ("bf16", packed_shape((193, 64), 128, 8, 2, 1)),
    "fp16-d64": ("fp16", packed_shape((77, 128, 1), 64, 2, 2)),
    "fp32-d32-causal": ("fp32", packed_shape((33, 20), 32, 2, 2, 1)),
}

KERNEL = kernel_of(
    globals(),
    cases=tuple(Case(id, dtype, shape) for id, (dtype, shape) in SHAPES.items()),
    inputs=inputs,
    reference=reference,
    # measured in the interpreter: 2.5e-7, 3.3e-4, 2.7e-3
    tolerance={"fp32": 1.5e-6, "fp16": 1.5e-3, "bf16": 1.1e-2},
    uses=("dot", "tensor-descriptor"),
)
