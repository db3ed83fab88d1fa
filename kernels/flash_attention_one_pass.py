"""Attention, backward in one pass: the scores are made once, and dq is added up where it lies.

Five products rather than the seven of `flash_attention_backward`, at the price of bits that change from run to run. A
program owns a block of keys and walks the queries; rows come, and the sums of dq go, by tensor descriptors (TMA where
the GPU has it). A block that goes over the end of its sequence reads what lies behind it, times an exact zero: that
has to be finite.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel, max_shared_memory
from crosswarp.kernels.flash_attention import LOG2_E, _put, _rows, _shape, described
from crosswarp.kernels.flash_attention import launch as forward
from crosswarp.kernels.flash_attention_backward import inputs, reference


@triton.jit
def _start_kernel(
    o_ptr,
    do_ptr,
    lse_ptr,
    sums_ptr,
    delta_ptr,
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
    """The sum of o * do of each row, and its sum of exponentials, as `_sums_at` wants them."""
    head = tl.program_id(1).to(tl.int64)
    begin = tl.load(starts_ptr + tl.program_id(2)).to(tl.int64)
    length = (tl.load(starts_ptr + tl.program_id(2) + 1) - begin).to(tl.int32)
    if tl.program_id(0) * BM >= length + GAP - 4:
        return
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    o = _rows(o_ptr + begin * o_row + head * o_head, rows, o_row, length, D, D, True)
    do = _rows(do_ptr + begin * do_row + head * do_head, rows, do_row, length, D, D, True)
    lse = tl.load(lse_ptr + head * tokens + begin + rows, mask=rows < length, other=float("inf"))
    at = head * padded + _sums_at(begin, GAP) + rows
    kept = rows < length + GAP - 4
    tl.store(sums_ptr + at, lse, mask=kept)
    tl.store(delta_ptr + at, tl.sum(o.to(tl.float32) * do.to(tl.float32), 1), mask=kept)


@triton.jit
def _sums_at(begin, GAP: tl.constexpr):
    """Where the sums of this program's sequence start: at 16 bytes, and behind the last of the one before is room for
    a block of infinities, which give a weight of zero to what is no query."""
    return begin // 4 * 4 + tl.program_id(2) * GAP


@triton.jit
def _walk(
    dk,
    dv,
    k,
    v,
    q_rows,
    do_rows,
    sums,
    deltas,
    dq_rows,
    keys,
    begin,
    sums_at,
    head,
    first,
    end,
    length,
    scale,
    D: tl.constexpr,
    BM: tl.constexpr,
    CAUSAL: tl.constexpr,
    EDGE: tl.constexpr,
):
    """Add what the queries from `first` to `end` make; EDGE where some key must not be seen. Tiles of scores are
    [keys, queries]: as they come, they are the left operand of dv and dk."""
    for start in range(first, end, BM):
        q = q_rows.load([begin + start, head * D])
        lse = sums.load([head, sums_at + start])
        do = do_rows.load([begin + start, head * D])
        delta = deltas.load([head, sums_at + start])
        p = tl.math.exp2(tl.dot(k, tl.trans(q), allow_tf32=False) * scale - lse)
        if EDGE:
            seen = keys < length
            if CAUSAL:
                seen = keys <= start + tl.arange(0, BM)[None, :]
            p = tl.where(seen, p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv, allow_tf32=False)
        # Subtracted: what is added to a product becomes its start, and the load of that is not pipelined (Triton 3.6).
        ds = (p * (tl.dot(v, tl.trans(do), allow_tf32=False) - delta)).to(q.dtype)
        # before dk, which the matrix units then work on while this one is added
        dq = tl.dot(tl.trans(ds), k, allow_tf32=False)
        dk = tl.dot(ds, q, dk, allow_tf32=False)
        dq_rows.atomic_add([begin + start, head * D], dq)
    return dk, dv


@triton.jit
def _one_pass_kernel(
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
    BM: tl.constexpr,
    BN: tl.constexpr,
    GAP: tl.constexpr,
):
    # the first blocks of a causal sequence have the most queries, and start first, in all heads
    block = tl.program_id(1)
    kv_head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2))
    length = tl.load(starts_ptr + tl.program_id(2) + 1) - begin
    if block * BN >= length:
        return
    sums_at = _sums_at(begin, GAP)
    keys = block * BN + tl.arange(0, BN)
    k = k_rows.load([begin + block * BN, kv_head * D])
    v = v_rows.load([begin + block * BN, kv_head * D])
    dk = tl.zeros([BN, D], dtype=tl.float32)
    dv = tl.zeros([BN, D], dtype=tl.float32)
    # Masks cost much more than they take away: the blocks that need none have a loop of their own.
    if CAUSAL:
        first = block * BN
        whole = tl.minimum(first + ((BN + BM - 1) // BM) * BM, length)
    else:
        first = 0
        whole = tl.where((block + 1) * BN > length, length, 0)
    for h in range(0, GROUP):
        head = kv_head * GROUP + h
        dk, dv = _walk(
            dk, dv, k, v, q_rows, do_rows, sums, deltas, dq_rows, keys[:, None], begin, sums_at,
            head, first, whole, length, scale, D, BM, CAUSAL, True,
        )  # fmt: skip
        dk, dv = _walk(
            dk, dv, k, v, q_rows, do_rows, sums, deltas, dq_rows, keys[:, None], begin, sums_at,
            head, whole, length, length, scale, D, BM, CAUSAL, False,
        )  # fmt: skip
    dk_ptr += begin.to(tl.int64) * dk_row + kv_head * dk_head
    dv_ptr += begin.to(tl.int64) * dk_row + kv_head * dk_head
    _put(dk_ptr, dk * factor, keys, dk_row, length, D, D)
    _put(dv_ptr, dv, keys, dk_row, length, D, D)


def launch(q, k, v, do, cu_seqlens, max_length, causal, forward_tile=None, tile=None):
    """A tile has BM (queries), BN (keys), num_warps and num_stages."""
    sizes = (cu_seqlens, max_length, causal)
    kept = forward(q, k, v, *sizes, tile=forward_tile, descriptors=True)
    return backward(q, k, v, do, kept["o"], kept["lse"], *sizes, tile)


def _tile(dtype):
    if dtype == torch.float32:
        chosen = (32, 32, 4, 1)
    elif max_shared_memory() < 100_000:
        chosen = (32, 64, 4, 1)
    elif max_shared_memory() < 200_000:
        chosen = (32, 64, 4, 2)
    else:
        # dk and dv take half of all registers
        chosen = (64, 128, 8, 2)
    return dict(zip(("BM", "BN", "num_warps", "num_stages"), chosen))


def _by_head(x, rows):
    """A descriptor of `x` [heads, rows of all sequences]."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, rows])


