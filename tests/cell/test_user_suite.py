"""What a user's suite may do that our own kernels do not: ask torch.cuda, and declare features with probes."""

import pytest
import targets

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import in_child, plan

# Nothing of it is a version's own, and each child that imports torch costs seconds.
pytestmark = pytest.mark.triton(">=3.9")

MODULE = """
import torch
import triton
import triton.language as tl
from crosswarp.kernels import Case, Kernel

# What modules ask as they are imported, and what launchers ask.
assert torch.cuda.get_device_capability() == (8, 0)
ASKED = []

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

def inputs(case, device, generator):
    return {"x": torch.randn(case.shape["n"], generator=generator, device=device)}

def launch(x):
    assert x.is_cuda and torch.cuda.get_device_properties(x.device).multi_processor_count == 108
    with torch.cuda.device(x.device):
        y = torch.empty(x.shape, device="cuda")
        double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    torch.cuda.synchronize()
    return {"y": y}

def reference(x):
    return {"y": x * 2}

def lacks_pairs():
    assert torch.cuda.get_device_capability() == (8, 0)
    return "pairs came with sm_90"

def wrong():
    raise KeyError("a probe that is wrong")

def case(id, *requires):
    return Case(id, "fp32", {"n": 100}, requires=requires)

KERNEL = Kernel(
    "asks", (case("plain"), case("there", "there"), case("pairs", "there", "pairs"), case("wrong", "wrong")),
    inputs, launch, reference, {"fp32": 0.0},
    probes={"pairs": lacks_pairs, "there": lambda: "", "wrong": wrong},
)
"""


@pytest.fixture
def run(tmp_path, in_fork):
    """`run("compile", "plain")`: the verdict on that case."""
    (tmp_path / "asks.py").write_text(MODULE)
    rows = {"sm_80": targets.SM_80_ROW}
    spec = AskedSuite(suite=str(tmp_path), targets=rows, time_limit=120, lanes=["compile"])

    def call(lane, *cases):
        target = "cpu" if lane == "interpret" else "sm_80"

        def verdicts():
            found = [
                in_child.run(plan.Item(target, lane, "bare", "asks", case), spec, print)
                for case in cases
            ]
            return [(one.outcome, one.reason, one.phase, one.message) for one in found]

        return in_fork(verdicts)

    return call


def test_a_launcher_may_ask_torch_cuda(run):
    assert run("compile", "plain", "there") == [("pass", "", "", "")] * 2
    assert run("emulate", "plain") == [("pass", "", "compare", "")]


def test_the_interpreter_too(run, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert run("interpret", "plain") == [("pass", "", "compare", "")]


def test_a_suite_says_itself_what_a_triton_or_target_lacks(run):
    lacking, wrong = run("compile", "pairs", "wrong")
    assert lacking == ("unsupported", "feature", "compile", "pairs: pairs came with sm_90")
    assert wrong[:3] == ("api-error", "KeyError", "probe")
