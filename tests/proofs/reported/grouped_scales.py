"""A product with weights of 4 bits, two in a byte, and a scale for each group of them."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel


@triton.jit
def _grouped_kernel(
    x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    halves = tl.arange(0, GROUP // 2)
    depth = tl.arange(0, GROUP)
    total = tl.zeros((BM, BN), tl.float32)
    for group in range(0, K // GROUP):
        x_at = x_ptr + rows[:, None] * K + group * GROUP + depth[None, :]
        x = tl.load(x_at, mask=rows[:, None] < M, other=0.0)
        w_at = w_ptr + columns[:, None] * (K // 2) + group * (GROUP // 2) + halves[None, :]
        packed = tl.load(w_at)
        low = ((packed & 15).to(tl.int8) - 8).to(tl.bfloat16)
        high = ((packed >> 4).to(tl.int8) - 8).to(tl.bfloat16)
        w = tl.reshape(tl.join(low, high), (BN, GROUP))
        scale = tl.load(s_ptr + group * N + columns)
        total += tl.dot(x, tl.trans(w)) * scale[None, :]
    y_at = y_ptr + rows[:, None] * N + columns[None, :]
    tl.store(y_at, total.to(tl.bfloat16), mask=rows[:, None] < M)


def launch(x, w, scale, BM, BN, GROUP, warps, stages):
    m, k = x.shape
    n = w.shape[0]
    y = torch.empty(m, n, dtype=x.dtype, device=x.device)
    _grouped_kernel[(n // BN, triton.cdiv(m, BM))](
        x, w, scale, y, m, n, k, BM=BM, BN=BN, GROUP=GROUP, num_warps=warps, num_stages=stages
    )
    return {"y": y}


def reference(x, w, scale):
    both = torch.stack([w & 15, w >> 4], -1).reshape(w.shape[0], -1).double() - 8
    wide = scale.double().t().repeat_interleave(x.shape[1] // scale.shape[0], 1)
    return {"y": x.double() @ (both * wide).t()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")
    group = case.options["GROUP"]
    return {
        "x": torch.randn(m, k, generator=generator).to(device, torch.bfloat16),
        "w": torch.randint(0, 256, (n, k // 2), generator=generator, dtype=torch.uint8).to(device),
        "scale": (torch.rand(k // group, n, generator=generator) * 0.1).to(device),
    }


KERNEL = Kernel(
    name="grouped_scales",
    cases=tuple(
        Case(f"bf16-m{m}-g{group}-{stages}stages", "bf16", {"M": m, "N": 128, "K": 256},
             real={"M": m, "N": 4096, "K": 4096},
             options={"BM": 16, "BN": 64, "GROUP": group, "warps": 4, "stages": stages})
        for m, group, stages in ((16, 64, 4), (16, 128, 3), (64, 128, 3))
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"bf16": 2e-2},
    uses=("dot",),
)  # fmt: skip
