"""Cross entropy of x @ W^T, with its gradients, without ever holding all the logits.

A few tokens at a time: torch computes their logits, one Triton program a token turns the row into loss and gradient in
place, and torch multiplies the gradient back. The kernel is launched with 32 warps, which is right on NVIDIA. On AMD
targets with 64 threads to a warp that is 2048 threads, and the launch fails.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# 64 KB of 16-bit logits: as many as one iteration of the loop holds in registers
LARGEST_BLOCK = 32768
IGNORE_INDEX = -100


@triton.jit
def _loss_and_gradient_kernel(
    logits_ptr,
    target_ptr,
    loss_ptr,
    stride,
    V,
    ignore_index,
    scale,
    BLOCK: tl.constexpr,
):
    # 64 bits: tokens times vocabulary may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    logits = logits_ptr + row * stride
    cols = tl.arange(0, BLOCK)
    target = tl.load(target_ptr + row)
    counted = target != ignore_index
    # read before the second loop overwrites it
    at_target = tl.load(logits + target, mask=counted, other=0.0).to(tl.float32)

    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        x = tl.load(logits + start + cols, mask=start + cols < V, other=-float("inf")).to(
            tl.float32
        )
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top

    for start in range(0, V, BLOCK):
        mask = start + cols < V
        x = tl.load(logits + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        gradient = tl.exp(x - top) / total
        gradient = tl.where(start + cols == target, gradient - 1.0, gradient)
        gradient = tl.where(counted, gradient * scale, 0.0)
        tl.store(logits + start + cols, gradient.to(logits_ptr.dtype.element_ty), mask=mask)

    loss = tl.where(counted, (top + tl.log(total) - at_target) * scale, 0.0)
    tl.store(loss_ptr + row, loss)


def _product(a, b):
    # in fp64 and rounded once: BLAS adds in an order of the processor, and the kernel is to be compared across them
    return (a.double() @ b.double()).to(a.dtype)


def launch(x, weight, target, ignore_index=IGNORE_INDEX, chunk=4):
    # four tokens keep loss[part] and target[part] 16-byte aligned: one specialisation to compile
    tokens = x.shape[0]
    vocabulary = weight.shape[0]
    # the mean is over the tokens that count
    counted = int((target != ignore_index).sum())
    scale = 1.0 / max(counted, 1)
    loss = torch.empty(tokens, dtype=torch.float32, device=x.device)
    grad_x = torch.empty_like(x)
    grad_weight: Any = None
    # never less than the 1024 threads that are launched
    block = max(1024, min(LARGEST_BLOCK, triton.next_power_of_2(vocabulary)))
    for start in range(0, tokens, chunk):
        part = slice(start, min(start + chunk, tokens))
        logits = _product(x[part], weight.t())
        _loss_and_gradient_kernel[(logits.shape[0],)](
            logits,
            target[part],
            loss[part],
            logits.stride(0),
            vocabulary,
            ignore_index,
            scale,
            BLOCK=block,
            num_warps=32,
        )
        grad_x[part] = _product(logits, weight)
        share = _product(logits.t(), x[part])
        if chunk >= tokens:
            grad_weight = share
        elif grad_weight is None:
            grad_weight = share.float()
        else:
            # in fp32: the chunks would round one after the other
            grad_weight += share
    return {
        "loss": loss.double().sum().float(),
        "grad_x": grad_x,
        "grad_weight": grad_weight.to(weight.dtype),
    }


def reference(x, weight, target, ignore_index=IGNORE_INDEX):
    x64, weight64 = x.double(), weight.double()
    logits = x64 @ weight64.t()
    counted = target != ignore_index
    scale = counted.double() / counted.sum().clamp(min=1)
    index = target.clamp(min=0).unsqueeze(1)
    log_probability = logits - logits.logsumexp(1, keepdim=True)
    loss = -(log_probability.gather(1, index).squeeze(1) * scale).sum()
    gradient = log_probability.exp().scatter_add(
        1, index, torch.full_like(index, -1, dtype=torch.float64)
    )
    gradient = gradient * scale.unsqueeze(1)
    return {"loss": loss, "grad_x": gradient @ weight64, "grad_weight": gradient.t() @ x64}


def inputs(case, device, generator):
    tokens, hidden, vocabulary = case.shape["tokens"], case.shape["H"], case.shape["V"]

    def normal(*size):
        return torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)

    target = torch.randint(0, vocabulary, (tokens,), generator=generator, device=generator.device)
    if case.shape.get("ignored"):
        target[1 : 1 + case.shape["ignored"]] = IGNORE_INDEX
    return {
        "x": normal(tokens, hidden).to(device, case.torch_dtype),
        "weight": (normal(vocabulary, hidden) / hidden**0.5).to(device, case.torch_dtype),
        "target": target.to(device),
    }


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-v1001", "fp32", {"tokens": 5, "H": 24, "V": 1001, "ignored": 2}),
        Case("fp16-v5003", "fp16", {"tokens": 3, "H": 16, "V": 5003}),
        Case(
            "fp32-v3-t1",
            "fp32",
            {"tokens": 1, "H": 16, "V": 3},
            lanes=("emulate", "interpret", "device"),
        ),
        # the vocabulary of a current language model; its size makes no difference in the interpreter
        Case(
            "bf16-v128256",
            "bf16",
            {"tokens": 5, "H": 16, "V": 128256, "ignored": 1},
            lanes=("compile", "emulate", "device"),
        ),
    ),
    # measured: 7.6e-7, 3.7e-4; bf16 by doing the same roundings in PyTorch, 2.5e-3
    tolerance={"fp32": 5e-6, "fp16": 2e-3, "bf16": 1e-2},
)
