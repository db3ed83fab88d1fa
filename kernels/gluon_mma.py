"""Gluon: a matmul by mma_v2 on operands in registers, with the layouts spelled out."""

import torch

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, language

ampere = language("nvidia.ampere")
STEP = 32


@gluon.jit
def _mma_kernel(
    a_ptr, b_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STEP: gl.constexpr
):
    loading: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    product: gl.constexpr = gl.NVMMADistributedLayout(
        version=[2, 0], warps_per_cta=[2, 2], instr_shape=[16, 8]
    )
    left: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=product, k_width=2)
    right: gl.constexpr = gl.DotOperandLayout(operand_index=1, parent=product, k_width=2)
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, loading))
    cols = gl.arange(0, N, layout=gl.SliceLayout(0, loading))
    along = gl.arange(0, STEP, layout=gl.SliceLayout(0, loading))
    down = gl.arange(0, STEP, layout=gl.SliceLayout(1, loading))
    total = gl.zeros([M, N], gl.float32, layout=product)
    for start in range(0, K, STEP):
        a = gl.load(a_ptr + rows[:, None] * K + along[None, :] + start)
        b = gl.load(b_ptr + (down[:, None] + start) * N + cols[None, :])
        total = ampere.mma_v2(gl.convert_layout(a, left), gl.convert_layout(b, right), total)
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, product))
    cols = gl.arange(0, N, layout=gl.SliceLayout(0, product))
    gl.store(c_ptr + rows[:, None] * N + cols[None, :], total)


def launch(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=torch.float32, device=a.device)
    _mma_kernel[(1,)](a, b, c, M=m, N=n, K=k, STEP=STEP, num_warps=4)
    return {"c": c}


def reference(a, b):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    return {"a": normal(m, k), "b": normal(k, n)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case(
            "fp16-64x64x128",
            "fp16",
            {"M": 64, "N": 64, "K": 128},
            targets=("sm_90", "sm_100"),
        ),
    ),  # fmt: skip
    # measured in the lane emulate, three seeds: 8.7e-8
    tolerance={"fp16": 4e-7},
    uses=("gluon", "gluon-mma-v2", "dot"),
)
