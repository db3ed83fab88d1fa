"""Triton ops of mamba-ssm."""

import pytest
import torch
from mamba_ssm.ops.triton.layer_norm import layer_norm_fn
from mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn
from mamba_ssm.ops.triton.selective_state_update import selective_state_update
from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined


def x(*shape):
    return torch.randn(shape, device="cuda").requires_grad_()


def test_layer_norm():
    layer_norm_fn(x(64, 256), x(256), x(256), residual=x(64, 256)).sum().backward()


def test_gated_rms_norm():
    rmsnorm_fn(x(64, 256), x(256), None, z=x(64, 256)).sum().backward()


@pytest.mark.parametrize("biased", [False, True], ids=["plain", "biased"])
def test_state_update(biased):
    of_dim = {name: torch.ones(64, device="cuda") for name in (("D", "dt_bias") if biased else ())}
    with torch.no_grad():
        state, decay = x(2, 64, 16), -torch.ones(64, 16, device="cuda")
        selective_state_update(state, x(2, 64), x(2, 64), decay, x(2, 16), x(2, 16), **of_dim)


def test_chunk_scan():
    mamba_chunk_scan_combined(
        x(1, 128, 2, 64), x(1, 128, 2), x(2), x(1, 128, 1, 64), x(1, 128, 1, 64), 64
    ).sum().backward()
