"""Gluon kernels in the lanes and ways: the interpreter's cannot run one, and says so; the emulator's computes it."""

import textwrap

import pytest
from plugin_runs import Runs

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import in_child, plan

pytestmark = pytest.mark.triton(">=3.5")

SM_90 = {
    "backend": "cuda", "arch": 90, "family": "sm_9", "warp_size": 32, "max_threads_per_block": 1024,
    "shared_memory_optin": 232448, "registers_per_block": 65536, "multiprocessors": 132, "triton": ">=3.0",
}  # fmt: skip
KERNEL = """
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

@gluon.jit
def double(x, y, n, BLOCK: gl.constexpr):
    at = gl.arange(0, BLOCK, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(y + at, 2 * gl.load(x + at, mask=at < n), mask=at < n)

@triton.jit
def plain(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
"""
MODULE = (
    KERNEL
    + """
from crosswarp.kernels import Case, Kernel

def inputs(case, device, generator):
    return {"x": torch.randn(case.shape["n"], generator=generator, device=device)}

def launch(x, swallows=False):
    y = torch.empty_like(x)
    try:
        double[(1,)](x, y, x.numel(), BLOCK=128)
    except Exception:
        if not swallows:
            raise
    return {"y": y}

KERNEL = Kernel(
    "gluon", (Case("plain", "fp32", {"n": 100}), Case("swallows", "fp32", {"n": 100}, options={"swallows": True})),
    inputs, launch, lambda x, swallows=False: {"y": x * 2}, {"fp32": 0.0},
)
"""
)
TESTS = (
    KERNEL
    + """
import pytest

@pytest.mark.parametrize("kernel", [double, plain], ids=["gluon", "triton"])
def test_doubles(kernel):
    x = torch.randn(100, device="cuda")
    y = torch.full_like(x, float("nan"))
    kernel[(1,)](x, y, 100, BLOCK=128)
    torch.testing.assert_close(y, 2 * x)

def test_refuses():
    x = torch.randn(100, device="cuda")
    with pytest.raises(Exception):
        double[(1,)](x, x, 100, BLOCK=128)
"""
)


@pytest.mark.parametrize("case", ["plain", "swallows"])
@pytest.mark.parametrize("lane", ["interpret", "emulate"])
def test_a_gluon_kernel_in_a_suite(tmp_path, in_fork, monkeypatch, case, lane):
    if lane == "interpret":
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    (tmp_path / "gluon.py").write_text(MODULE)
    spec = AskedSuite(
        "c", records="", suite=str(tmp_path), targets={"sm_90": SM_90}, time_limit=120
    )
    target = "cpu" if lane == "interpret" else "sm_90"
    item = plan.Item(target, lane, "bare", "gluon", case)
    verdict = in_fork(lambda: in_child.run(item, spec, lambda message: None))
    if lane == "emulate":
        assert verdict.outcome == "pass", verdict.message
        return
    assert (verdict.outcome, verdict.reason, verdict.phase) == (
        "unsupported", "interpreter", "interpret",
    ), verdict.message  # fmt: skip
    assert "gluon.jit ignores TRITON_INTERPRET" in verdict.message


def test_a_gluon_kernel_in_the_plugin(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    (library / "test_it.py").write_text(textwrap.dedent(TESTS))
    found = Runs(tmp_path)("--virtual-gpu-lane", "interpret", library=library)
    assert found.outcomes() == {
        "test_doubles[gluon]": "unsupported",
        "test_doubles[triton]": "interpreted",
        "test_refuses": "unsupported",
    }, found.text
    assert "gluon.jit ignores TRITON_INTERPRET" in found.lines["test_doubles[gluon]"]["why"]
    assert found.code == 0 and "Not known to the emulator" not in found.text
