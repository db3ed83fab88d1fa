"""A product of fp8 tiles with scales for 128 columns, which are loaded in the loop: one expert's rows of a mixture."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

PART = 128


@triton.jit
def _experts_kernel(
    a_ptr, b_ptr, c_ptr, a_scale_ptr, b_scale_ptr, rows_ptr, experts_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0), tl.program_id(1)
    expert = tl.load(experts_ptr + row).to(tl.int64)
    rows = tl.load(rows_ptr + row * BM + tl.arange(0, BM))
    columns, depth = column * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at = a_ptr + rows[:, None] * K + depth[None, :]
    b_at = b_ptr + expert * N * K + depth[:, None] + columns[None, :] * K
    a_scale_at = a_scale_ptr + rows * (K // BK)
    b_scale_at = b_scale_ptr + (expert * (N // BK) + columns // BK) * (K // BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=depth[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_at, mask=depth[:, None] < K - step * BK, other=0.0)
        a_scale = tl.load(a_scale_at + step)
        b_scale = tl.load(b_scale_at + step)
        total += tl.dot(a, b) * a_scale[:, None] * b_scale[None, :]
        a_at += BK
        b_at += BK
    c_at = c_ptr + (row * BM + tl.arange(0, BM)[:, None]) * N + columns[None, :]
    tl.store(c_at, total.to(tl.bfloat16))


def launch(a, b, a_scale, b_scale, rows, experts, BM, warps, stages):
    (_, N, K) = b.shape
    c = torch.empty(rows.shape[0], N, dtype=torch.bfloat16, device=a.device)
    _experts_kernel[(rows.shape[0] // BM, N // PART)](
        a,
        b,
        c,
        a_scale,
        b_scale,
        rows,
        experts,
        N,
        K,
        BM=BM,
        BN=PART,
        BK=PART,
        num_warps=warps,
        num_stages=stages,
    )
    return {"c": c}


def reference(a, b, a_scale, b_scale, rows, experts):
    count = rows.shape[0] // experts.shape[0]
    wide = a.double() * a_scale.double().repeat_interleave(PART, 1)
    weights = b.double() * b_scale.double().repeat_interleave(PART, 1).repeat_interleave(PART, 2)
    blocks = wide[rows.long()].view(experts.shape[0], count, -1)
    return {"c": (blocks @ weights[experts.long()].transpose(1, 2)).flatten(0, 1)}


def inputs(case, device, generator):
    tokens, N, K, BM = (case.shape[name] for name in ("tokens", "N", "K", "BM"))
    experts = 2

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    return {
        "a": draw(tokens, K).to(device, torch.float8_e4m3fn),
        "b": draw(experts, N, K).to(device, torch.float8_e4m3fn),
        "a_scale": torch.rand(tokens, K // PART, generator=generator).to(device),
        "b_scale": torch.rand(experts, N // PART, K // PART, generator=generator).to(device),
        "rows": torch.randperm(tokens, generator=generator).to(device, torch.int32),
        "experts": torch.randint(0, experts, (tokens // BM,), generator=generator).to(device, torch.int32),
    }  # fmt: skip


KERNEL = Kernel(
    name="scaled_experts",
    cases=tuple(
        Case(
            f"fp8-{rows}-{warps}warps-{stages}stages", "fp8", {"tokens": 128, "N": 256, "K": 256, "BM": rows},
            real={"tokens": 2048, "N": 512, "K": 7168}, targets=("sm_90",),
            options={"BM": rows, "warps": warps, "stages": stages},
        )
        for rows, warps, stages in ((64, 4, 3), (64, 4, 4), (128, 8, 3))
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"fp8": 2e-2},
    uses=("dot",),
)  # fmt: skip
