"""The two kernels of the probe: an addition, and a dot product in fp16 (tensor cores are where targets differ)."""

import triton
import triton.language as tl


@triton.jit
def add(source, other, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(source + offsets) + tl.load(other + offsets))


@triton.jit
def square(source, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tile = tl.load(source + offsets)
    tl.store(out + offsets, tl.dot(tile, tile))


def launch_add(torch):
    add[(1,)](torch.zeros(64), torch.zeros(64), torch.zeros(64), BLOCK=64)


def launch_dot(torch):
    square[(1,)](torch.zeros(64, 64, dtype=torch.float16), torch.zeros(64, 64), BLOCK=64)


LAUNCHES = {"add": launch_add, "dot": launch_dot}
