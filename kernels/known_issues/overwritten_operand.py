"""An atomic operation whose result replaces its operand, in a loop or a branch; and pointers in a loop."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE, TURNS = 128, 3


@triton.jit
def _added_kernel(x_ptr, sums_ptr, left_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x_ptr + at)
    for turn in range(turns):
        v = tl.atomic_add(sums_ptr + turn * SIZE + at, v)
    tl.store(left_ptr + at, v)


@triton.jit
def _exchanged_kernel(x_ptr, sums_ptr, left_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x_ptr + at)
    if turns > 1:
        v = tl.atomic_xchg(sums_ptr + at, v)
    tl.store(left_ptr + at, v)


@triton.jit
def _compared_kernel(x_ptr, sums_ptr, left_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    new = tl.load(x_ptr + at)
    v = tl.load(sums_ptr + at)
    for turn in range(turns):
        v = tl.atomic_cas(sums_ptr + turn * SIZE + at, v, new)
    tl.store(left_ptr + at, v)


@triton.jit
def _pointers_kernel(pointers_ptr, y_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(pointers_ptr + at)
    for _ in range(turns):
        v = tl.load(v.to(tl.pointer_type(tl.int64)))
    tl.store(y_ptr + at, v)


KERNELS = {"added": _added_kernel, "exchanged": _exchanged_kernel, "compared": _compared_kernel}


def launch(x, held, order, what):
    if what == "pointers":
        # Pointers of the first row lead to the second row, and those to the third, which holds the values.
        rows = torch.stack([order, order, x])
        for row in (1, 0):
            rows[row] = rows[row] * 8 + rows[row + 1].data_ptr()
        y = torch.empty_like(x)
        _pointers_kernel[(1,)](rows, y, 2, SIZE=SIZE)
        return {"y": y}
    sums, left = held.clone(), torch.empty_like(x)
    KERNELS[what][(1,)](x, sums, left, TURNS, SIZE=SIZE)
    return {"sums": sums, "left": left}


def reference(x, held, order, what):
    if what == "pointers":
        return {"y": x[order][order]}
    sums, v = held.clone(), x
    for turn in range(1 if what == "exchanged" else TURNS):
        row = sums[turn * SIZE :][:SIZE]
        before = row.clone()
        if what == "added":
            row += v
        elif what == "exchanged":
            row.copy_(v)
        else:
            # Each of its rows holds the values of its first.
            row.copy_(x)
        v = before
    return {"sums": sums, "left": v}


def inputs(case, device, generator):
    def drawn(low, high):
        return torch.randint(low, high, (SIZE,), generator=generator, device=generator.device)

    order = torch.randperm(SIZE, generator=generator, device=generator.device)
    kind = {"pointers": torch.int64, "added": torch.float32}.get(case.id, torch.int32)
    x, held = (numbers.to(device, kind) for numbers in (drawn(1, 50), drawn(50, 99)))
    return {"x": x, "held": held.repeat(TURNS), "order": order.to(device), "what": case.id}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            what,
            "fp32",
            {"N": SIZE},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80", "sm_90"),
        )
        for what in ("added", "exchanged", "compared", "pointers")
    ),
    uses=("atomic",),
    # integers
    tolerance={"fp32": 0.0},
)
