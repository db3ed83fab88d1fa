"""A launch with compat makes the calls of a launch without it: counted, since the seconds differ more between two runs
of one process."""

import sys

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


def traced(installs):
    """For each way to launch: the functions called in their order, of Python and of C, and the number of bytecodes."""
    if installs:
        compat.install()
    virtual_gpu.activate(targets.SM_90, guarded=False)
    seen = {}
    for way, launch in ways().items():
        for _ in range(3):
            launch()
        called = []
        bytecodes = 0

        def note(frame, event, argument, called=called):
            if event in ("call", "c_call"):
                name = frame.f_code.co_name if event == "call" else argument.__qualname__
                called.append(OWN.get(name, name))

        def count(frame, event, argument):
            nonlocal bytecodes
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            bytecodes += event == "opcode"
            return count

        sys.setprofile(note)
        launch()
        sys.setprofile(None)
        sys.settrace(count)
        launch()
        sys.settrace(None)
        seen[way] = called, bytecodes
    return seen


def test_a_launch_with_compat_is_tritons_own(in_fork):
    bare = in_fork(lambda: traced(installs=False))
    assert all(len(called) > 20 for called, _ in bare.values())
    for way, (called, bytecodes) in in_fork(lambda: traced(installs=True)).items():
        if in_window(">=3.0", triton.__version__):
            assert called == bare[way][0], way
        else:
            # 2.3 parses its options with each launch: unknown_options looks for names that it does not know.
            assert len(called) <= len(bare[way][0]) + 1, way
        # host_constexpr adds four before 3.3.
        assert bytecodes <= bare[way][1] * 1.01, (way, bytecodes, bare[way][1])
