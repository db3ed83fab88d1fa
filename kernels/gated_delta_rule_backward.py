"""Gated delta rule, backward: gradients of all inputs, chunk by chunk, from the intermediate results of forward.

`_state_gradient_kernel` walks the chunks from the last to the first and carries dS, the gradient of the state; the two
others take a chunk each. With P[i, j] = exp(g[i] - g[j]) * (q[i] . k[j]), h the state before a chunk and dS after it:

    dv_new = scale * P^T do + exp(g_last - g) * (k dS)          _state_gradient_kernel
    dq, dk and dw from o and the state                          _state_and_output_kernel
    dv, dk and db from w and u, whose gradients are dw, dv_new  _writing_kernel

g occurs in each. Its gradient by way of q and k follows from theirs: dg = q . dq - k . dk.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import LANES as ALL_LANES
from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.chunk_gated_delta_rule import CHUNK
from crosswarp.kernels.gated_delta_rule import (
    LANES,
    SHAPES,
    decay_ratios,
    forward,
    stages,
    sum_in_chunks,
)
from crosswarp.kernels.gated_delta_rule import inputs as forward_inputs
from crosswarp.kernels.gated_delta_rule import reference as forward_reference


@triton.jit
def _state_gradient_kernel(
    q_ptr,
    k_ptr,
    w_ptr,
    g_ptr,
    do_ptr,
    dfinal_ptr,
    dh_ptr,
    dv_new_ptr,
    dinitial_ptr,
    T,
    H,
    N_CHUNKS,
    scale,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BV: tl.constexpr,
):
    cols = tl.program_id(0) * BV + tl.arange(0, BV)
    i_bh = tl.program_id(1).to(tl.int64)
    in_v = cols[None, :] < V
    lanes = tl.arange(0, K)
    state = lanes[:, None] * V + cols[None, :]
    ds = tl.load(dfinal_ptr + i_bh * K * V + state, mask=in_v, other=0.0).to(tl.float32)
    for back in range(0, N_CHUNKS):
        chunk = N_CHUNKS - 1 - back
        dh = dh_ptr + (i_bh * N_CHUNKS + chunk) * K * V + state
        tl.store(dh, ds.to(dh_ptr.dtype.element_ty), mask=in_v)
        t = chunk * BT + tl.arange(0, BT)
        in_t = t < T
        at = ((i_bh // H) * T + t) * H + i_bh % H
        wide = (at * K)[:, None] + lanes[None, :]
        k = tl.load(k_ptr + wide, mask=in_t[:, None], other=0.0)
        q = tl.load(q_ptr + wide, mask=in_t[:, None], other=0.0)
        last = tl.minimum((chunk + 1) * BT, T) - 1
        g_last = tl.load(g_ptr + ((i_bh // H) * T + last) * H + i_bh % H)
        # past the end the gate stays: exp(g_last - g) is one there, and its row is zero
        g = tl.load(g_ptr + at, mask=in_t, other=0.0)
        g = tl.where(in_t, g, g_last)
        place = (at * V)[:, None] + cols[None, :]
        mask = in_t[:, None] & in_v
        do = tl.load(do_ptr + place, mask=mask, other=0.0)
        weight = tl.dot(q, tl.trans(k), allow_tf32=False) * decay_ratios(g, BT, False)
        weight = tl.trans(weight.to(do.dtype))
        later = tl.dot(k, ds.to(k.dtype), allow_tf32=False)
        dv = tl.dot(weight, do, allow_tf32=False) * scale
        dv += later * tl.exp(g_last - g)[:, None]
        tl.store(dv_new_ptr + place, dv.to(dv_new_ptr.dtype.element_ty), mask=mask)
        w = tl.load(w_ptr + wide, mask=in_t[:, None], other=0.0)
        do = (do * (tl.exp(g) * scale)[:, None]).to(q.dtype)
        ds = ds * tl.exp(g_last) + tl.dot(tl.trans(q), do, allow_tf32=False)
        ds -= tl.dot(tl.trans(w), dv.to(w.dtype), allow_tf32=False)
    tl.store(dinitial_ptr + i_bh * K * V + state, ds, mask=in_v)


@triton.jit
def _state_and_output_kernel(
    q_ptr,
    k_ptr,
    v_new_ptr,
    g_ptr,
    h_ptr,
    do_ptr,
    dh_ptr,
    dv_new_ptr,
    dq_ptr,
    dk_ptr,
    dw_ptr,
    dg_ptr,
    T,
    H,
    N_CHUNKS,
    scale,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
):
    """For 64 of K; walking all of K here, around the walk over V, kills the compiler of Triton 2.3.1."""
    first = tl.program_id(0) * 64
    chunk = tl.program_id(1)
    i_bh = tl.program_id(2).to(tl.int64)
    rows = tl.arange(0, BT)
    t = chunk * BT + rows
    in_t = t < T
    at = ((i_bh // H) * T + t) * H + i_bh % H
    lanes = tl.arange(0, 64)
    last = tl.minimum((chunk + 1) * BT, T) - 1
    g_last = tl.load(g_ptr + ((i_bh // H) * T + last) * H + i_bh % H)
    g = tl.load(g_ptr + at, mask=in_t, other=0.0)
    g = tl.where(in_t, g, g_last)

    weight = tl.zeros([BT, BT], dtype=tl.float32)
    for start in range(0, V, 64):
        place = (at * V)[:, None] + start + lanes[None, :]
        mask = in_t[:, None] & (start + lanes[None, :] < V)
        do = tl.load(do_ptr + place, mask=mask, other=0.0)
        v = tl.load(v_new_ptr + place, mask=mask, other=0.0)
        weight += tl.dot(do, tl.trans(v), allow_tf32=False)
    weight = (weight * decay_ratios(g, BT, False) * scale).to(k_ptr.dtype.element_ty)

    dq = tl.zeros([BT, 64], dtype=tl.float32)
    dk = tl.zeros([BT, 64], dtype=tl.float32)
    dw = tl.zeros([BT, 64], dtype=tl.float32)
    dg_last = tl.zeros([64], dtype=tl.float32)
    states = (i_bh * N_CHUNKS + chunk) * K * V + (first + lanes) * V
    for start in range(0, V, 64):
        cols = start + lanes
        place = (at * V)[:, None] + cols[None, :]
        mask = in_t[:, None] & (cols[None, :] < V)
        # [64 of V, 64 of K]
        turned = states[None, :] + cols[:, None]
        h = tl.load(h_ptr + turned, mask=cols[:, None] < V, other=0.0)
        do = tl.load(do_ptr + place, mask=mask, other=0.0)
        dq += tl.dot(do, h, allow_tf32=False)
        dv = tl.load(dv_new_ptr + place, mask=mask, other=0.0)
        dw -= tl.dot(dv, h, allow_tf32=False)
        dh = tl.load(dh_ptr + turned, mask=cols[:, None] < V, other=0.0)
        v = tl.load(v_new_ptr + place, mask=mask, other=0.0)
        dk += tl.dot(v, dh, allow_tf32=False)
        dg_last += tl.sum(h.to(tl.float32) * dh.to(tl.float32), 0)
    place = (at * K)[:, None] + first + lanes[None, :]
    q = tl.load(q_ptr + place, mask=in_t[:, None], other=0.0)
    k = tl.load(k_ptr + place, mask=in_t[:, None], other=0.0)
    dk = dk * tl.exp(g_last - g)[:, None]
    dg_last = dg_last * tl.exp(g_last) + tl.sum(dk * k, 0)
    dk += tl.dot(tl.trans(weight), q, allow_tf32=False)
    dq = dq * (tl.exp(g) * scale)[:, None] + tl.dot(weight, k, allow_tf32=False)
    dg = tl.sum(dq * q - dk * k, 1)
    tl.store(dq_ptr + place, dq.to(dq_ptr.dtype.element_ty), mask=in_t[:, None])
    tl.store(dk_ptr + place, dk, mask=in_t[:, None])
    tl.store(dw_ptr + place, dw.to(dw_ptr.dtype.element_ty), mask=in_t[:, None])
    dg = tl.where(t == last, dg + tl.sum(dg_last, 0), dg)
    tl.store(dg_ptr + at * (K // 64) + tl.program_id(0), dg, mask=in_t)


@triton.jit
def _writing_kernel(
    k_ptr,
    v_ptr,
    b_ptr,
    g_ptr,
    inverse_ptr,
    dw_ptr,
    du_ptr,
    dk_part_ptr,
    dg_part_ptr,
    dk_ptr,
    dv_ptr,
    dg_ptr,
    db_ptr,
    T,
    H,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
):
    i_bh = tl.program_id(1).to(tl.int64)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    in_t = t < T
    at = ((i_bh // H) * T + t) * H + i_bh % H
    lanes = tl.arange(0, 64)
    b = tl.load(b_ptr + at, mask=in_t, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + at, mask=in_t, other=0.0)
    dg = tl.zeros([BT], dtype=tl.float32)
    for part in range(0, K // 64):
        dg += tl.load(dg_part_ptr + at * (K // 64) + part, mask=in_t, other=0.0)
    place = (at * BT)[:, None] + tl.arange(0, BT)[None, :]
    inverse = tl.load(inverse_ptr + place, mask=in_t[:, None], other=0.0)
    turned = tl.trans(inverse)

    db = tl.zeros([BT], dtype=tl.float32)
    d_inverse = tl.zeros([BT, BT], dtype=tl.float32)
    for start in range(0, V, 64):
        cols = start + lanes
        place = (at * V)[:, None] + cols[None, :]
        mask = in_t[:, None] & (cols[None, :] < V)
        v = tl.load(v_ptr + place, mask=mask, other=0.0)
        du = tl.load(du_ptr + place, mask=mask, other=0.0)
        d_inverse += tl.dot(du, tl.trans((v * b[:, None]).to(v.dtype)), allow_tf32=False)
        dv = tl.dot(turned, du, allow_tf32=False)
        db += tl.sum(dv * v, 1)
        tl.store(dv_ptr + place, (dv * b[:, None]).to(dv_ptr.dtype.element_ty), mask=mask)
    factor = b * tl.exp(g)
    for first in range(0, K, 64):
        place = (at * K)[:, None] + first + lanes[None, :]
        k = tl.load(k_ptr + place, mask=in_t[:, None], other=0.0)
        dw = tl.load(dw_ptr + place, mask=in_t[:, None], other=0.0)
        scaled = (k * factor[:, None]).to(k.dtype)
        d_inverse += tl.dot(dw, tl.trans(scaled), allow_tf32=False)

    # A, and with it the products of b * k and k that it holds
    d_products = tl.dot(d_inverse.to(inverse.dtype), turned, allow_tf32=False)
    d_products = -tl.dot(turned, d_products.to(inverse.dtype), allow_tf32=False)
    d_products = (d_products * decay_ratios(g, BT, True)).to(k_ptr.dtype.element_ty)
    for first in range(0, K, 64):
        place = (at * K)[:, None] + first + lanes[None, :]
        k = tl.load(k_ptr + place, mask=in_t[:, None], other=0.0)
        dw = tl.load(dw_ptr + place, mask=in_t[:, None], other=0.0)
        left = tl.dot(d_products, k, allow_tf32=False)
        right = tl.dot(tl.trans(d_products), (k * b[:, None]).to(k.dtype), allow_tf32=False)
        through_w = tl.dot(turned, dw, allow_tf32=False) * tl.exp(g)[:, None]
        db += tl.sum((left + through_w) * k, 1)
        dg += tl.sum(((left + through_w) * b[:, None] - right) * k, 1)
        dk = tl.load(dk_part_ptr + place, mask=in_t[:, None], other=0.0)
        dk += (left + through_w) * b[:, None] + right
        tl.store(dk_ptr + place, dk.to(dk_ptr.dtype.element_ty), mask=in_t[:, None])
    tl.store(db_ptr + at, db, mask=in_t)
    tl.store(dg_ptr + at, dg, mask=in_t)


def launch(q, k, v, a, b, do, dfinal, initial=None):
    made = forward(q, k, v, a, b, initial)
    gradients = backward(q, k, v, b, do, dfinal, made)
    if initial is None:
        del gradients["dinitial"]
    return gradients


def backward(q, k, v, b, do, dfinal, made):
    batch, length, heads, width = k.shape
    values = v.shape[-1]
    chunks = triton.cdiv(length, CHUNK)
    g, w, h, v_new = (made[name] for name in ("g", "w", "h", "v_new"))
    shape = {"K": width, "V": values, "BT": CHUNK}
    dh, dv_new, dinitial = torch.empty_like(h), torch.empty_like(v), torch.empty_like(dfinal)
    slice_width = 32
    _state_gradient_kernel[(triton.cdiv(values, slice_width), batch * heads)](
        q,
        k,
        w,
        g,
        do,
        dfinal,
        dh,
        dv_new,
        dinitial,
        length,
        heads,
        chunks,
        width**-0.5,
        BV=slice_width,
        num_warps=4,
        num_stages=stages(width, 2),
        **shape,
    )
    dq, dw = torch.empty_like(q), torch.empty_like(w)
    dk_part = torch.empty(k.shape, dtype=torch.float32, device=k.device)
    blocks = width // 64
    dg_part = torch.empty((*g.shape, blocks), dtype=torch.float32, device=k.device)
    _state_and_output_kernel[(blocks, chunks, batch * heads)](
        q,
        k,
        v_new,
        g,
        h,
        do,
        dh,
        dv_new,
        dq,
        dk_part,
        dw,
        dg_part,
        length,
        heads,
        chunks,
        width**-0.5,
        num_warps=4,
        num_stages=stages(width, 3),
        **shape,
    )
    dk, dv, dg, db = (torch.empty_like(x) for x in (k, v, g, b))
    _writing_kernel[(chunks, batch * heads)](
        k,
        v,
        b,
        g,
        made["inverse"],
        dw,
        dv_new,
        dk_part,
        dg_part,
        dk,
        dv,
        dg,
        db,
        length,
        heads,
        num_warps=4,
        num_stages=1,
        **shape,
    )
    # g is the running sum of a: the gradient of a is the sum of those of g from there on
    da = sum_in_chunks(dg, back=True)
    return {"dq": dq, "dk": dk, "dv": dv, "da": da, "db": db, "dinitial": dinitial}


def reference(q, k, v, a, b, do, dfinal, initial=None):
    given = {"q": q, "k": k, "v": v, "a": a, "b": b}
    if initial is not None:
        given["initial"] = initial
    given = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    made = forward_reference(**given)
    gradients = torch.autograd.grad(
        (made["o"], made["final"]), tuple(given.values()), (do.double(), dfinal.double())
    )
    return {f"d{name}": gradient for name, gradient in zip(given, gradients)}


def inputs(case, device, generator):
    made = forward_inputs(case, device, generator)
    batch, length, heads, width, values = (case.shape[name] for name in "BTHKV")

    def normal(*size):
        return torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)

    made["do"] = normal(batch, length, heads, values).to(device, case.torch_dtype)
    made["dfinal"] = (normal(batch, heads, width, values) / 4).to(device)
    return made


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        # Triton 3.0 keeps three tiles of 64 x 256 in shared memory; AMD's 64 KB hold two
        Case(
            id,
            dtype,
            shape,
            targets=("sm_*",) if shape["K"] == 256 else ("*",),
            lanes=LANES.get(dtype, ALL_LANES),
        )
        for id, (dtype, shape) in SHAPES.items()
    ),
    # measured: 5.7e-7, 7.5e-4, 4.2e-3, without TF32; the largest is of da, a sum of differences
    tolerance={"fp32": 2.5e-6, "fp16": 3e-3, "bf16": 1.7e-2},
    uses=("dot",),
)
