"""Matrix product with weights of 4 or 8 bits and a scale for each group of inputs, split along the sum.

The parts of a sum are added atomically into fp32 that starts as zeros; the autotuned launch, which runs every
configuration on the same output, clears it in a hook before each.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


def _clear(named):
    named["c_ptr"].zero_()


def _config(m, n, k, split, warps):
    tile = {"BM": m, "BN": n, "BK": k, "SPLIT": split}
    return triton.Config(tile, num_warps=warps, num_stages=2, pre_hook=_clear)


def _prune(configs, named, **_):
    """Splitting a short sum only costs additions; the first configuration always stays."""
    divided = [c for c in configs[1:] if named["K"] >= c.kwargs["SPLIT"] * c.kwargs["BK"] * 2]
    return configs[:1] + divided


@triton.autotune(
    configs=[
        _config(16, 64, 32, 1, 4),
        _config(16, 64, 64, 2, 4),
        _config(64, 64, 32, 4, 4),
        _config(16, 128, 64, 16, 4),
    ],
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": _prune},
)
@triton.jit
def _dequantize_kernel(
    a_ptr,
    weight_ptr,
    scale_ptr,
    c_ptr,
    M,
    N,
    K,
    GROUP: tl.constexpr,
    BITS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SPLIT: tl.constexpr,
):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(tl.program_id(2) * BK, K, SPLIT * BK):
        at = start + inner
        mask = (rows[:, None] < M) & (at[None, :] < K)
        x = tl.load(a_ptr + rows[:, None] * K + at[None, :], mask=mask, other=0.0)
        # [N, K] in memory; two weights of four bits lie in a byte, the even one below
        mask = (at[:, None] < K) & (cols[None, :] < N)
        if BITS == 4:
            place = cols[None, :] * (K // 2) + at[:, None] // 2
            pair = tl.load(weight_ptr + place, mask=mask, other=0).to(tl.int32)
            weight = ((pair >> ((at[:, None] % 2) * 4)) & 15) - 8
        else:
            weight = tl.load(weight_ptr + cols[None, :] * K + at[:, None], mask=mask, other=0)
        place = cols[None, :] * (K // GROUP) + at[:, None] // GROUP
        scale = tl.load(scale_ptr + place, mask=mask, other=0.0).to(tl.float32)
        y = (weight.to(tl.float32) * scale).to(x.dtype)
        total += tl.dot(x, y, allow_tf32=False)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    c = c_ptr + rows[:, None] * N + cols[None, :]
    if SPLIT == 1:
        tl.store(c, total, mask=mask)
    else:
        tl.atomic_add(c, total, mask=mask)


def launch(a, weight, scale, bits, tuned=False, split=4):
    (m, k), n = a.shape, weight.shape[0]
    c = torch.zeros((m, n), dtype=torch.float32, device=a.device)
    # the autotuner's own function is the plain kernel
    kernel, chosen = _dequantize_kernel, {}
    if not tuned:
        kernel = _dequantize_kernel.fn
        chosen = {"BM": 16, "BN": 64, "BK": 64, "SPLIT": split, "num_warps": 4, "num_stages": 2}

    def grid(meta):
        return triton.cdiv(n, meta["BN"]), triton.cdiv(m, meta["BM"]), meta["SPLIT"]

    group = k // scale.shape[1]
    kernel[grid](a, weight, scale, c, m, n, k, GROUP=group, BITS=bits, **chosen)
    return {"c": c}


def reference(a, weight, scale, bits):
    if bits == 4:
        weight = torch.stack([weight & 15, weight >> 4], 2).flatten(1).to(torch.int32) - 8
    repeated = scale.double().repeat_interleave(a.shape[1] // scale.shape[1], 1)
    return {"c": a.double() @ (weight.double() * repeated).t()}


def inputs(case, device, generator):
    m, n, k, bits, group = (case.shape[name] for name in ("M", "N", "K", "bits", "group"))
    a = torch.randn(m, k, generator=generator, device=generator.device)
    scale = torch.rand(n, k // group, generator=generator, device=generator.device) / 16
    if bits == 4:
        weight = torch.randint(0, 256, (n, k // 2), generator=generator, dtype=torch.uint8)
    else:
        weight = torch.randint(-128, 128, (n, k), generator=generator, dtype=torch.int8)
    return {
        "a": a.to(device, case.torch_dtype),
        "weight": weight.to(device),
        "scale": scale.to(device, case.torch_dtype),
        "bits": bits,
    }


def _case(id, dtype, M, N, K, bits, group, **more):
    shape = {"M": M, "N": N, "K": K, "bits": bits, "group": group}
    return Case(id, dtype, shape, **more)


TUNED = {"options": {"tuned": True}, "requires": ("autotune",)}

KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        _case("fp16-int4-1x130x320", "fp16", 1, 130, 320, 4, 64),
        _case("bf16-int4-20x72x288", "bf16", 20, 72, 288, 4, 32),
        _case("fp16-int8-17x70x200", "fp16", 17, 70, 200, 8, 100),
        _case("fp32-int8-3x33x96-whole", "fp32", 3, 33, 96, 8, 96, options={"split": 1}),
        _case("fp16-int4-5x70x256-tuned", "fp16", 5, 70, 256, 4, 128, **TUNED),
    ),
    # measured: 1.6e-7; 2.2e-4 and 1.5e-3, of rounding weight times scale
    tolerance={"fp32": 7e-7, "fp16": 1e-3, "bf16": 6e-3},
    uses=("atomic", "dot"),
)