def backward(q, k, v, do, o, lse, cu_seqlens, max_length, causal, tile=None):
    tokens, heads, width = q.shape
    kv_heads = k.shape[1]
    if width not in (16, 32, 64, 128):
        msg = f"heads of {width} are not for descriptors: use flash_attention_backward"
        raise ValueError(msg)
    tile = tile or _tile(q.dtype)
    bm, bn, sequences = tile["BM"], tile["BN"], len(cu_seqlens) - 1
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    total = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    padded = triton.cdiv(tokens + sequences * (bm + 4), 4) * 4
    sums, delta = (lse.new_empty((heads, padded)) for _ in range(2))
    factor = width**-0.5
    _start_kernel[(triton.cdiv(max_length + bm, 32), heads, sequences)](
        o,
        do,
        lse,
        sums,
        delta,
        cu_seqlens,
        tokens,
        padded,
        *o.stride()[:2],
        *do.stride()[:2],
        D=width,
        BM=32,
        GAP=bm + 4,
        num_warps=4,
    )
    _one_pass_kernel[(kv_heads, triton.cdiv(max_length, bn), sequences)](
        described(q, bm),
        described(k, bn),
        described(v, bn),
        described(do, bm),
        _by_head(sums, bm),
        _by_head(delta, bm),
        described(total, bm),
        dk,
        dv,
        cu_seqlens,
        *dk.stride()[:2],
        factor * LOG2_E,
        factor,
        GROUP=heads // kv_heads,
        D=width,
        CAUSAL=causal,
        GAP=bm + 4,
        **tile,
    )
    torch.mul(total, factor, out=dq)
    return {"dq": dq, "dk": dk, "dv": dv}


# no published interpreter knows a descriptor's atomic_add
LANES = ("compile", "device")
SHAPES = {
    "fp16-d128-causal-gqa": ("fp16", _shape((141, 0, 1, 37), 128, 4, 2, 1)),
    "bf16-d64-causal-gqa": ("bf16", _shape((200,), 64, 3, 1, 1)),
    "bf16-d128-causal-gqa": ("bf16", _shape((193, 64), 128, 8, 2, 1)),
    "fp16-d64": ("fp16", _shape((77, 128, 1), 64, 2, 2)),
    "fp32-d32-causal": ("fp32", _shape((33, 20), 32, 2, 2, 1)),
}

KERNEL = Kernel(
    name="flash_attention_one_pass",
    cases=tuple(Case(id, dtype, shape, lanes=LANES) for id, (dtype, shape) in SHAPES.items()),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # measured, in an interpreter that was taught to add: 2.9e-7, 3.3e-4, 2.7e-3
    tolerance={"fp32": 1.5e-6, "fp16": 1.5e-3, "bf16": 1.1e-2},
    uses=("atomic", "dot", "tensor-descriptor"),
)
