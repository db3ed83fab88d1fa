"""Tensor descriptors made in a kernel, which lie in memory that the launch asks an allocator for; none was set.

Before Triton 3.3 there are none, and the launcher does without.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32
# Triton 3.3 has them under another name.
_make: Any = getattr(
    tl, "make_tensor_descriptor", getattr(tl, "_experimental_make_tensor_descriptor", None)
)


@triton.jit
def _double_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    source = _make(x_ptr, shape=[SIZE, SIZE], strides=[SIZE, 1], block_shape=[SIZE, SIZE])
    target = _make(y_ptr, shape=[SIZE, SIZE], strides=[SIZE, 1], block_shape=[SIZE, SIZE])
    target.store([0, 0], source.load([0, 0]) * 2)


@triton.jit
def _double_kernel_without(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


def launch(x):
    y = torch.empty_like(x)
    kernel = _double_kernel_without if _make is None else _double_kernel
    kernel[(1,)](x, y, x.shape[0])
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(SIZE, SIZE, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("none-set", "fp32", {"N": SIZE}, ("compile", "device"), targets=("sm_90",)),),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
