"""Attention without the matrix of scores, forward: causal or full, grouped heads, sequences of any length.

The tokens of all sequences lie end to end; `cu_seqlens` says where each starts. Sums of exponentials are in base 2.

With `descriptors`, rows come by tensor descriptors (Triton 3.4; TMA where the GPU has it). A block that goes over the
end of its sequence then reads the elements behind it and multiplies them by an exact zero: they have to be finite.
"""

from typing import Any, Tuple

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, current_target, kernel_of, max_shared_memory

LOG2_E = 1.4426950408889634


@triton.jit
def load_rows(ptr, rows, row_stride, length, D: tl.constexpr, BD: tl.constexpr, EDGE: tl.constexpr):
    """Rows [BLOCK, BD] of one head, zeros after the last; EDGE where some may be after the last."""
    cols = tl.arange(0, BD)
    at = ptr + rows[:, None] * row_stride + cols[None, :]
    if EDGE:
        mask = rows[:, None] < length
        if D != BD:
            mask = mask & (cols[None, :] < D)
        loaded = tl.load(at, mask=mask, other=0.0)
    elif D != BD:
        loaded = tl.load(at, mask=cols[None, :] < D, other=0.0)
    else:
        loaded = tl.load(at)
    return loaded


@triton.jit
def _block(
    given, rows, first, col, row_stride, length,
    D: tl.constexpr, BD: tl.constexpr, EDGE: tl.constexpr, DESCRIBED: tl.constexpr,
):  # fmt: skip
    """As `load_rows`, or the rows from `first` and the columns from `col` of a descriptor."""
    if DESCRIBED:
        loaded = given.load([first, col])
    else:
        loaded = load_rows(given, rows, row_stride, length, D, BD, EDGE)
    return loaded


@triton.jit
def store_rows(ptr, value, rows, row_stride, length, D: tl.constexpr, BD: tl.constexpr):
    cols = tl.arange(0, BD)
    mask = (rows[:, None] < length) & (cols[None, :] < D)
    at = ptr + rows[:, None] * row_stride + cols[None, :]
    tl.store(at, value.to(ptr.dtype.element_ty), mask=mask)


@triton.jit
def _attend(
    total,
    top,
    weight,
    q,
    k_ptr,
    v_ptr,
    k_row,
    v_row,
    begin,
    kv_col,
    rows,
    first,
    end,
    length,
    scale,
    D: tl.constexpr,
    BD: tl.constexpr,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
    EDGE: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
    """Take the keys from `first` to `end` into the running sum; EDGE where some of them must not be seen."""
    for start in range(first, end, BN):
        keys = start + tl.arange(0, BN)
        k = _block(k_ptr, keys, begin + start, kv_col, k_row, length, D, BD, EDGE, DESCRIBED)
        score = tl.dot(q, tl.trans(k), allow_tf32=False)
        if EDGE:
            seen = keys[None, :] < length
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None])
            score = tl.where(seen, score, -float("inf"))
        new_top = tl.maximum(top, tl.max(score, 1) * scale)
        p = tl.math.exp2(score * scale - new_top[:, None])
        shrink = tl.math.exp2(top - new_top)
        weight = weight * shrink + tl.sum(p, 1)
        v = _block(v_ptr, keys, begin + start, kv_col, v_row, length, D, BD, EDGE, DESCRIBED)
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None], allow_tf32=False)
        top = new_top
    return total, top, weight


def _prune(configs, named, **_):
    """Leave out blocks longer than all the tokens; the first always stays."""
    return configs[:1] + [
        config for config in configs[1:] if config.kwargs["BM"] <= named["tokens"]
    ]


def _config(m, n, warps, stages):
    return triton.Config({"BM": m, "BN": n}, num_warps=warps, num_stages=stages)


