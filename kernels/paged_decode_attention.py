"""Attention of one new token to the keys and values of its sequence, which lie in pages anywhere in a cache.

The keys of a sequence are split among several programs, each of which takes all heads that share a head of keys; a
second kernel puts their parts together. A sequence without tokens gives zeros.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

LOG2_E = 1.4426950408889634


@triton.jit
def _part_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    length_ptr,
    part_ptr,
    lse_ptr,
    table_row,
    page_stride,
    slot_stride,
    head_stride,
    scale,
    GROUP: tl.constexpr,
    BG: tl.constexpr,
    D: tl.constexpr,
    BD: tl.constexpr,
    PAGE: tl.constexpr,
    BN: tl.constexpr,
    SPLITS: tl.constexpr,
):
    sequence = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    split = tl.program_id(2)
    heads = tl.arange(0, BG)
    cols = tl.arange(0, BD)
    in_group = heads < GROUP
    # of [sequences, heads]
    at = (sequence * tl.num_programs(1) + kv_head) * GROUP + heads
    mask = in_group[:, None] & (cols[None, :] < D)
    q = tl.load(q_ptr + at[:, None] * D + cols[None, :], mask=mask, other=0.0)
    length = tl.load(length_ptr + sequence)
    mine = tl.cdiv(tl.cdiv(length, SPLITS), BN) * BN
    end = tl.minimum(length, (split + 1) * mine)

    total = tl.zeros([BG, BD], dtype=tl.float32)
    top = tl.zeros([BG], dtype=tl.float32) - float("inf")
    weight = tl.zeros([BG], dtype=tl.float32)
    for start in range(split * mine, end, BN):
        keys = start + tl.arange(0, BN)
        there = keys < end
        page = tl.load(table_ptr + sequence * table_row + keys // PAGE, mask=there, other=0)
        place = page.to(tl.int64) * page_stride + (keys % PAGE) * slot_stride
        place = place[:, None] + kv_head * head_stride + cols[None, :]
        mask_kv = there[:, None] & (cols[None, :] < D)
        k = tl.load(k_ptr + place, mask=mask_kv, other=0.0)
        score = tl.dot(q, tl.trans(k), allow_tf32=False) * scale
        score = tl.where(there[None, :], score, -float("inf"))
        new_top = tl.maximum(top, tl.max(score, 1))
        p = tl.math.exp2(score - new_top[:, None])
        shrink = tl.math.exp2(top - new_top)
        weight = weight * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + place, mask=mask_kv, other=0.0)
        total = total * shrink[:, None] + tl.dot(p.to(v.dtype), v, allow_tf32=False)
        top = new_top
    # without a key the sum is zero, and so is the part
    some = weight > 0
    total = total / tl.where(some, weight, 1.0)[:, None]
    lse = tl.where(some, top + tl.math.log2(tl.where(some, weight, 1.0)), -float("inf"))
    at = at * SPLITS + split
    tl.store(part_ptr + at[:, None] * D + cols[None, :], total, mask=mask)
    tl.store(lse_ptr + at, lse, mask=in_group)


@triton.jit
def _merge_kernel(
    part_ptr, lse_ptr, o_ptr, D: tl.constexpr, BD: tl.constexpr, SPLITS: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BD)
    splits = tl.arange(0, SPLITS)
    lse = tl.load(lse_ptr + at * SPLITS + splits)
    top = tl.max(lse, 0)
    # all parts empty: nothing to weigh
    weight = tl.where(lse > -float("inf"), tl.math.exp2(lse - top), 0.0)
    place = (at * SPLITS + splits[:, None]) * D + cols[None, :]
    part = tl.load(part_ptr + place, mask=(splits[:, None] < SPLITS) & (cols[None, :] < D), other=0)
    whole = tl.sum(weight, 0)
    o = tl.sum(part * weight[:, None], 0) / tl.where(whole > 0, whole, 1.0)
    tl.store(o_ptr + at * D + cols, o.to(o_ptr.dtype.element_ty), mask=cols < D)


def launch(q, k_cache, v_cache, block_table, lengths, splits=4):
    """`splits`, a power of two: as many as fill the GPU."""
    sequences, heads, width = q.shape
    page, kv_heads = k_cache.shape[1:3]
    block_d = max(16, triton.next_power_of_2(width))
    o = torch.empty_like(q)
    part = torch.empty((sequences, heads, splits, width), dtype=torch.float32, device=q.device)
    lse = torch.empty((sequences, heads, splits), dtype=torch.float32, device=q.device)
    group = heads // kv_heads
    _part_kernel[(sequences, kv_heads, splits)](
        q,
        k_cache,
        v_cache,
        block_table,
        lengths,
        part,
        lse,
        block_table.stride(0),
        *k_cache.stride()[:3],
        width**-0.5 * LOG2_E,
        GROUP=group,
        # a product of matrices has no fewer than 16 rows
        BG=max(16, triton.next_power_of_2(group)),
        D=width,
        BD=block_d,
        PAGE=page,
        BN=32 if q.dtype == torch.float32 else 64,
        SPLITS=splits,
        num_warps=4,
        num_stages=2,
    )
    _merge_kernel[(sequences * heads,)](
        part, lse, o, D=width, BD=block_d, SPLITS=splits, num_warps=2
    )
    return {"o": o}


def reference(q, k_cache, v_cache, block_table, lengths):
    page, kv_heads = k_cache.shape[1:3]
    group = q.shape[1] // kv_heads
    o = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    for sequence, length in enumerate(lengths.tolist()):
        pages = block_table[sequence, : -(-length // page)].long()
        # heads first, each for its group
        k, v = (
            x[pages].flatten(0, 1)[:length].double().transpose(0, 1).repeat_interleave(group, 0)
            for x in (k_cache, v_cache)
        )
        score = (k @ q[sequence].double()[:, :, None]).squeeze(2) * q.shape[2] ** -0.5
        o[sequence] = (score.softmax(1)[:, None] @ v).squeeze(1)
    return {"o": o}


def inputs(case, device, generator):
    heads, kv_heads, width, page = (case.shape[name] for name in ("H", "HK", "D", "page"))
    lengths = [case.shape[name] for name in ("L0", "L1", "L2", "L3") if name in case.shape]

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    most = -(-max(lengths) // page)
    pages = most * len(lengths) + 3
    # any order, none twice
    order = torch.randperm(pages, generator=generator)[: most * len(lengths)]
    return {
        "q": normal(len(lengths), heads, width),
        "k_cache": normal(pages, page, kv_heads, width),
        "v_cache": normal(pages, page, kv_heads, width),
        "block_table": order.view(len(lengths), most).to(device, torch.int32),
        "lengths": torch.tensor(lengths, dtype=torch.int32).to(device),
    }


def _case(id, dtype, lengths, H, HK, D, page, **more):
    named = {f"L{i}": length for i, length in enumerate(lengths)}
    return Case(id, dtype, {"H": H, "HK": HK, "D": D, "page": page, **named}, **more)


KERNEL = kernel_of(
    globals(),
    cases=(
        _case("fp16-d128-page16", "fp16", (1, 300, 0, 65), 8, 2, 128, 16),
        _case("bf16-d64-page64", "bf16", (130, 64), 4, 4, 64, 64, options={"splits": 2}),
        _case("fp16-d80-page5-whole", "fp16", (33,), 6, 2, 80, 5, options={"splits": 1}),
        _case("fp32-d40-page16", "fp32", (77, 1), 2, 1, 40, 16),
    ),
    # measured: 5.8e-8, 2.6e-4, 2.3e-3
    tolerance={"fp32": 5e-7, "fp16": 1e-3, "bf16": 1e-2},
    uses=("dot",),
)
