"""A tile stored as it is and transposed, in fp8, by one warp of a Hopper: ptxas 12.9 gets the transposed one wrong."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32
BOUND = tl.constexpr(448.0)


@triton.jit
def _both_ways_kernel(x_ptr, y_ptr, z_ptr, SIZE: tl.constexpr):
    row = tl.arange(0, SIZE)[:, None]
    column = tl.arange(0, SIZE)[None, :]
    value = tl.load(x_ptr + row * SIZE + column)
    value = tl.maximum(value, -BOUND, propagate_nan=tl.PropagateNan.ALL)
    value = tl.minimum(value, BOUND, propagate_nan=tl.PropagateNan.ALL).to(tl.float8e4nv)
    tl.store(y_ptr + row * SIZE + column, value)
    tl.store(z_ptr + column * SIZE + row, value)


def launch(x, num_warps):
    along, across = (
        torch.zeros(SIZE, SIZE, dtype=torch.float8_e4m3fn, device=x.device) for _ in range(2)
    )
    _both_ways_kernel[(1,)](x, along, across, SIZE=SIZE, num_warps=num_warps)
    return {"along": along.float(), "across": across.float()}


def reference(x):
    return {"along": x, "across": x.t()}


def inputs(case, device, generator):
    # powers of two, so that nothing is rounded and no other byte is of the tile
    power = torch.randint(-3, 7, (SIZE, SIZE), generator=generator, device=generator.device)
    return {"x": torch.exp2(power.float()).to(device)}


def _no_propagation():
    return None if hasattr(tl, "PropagateNan") else "this Triton has no tl.PropagateNan"


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        # the interpreter's own casts to fp8 are separate known issues
        Case(
            f"warps-{num_warps}",
            "fp8",
            {"size": SIZE},
            lanes=("compile", "emulate", "device"),
            targets=("sm_90",),
            options={"num_warps": num_warps},
        )
        for num_warps in (1, 4)
    ),
    tolerance={"fp8": 0.0},
    uses=("fp8", "propagate-nan"),
    probes={"propagate-nan": _no_propagation},
)
