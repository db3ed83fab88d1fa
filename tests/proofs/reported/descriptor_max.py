"""The largest of each column of a tile that came by a tensor descriptor."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel


@triton.jit
def _columns_max_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    band, part = tl.program_id(0), tl.program_id(1)
    tiles = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    tile = tiles.load([band * BM, part * BN])
    tl.store(y_ptr + band * N + part * BN + tl.arange(0, BN), tl.max(tile, axis=0))


def launch(x, BM):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    rows, columns = x.shape
    BN = 128
    y = torch.empty(rows // BM, columns, dtype=x.dtype, device=x.device)
    _columns_max_kernel[(rows // BM, columns // BN)](x, y, rows, columns, BM, BN, num_warps=4)
    return {"y": y}


def reference(x, BM):
    return {"y": x.double().unflatten(0, (-1, BM)).amax(1)}


def inputs(case, device, generator):
    x = torch.randn(case.shape["M"], case.shape["N"], generator=generator)
    return {"x": x.to(device, case.torch_dtype), "BM": case.shape["BM"]}


KERNEL = Kernel(
    name="descriptor_max",
    cases=tuple(
        Case(f"{dtype}-{rows}x128", dtype, {"M": 64, "N": 256, "BM": rows},
             real={"M": 1024, "N": 8192}, targets=("sm_90",))
        for dtype, rows in (("bf16", 16), ("bf16", 32), ("fp32", 64))
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"bf16": 0.0, "fp32": 0.0},
    uses=("tensor-descriptor",),
)  # fmt: skip
