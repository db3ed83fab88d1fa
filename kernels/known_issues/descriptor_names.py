"""A tensor descriptor made under Triton 3.3's name, and one under that of 3.4 and later: no Triton has both.

Before 3.3 it has neither, and the launcher does without.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _copy_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    source = tl._experimental_make_tensor_descriptor(
        x_ptr, shape=[SIZE, SIZE], strides=[SIZE, 1], block_shape=[SIZE, SIZE]
    )
    target = tl.make_tensor_descriptor(
        y_ptr, shape=[SIZE, SIZE], strides=[SIZE, 1], block_shape=[SIZE, SIZE]
    )
    block = tl.load_tensor_descriptor(source, [0, 0])
    tl.store_tensor_descriptor(target, [0, 0], block + source.load([0, 0]))


@triton.jit
def _copy_kernel_without(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


def launch(x):
    y = torch.empty_like(x)
    if not hasattr(triton, "set_allocator"):
        _copy_kernel_without[(1,)](x, y, x.shape[0])
        return {"y": y}
    triton.set_allocator(
        lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device)
    )
    _copy_kernel[(1,)](x, y, x.shape[0])
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(SIZE, SIZE, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("both", "fp32", {"N": SIZE}, targets=("sm_90",)),),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
