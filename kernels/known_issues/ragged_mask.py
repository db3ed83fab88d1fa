"""A pipelined loop that loads under a mask which ends within the 16 bytes that a thread copies at a time."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIDE, LENGTH = 16, 64


@triton.jit
def _product_kernel(
    a_ptr, b_ptr, y_ptr, turns, some, SOME: tl.constexpr, SIDE: tl.constexpr, LENGTH: tl.constexpr
):
    length = some if SOME == 0 else SOME
    side, inner = tl.arange(0, SIDE), tl.arange(0, LENGTH)
    total = tl.zeros([SIDE, SIDE], tl.float32)
    for turn in range(turns):
        first = turn * SIDE * LENGTH
        at = side[:, None] * LENGTH + inner[None, :]
        a = tl.load(a_ptr + first + at, mask=inner[None, :] < length, other=0.0)
        b = tl.load(b_ptr + first + inner[:, None] * SIDE + side[None, :])
        total += tl.dot(a, b)
    tl.store(y_ptr + side[:, None] * SIDE + side[None, :], total)


@triton.jit
def _rows_kernel(a_ptr, y_ptr, turns, some, SIDE: tl.constexpr, LENGTH: tl.constexpr):
    inner = tl.arange(0, LENGTH)
    total = tl.zeros([LENGTH], tl.float32)
    for turn in tl.range(0, turns, num_stages=2):
        total += tl.load(a_ptr + turn * SIDE * LENGTH + inner, mask=inner < some, other=0.0)
    tl.store(y_ptr + inner, total)


def launch(a, b, some):
    if b is None:
        y = torch.empty(LENGTH, device=a.device)
        _rows_kernel[(1,)](a, y, len(a), some, SIDE=SIDE, LENGTH=LENGTH)
    else:
        y = torch.empty(SIDE, SIDE, device=a.device)
        options = {"SIDE": SIDE, "LENGTH": LENGTH, "num_warps": 1, "num_stages": 2}
        # A loop over 16-bit elements is pipelined only if its mask is known to end with a pair.
        options["SOME"] = some if a.dtype == torch.float16 else 0
        _product_kernel[(1,)](a, b, y, len(a), some, **options)
    return {"y": y}


def reference(a, b, some):
    masked = a.double().clone()
    masked[..., some:] = 0
    return {"y": masked[:, 0].sum(0) if b is None else (masked @ b.double()).sum(0)}


def inputs(case, device, generator):
    def whole(*shape):
        drawn = torch.randint(-2, 3, shape, generator=generator, device=generator.device)
        return drawn.to(device, case.torch_dtype)

    turns = case.shape["TURNS"]
    b = None if "tl-range" in case.requires else whole(turns, LENGTH, SIDE)
    return {"a": whole(turns, SIDE, LENGTH), "b": b, "some": case.shape["SOME"]}


NVIDIA = ("sm_80", "sm_90")
KERNEL = kernel_of(
    globals(),
    cases=(
        Case("product", "fp32", {"TURNS": 3, "SOME": 61}, targets=NVIDIA, requires=("dot",)),
        Case("halves", "fp16", {"TURNS": 3, "SOME": 28}, targets=NVIDIA, requires=("dot",)),
        Case("sixteens", "fp32", {"TURNS": 3, "SOME": 48}, targets=NVIDIA, requires=("dot",)),
        Case("rows", "fp32", {"TURNS": 3, "SOME": 61}, targets=NVIDIA, requires=("tl-range",)),
    ),
    # small integers, exact as tf32 too
    tolerance={"fp32": 0.0, "fp16": 0.0},
)
