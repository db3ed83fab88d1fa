"""Loops over rows that keep the row before: ``previous = current``, where both were the first row to begin with.

From Triton 3.5 on the compiled loop does not carry ``previous``, and the result is the first row. In the compile lane,
where nothing is executed, the launcher checks whether the kernel, which is only this loop, still has it.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _rows_kernel(x_ptr, y_ptr, rows, BLOCK: tl.constexpr, WAY: tl.constexpr):
    at = tl.arange(0, BLOCK)
    current = tl.load(x_ptr + at)
    previous = current
    older = current
    if WAY == "for":
        for row in range(1, rows):
            older = previous
            previous = current
            current = tl.load(x_ptr + row * BLOCK + at)
    if WAY == "while":
        row = 1
        while row < rows:
            older = previous
            previous = current
            current = tl.load(x_ptr + row * BLOCK + at)
            row += 1
    if WAY == "if":
        for row in range(1, rows):
            if row % 2 == 1:
                older = previous
                previous = current
            current = tl.load(x_ptr + row * BLOCK + at)
    if WAY == "nested":
        for pair in range(1, rows, 2):
            for row in range(pair, tl.minimum(pair + 2, rows)):
                older = previous
                previous = current
                current = tl.load(x_ptr + row * BLOCK + at)
    tl.store(y_ptr + at, older)
    tl.store(y_ptr + BLOCK + at, previous)


def launch(x, way):
    y = torch.full_like(x[:2], float("nan"))
    compiled = _rows_kernel[(1,)](x, y, x.shape[0], BLOCK=BLOCK, WAY=way)
    # the interpreter returns None; on a device, and where its code was emulated, the numbers show it
    executed = x.device.type != "cpu" or not y.isnan().any()
    if compiled is not None and not executed and "scf." not in compiled.asm["ttir"]:
        msg = "the kernel was compiled without its loop: the variables that it carries were dropped"
        raise RuntimeError(msg)
    return {"y": y}


def reference(x, way):
    x = x.double()
    older = previous = x[0]
    for row in range(1, x.shape[0]):
        if way != "if" or row % 2 == 1:
            older, previous = previous, x[row - 1]
    return {"y": torch.stack([older, previous])}


def inputs(case, device, generator):
    x = torch.randn(case.shape["rows"], BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "way": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("for", "fp32", {"rows": 6}, targets=("sm_80", "sm_90", "gfx942")),
        # To the interpreter of Triton 2.3 every comparison is true: it would never end.
        Case(
            "while",
            "fp32",
            {"rows": 6},
            ("compile", "emulate", "device"),
            ("sm_80", "sm_90", "gfx942"),
        ),
        Case("if", "fp32", {"rows": 6}, targets=("sm_80", "sm_90", "gfx942")),
        Case("nested", "fp32", {"rows": 6}, targets=("sm_80", "sm_90", "gfx942")),
    ),
    # rows are copied
    tolerance={"fp32": 1e-7},
)
