"""A flattened loop that carries one value under two names, made after the loop inside it."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 32


@triton.jit
def _outputs_kernel(x_ptr, y_ptr, outer, inner, BLOCK: tl.constexpr, AGAIN: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.load(x_ptr + col)
    step = tl.load(x_ptr + BLOCK + col)
    last = step
    for _ in tl.range(0, outer, flatten=True):
        if AGAIN:
            # the inner loop's sum starts anew in each iteration
            part = step
            for turn in range(0, inner):
                part += turn
            total += part
        else:
            for turn in range(0, inner):
                total += turn
            total += last
        last = total
    tl.store(y_ptr + col, total + last)


def launch(x, outer, inner, again):
    y = torch.empty(BLOCK, dtype=x.dtype, device=x.device)
    _outputs_kernel[(1,)](x, y, outer, inner, BLOCK=BLOCK, AGAIN=again, num_warps=1)
    return {"y": y}


def reference(x, outer, inner, again):
    total, step = x.double().chunk(2)
    last = step
    for _ in range(outer):
        total = total + sum(range(inner)) + (step if again else last)
        last = total
    return {"y": total + last}


def inputs(case, device, generator):
    x = torch.randint(-9, 10, (2 * BLOCK,), generator=generator, device=generator.device)
    again = case.id == "begun-again"
    return {"x": x.to(device, case.torch_dtype), "outer": 3, "inner": 4, "again": again}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(name, "fp32", {}, targets=("sm_80", "sm_90", "gfx942"))
        for name in ("carried", "begun-again")
    ),
    uses=("tl-range", "tl-range-flatten"),
    # integers
    tolerance={"fp32": 0.0},
)
