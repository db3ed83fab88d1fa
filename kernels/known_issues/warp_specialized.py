"""A product in a loop with warp_specialize: of tiles by descriptors of the host, by pointers, and reshaped."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS, DEPTH = 128, 64, 64


@triton.jit
def _product_kernel(a, b, y, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, K, DEPTH, warp_specialize=True, num_stages=2):
        total = tl.dot(a.load([0, start]), b.load([start, 0]), total)
    y.store([0, 0], total.to(tl.float16))


@triton.jit
def _pointers_kernel(
    a_ptr, b_ptr, y_ptr, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr
):
    b = tl.make_tensor_descriptor(b_ptr, [K, COLUMNS], [COLUMNS, 1], [DEPTH, COLUMNS])
    row, column, inner = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, K, DEPTH, warp_specialize=True):
        a = tl.load(a_ptr + row[:, None] * K + (start + inner)[None, :])
        total = tl.dot(a, b.load([start, 0]), total)
    tl.store(y_ptr + row[:, None] * COLUMNS + column[None, :], total.to(tl.float16))


@triton.jit
def _reshaped_kernel(
    a_ptr, b_ptr, y_ptr, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr
):
    a = tl.make_tensor_descriptor(a_ptr, [ROWS, 1, K], [K, K, 1], [ROWS, 1, DEPTH])
    b = tl.make_tensor_descriptor(
        b_ptr, [K, 1, COLUMNS], [COLUMNS, COLUMNS, 1], [DEPTH, 1, COLUMNS]
    )
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, K, DEPTH, warp_specialize=True):
        left = a.load([0, 0, start]).reshape(ROWS, DEPTH)
        total = tl.dot(left, b.load([start, 0, 0]).reshape(DEPTH, COLUMNS), total)
    tl.store(y_ptr + row[:, None] * COLUMNS + column[None, :], total.to(tl.float16))


def launch(a, b, how):
    y = torch.empty(ROWS, COLUMNS, dtype=torch.float16, device=a.device)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=a.device))  # fmt: skip
    sizes = {"ROWS": ROWS, "COLUMNS": COLUMNS, "DEPTH": DEPTH}
    if how == "host":
        from triton.tools.tensor_descriptor import TensorDescriptor

        tiles = [
            TensorDescriptor.from_tensor(tensor, [rows, 64])
            for tensor, rows in ((a, ROWS), (b, DEPTH), (y, ROWS))
        ]
        _product_kernel[(1,)](*tiles, len(b), **sizes, num_warps=4)
    else:
        kernel = _pointers_kernel if how == "pointers" else _reshaped_kernel
        kernel[(1,)](a, b, y, len(b), **sizes, num_warps=4)
    return {"y": y}


def reference(a, b, how):
    return {"y": a.double() @ b.double()}


def inputs(case, device, generator):
    def whole(*shape):
        drawn = torch.randint(-1, 2, shape, generator=generator, device=generator.device)
        return drawn.to(device, torch.float16)

    K = case.shape["K"]
    return {"a": whole(ROWS, K), "b": whole(K, COLUMNS), "how": case.id}


LANES = ("compile", "emulate", "device")
TARGETS = ("sm_90", "sm_100")
KERNEL = kernel_of(
    globals(),
    cases=(
        Case("host", "fp16", {"K": 128}, LANES, TARGETS),
        Case("pointers", "fp16", {"K": 128}, LANES, TARGETS),
        Case("reshaped", "fp16", {"K": 128}, LANES, TARGETS),
    ),
    uses=("dot", "tensor-descriptor"),
    # small integers, exact but for the last rounding
    tolerance={"fp16": 5e-4},
)
