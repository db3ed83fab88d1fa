"""Attention of one token to rows gathered by an index, of 512 columns, of which keys and values are the same."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

SCALE = 0.04


@triton.jit
def _gathered_kernel(
    q_ptr, kv_ptr, index_ptr, valid_ptr, y_ptr, HEADS, COUNT, SCALE: tl.constexpr, BH: tl.constexpr, BN: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0)
    heads = tl.program_id(1) * BH + tl.arange(0, BH)
    columns = tl.arange(0, D)
    at = (token * HEADS + heads[:, None]) * D + columns[None, :]
    q = tl.load(q_ptr + at)
    valid = tl.load(valid_ptr + token)
    top = tl.full((BH,), -1e30, tl.float32)
    weight = tl.zeros((BH,), tl.float32)
    total = tl.zeros((BH, D), tl.float32)
    for start in range(0, valid, BN):
        place = start + tl.arange(0, BN)
        row = tl.load(index_ptr + token * COUNT + place, mask=place < valid, other=-1)
        there = row >= 0
        kv_at = kv_ptr + row[:, None].to(tl.int64) * D + columns[None, :]
        kv = tl.load(kv_at, mask=there[:, None], other=0.0)
        score = tl.where(there[None, :], tl.dot(q, tl.trans(kv)) * SCALE, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        part = tl.exp(score - higher[:, None])
        shrunk = tl.exp(top - higher)
        weight = weight * shrunk + tl.sum(part, 1)
        total = total * shrunk[:, None] + tl.dot(part.to(kv.dtype), kv)
        top = higher
    tl.store(y_ptr + at, (total / weight[:, None]).to(y_ptr.dtype.element_ty))


def launch(q, kv, index, valid, BN, warps):
    tokens, heads, width = q.shape
    y = torch.empty_like(q)
    _gathered_kernel[(tokens, heads // 16)](
        q, kv, index, valid, y, heads, index.shape[1], SCALE=SCALE, BH=16, BN=BN, D=width, num_warps=warps,
        num_stages=1,
    )  # fmt: skip
    return {"y": y}


def reference(q, kv, index, valid):
    found = []
    for token in range(q.shape[0]):
        rows = kv[index[token, : int(valid[token])].long()].double()
        found.append(torch.softmax(q[token].double() @ rows.t() * SCALE, -1) @ rows)
    return {"y": torch.stack(found)}


def inputs(case, device, generator):
    tokens, count, rows = (case.shape[name] for name in ("tokens", "count", "rows"))
    return {
        "q": torch.randn(tokens, 16, 512, generator=generator).to(device, torch.bfloat16),
        "kv": torch.randn(rows, 512, generator=generator).to(device, torch.bfloat16),
        "index": torch.randint(0, rows, (tokens, count), generator=generator, dtype=torch.int32).to(
            device
        ),
        "valid": torch.full((tokens,), count - 5, dtype=torch.int32).to(device),
    }


KERNEL = Kernel(
    name="sparse_decode",
    cases=tuple(
        Case(f"bf16-n{block}-{warps}warps", "bf16", {"tokens": 2, "count": 64, "rows": 128},
             real={"tokens": 24, "count": 512, "rows": 4096}, options={"BN": block, "warps": warps},
             targets=("sm_80",))
        for block, warps in ((32, 4), (64, 4), (64, 8))
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"bf16": 8e-3},
    uses=("dot",),
)  # fmt: skip
