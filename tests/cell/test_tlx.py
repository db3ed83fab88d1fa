"""The suite's TLX kernels: only a build that has TLX runs them, and a release says so in one line."""

import pytest

from crosswarp import kernels
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import in_child, oracle, plan

NAMES = [name for name in kernels.SUITE if name.startswith("tlx_")]
SM_90 = {
    "backend": "cuda", "arch": 90, "family": "sm_9", "warp_size": 32, "max_threads_per_block": 1024,
    "shared_memory_optin": 232448, "registers_per_block": 65536, "multiprocessors": 132, "triton": ">=3.0",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lane", ["compile", "interpret"])
def test_a_release_of_triton_has_no_tlx(in_fork, monkeypatch, name, lane):
    if lane == "interpret":
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    spec = AskedSuite("c", records="", targets={"sm_90": SM_90}, time_limit=120)
    target = "cpu" if lane == "interpret" else "sm_90"
    item = plan.Item(target, lane, "bare", name, kernels.load(name).cases[0].id)
    verdict = in_fork(lambda: in_child.run(item, spec, lambda message: None))
    assert (verdict.outcome, verdict.message) == (
        "unsupported",
        "tlx: TLX (triton.language.extra.tlx) is fbtriton's, and in no release of Triton",
    )


def test_the_interpreter_has_no_tlx_either():
    gap = oracle.gap(["tlx"], "3.7.4", "2.4.0")
    assert gap is not None and gap.why == "the interpreter has no TLX"
