"""Attention of sequences of different lengths, side by side in one tensor, to keys and values in pages of 32 tokens."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

PAGE = 32


@triton.jit
def _varlen_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, start_ptr, length_ptr, y_ptr, table_row, scale, HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr, BM: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    sequence, head, band = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    begin = tl.load(start_ptr + sequence)
    queries = tl.load(start_ptr + sequence + 1) - begin
    if band * BM >= queries:
        return
    keys = tl.load(length_ptr + sequence)
    rows = band * BM + tl.arange(0, BM)
    columns = tl.arange(0, D)
    at = ((begin + rows[:, None]) * HEADS + head) * D + columns[None, :]
    q = tl.load(q_ptr + at, mask=(rows < queries)[:, None], other=0.0)
    kv_head = head // (HEADS // KV_HEADS)
    top = tl.full((BM,), -1e30, tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    slots = tl.arange(0, PAGE)
    inside = (slots[:, None] * KV_HEADS + kv_head) * D + columns[None, :]
    for number in range(0, tl.cdiv(keys, PAGE)):
        page = tl.load(table_ptr + sequence * table_row + number).to(tl.int64)
        key = number * PAGE + slots
        there = key < keys
        k = tl.load(k_ptr + page * (PAGE * KV_HEADS * D) + inside, mask=there[:, None], other=0.0)
        v = tl.load(v_ptr + page * (PAGE * KV_HEADS * D) + inside, mask=there[:, None], other=0.0)
        seen = there[None, :]
        if CAUSAL:
            seen = seen & (key[None, :] <= (keys - queries + rows)[:, None])
        score = tl.where(seen, tl.dot(q, tl.trans(k)) * scale, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        part = tl.exp(score - higher[:, None])
        shrunk = tl.exp(top - higher)
        weight = weight * shrunk + tl.sum(part, 1)
        total = tl.dot(part.to(v.dtype), v, total * shrunk[:, None])
        top = higher
    y = total / weight[:, None]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=(rows < queries)[:, None])


def launch(q, k, v, table, start, length, rows, warps):
    heads, width = q.shape[1:]
    y = torch.zeros_like(q)
    most = int((start[1:] - start[:-1]).max())
    grid = (length.numel(), heads, triton.cdiv(most, rows))
    _varlen_kernel[grid](
        q, k, v, table, start, length, y, table.stride(0), width**-0.5, HEADS=heads, KV_HEADS=k.shape[2], BM=rows,
        PAGE=PAGE, D=width, CAUSAL=True, num_warps=warps,
    )  # fmt: skip
    return {"y": y}


def reference(q, k, v, table, start, length):
    y = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    group = q.shape[1] // k.shape[2]
    for one in range(length.numel()):
        begin, end, keys = int(start[one]), int(start[one + 1]), int(length[one])
        pages = table[one, : -(-keys // PAGE)].long()
        k1, v1 = (
            kv[pages].flatten(0, 1)[:keys].double().repeat_interleave(group, 1) for kv in (k, v)
        )
        score = torch.einsum("qhd,khd->hqk", q[begin:end].double(), k1) * q.shape[2] ** -0.5
        last = torch.arange(keys - (end - begin), keys, device=q.device)
        hidden = torch.arange(keys, device=q.device)[None, :] > last[:, None]
        part = torch.softmax(score.masked_fill(hidden, float("-inf")), -1)
        y[begin:end] = torch.einsum("hqk,khd->qhd", part, v1)
    return {"y": y}


def inputs(case, device, generator):
    count, queries, keys = (case.shape[name] for name in ("sequences", "queries", "keys"))
    pages = triton.cdiv(keys, PAGE)

    def drawn(*shape):
        return torch.randn(shape, generator=generator).to(device, case.torch_dtype)

    table = torch.randperm(count * pages, generator=generator, dtype=torch.int32)
    return {
        "q": drawn(count * queries, 32, 128),
        "k": drawn(count * pages, PAGE, 8, 128),
        "v": drawn(count * pages, PAGE, 8, 128),
        "table": table.reshape(count, pages).to(device),
        "start": torch.arange(0, count * queries + 1, queries, dtype=torch.int32).to(device),
        "length": torch.full((count,), keys - 3, dtype=torch.int32).to(device),
    }


def _case(name, queries, keys, rows, warps):
    small = {"sequences": 1, "queries": min(queries, 40), "keys": 80}
    real = {"sequences": 8, "queries": queries, "keys": keys}
    return Case(
        f"fp16-{name}",
        "fp16",
        small,
        real=real,
        options={"rows": rows, "warps": warps},
        targets=("sm_86", "sm_90"),
    )


KERNEL = Kernel(
    name="paged_varlen",
    cases=(
        _case("decode", 1, 1024, 16, 4),
        _case("prefill-64", 256, 256, 64, 4),
        _case("prefill-128", 256, 256, 128, 8),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"fp16": 2e-3},
    uses=("dot",),
)
