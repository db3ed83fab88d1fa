"""Matrix product of microscaled operands: 8-bit floats, or pairs of 4-bit floats, with an exponent for each 32."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# the values of the sixteen 4-bit floats (e2m1)
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@triton.jit
def _scaled_kernel(
    a_ptr,
    b_ptr,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    N,
    K,
    KIND: tl.constexpr,
    PACK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK // PACK)
    groups = tl.arange(0, BK // 32)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    # K is a multiple of BK; rows and columns past the end are read again from the start, and not written
    from_rows = rows % M
    from_cols = cols % N
    for k in range(0, K, BK):
        a = tl.load(a_ptr + from_rows[:, None] * (K // PACK) + k // PACK + inner[None, :])
        b = tl.load(b_ptr + from_cols[None, :] * (K // PACK) + k // PACK + inner[:, None])
        a_scale = tl.load(a_scale_ptr + from_rows[:, None] * (K // 32) + k // 32 + groups[None, :])
        b_scale = tl.load(b_scale_ptr + from_cols[:, None] * (K // 32) + k // 32 + groups[None, :])
        total = tl.dot_scaled(a, a_scale, KIND, b, b_scale, KIND, total)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total, mask=mask)


def launch(a, b, a_scale, b_scale, kind="e4m3"):
    pack = 2 if kind == "e2m1" else 1
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=torch.float32, device=a.device)
    _scaled_kernel[(triton.cdiv(m, 128), triton.cdiv(n, 128))](
        a,
        b,
        a_scale,
        b_scale,
        c,
        m,
        n,
        k * pack,
        KIND=kind,
        PACK=pack,
        BM=128,
        BN=128,
        BK=64,
        num_warps=8,
        num_stages=1,
    )
    return {"c": c}


def _wide(x, scale, kind):
    if kind == "e2m1":
        codes = torch.stack([x & 15, x >> 4], 2).flatten(1).long()
        values = torch.tensor([*E2M1, *(-value for value in E2M1)], dtype=torch.float64)
        x = values.to(x.device)[codes]
    elif kind == "e5m2":
        x = x.view(torch.float8_e5m2)
    return x.double() * torch.exp2(scale.double() - 127).repeat_interleave(32, 1)


def reference(a, b, a_scale, b_scale):
    kind = {torch.uint8: "e2m1", torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}[a.dtype]
    return {"c": _wide(a, a_scale, kind) @ _wide(b, b_scale, kind).t()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")
    made = {}
    for name, height in (("a", m), ("b", n)):
        if case.shape.get("packed"):
            x = torch.randint(0, 256, (height, k // 2), generator=generator, dtype=torch.uint8)
        else:
            x = torch.randn(height, k, generator=generator)
            x = x.to(torch.float8_e5m2 if case.shape.get("e5m2") else torch.float8_e4m3fn)
        scale = torch.randint(120, 130, (height, k // 32), generator=generator, dtype=torch.uint8)
        made[name], made[f"{name}_scale"] = x.to(device), scale.to(device)
    return made


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        # before sm_89, NVIDIA's have no e4m3
        Case(
            "e4m3-70x130x192",
            "fp8",
            {"M": 70, "N": 130, "K": 192},
            targets=("sm_89", "sm_9*", "sm_1*", "gfx*"),
        ),
        Case(
            "e5m2-1x33x64", "fp8", {"M": 1, "N": 33, "K": 64, "e5m2": 1}, options={"kind": "e5m2"}
        ),
        Case(
            "e2m1-130x40x128",
            "fp8",
            {"M": 130, "N": 40, "K": 128, "packed": 1},
            options={"kind": "e2m1"},
        ),
    ),
    # measured: 5.9e-8; a product is exact in the accumulator's type, but a device may add in fewer bits
    tolerance={"fp8": 1e-3},
    uses=("dot", "dot-scaled", "fp8"),
)
