"""What conftests of libraries do: replace torch.empty, add options, ask nvidia-smi."""

import subprocess

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if torch.version.hip is None and torch.cuda.get_device_capability()[0] >= 7:
    SMI = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def pytest_addoption(parser):
    parser.addoption("--mode", default="quick")
    parser.addoption("--ref", default="cuda")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long")


@pytest.fixture(autouse=True)
def poisoned(monkeypatch):
    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, filled(getattr(torch, name)))


def filled(own):
    def poisoned_empty(*args, **kwargs):
        made = own(*args, **kwargs)
        return made.fill_(float("nan")) if made.is_floating_point() else made

    return poisoned_empty


@pytest.fixture(scope="session")
def device():
    return torch.device(DEVICE)
