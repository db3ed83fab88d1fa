"""Dropout with seeded random numbers, forward and backward: the mask is never stored, backward draws it again.

One call of Philox gives four numbers, so each program takes four blocks side by side. The reference is a separate
Philox4x32-10 in 64-bit integers of PyTorch, so a Triton that draws other numbers shows.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# it determines which number an element gets, so the launcher cannot choose it
BLOCK = 512


@triton.jit
def _put(x, y_ptr, at, number, left, least, scale):
    survives = number.to(tl.int32, bitcast=True) >= least
    y = tl.where(survives, x.to(tl.float32) * scale, 0.0)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < left)


@triton.jit(do_not_specialize=["seed", "least"])
def _dropout_kernel(x_ptr, y_ptr, size, least, scale, seed, BLOCK: tl.constexpr):
    # 64 bits: all elements together may pass 2^31; those of a program do not
    first = tl.program_id(0).to(tl.int64) * (4 * BLOCK)
    left = tl.minimum(size - first, 4 * BLOCK).to(tl.int32)
    x_ptr += first
    y_ptr += first
    at = tl.arange(0, BLOCK)
    # all loads before the first store: the compiler has to assume that both may use the same address
    x0 = tl.load(x_ptr + at, mask=at < left, other=0.0)
    x1 = tl.load(x_ptr + at + BLOCK, mask=at + BLOCK < left, other=0.0)
    x2 = tl.load(x_ptr + at + 2 * BLOCK, mask=at + 2 * BLOCK < left, other=0.0)
    x3 = tl.load(x_ptr + at + 3 * BLOCK, mask=at + 3 * BLOCK < left, other=0.0)
    # integers: turning them into fractions would cost half as much as the rest
    n0, n1, n2, n3 = tl.randint4x(seed, tl.program_id(0) * BLOCK + at)
    _put(x0, y_ptr, at, n0, left, least, scale)
    _put(x1, y_ptr, at + BLOCK, n1, left, least, scale)
    _put(x2, y_ptr, at + 2 * BLOCK, n2, left, least, scale)
    _put(x3, y_ptr, at + 3 * BLOCK, n3, left, least, scale)


def _least(p):
    """The smallest signed 32-bit number that is kept: a part p of the 2^32 numbers is below it."""
    return round(p * 2**32) - 2**31


def _dropped(x, p, seed):
    y = torch.empty_like(x)
    size = x.numel()
    grid = (triton.cdiv(size, 4 * BLOCK),)
    options = {"BLOCK": BLOCK, "num_warps": 2}
    _dropout_kernel[grid](x, y, size, _least(p), 1.0 / (1.0 - p), seed, **options)
    return y


def launch(x, dy, p, seed):
    return {"y": _dropped(x, p, seed), "dx": _dropped(dy, p, seed)}


def _product(a, b):
    """High and low 32 bits of the product of two 32-bit numbers, without ever passing 2^63."""
    low, high = a * (b & 0xFFFF), a * (b >> 16)
    middle = (low >> 16) + high
    return middle >> 16, ((middle & 0xFFFF) << 16) | (low & 0xFFFF)


def _philox(counter, seed):
    """The four outputs of Philox4x32-10 (Salmon et al., SC11) for each counter, as 32-bit numbers in int64."""
    c = [counter & 0xFFFFFFFF, *(torch.zeros_like(counter) for _ in range(3))]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        high_a, low_a = _product(c[0], 0xD2511F53)
        high_b, low_b = _product(c[2], 0xCD9E8D57)
        c = [high_b ^ c[1] ^ key[0], low_b, high_a ^ c[3] ^ key[1], low_a]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def _survivors(size, p, seed, device):
    at = torch.arange(size, dtype=torch.int64, device=device)
    program, inside = at // (4 * BLOCK), at % (4 * BLOCK)
    every = torch.stack(_philox(program * BLOCK + inside % BLOCK, seed))
    drawn = every.gather(0, (inside // BLOCK).unsqueeze(0)).squeeze(0)
    return torch.where(drawn >= 1 << 31, drawn - (1 << 32), drawn) >= _least(p)


def reference(x, dy, p, seed):
    survivors = _survivors(x.numel(), p, seed, x.device).view(x.shape).double() / (1 - p)
    return {"y": x.double() * survivors, "dx": dy.double() * survivors}


def inputs(case, device, generator):
    size = (case.shape["M"], case.shape["N"])

    def normal():
        made = torch.randn(size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    return {
        "x": normal(),
        "dy": normal(),
        "p": case.shape["percent"] / 100,
        "seed": case.shape["seed"],
    }


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-3x1111-p30", "fp32", {"M": 3, "N": 1111, "percent": 30, "seed": 1234}),
        # nothing is dropped, of a single element
        Case("fp16-1x1-p0", "fp16", {"M": 1, "N": 1, "percent": 0, "seed": 0}),
        Case("fp16-5x77-p50", "fp16", {"M": 5, "N": 77, "percent": 50, "seed": 1}),
        # a seed of more than 32 bits
        Case("bf16-2x3000-p10", "bf16", {"M": 2, "N": 3000, "percent": 10, "seed": 2**40 + 17}),
    ),
    # measured: 3.5e-8 (one element kept or dropped by mistake is 1e-2), 2e-4; bf16 is the rounding, 1.7e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