@triton.autotune(
    configs=[_config(64, 32, 4, 1), _config(64, 64, 4, 2), _config(128, 64, 8, 2)],
    key=["tokens", "D"],
    prune_configs_by={"early_config_prune": _prune},
)
@triton.heuristics({"BD": lambda args: max(16, triton.next_power_of_2(args["D"]))})
@triton.jit
def _forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    starts_ptr,
    tokens,
    q_row,
    q_head,
    k_row,
    k_head,
    v_row,
    v_head,
    o_row,
    o_head,
    scale,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    BD: tl.constexpr,
    CAUSAL: tl.constexpr,
    DESCRIBED: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    # the last blocks of a causal sequence have the most keys, and start first, in all heads
    block = tl.num_programs(1) - 1 - tl.program_id(1)
    head = tl.program_id(0)
    first = tl.load(starts_ptr + tl.program_id(2)).to(tl.int32)
    begin = first.to(tl.int64)
    length = (tl.load(starts_ptr + tl.program_id(2) + 1) - begin).to(tl.int32)
    rows = block * BM + tl.arange(0, BM)
    if not DESCRIBED:
        q_ptr += begin * q_row + head * q_head
        k_ptr += begin * k_row + (head // GROUP) * k_head
        v_ptr += begin * v_row + (head // GROUP) * v_head
    q = _block(q_ptr, rows, first + block * BM, head * D, q_row, length, D, BD, True, DESCRIBED)
    kv_col = (head // GROUP) * D

    total = tl.zeros([BM, BD], dtype=tl.float32)
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    weight = tl.zeros([BM], dtype=tl.float32)
    # a block after the end of its sequence sees no keys
    end = tl.where(block * BM < length, length, 0)
    whole = (end // BN) * BN
    if CAUSAL:
        end = tl.minimum(end, (block + 1) * BM)
        whole = tl.minimum(whole, ((block * BM) // BN) * BN)
    total, top, weight = _attend(
        total, top, weight, q, k_ptr, v_ptr, k_row, v_row, first, kv_col, rows, 0, whole, length,
        scale, D, BD, BN, CAUSAL, False, DESCRIBED,
    )  # fmt: skip
    total, top, weight = _attend(
        total, top, weight, q, k_ptr, v_ptr, k_row, v_row, first, kv_col, rows, whole, end, length,
        scale, D, BD, BN, CAUSAL, True, DESCRIBED,
    )  # fmt: skip
    o = total / weight[:, None]
    store_rows(o_ptr + begin * o_row + head * o_head, o, rows, o_row, length, D, BD)
    lse = lse_ptr + head.to(tl.int64) * tokens + begin
    tl.store(lse + rows, top + tl.math.log2(weight), mask=rows < length)


def described(x, rows):
    """A descriptor of `x` [tokens, heads, width] that hands out `rows` rows of one head."""
    # it came with Triton 3.4
    from triton.tools.tensor_descriptor import TensorDescriptor

    tokens, heads, width = x.shape
    if width not in (16, 32, 64, 128, 256):
        msg = f"a descriptor hands out no heads of {width}: launch without descriptors"
        raise ValueError(msg)
    aligned = x.stride(0) * x.element_size() % 16 == 0 and x.data_ptr() % 16 == 0
    if x.stride()[1:] != (width, 1) or not aligned:
        x = x.contiguous()
    return TensorDescriptor(x, [tokens, heads * width], [x.stride(0), 1], [rows, width])


def _tile(dtype, descriptors):
    # products of fp32 do not use the matrix units: a larger tile is only more code
    if dtype == torch.float32:
        chosen = (32, 32, 4, 1)
    elif max_shared_memory() < 100_000 and current_target()[1] not in (
        "gfx90a",
        "gfx942",
        "gfx950",
    ):
        # 64 KB, which hold the queries as well: Turing; RDNA and CDNA 1 (3.2)
        chosen = (64, 64, 4, 1)
    elif max_shared_memory() < 200_000:
        chosen = (128, 64, 8, 2)
    elif descriptors:
        # measured on an H100: the best of seven, and two programs of a multiprocessor take turns
        chosen = (128, 64, 4, 2)
    else:
        chosen = (128, 64, 8, 3)
    return dict(zip(("BM", "BN", "num_warps", "num_stages"), chosen))


def launch(q, k, v, cu_seqlens, max_length, causal, tuned=False, tile=None, descriptors=False):
    """Autotuned if asked, otherwise a direct launch, with the given tile or one of those above."""
    tokens, heads, width = q.shape
    o = torch.empty((tokens, heads, width), dtype=q.dtype, device=q.device)
    lse = torch.empty((heads, tokens), dtype=torch.float32, device=q.device)
    # the autotuner's own function is the kernel with its heuristics
    kernel, chosen = _forward_kernel, {}
    if not tuned:
        kernel, chosen = _forward_kernel.fn, tile or _tile(q.dtype, descriptors)
    given: Tuple[Any, ...] = (q, k, v)
    if descriptors:
        if tuned:
            raise ValueError("descriptors are made for one tile: give it, and leave out tuned")
        rows = ("BM", "BN", "BN")
        given = tuple(described(x, chosen[name]) for x, name in zip(given, rows))
    kernel[lambda meta: (heads, triton.cdiv(max_length, meta["BM"]), len(cu_seqlens) - 1)](
        *given,
        o,
        lse,
        cu_seqlens,
        tokens,
        *(stride for x in (q, k, v, o) for stride in x.stride()[:2]),
        width**-0.5 * LOG2_E,
        GROUP=heads // k.shape[1],
        D=width,
        CAUSAL=causal,
        DESCRIBED=descriptors,
        **chosen,
    )
    return {"o": o, "lse": lse}


def _sequences(cu_seqlens):
    bounds = cu_seqlens.tolist()
    return [slice(*pair) for pair in zip(bounds, bounds[1:]) if pair[0] < pair[1]]


def reference(q, k, v, cu_seqlens, max_length, causal):
    o, lse = [], []
    group = q.shape[1] // k.shape[1]
    for part in _sequences(cu_seqlens):
        # heads first; each head of keys serves a group of heads of queries
        q64 = q[part].double().transpose(0, 1)
        k64, v64 = (x[part].double().transpose(0, 1).repeat_interleave(group, 0) for x in (k, v))
        score = q64 @ k64.transpose(1, 2) * q.shape[2] ** -0.5
        if causal:
            later = torch.ones(score.shape[1:], dtype=torch.bool, device=q.device).triu(1)
            score = score.masked_fill(later, -float("inf"))
        o.append((score.softmax(2) @ v64).transpose(0, 1))
        lse.append(score.logsumexp(2) * LOG2_E)
    return {"o": torch.cat(o), "lse": torch.cat(lse, 1)}


def inputs(case, device, generator):
    heads, kv_heads, width = (case.shape[name] for name in ("H", "HK", "D"))
    lengths = [case.shape[name] for name in ("L0", "L1", "L2", "L3") if name in case.shape]

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # as one projection leaves them: side by side, none contiguous
    qkv = normal(sum(lengths), heads + 2 * kv_heads, width)
    q, k, v = qkv.split([heads, kv_heads, kv_heads], 1)
    return {
        "q": q,
        "k": k,
        "v": v,
        "cu_seqlens": torch.tensor([0, *lengths]).cumsum(0).to(device, torch.int32),
        "max_length": max(lengths),
        "causal": bool(case.shape["causal"]),
    }


def packed_shape(lengths, D, H=1, HK=1, causal=0):
    named = {f"L{i}": length for i, length in enumerate(lengths)}
    return {"H": H, "HK": HK, "D": D, "causal": causal, **named}


# 64 keys to a tile: one sequence longer than a block of 128 queries, an empty one, one of a single token
SHAPES = {
    "fp16-d128-causal-gqa": ("fp16", packed_shape((141, 0, 1, 37), 128, 4, 2, 1)),
    "bf16-d64-causal-gqa": ("bf16", packed_shape((200,), 64, 3, 1, 1)),
    "bf16-d128-causal-gqa": ("bf16", packed_shape((193, 64), 128, 8, 2, 1)),
    "fp16-d80": ("fp16", packed_shape((77, 128, 1), 80, 2, 2)),
    "fp32-d40-causal": ("fp32", packed_shape((33, 20), 40, 2, 2, 1)),
}

KERNEL = kernel_of(
    globals(),
    cases=(
        *(Case(id, dtype, shape) for id, (dtype, shape) in SHAPES.items()),
        Case(
            "fp16-d64-causal-tuned",
            "fp16",
            packed_shape((70, 30), 64, 2, 1, 1),
            options={"tuned": True},
            requires=("autotune",),
        ),
        *(
            Case(
                f"{id}-descriptors",
                *SHAPES[id],
                options={"descriptors": True},
                requires=("tensor-descriptor",),
            )
            for id in ("fp16-d128-causal-gqa", "bf16-d64-causal-gqa")
        ),
    ),
    # measured: 1.3e-7, 2.4e-4, 2.0e-3
    tolerance={"fp32": 1e-6, "fp16": 1e-3, "bf16": 8e-3},
    uses=("dot",),
)
