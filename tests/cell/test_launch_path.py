"""A launch with compat makes the calls of a launch without it: by count, since the seconds differ more between two runs
of one process."""

import sys

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu

# Replacements of host_constexpr, before 3.3, by the name of Triton's own function.
OWN = {"with_grid": "__getitem__", "launch": "<lambda>"}


def add_one(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)


def ways():
    """Each way to launch, as a function that launches a kernel that no fix concerns."""
    x, y, n = torch.ones(64), torch.ones(64), 64
    plain = triton.jit(add_one)
    config = triton.Config({"BLOCK": 64}, num_warps=2)
    tuned = triton.autotune(configs=[config], key=["n"])(triton.jit(add_one))
    by_rule = triton.heuristics({"BLOCK": lambda given: 64})(triton.jit(add_one))
    compiled = plain[(1,)](x, y, n, BLOCK=64)
    # From 3.3 on a compiled kernel takes its constants as well.
    arguments = (x, y, n, 64) if in_window(">=3.3", triton.__version__) else (x, y, n)
    return {
        "grid": lambda: plain[(1,)](x, y, n, BLOCK=64),
        "run": lambda: plain.run(x, y, n, grid=(1,), warmup=False, BLOCK=64),
        "compiled": lambda: compiled[(1, 1, 1)](*arguments),
        "autotuned": lambda: tuned[(1,)](x, y, n),
        "heuristics": lambda: by_rule[(1,)](x, y, n),
    }


def calls(installs):
    """How a launch calls, by the way to launch: the names of the functions, of Python and of C, in their order."""
    if installs:
        compat.install()
    virtual_gpu.activate(targets.SM_90, guarded=False)
    seen = {}
    for way, launch in ways().items():
        for _ in range(3):
            launch()
        seen[way] = called = []

        def note(frame, event, argument, called=called):
            if event in ("call", "c_call"):
                name = frame.f_code.co_name if event == "call" else argument.__qualname__
                called.append(OWN.get(name, name))

        sys.setprofile(note)
        launch()
        sys.setprofile(None)
    return seen


@pytest.mark.triton(">=3.0")
def test_a_launch_with_compat_makes_tritons_own_calls(in_fork):
    bare = in_fork(lambda: calls(installs=False))
    assert all(len(called) > 20 for called in bare.values())
    assert in_fork(lambda: calls(installs=True)) == bare


@pytest.mark.triton("<3.0")
def test_before_3_0_two_calls_more(in_fork):
    # 2.3 parses its options with each launch, and does not know all of them: unknown_options.
    bare = in_fork(lambda: calls(installs=False))
    for way, called in in_fork(lambda: calls(installs=True)).items():
        assert len(called) - len(bare[way]) <= 2, way
