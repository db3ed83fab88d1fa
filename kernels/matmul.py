"""Matrix product; fp32 accumulator, output in the inputs' type.

Autotuned over tiles and warps, except where the matrices fill the tile that large ones get.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of, max_shared_memory


def _config(m, n, k, warps, stages):
    return triton.Config(
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages
    )


@triton.autotune(
    configs=[_config(32, 64, 32, 4, 2), _config(64, 64, 32, 4, 3), _config(64, 128, 32, 8, 2)],
    key=["M", "N", "K"],
)
@triton.jit
def _matmul_kernel(
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
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EVEN: tl.constexpr,
    GROUP: tl.constexpr,
):
    # GROUP rows of tiles go along the columns together: the operands they read stay in L2
    across = tl.cdiv(N, BLOCK_N)
    group = tl.program_id(0) // (GROUP * across)
    within = tl.program_id(0) % (GROUP * across)
    height = tl.minimum(tl.cdiv(M, BLOCK_M) - group * GROUP, GROUP)
    rows = (group * GROUP + within % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (within // height) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b = b_ptr + inner[:, None] * b_row + cols[None, :] * b_col
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN:
            x = tl.load(a)
            y = tl.load(b)
        else:
            left = K - start
            x = tl.load(a, mask=(rows[:, None] < M) & (inner[None, :] < left), other=0.0)
            y = tl.load(b, mask=(inner[:, None] < left) & (cols[None, :] < N), other=0.0)
        # fp32 stays fp32: TF32 would need a tolerance for each target (gfx942 got it with Triton 3.3.1)
        total = tl.dot(x, y, total, allow_tf32=False)
        a += BLOCK_K * a_col
        b += BLOCK_K * b_row
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    at = c_ptr + rows[:, None] * c_row + cols[None, :]
    tl.store(at, total.to(c_ptr.dtype.element_ty), mask=mask)


# Multiples of these sizes fill each tile of the autotuner.
_MULTIPLES = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}
_SMALL = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32}
_LARGE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8}


def launch(a, b, num_warps=None, tile=None):
    """Autotuned, or with a given num_warps a direct launch of the smallest tile, or of the given tile."""
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if num_warps is not None:
        tile = {**_SMALL, "num_warps": num_warps}
    elif tile is None and _is_large(a, m, n, k):
        # the fourth stage is worth 7 % on an H100, and more than others have room for
        tile = {**_LARGE, "num_stages": 4 if max_shared_memory() > 200_000 else 3}

    def grid(meta):
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    # the autotuner's own function is the plain kernel
    kernel = _matmul_kernel if tile is None else _matmul_kernel.fn
    chosen = {"GROUP": 8, **(tile or {})}
    fills = {**_MULTIPLES, **chosen}
    even = not (m % fills["BLOCK_M"] or n % fills["BLOCK_N"] or k % fills["BLOCK_K"])
    strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0))
    kernel[grid](a, b, c, m, n, k, *strides, EVEN=even, **chosen)
    return {"c": c}


def _is_large(a, m, n, k):
    """Whether _LARGE is filled, by enough tiles for a GPU, and fits (not into AMD's 64 KB)."""
    if a.element_size() != 2 or m % 128 or n % 256 or k % 64 or m * n < 128 * 256 * 128:
        return False
    return max_shared_memory() >= 160_000


def reference(a, b):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    b = normal(n, k).t() if case.shape.get("transposed") else normal(k, n)
    return {"a": normal(m, k), "b": b}


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-37x50x41", "fp32", {"M": 37, "N": 50, "K": 41}, requires=("autotune",)),
        Case("fp16-65x129x77", "fp16", {"M": 65, "N": 129, "K": 77}, requires=("autotune",)),
        Case(
            "bf16-1x80x96-t",
            "bf16",
            {"M": 1, "N": 80, "K": 96, "transposed": 1},
            requires=("autotune",),
        ),
        # one configuration, launched without the autotuner: every interpreter can run it
        Case(
            "fp32-33x1x50-4warps",
            "fp32",
            {"M": 33, "N": 1, "K": 50},
            lanes=("emulate", "interpret", "device"),
            options={"num_warps": 4},
        ),
        Case(
            "fp16-70x65x129-t-4warps",
            "fp16",
            {"M": 70, "N": 65, "K": 129, "transposed": 1},
            lanes=("emulate", "interpret", "device"),
            options={"num_warps": 4},
        ),
    ),
    # measured: 1.1e-7, 2.1e-4; bf16 is the rounding of the output, 1.9e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
    uses=("dot",),
)
