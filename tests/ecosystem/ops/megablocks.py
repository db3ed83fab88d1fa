"""Moving tokens to experts: 64 tokens of 128, 4 experts, the best one each."""

import torch
from megablocks.backend import kernels

TOKENS, EXPERTS = 64, 4


def tokens():
    experts = torch.arange(TOKENS, device="cuda", dtype=torch.int32) % EXPERTS
    bins, order = torch.sort(experts)
    ends = torch.arange(1, EXPERTS + 1, device="cuda", dtype=torch.int32) * (TOKENS // EXPERTS)
    x = torch.randn(TOKENS, 128, device="cuda", dtype=torch.float16)
    return x, order.to(torch.int32), bins, ends


def test_gather():
    x, order, bins, ends = tokens()
    kernels.gather(x, order, bins, None, ends, 1)


def test_binned_gather():
    x, order, _, ends = tokens()
    kernels.binned_gather(x, order, None, ends, TOKENS // EXPERTS, 1)


def test_binned_scatter():
    _, order, _, ends = tokens()
    x = torch.randn(EXPERTS, TOKENS // EXPERTS, 128, device="cuda", dtype=torch.float16)
    kernels.binned_scatter(x, order, torch.ones(TOKENS, device="cuda"), ends, 1)
