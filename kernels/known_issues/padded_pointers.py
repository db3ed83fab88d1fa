"""A block pointer to 8-bit floats, read with zeros where it reaches beyond the tensor."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

BLOCK = 32


@triton.jit
def _pad_kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    y = tl.make_block_ptr(y_ptr, (BLOCK, BLOCK), (BLOCK, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1), padding_option="zero").to(tl.float32))


def launch():
    x = torch.empty(20, 24, dtype=torch.uint8).view(torch.float8_e4m3fn)
    y = torch.empty(BLOCK, BLOCK, dtype=torch.float32)
    _pad_kernel[(1,)](x, y, 20, 24, BLOCK=BLOCK)
    return {"y": y}


KERNEL = Kernel(
    name="padded_pointers",
    cases=(Case("fp8", "fp8", {}, lanes=("compile",), targets=("sm_90",)),),
    launch=launch,
    uses=("fp8",),
)
