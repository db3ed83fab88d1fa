"""The one op of causal-conv1d that is a Triton kernel."""

import torch
from causal_conv1d.causal_conv1d_varlen import causal_conv1d_varlen_states


def test_varlen_states():
    ends = torch.tensor([0, 20, 60, 100], device="cuda", dtype=torch.int32)
    causal_conv1d_varlen_states(torch.randn(100, 200, device="cuda"), ends, 4)
