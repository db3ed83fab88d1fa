"""GeGLU with the tanh approximation, forward and backward: ``gelu(gate) * up`` over all elements.

The kernels are autotuned over the block, and a function prunes the configurations with blocks far beyond the input.
The tanh is written out, or libdevice's, which moved in Triton 3.0, or an instruction of NVIDIA GPUs, which is good for
16 bits.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

try:
    from triton.language.extra import libdevice
except ImportError:
    libdevice = getattr(tl, "math", None)


@triton.jit
def _tanh(x, TANH: tl.constexpr):
    if TANH == "libdevice":
        y = libdevice.tanh(x)
    elif TANH == "instruction":
        y = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        # exp may overflow to infinity, and the quotient is zero then
        y = 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)
    return y


@triton.jit
def _tanh_of_gelu(x, TANH: tl.constexpr):
    return _tanh(0.7978845608028654 * (x + 0.044715 * x * x * x), TANH)


def _prune(configs, named_args, **_):
    """Keep the blocks that the input fills, and always the smallest."""
    size = named_args["size"]
    smallest = min(configs, key=lambda config: config.kwargs["BLOCK"])
    return [config for config in configs if config is smallest or config.kwargs["BLOCK"] <= size]


CONFIGS = [
    triton.Config({"BLOCK": 512}, num_warps=2, num_stages=2),
    triton.Config({"BLOCK": 1024}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK": 2048}, num_warps=8, num_stages=2),
]
PRUNE = {"early_config_prune": _prune}


@triton.autotune(configs=CONFIGS, key=["size"], prune_configs_by=PRUNE)
@triton.jit
def _forward_kernel(gate_ptr, up_ptr, y_ptr, size, TANH: tl.constexpr, BLOCK: tl.constexpr):
    # 64 bits: all elements together may pass 2^31
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < size
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = 0.5 * gate * (1.0 + _tanh_of_gelu(gate, TANH)) * up
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.autotune(configs=CONFIGS, key=["size"], prune_configs_by=PRUNE)
@triton.jit
def _backward_kernel(
    gate_ptr,
    up_ptr,
    dy_ptr,
    dgate_ptr,
    dup_ptr,
    size,
    TANH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < size
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
    bent = _tanh_of_gelu(gate, TANH)
    slope = 0.7978845608028654 * (1.0 + 0.134145 * gate * gate)
    rise = 0.5 * (1.0 + bent) + 0.5 * gate * (1.0 - bent * bent) * slope
    tl.store(dgate_ptr + at, (dy * up * rise).to(dgate_ptr.dtype.element_ty), mask=mask)
    dup = dy * 0.5 * gate * (1.0 + bent)
    tl.store(dup_ptr + at, dup.to(dup_ptr.dtype.element_ty), mask=mask)


def launch(gate, up, dy, block=None, tanh="formula"):
    """Autotuned, or with a given block a direct launch."""
    size = gate.numel()

    def grid(meta):
        return (triton.cdiv(size, meta["BLOCK"]),)

    forward, backward, chosen = _forward_kernel, _backward_kernel, {}
    if block is not None:
        # the autotuner's own function is the plain kernel
        forward, backward, chosen = _forward_kernel.fn, _backward_kernel.fn, {"BLOCK": block}
    y, dgate, dup = torch.empty_like(dy), torch.empty_like(dy), torch.empty_like(dy)
    forward[grid](gate, up, y, size, TANH=tanh, **chosen)
    backward[grid](gate, up, dy, dgate, dup, size, TANH=tanh, **chosen)
    return {"y": y, "dgate": dgate, "dup": dup}


def reference(gate, up, dy):
    gate64, up64 = (t.detach().double().requires_grad_() for t in (gate, up))
    with torch.enable_grad():
        bent = torch.tanh((2 / torch.pi) ** 0.5 * (gate64 + 0.044715 * gate64**3))
        y = 0.5 * gate64 * (1 + bent) * up64
        dgate, dup = torch.autograd.grad(y, (gate64, up64), dy.double())
    return {"y": y.detach(), "dgate": dgate, "dup": dup}


def inputs(case, device, generator):
    shape = [case.shape[name] for name in "BMN"]

    def normal():
        made = torch.randn(shape, generator=generator, device=generator.device, dtype=torch.float32)
        return (made * 2).to(device, case.torch_dtype)

    return {"gate": normal(), "up": normal(), "dy": normal()}


KERNEL = kernel_of(
    globals(),
    batch="B",
    cases=(
        Case("fp32-2x3x501", "fp32", {"B": 2, "M": 3, "N": 501}, requires=("autotune",)),
        Case("bf16-1x3x1500", "bf16", {"B": 1, "M": 3, "N": 1500}, requires=("autotune",)),
        # launched without the autotuner: every interpreter can run it
        Case("fp32-1x7x77-direct", "fp32", {"B": 1, "M": 7, "N": 77}, options={"block": 256}),
        Case("fp16-1x1x1-direct", "fp16", {"B": 1, "M": 1, "N": 1}, options={"block": 128}),
        Case(
            "fp32-2x3x333-libdevice",
            "fp32",
            {"B": 2, "M": 3, "N": 333},
            options={"block": 256, "tanh": "libdevice"},
            requires=("libdevice",),
        ),
        Case(
            "bf16-3x3x200-instruction",
            "bf16",
            {"B": 3, "M": 3, "N": 200},
            targets=("sm_*",),
            options={"block": 256, "tanh": "instruction"},
            requires=("inline-asm",),
        ),
    ),
    # measured: 3.7e-7, 3.9e-4 (a single element); bf16 is the rounding of the output, 1.8e-3 (the instruction is right
    # to 2^-11 by its manual: 5e-4 more)
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 8e-3},
)
