"""Matrix product of each type that matrix units take: fp32 exact or as TF32, int8 into int32, 8-bit floats."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _typed_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_row,
    a_col,
    b_row,
    b_col,
    c_row,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    INTEGER: tl.constexpr,
    TF32: tl.constexpr,
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b = b_ptr + inner[:, None] * b_row + cols[None, :] * b_col
    if INTEGER:
        total = tl.zeros([BM, BN], dtype=tl.int32)
    else:
        total = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a, mask=(rows[:, None] < M) & (inner[None, :] < K - start), other=0.0)
        y = tl.load(b, mask=(inner[:, None] < K - start) & (cols[None, :] < N), other=0.0)
        total += tl.dot(x, y, allow_tf32=TF32)
        a += BK * a_col
        b += BK * b_row
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    c = c_ptr + rows[:, None] * c_row + cols[None, :]
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=mask)


def launch(a, b, tf32=False):
    (m, k), n = a.shape, b.shape[1]
    integer = a.dtype == torch.int8
    kind = torch.int32 if integer else torch.float32
    c = torch.empty((m, n), dtype=kind, device=a.device)
    # products exact in fp32 run outside the matrix units: a larger tile is only more code
    tile = {"BM": 32, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 2}
    if tf32 or a.dtype != torch.float32:
        tile = {"BM": 128, "BN": 128, "BK": 32 if tf32 else 64, "num_warps": 8, "num_stages": 2}
    _typed_matmul_kernel[(triton.cdiv(m, tile["BM"]), triton.cdiv(n, tile["BN"]))](
        a,
        b,
        c,
        m,
        n,
        k,
        *a.stride(),
        *b.stride(),
        c.stride(0),
        INTEGER=integer,
        TF32=tf32,
        **tile,
    )
    return {"c": c}


def reference(a, b):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")

    def made(*size):
        if case.dtype == "int8":
            return torch.randint(-128, 128, size, generator=generator).to(device, torch.int8)
        x = torch.randn(*size, generator=generator, dtype=torch.float32)
        if case.shape.get("few_bits"):
            # eight bits of mantissa: TF32 keeps them all, so its product is exact
            x = x.bfloat16().float()
        kinds = {0: case.torch_dtype, 1: torch.float8_e5m2, 2: torch.float8_e4m3fnuz}
        return x.to(device, kinds[case.shape.get("kind", 0)])

    # the second operand as layers keep their weights: [N, K]
    return {"a": made(m, k), "b": made(n, k).t()}


HAS_E4M3 = ("sm_89", "sm_9*", "sm_1*")

KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-ieee-65x129x77", "fp32", {"M": 65, "N": 129, "K": 77}),
        Case(
            "fp32-tf32-129x70x96",
            "fp32",
            {"M": 129, "N": 70, "K": 96, "few_bits": 1},
            options={"tf32": True},
        ),
        Case("int8-70x130x200", "int8", {"M": 70, "N": 130, "K": 200}),
        Case(
            "fp8-e4m3-70x130x200",
            "fp8",
            {"M": 70, "N": 130, "K": 200},
            targets=HAS_E4M3,
            requires=("fp8",),
        ),
        Case(
            "fp8-e5m2-33x50x64",
            "fp8",
            {"M": 33, "N": 50, "K": 64, "kind": 1},
            targets=("sm_*",),
            requires=("fp8",),
        ),
        Case(
            "fp8-fnuz-33x50x64",
            "fp8",
            {"M": 33, "N": 50, "K": 64, "kind": 2},
            lanes=("compile",),
            targets=("gfx942",),
            requires=("fp8",),
        ),
    ),
    # measured: 1.0e-7; int8 is exact; 4.2e-9 for sums of fp8, which a device may compute in fewer bits
    tolerance={"fp32": 5e-7, "int8": 0.0, "fp8": 1e-3},
    uses=("dot",),
)
