"""The steps around a mixture's experts: gate tokens, bring each to its experts' rows, and combine the results.

The gate takes the k most probable experts of a softmax, one after the other, and counts by atomic additions how many
tokens each expert gets. The slots of an expert are handed out by atomic additions, too, so their order is not fixed;
that of the sums is. Some experts get no token at all.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

BLOCK_T = 16
LARGEST_BLOCK = 2048


@triton.jit
def _gate_kernel(
    logits_ptr,
    weight_ptr,
    expert_ptr,
    count_ptr,
    tokens,
    experts,
    K: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_E: tl.constexpr,
    ARGMAX: tl.constexpr,
):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    e = tl.arange(0, BLOCK_E)
    mask = (t[:, None] < tokens) & (e[None, :] < experts)
    x = tl.load(logits_ptr + t[:, None] * experts + e[None, :], mask=mask, other=-1e30)
    x = x.to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=1)[:, None])
    left = tl.where(e[None, :] < experts, x / tl.sum(x, axis=1)[:, None], -1.0)
    chosen = tl.zeros([BLOCK_T], dtype=tl.float32)
    for turn in tl.static_range(0, K):
        weight = tl.max(left, axis=1)
        if ARGMAX:
            best = tl.argmax(left, axis=1)
        else:
            # of equals the first, as argmax has it
            best = tl.min(tl.where(left == weight[:, None], e[None, :], BLOCK_E), axis=1)
        chosen += weight
        tl.store(weight_ptr + t * K + turn, weight, mask=t < tokens)
        tl.store(expert_ptr + t * K + turn, best, mask=t < tokens)
        ones = tl.full([BLOCK_T], 1, dtype=tl.int32)
        tl.atomic_add(count_ptr + best, ones, mask=t < tokens)
        left = tl.where(e[None, :] == best[:, None], -1.0, left)
    # another thread may have written the weights read back below
    tl.debug_barrier()
    # the weights of a token sum to one
    for turn in tl.static_range(0, K):
        weight = tl.load(weight_ptr + t * K + turn, mask=t < tokens, other=0.0)
        tl.store(weight_ptr + t * K + turn, weight / chosen, mask=t < tokens)


@triton.jit
def _scatter_kernel(
    x_ptr,
    expert_ptr,
    start_ptr,
    used_ptr,
    slot_ptr,
    rows_ptr,
    N,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # 64 bits: tokens times columns may pass 2^31
    choice = tl.program_id(0).to(tl.int64)
    expert = tl.load(expert_ptr + choice)
    slot = tl.load(start_ptr + expert) + tl.atomic_add(used_ptr + expert, 1)
    tl.store(slot_ptr + choice, slot)
    cols = tl.arange(0, BLOCK)
    for start in range(0, N, BLOCK):
        mask = start + cols < N
        x = tl.load(x_ptr + choice // K * N + start + cols, mask=mask, other=0.0)
        tl.store(rows_ptr + slot.to(tl.int64) * N + start + cols, x, mask=mask)


@triton.jit
def _combine_kernel(rows_ptr, slot_ptr, weight_ptr, y_ptr, N, K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for turn in tl.static_range(0, K):
        slot = tl.load(slot_ptr + token * K + turn).to(tl.int64)
        weight = tl.load(weight_ptr + token * K + turn)
        row = tl.load(rows_ptr + slot * N + cols, mask=mask, other=0.0).to(tl.float32)
        total += weight * row
    tl.store(y_ptr + token * N + cols, total.to(y_ptr.dtype.element_ty), mask=mask)


def launch(logits, x, scale, k, argmax=False):
    """A factor for each expert stands in for the experts."""
    tokens, experts = logits.shape
    width = x.shape[1]
    device = x.device
    weight = torch.empty((tokens, k), dtype=torch.float32, device=device)
    expert = torch.empty((tokens, k), dtype=torch.int32, device=device)
    count = torch.zeros(experts, dtype=torch.int32, device=device)
    block_e = triton.next_power_of_2(experts)
    _gate_kernel[(triton.cdiv(tokens, BLOCK_T),)](
        logits,
        weight,
        expert,
        count,
        tokens,
        experts,
        K=k,
        BLOCK_T=BLOCK_T,
        BLOCK_E=block_e,
        ARGMAX=argmax,
        num_warps=num_warps(BLOCK_T * block_e),
    )
    start = (count.cumsum(0) - count).to(torch.int32)
    slot = torch.empty((tokens, k), dtype=torch.int32, device=device)
    rows = torch.empty((tokens * k, width), dtype=x.dtype, device=device)
    block = min(LARGEST_BLOCK, triton.next_power_of_2(width))
    warps = num_warps(block)
    used = torch.zeros_like(count)
    _scatter_kernel[(tokens * k,)](
        x, expert, start, used, slot, rows, width, K=k, BLOCK=block, num_warps=warps
    )
    # each slot belongs to the last expert that starts at or before it
    owner = torch.searchsorted(
        start, torch.arange(tokens * k, dtype=torch.int32, device=device), right=True
    )
    rows = rows * scale[owner - 1].unsqueeze(1)
    y = torch.empty_like(x)
    _combine_kernel[(tokens, triton.cdiv(width, block))](
        rows, slot, weight, y, width, K=k, BLOCK=block, num_warps=warps
    )
    return {"weight": weight, "expert": expert, "count": count, "y": y}


def reference(logits, x, scale, k):
    weight, expert = logits.double().softmax(1).topk(k, 1)
    weight = weight / weight.sum(1, keepdim=True)
    count = torch.bincount(expert.flatten(), minlength=logits.shape[1])
    y = (weight * scale.double()[expert]).sum(1, keepdim=True) * x.double()
    return {"weight": weight, "expert": expert.double(), "count": count.double(), "y": y}


def inputs(case, device, generator):
    tokens, experts, width, k = (case.shape[name] for name in ("tokens", "E", "N", "K"))

    def normal(*size):
        return torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)

    # no two experts of a token alike, whatever the type: otherwise which of them is first would be arbitrary
    logits = torch.rand(tokens, experts, generator=generator, device=generator.device).argsort(1)
    # no token chooses the second one
    logits = logits.float() / 4
    if experts > k:
        logits[:, 1] = -9.0
    return {
        "logits": logits.to(device, case.torch_dtype),
        "x": normal(tokens, width).to(device, case.torch_dtype),
        # powers of two: a factor that costs no rounding
        "scale": (2.0 ** torch.arange(experts).remainder(4)).to(device, case.torch_dtype),
        "k": k,
    }


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-t37-e8-k2", "fp32", {"tokens": 37, "E": 8, "N": 130, "K": 2}),
        # more experts than a power of two, more than one round of the columns
        Case("fp16-t5-e13-k4", "fp16", {"tokens": 5, "E": 13, "N": 2100, "K": 4}),
        # a single token, and a second expert that it has to take
        Case("fp32-t1-e2-k2", "fp32", {"tokens": 1, "E": 2, "N": 1, "K": 2}),
        Case("bf16-t19-e64-k6", "bf16", {"tokens": 19, "E": 64, "N": 256, "K": 6}),
        Case(
            "fp32-t21-e16-k3-argmax",
            "fp32",
            {"tokens": 21, "E": 16, "N": 33, "K": 3},
            options={"argmax": True},
            requires=("argmax",),
        ),
    ),
    # measured: 8.7e-8, 2.1e-4; bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
