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
from crosswarp.kernels.flash_attention import LOG2_E, _put, _rows, _shape
from crosswarp.kernels.flash_attention import launch as forward
from crosswarp.kernels.flash_attention_backward import inputs, reference


@triton.jit
def _start_kernel(
    o_ptr,
    do_ptr,
    lse_ptr,
    score_ptr,
    delta_ptr,
    tokens,
    o_row,
    o_head,
    do_row,
    do_head,
    scale,
    D: tl.constexpr,
    BM: tl.constexpr,
):
    """What the products of a row of scores, and of its gradients, start from."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    o = _rows(o_ptr + head * o_head, rows, o_row, tokens, D, D, True).to(tl.float32)
    do = _rows(do_ptr + head * do_head, rows, do_row, tokens, D, D, True).to(tl.float32)
    at = head * tokens + rows
    lse = tl.load(lse_ptr + at, mask=rows < tokens, other=0.0)
    tl.store(score_ptr + at, -lse / scale, mask=rows < tokens)
    tl.store(delta_ptr + at, -tl.sum(o * do, 1), mask=rows < tokens)


@triton.jit
def _one_pass_kernel(
    q_rows,
    k_rows,
    v_rows,
    do_rows,
    dq_rows,
    dk_ptr,
    dv_ptr,
    score_ptr,
    delta_ptr,
    starts_ptr,
    tokens,
    dk_row,
    dk_head,
    scale,
    factor,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    # the first blocks of a causal sequence have the most queries, and start first, in all heads
    block = tl.program_id(1)
    kv_head = tl.program_id(0)
    begin = tl.load(starts_ptr + tl.program_id(2))
    length = tl.load(starts_ptr + tl.program_id(2) + 1) - begin
    if block * BN >= length:
        return
    keys = block * BN + tl.arange(0, BN)
    k = k_rows.load([begin + block * BN, kv_head * D])
    v = v_rows.load([begin + block * BN, kv_head * D])
    dk = tl.zeros([BN, D], dtype=tl.float32)
    dv = tl.zeros([BN, D], dtype=tl.float32)
    first = 0
    if CAUSAL:
        first = block * BN
    for h in range(0, GROUP):
        head = kv_head * GROUP + h
        scores = score_ptr + head.to(tl.int64) * tokens + begin
        deltas = delta_ptr + head.to(tl.int64) * tokens + begin
        # Tiles of scores are [keys, queries]: as they come, they are the left operand of dv and dk. The products start
        # from what would be subtracted from them, and from an infinity where there is nothing to see.
        for start in range(first, length, BM):
            rows = start + tl.arange(0, BM)
            q = q_rows.load([begin + start, head * D])
            row = tl.load(scores + rows, mask=rows < length, other=-float("inf"))
            do = do_rows.load([begin + start, head * D])
            delta = tl.load(deltas + rows, mask=rows < length, other=0.0)
            if CAUSAL:
                seen = keys[:, None] <= rows[None, :]
            else:
                seen = (keys[:, None] < length) & (rows[None, :] < length)
            score = tl.where(seen, row[None, :], -float("inf"))
            p = tl.math.exp2(tl.dot(k, tl.trans(q), score, allow_tf32=False) * scale)
            dv = tl.dot(p.to(do.dtype), do, dv, allow_tf32=False)
            dp = tl.broadcast_to(delta[None, :], [BN, BM])
            ds = (p * tl.dot(v, tl.trans(do), dp, allow_tf32=False)).to(q.dtype)
            # before dk, which the matrix units then work on while this one is added
            dq = tl.dot(tl.trans(ds), k, allow_tf32=False)
            dk = tl.dot(ds, q, dk, allow_tf32=False)
            dq_rows.atomic_add([begin + start, head * D], dq)
    dk_ptr += begin.to(tl.int64) * dk_row + kv_head * dk_head
    dv_ptr += begin.to(tl.int64) * dk_row + kv_head * dk_head
    _put(dk_ptr, dk * factor, keys, dk_row, length, D, D)
    _put(dv_ptr, dv, keys, dk_row, length, D, D)


def launch(q, k, v, do, cu_seqlens, max_length, causal, forward_tile=None, tile=None):
    """A tile has BM (queries), BN (keys), num_warps and num_stages."""
    sizes = (cu_seqlens, max_length, causal)
    kept = forward(q, k, v, *sizes, tile=forward_tile)
    return backward(q, k, v, do, kept["o"], kept["lse"], *sizes, tile)


def _tile(dtype):
    if dtype == torch.float32:
        chosen = (32, 32, 4, 1)
    elif max_shared_memory() < 100_000:
        chosen = (32, 64, 4, 1)
    elif max_shared_memory() < 200_000:
        chosen = (32, 64, 4, 2)
    else:
        # dk and dv take half of all registers; with 3.6 nothing is spilled in the loop
        chosen = (64, 128, 8, 3)
    return dict(zip(("BM", "BN", "num_warps", "num_stages"), chosen))


def _described(x, rows):
    """A descriptor of `x` [tokens, heads, width] that hands out rows of one head."""
    # it came with Triton 3.4
    from triton.tools.tensor_descriptor import TensorDescriptor

    tokens, heads, width = x.shape
    aligned = x.stride(0) * x.element_size() % 16 == 0 and x.data_ptr() % 16 == 0
    if x.stride()[1:] != (width, 1) or not aligned:
        x = x.contiguous()
    return TensorDescriptor(x, [tokens, heads * width], [x.stride(0), 1], [rows, width])


def backward(q, k, v, do, o, lse, cu_seqlens, max_length, causal, tile=None):
    tokens, heads, width = q.shape
    kv_heads = k.shape[1]
    if width not in (16, 32, 64, 128):
        msg = f"heads of {width} are not for descriptors: use flash_attention_backward"
        raise ValueError(msg)
    tile = tile or _tile(q.dtype)
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    total = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    score, delta = torch.empty_like(lse), torch.empty_like(lse)
    factor = width**-0.5
    _start_kernel[(triton.cdiv(tokens, 32), heads)](
        o,
        do,
        lse,
        score,
        delta,
        tokens,
        *o.stride()[:2],
        *do.stride()[:2],
        factor * LOG2_E,
        D=width,
        BM=32,
        num_warps=4,
    )
    _one_pass_kernel[(kv_heads, triton.cdiv(max_length, tile["BN"]), len(cu_seqlens) - 1)](
        _described(q, tile["BM"]),
        _described(k, tile["BN"]),
        _described(v, tile["BN"]),
        _described(do, tile["BM"]),
        _described(total, tile["BM"]),
        dk,
        dv,
        score,
        delta,
        cu_seqlens,
        tokens,
        *dk.stride()[:2],
        factor * LOG2_E,
        factor,
        GROUP=heads // kv_heads,
        D=width,
        CAUSAL=causal,
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
