"""Cross entropy of logits with class indices: loss of each token and gradient of the logits, in one launch.

One program a token walks the vocabulary in blocks, twice: for the maximum and the sum, then for the gradient, when most
of the row is still in the cache of the GPU, which is asked to keep it and to let go of what is written. Label smoothing
spreads a part of the target over all classes; tokens whose target is the ignored index have neither loss nor gradient.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

# the elements that a program holds at once of a longer vocabulary, measured on an H200
LARGEST_BLOCK = 16384
IGNORE_INDEX = -100


@triton.jit
def _load_logits(logits, cols, V, WHOLE: tl.constexpr, KEEP: tl.constexpr):
    """WHOLE: no column is beyond the vocabulary. KEEP: they are read once more."""
    if WHOLE:
        x = tl.load(logits + cols, eviction_policy=KEEP)
    else:
        x = tl.load(logits + cols, mask=cols < V, other=-float("inf"), eviction_policy=KEEP)
    return x.to(tl.float32)


@triton.jit
def _put_gradient(
    gradient, logits, cols, V, target, log_total, on_target, off_target, scale, WHOLE: tl.constexpr
):
    x = _load_logits(logits, cols, V, WHOLE, "evict_first")
    step = tl.exp(x - log_total) - off_target
    step = tl.where(cols == target, step - on_target, step) * scale
    step = step.to(gradient.dtype.element_ty)
    if WHOLE:
        tl.store(gradient + cols, step, eviction_policy="evict_first")
    else:
        tl.store(gradient + cols, step, mask=cols < V, eviction_policy="evict_first")


@triton.jit
def _loss_and_gradient_kernel(
    logits_ptr,
    target_ptr,
    loss_ptr,
    gradient_ptr,
    logits_stride,
    gradient_stride,
    V,
    ignore_index,
    smoothing,
    counted_ptr,
    SMOOTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # 64 bits: tokens times vocabulary may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    logits = logits_ptr + row * logits_stride
    gradient = gradient_ptr + row * gradient_stride
    cols = tl.arange(0, BLOCK)
    target = tl.load(target_ptr + row)
    if target == ignore_index:
        zero = tl.zeros([BLOCK], dtype=gradient_ptr.dtype.element_ty)
        for start in range(0, V, BLOCK):
            tl.store(gradient + start + cols, zero, mask=start + cols < V)
        tl.store(loss_ptr + row, 0.0)
        return

    # the mean is over the tokens that count; read here, so that the host need not wait for their number
    scale = 1.0 / tl.load(counted_ptr).to(tl.float32)
    at_target = tl.load(logits + target).to(tl.float32)
    top = -float("inf")
    total = 0.0
    everything = 0.0
    # the last block alone may reach beyond the vocabulary
    last = (tl.cdiv(V, BLOCK) - 1) * BLOCK
    for start in range(0, last, BLOCK):
        x = _load_logits(logits, start + cols, V, True, "evict_last")
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
        if SMOOTH:
            everything += tl.sum(x, axis=0)
    x = _load_logits(logits, last + cols, V, False, "evict_last")
    new_top = tl.maximum(top, tl.max(x, axis=0))
    total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
    top = new_top
    if SMOOTH:
        everything += tl.sum(tl.where(last + cols < V, x, 0.0), axis=0)

    log_total = top + tl.log(total)
    loss = log_total - at_target
    off_target = 0.0
    on_target = 1.0
    if SMOOTH:
        # each class gets an equal part, and the target the rest
        off_target = smoothing / V
        on_target = 1.0 - smoothing
        loss = log_total - on_target * at_target - off_target * everything
    tl.store(loss_ptr + row, loss * scale)

    _put_gradient(
        gradient, logits, last + cols, V, target, log_total, on_target, off_target, scale, False
    )
    for start in range(0, last, BLOCK):
        _put_gradient(
            gradient, logits, start + cols, V, target, log_total, on_target, off_target, scale, True
        )


def launch(logits, target, smoothing=0.0, ignore_index=IGNORE_INDEX, block=None, in_place=False):
    tokens, vocabulary = logits.shape
    block = block or min(LARGEST_BLOCK, triton.next_power_of_2(vocabulary))
    counted = (target != ignore_index).sum()
    loss = torch.empty(tokens, dtype=torch.float32, device=logits.device)
    gradient = logits if in_place else torch.empty_like(logits)
    _loss_and_gradient_kernel[(tokens,)](
        logits,
        target,
        loss,
        gradient,
        logits.stride(0),
        gradient.stride(0),
        vocabulary,
        ignore_index,
        smoothing,
        counted,
        SMOOTH=smoothing > 0,
        BLOCK=block,
        num_warps=num_warps(block),
    )
    return {"loss": loss.double().sum().float(), "dlogits": gradient}


def reference(logits, target, smoothing=0.0, ignore_index=IGNORE_INDEX):
    x = logits.double()
    vocabulary = x.shape[1]
    counted = target != ignore_index
    weight = (counted.double() / counted.sum().clamp(min=1)).unsqueeze(1)
    wanted = torch.full_like(x, smoothing / vocabulary)
    index = target.clamp(min=0).unsqueeze(1)
    wanted.scatter_add_(1, index, torch.full_like(index, 1.0 - smoothing, dtype=torch.float64))
    log_probability = x - x.logsumexp(1, keepdim=True)
    return {
        "loss": -(wanted * log_probability * weight).sum(),
        "dlogits": (log_probability.exp() - wanted) * weight,
    }


def inputs(case, device, generator):
    tokens, vocabulary = case.shape["tokens"], case.shape["V"]
    logits = torch.randn(
        tokens, vocabulary, generator=generator, device=generator.device, dtype=torch.float32
    )
    target = torch.randint(0, vocabulary, (tokens,), generator=generator, device=generator.device)
    if case.shape.get("ignored"):
        target[1 : 1 + case.shape["ignored"]] = IGNORE_INDEX
    return {
        # far from zero, where exp would overflow without subtracting the maximum
        "logits": (logits * 3 + 100).to(device, case.torch_dtype),
        "target": target.to(device),
        "smoothing": case.shape.get("percent", 0) / 100,
    }


KERNEL = kernel_of(
    globals(),
    batch="tokens",
    cases=(
        Case("fp32-v1003", "fp32", {"tokens": 7, "V": 1003, "ignored": 3}),
        # several iterations of the loop
        Case(
            "fp32-v2900-smooth",
            "fp32",
            {"tokens": 5, "V": 2900, "ignored": 1, "percent": 10},
            options={"block": 512},
        ),
        # a single token, and no more than two classes
        Case("fp16-v2-t1-smooth", "fp16", {"tokens": 1, "V": 2, "percent": 20}),
        Case(
            "bf16-v1537-in-place",
            "bf16",
            {"tokens": 4, "V": 1537, "ignored": 1, "percent": 5},
            options={"in_place": True},
        ),
        # the vocabulary of a current language model; its size makes no difference in the interpreter
        Case(
            "bf16-v128256",
            "bf16",
            {"tokens": 3, "V": 128256, "ignored": 1},
            lanes=("compile", "emulate", "device"),
        ),
    ),
    # measured: 9.7e-7, 3.2e-4; bf16 is the rounding of the gradient, 1.7e-3 at the most
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
