import torch
import triton
import triton.language as tl
from _shared import kernel


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def launch(x):
    y = torch.empty_like(x)
    double[(1,)](x, y, x.numel(), BLOCK=64)
    return {"y": y}


KERNEL = kernel("passes", launch)
