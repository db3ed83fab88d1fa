"""A tensor descriptor that is made in a loop, with a product of the tile it loads: each expert's weights, for one."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _sum_kernel(a_ptr, b_ptr, y_ptr, turns, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    total = tl.zeros([M, N], tl.float32)
    for turn in range(turns):
        weights = tl.make_tensor_descriptor(
            b_ptr + turn * K * N, shape=[K, N], strides=[N, 1], block_shape=[K, N]
        )
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        total = tl.dot(a, weights.load([0, 0]), total)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], total)


def launch(a, b):
    turns, K, N = b.shape
    y = torch.empty(a.shape[0], N, device=a.device)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=a.device))  # fmt: skip
    _sum_kernel[(1,)](a, b, y, turns, M=a.shape[0], K=K, N=N, num_warps=4, num_stages=2)
    return {"y": y}


def reference(a, b):
    return {"y": a.double() @ b.double().sum(0)}


def inputs(case, device, generator):
    def whole(*shape):
        drawn = torch.randint(-2, 3, shape, generator=generator, device=generator.device)
        return drawn.to(device, case.torch_dtype)

    M, K, N, turns = (case.shape[axis] for axis in ("M", "K", "N", "turns"))
    return {"a": whole(M, K), "b": whole(turns, K, N)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("tile", "fp16", {"M": 16, "K": 64, "N": 16, "turns": 5}, ("compile", "emulate", "device"),
             targets=("sm_90",)),
    ),
    uses=("dot", "tensor-descriptor"),
    # small integers, exact
    tolerance={"fp16": 0.0},
)  # fmt: skip
