"""Rotary position embedding of queries and keys, forward and backward, one token in each program.

The two halves of every head are the two coordinates that are rotated. Backward rotates the other way. Queries and keys
may differ in number of heads, and their heads may lie anywhere: (token, head) strides are given.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _turn_heads(
    x_ptr,
    y_ptr,
    x_head_stride,
    y_head_stride,
    cos,
    sin,
    heads,
    HALF: tl.constexpr,
    HEADS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    head = tl.arange(0, HEADS)
    col = tl.arange(0, BLOCK)
    mask = (head[:, None] < heads) & (col[None, :] < HALF)
    x = x_ptr + head[:, None] * x_head_stride + col[None, :]
    y = y_ptr + head[:, None] * y_head_stride + col[None, :]
    first = tl.load(x, mask=mask, other=0.0).to(tl.float32)
    second = tl.load(x + HALF, mask=mask, other=0.0).to(tl.float32)
    turned_first = first * cos[None, :] - second * sin[None, :]
    turned_second = second * cos[None, :] + first * sin[None, :]
    tl.store(y, turned_first.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(y + HALF, turned_second.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _rope_kernel(
    q_ptr,
    k_ptr,
    q_out_ptr,
    k_out_ptr,
    cos_ptr,
    sin_ptr,
    q_batch,
    q_token,
    q_head,
    k_batch,
    k_token,
    k_head,
    q_out_batch,
    q_out_token,
    q_out_head,
    k_out_batch,
    k_out_token,
    k_out_head,
    q_heads,
    k_heads,
    HALF: tl.constexpr,
    Q_HEADS: tl.constexpr,
    K_HEADS: tl.constexpr,
    BLOCK: tl.constexpr,
    BACKWARD: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    batch = tl.program_id(1).to(tl.int64)
    col = tl.arange(0, BLOCK)
    cos = tl.load(cos_ptr + token * HALF + col, mask=col < HALF, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + token * HALF + col, mask=col < HALF, other=0.0).to(tl.float32)
    if BACKWARD:
        sin = -sin
    q = q_ptr + batch * q_batch + token * q_token
    q_out = q_out_ptr + batch * q_out_batch + token * q_out_token
    _turn_heads(q, q_out, q_head, q_out_head, cos, sin, q_heads, HALF, Q_HEADS, BLOCK)
    k = k_ptr + batch * k_batch + token * k_token
    k_out = k_out_ptr + batch * k_out_batch + token * k_out_token
    _turn_heads(k, k_out, k_head, k_out_head, cos, sin, k_heads, HALF, K_HEADS, BLOCK)


def _turned(q, k, cos, sin, backward):
    """Of queries and keys (batch, head, token, column), contiguous or not, with the columns side by side."""
    batch, q_heads, tokens, width = q.shape
    k_heads = k.shape[1]
    half = width // 2
    block = triton.next_power_of_2(half)
    # token before head in memory, as projections make them
    q_out = torch.empty((batch, tokens, q_heads, width), dtype=q.dtype, device=q.device)
    k_out = torch.empty((batch, tokens, k_heads, width), dtype=k.dtype, device=k.device)
    q_out, k_out = q_out.transpose(1, 2), k_out.transpose(1, 2)
    padded = triton.next_power_of_2(q_heads)
    strides = []
    for tensor in (q, k, q_out, k_out):
        strides += [tensor.stride(0), tensor.stride(2), tensor.stride(1)]
    _rope_kernel[(tokens, batch)](
        q,
        k,
        q_out,
        k_out,
        cos,
        sin,
        *strides,
        q_heads,
        k_heads,
        HALF=half,
        Q_HEADS=padded,
        K_HEADS=triton.next_power_of_2(k_heads),
        BLOCK=block,
        BACKWARD=backward,
        num_warps=num_warps(padded * block),
    )
    return q_out, k_out


def launch(q, k, dq, dk, cos, sin):
    q_out, k_out = _turned(q, k, cos, sin, backward=False)
    dq_in, dk_in = _turned(dq, dk, cos, sin, backward=True)
    return {"q": q_out, "k": k_out, "dq": dq_in, "dk": dk_in}


def reference(q, k, dq, dk, cos, sin):
    def turned(x, sign):
        half = x.shape[-1] // 2
        first, second = x[..., :half].double(), x[..., half:].double()
        c, s = cos.double(), sin.double() * sign
        return torch.cat([first * c - second * s, second * c + first * s], -1)

    return {"q": turned(q, 1), "k": turned(k, 1), "dq": turned(dq, -1), "dk": turned(dk, -1)}


def inputs(case, device, generator):
    batch, tokens, width = case.shape["B"], case.shape["T"], case.shape["D"]

    def heads(number):
        size = (batch, tokens, number, width)
        made = torch.randn(size, generator=generator, device=generator.device, dtype=torch.float32)
        made = made.to(device, case.torch_dtype)
        # a view with token before head in memory, or the other way round
        return (
            made.transpose(1, 2).contiguous()
            if case.shape.get("heads-first")
            else made.transpose(1, 2)
        )

    speed = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] * speed
    return {
        "q": heads(case.shape["HQ"]),
        "k": heads(case.shape["HK"]),
        "dq": heads(case.shape["HQ"]),
        "dk": heads(case.shape["HK"]),
        "cos": angle.cos().float().to(device),
        "sin": angle.sin().float().to(device),
    }


KERNEL = kernel_of(
    globals(),
    batch="B",
    cases=(
        Case("fp32-t9-h3-1-d64", "fp32", {"B": 2, "T": 9, "HQ": 3, "HK": 1, "D": 64}),
        # one head, one token, one pair of columns
        Case("fp16-t1-h1-d2", "fp16", {"B": 1, "T": 1, "HQ": 1, "HK": 1, "D": 2}),
        Case(
            "fp16-t7-h5-5-d80-heads-first",
            "fp16",
            {"B": 1, "T": 7, "HQ": 5, "HK": 5, "D": 80, "heads-first": 1},
        ),
        Case("bf16-t5-h32-8-d128", "bf16", {"B": 1, "T": 5, "HQ": 32, "HK": 8, "D": 128}),
    ),
    # measured: 3.6e-8, 2.0e-4; bf16 is the rounding of the output, 1.3e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
