"""SwiGLU, forward and backward: ``silu(gate) * up``, a block of one row in each program.

If a heuristic finds that the blocks fill the row, the kernels do without masks.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# elements of a program, at most, and of a thread: one access of 16 bytes, 16 bits each
LARGEST_BLOCK = 1024
PER_THREAD = 8

FULL = {"FULL": lambda args: args["N"] % args["BLOCK"] == 0}


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _load(ptr, cols, N, FULL: tl.constexpr):
    if FULL:
        x = tl.load(ptr + cols)
    else:
        x = tl.load(ptr + cols, mask=cols < N, other=0.0)
    return x.to(tl.float32)


@triton.jit
def _store(ptr, cols, value, N, FULL: tl.constexpr):
    if FULL:
        tl.store(ptr + cols, value.to(ptr.dtype.element_ty))
    else:
        tl.store(ptr + cols, value.to(ptr.dtype.element_ty), mask=cols < N)


@triton.heuristics(FULL)
@triton.jit
def _forward_kernel(
    gate_ptr,
    up_ptr,
    y_ptr,
    gate_stride,
    up_stride,
    y_stride,
    N,
    BLOCK: tl.constexpr,
    FULL: tl.constexpr,
):
    # neighbours in memory are neighbours in time; 64 bits: rows times columns may pass 2^31
    row = (tl.program_id(0) // tl.cdiv(N, BLOCK)).to(tl.int64)
    cols = tl.program_id(0) % tl.cdiv(N, BLOCK) * BLOCK + tl.arange(0, BLOCK)
    gate = _load(gate_ptr + row * gate_stride, cols, N, FULL)
    up = _load(up_ptr + row * up_stride, cols, N, FULL)
    _store(y_ptr + row * y_stride, cols, gate * _sigmoid(gate) * up, N, FULL)


@triton.heuristics(FULL)
@triton.jit
def _backward_kernel(
    gate_ptr,
    up_ptr,
    dy_ptr,
    dgate_ptr,
    dup_ptr,
    gate_stride,
    up_stride,
    dy_stride,
    dgate_stride,
    dup_stride,
    N,
    BLOCK: tl.constexpr,
    FULL: tl.constexpr,
):
    row = (tl.program_id(0) // tl.cdiv(N, BLOCK)).to(tl.int64)
    cols = tl.program_id(0) % tl.cdiv(N, BLOCK) * BLOCK + tl.arange(0, BLOCK)
    gate = _load(gate_ptr + row * gate_stride, cols, N, FULL)
    up = _load(up_ptr + row * up_stride, cols, N, FULL)
    dy = _load(dy_ptr + row * dy_stride, cols, N, FULL)
    share = _sigmoid(gate)
    silu = gate * share
    _store(dgate_ptr + row * dgate_stride, cols, dy * up * (share + silu - silu * share), N, FULL)
    _store(dup_ptr + row * dup_stride, cols, dy * silu, N, FULL)


def launch(gate, up, dy):
    rows, width = gate.shape
    block = min(LARGEST_BLOCK, triton.next_power_of_2(width))
    grid = (rows * triton.cdiv(width, block),)
    options = {"BLOCK": block, "num_warps": max(1, block // (32 * PER_THREAD))}
    y, dgate, dup = torch.empty_like(dy), torch.empty_like(dy), torch.empty_like(dy)
    _forward_kernel[grid](gate, up, y, gate.stride(0), up.stride(0), y.stride(0), width, **options)
    strides = [t.stride(0) for t in (gate, up, dy, dgate, dup)]
    _backward_kernel[grid](gate, up, dy, dgate, dup, *strides, width, **options)
    return {"y": y, "dgate": dgate, "dup": dup}


def reference(gate, up, dy):
    gate64, up64, dy64 = (t.double() for t in (gate, up, dy))
    share = 1 / (1 + (-gate64).exp())
    return {
        "y": gate64 * share * up64,
        "dgate": dy64 * up64 * share * (1 + gate64 * (1 - share)),
        "dup": dy64 * gate64 * share,
    }


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # both halves of one projection, as a fused linear layer gives them
    both = normal(rows, 2 * width) * 2
    return {"gate": both[:, :width], "up": both[:, width:], "dy": normal(rows, width)}


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-5x2049", "fp32", {"M": 5, "N": 2049}),
        Case("fp16-1x1", "fp16", {"M": 1, "N": 1}),
        # blocks that fill the row
        Case("fp16-3x256", "fp16", {"M": 3, "N": 256}),
        Case("bf16-7x4096", "bf16", {"M": 7, "N": 4096}),
        Case("bf16-9x333", "bf16", {"M": 9, "N": 333}),
    ),
    # measured: 1.2e-7, 3.9e-4 (the row of one); bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 8e-3},
)
