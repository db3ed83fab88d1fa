"""A pointer that a kernel chooses: by tl.where, by if, elif and else, and beside an early return.

AMD's pass CanonicalizePointers knows of a tensor smaller than 2 GB, so its launch says so. "early-tile" hands a tile of
numbers on beside the pointer.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, current_target, kernel_of

SIZE = 64


@triton.jit
def _where_kernel(x_ptr, z_ptr, mode_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    base = tl.where(at % 2 == 1, z_ptr, x_ptr)
    tl.store(y_ptr + at, tl.load(base + at))


@triton.jit
def _elif_kernel(x_ptr, z_ptr, mode_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    mode = tl.load(mode_ptr)
    if mode == 0:
        source = z_ptr
    elif mode == 1:
        source = x_ptr + SIZE // 2
    else:
        source = x_ptr
    tl.store(y_ptr + at, tl.load(source + at, mask=at < SIZE // 2, other=0.0))


@triton.jit
def _early_kernel(x_ptr, z_ptr, mode_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    mode = tl.load(mode_ptr)
    if mode > 0:
        source = x_ptr
        if mode > 7:
            tl.store(y_ptr + at, tl.load(z_ptr + at))
            return
    else:
        source = z_ptr + 1
    tl.store(y_ptr + at, tl.load(source + at))


@triton.jit
def _early_tile_kernel(x_ptr, z_ptr, mode_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    mode = tl.load(mode_ptr)
    if mode > 0:
        target = y_ptr + at
        if mode > 7:
            tl.store(target, x * 3.0)
            return
        x = x + 1.0
    else:
        target = y_ptr + (SIZE - 1 - at)
    tl.store(target, x)


@triton.jit
def _loaded_kernel(x_ptr, z_ptr, mode_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    if tl.load(mode_ptr) > 0:
        source = x_ptr + SIZE // 2
    else:
        source = tl.load(z_ptr.to(tl.pointer_type(tl.int64))).to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + at, tl.load(source + at))


KERNELS = {
    "where": _where_kernel,
    "elif": _elif_kernel,
    "early": _early_kernel,
    "early-tile": _early_tile_kernel,
    "loaded": _loaded_kernel,
}
# A pointer loaded from memory is a number that means nothing to the emulator.
COMPILED = ("compile",)


def launch(x, z, way):
    y = torch.empty_like(x)
    mode = torch.ones(1, dtype=torch.int32, device=x.device)
    KERNELS[way][(1,)](x, z, mode, y, SIZE=SIZE)
    return {"y": y}


def reference(x, z, way):
    at = torch.arange(SIZE, device=x.device)
    ways = {
        "where": torch.where(at % 2 == 1, z, x),
        "elif": torch.cat([x[SIZE // 2 :], torch.zeros_like(x[SIZE // 2 :])]),
        "early": x,
        "early-tile": x + 1,
        # not executed
        "loaded": x,
    }
    return {"y": ways[way].double()}


def inputs(case, device, generator):
    def whole():
        drawn = torch.randint(-9, 9, (SIZE,), generator=generator, device=generator.device)
        return drawn.to(device, torch.float32)

    return {"x": whole(), "z": whole(), "way": case.id}


def _pointers_by_branches():
    # By hand: "operand #1 does not dominate this use".
    if triton.__version__.startswith("3.2.") and current_target()[0] == "hip":
        return "Triton 3.2 refuses a pointer that is made on both sides of an if, for AMD"
    return None


def _tiles_by_branches():
    # By hand: "type mismatch for bb argument #0 of successor #0"; 3.2 dies, and this is a known issue.
    if triton.__version__.startswith(("3.0.", "3.1.", "3.3.")):
        return "Triton 3.0, 3.1 and 3.3 refuse a tile that is handed on beside an early return"
    return None


REQUIRES = {"elif": "branch-pointer", "loaded": "branch-pointer", "early-tile": "branch-tile"}

KERNEL = kernel_of(
    globals(),
    # the interpreter has no pointers to be chosen
    cases=tuple(
        Case(
            way,
            "fp32",
            {"N": SIZE},
            lanes=COMPILED if way == "loaded" else ("compile", "emulate", "device"),
            requires=(REQUIRES[way],) if way in REQUIRES else (),
        )
        for way in KERNELS
    ),
    # small integers
    tolerance={"fp32": 0.0},
    probes={"branch-pointer": _pointers_by_branches, "branch-tile": _tiles_by_branches},
)
