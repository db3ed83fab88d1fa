"""Matrix product whose tiles come and go by tensor descriptors made in the kernel (TMA where the GPU has it)."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _descriptor_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    # rows have to be multiples of 16 bytes; elements outside read as zero and are not written
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(0, K, BK):
        x = a.load([row, start])
        y = b.load([col, start])
        total = tl.dot(x, tl.trans(y), total, allow_tf32=False)
    c.store([row, col], total.to(c_ptr.dtype.element_ty))


def launch(a, b):
    """`b` is [N, K]."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    # the descriptors themselves lie in memory that the launch asks for
    triton.set_allocator(
        lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=a.device)
    )
    tile = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 2}
    if a.dtype == torch.float32:
        tile = {"BM": 32, "BN": 32, "BK": 32, "num_warps": 4, "num_stages": 2}
    _descriptor_kernel[(triton.cdiv(m, tile["BM"]), triton.cdiv(n, tile["BN"]))](
        a, b, c, m, n, k, **tile
    )
    return {"c": c}


def reference(a, b):
    return {"c": a.double() @ b.double().t()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    return {"a": normal(m, k), "b": normal(n, k)}


KERNEL = kernel_of(
    globals(),
    cases=(
        # rows of a multiple of 16 bytes, as descriptors want; the interpreters of 3.4 and 3.5 want 16 elements
        Case(
            "fp16-130x136x72",
            "fp16",
            {"M": 130, "N": 136, "K": 72},
            lanes=("compile", "emulate", "device"),
        ),
        Case("fp16-130x144x80", "fp16", {"M": 130, "N": 144, "K": 80}),
        Case("bf16-1x208x64", "bf16", {"M": 1, "N": 208, "K": 64}),
        Case("fp32-33x48x80", "fp32", {"M": 33, "N": 48, "K": 80}),
    ),
    # measured: 9.5e-8, 2.1e-4; bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-7, "fp16": 1e-3, "bf16": 8e-3},
    uses=("dot", "tensor-descriptor"),
)
