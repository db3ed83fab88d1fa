import torch
import triton
import triton.language as tl
from _shared import kernel


@triton.jit
def triple_half(x, y, n, BLOCK: tl.constexpr):
    # Wrong twice: three times instead of two, and half of the output is never written.
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 3, mask=at < n // 2)


def launch(x):
    y = torch.empty_like(x)
    triple_half[(1,)](x, y, x.numel(), BLOCK=64)
    return {"y": y}


KERNEL = kernel("mismatches", launch)
