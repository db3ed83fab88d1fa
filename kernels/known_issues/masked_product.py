"""A product, masked and rounded to 16 bits, that is an operand of the next: plain, transposed, or both.

This is how the backward pass of an attention makes dq and dk of ds. On Hopper, with four warps and a second product of
16 or 32 columns, Triton 3.6 and 3.7 silently give wrong numbers; with 64 columns, or two warps, they are right. The
fault is in the optimiser of ptxas 12.8, which both bring along: with `DISABLE_PTXAS_OPT=1` the numbers are right, and
so they are with the ptxas 12.9 that lies beside it in the wheel.
"""

from typing import Any, Dict

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 64


@triton.jit
def _masked_product_kernel(
    do_ptr,
    v_ptr,
    q_ptr,
    k_ptr,
    dq_ptr,
    dk_ptr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    DQ: tl.constexpr,
    DK: tl.constexpr,
):
    row = tl.arange(0, SIZE)
    square = row[:, None] * SIZE + row[None, :]
    narrow = row[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    v = tl.load(v_ptr + square)
    ds = tl.dot(tl.load(do_ptr + square), tl.trans(v))
    ds = tl.where(row[:, None] >= row[None, :], ds, 0.0).to(v.dtype)
    if DQ:
        tl.store(dq_ptr + narrow, tl.dot(ds, tl.load(k_ptr + narrow)))
    if DK:
        tl.store(dk_ptr + narrow, tl.dot(tl.trans(ds), tl.load(q_ptr + narrow)))


def launch(do, v, q, k, wanted, num_warps=4):
    made = {name: torch.empty(q.shape, dtype=torch.float32, device=q.device) for name in wanted}
    # outputs that are not wanted are not written
    dq, dk = made.get("dq", q), made.get("dk", k)
    _masked_product_kernel[(1,)](
        do, v, q, k, dq, dk,
        SIZE=SIZE, WIDTH=q.shape[1], DQ="dq" in made, DK="dk" in made, num_warps=num_warps,
    )  # fmt: skip
    return made


def reference(do, v, q, k, wanted):
    ds = (do.double() @ v.double().t()).tril()
    made = {"dq": ds @ k.double(), "dk": ds.t() @ q.double()}
    return {name: made[name] for name in wanted}


def inputs(case, device, generator):
    def normal(width):
        made = torch.randn(SIZE, width, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    wide, narrow = SIZE, case.shape["width"]
    given = {"do": normal(wide), "v": normal(wide), "q": normal(narrow), "k": normal(narrow)}
    which = case.id.split("-")[0]
    return {**given, "wanted": ["dq", "dk"] if which == "both" else [which]}


ON_HOPPER: Dict[str, Any] = {"targets": ("sm_90",)}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("dq-32", "bf16", {"width": 32}, **ON_HOPPER),
        Case("dk-32", "bf16", {"width": 32}, **ON_HOPPER),
        Case("both-32", "bf16", {"width": 32}, **ON_HOPPER),
        Case("both-32-2warps", "bf16", {"width": 32}, options={"num_warps": 2}, **ON_HOPPER),
        Case("both-64", "bf16", {"width": 64}, **ON_HOPPER),
        Case("both-16", "bf16", {"width": 16}, **ON_HOPPER),
    ),
    # the rounding of the first product to bf16: 2.3e-3
    tolerance={"bf16": 1e-2},
    uses=("dot",),
)
