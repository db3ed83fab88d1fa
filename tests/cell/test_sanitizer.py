"""The sanitizer in the lane emulate of this column: what a cell says of a launch that is at fault."""

from dataclasses import replace

import emulate_kernels
import pytest
import sanitizer_kernels
import targets
import torch
from test_emulate import EMULATED, SPEC, kernel, line_of

from crosswarp.matrix.cell.kinds.suite import in_child


def judged(in_fork, launch, reference=lambda x: {"y": x * 2}, size=100, sanitize=True):
    """Outcome, reason, fingerprint and message of a case."""

    def run():
        spec = replace(SPEC, targets={"sm_80": vars(targets.SM_80)}, sanitize=sanitize)
        in_child._prepare_lane(EMULATED, spec)
        log = in_child._watched(EMULATED, spec, lambda name: None, lambda name, verdict: None)
        made = kernel(launch, reference, size)
        verdict = in_child._launch(EMULATED, spec, made, made.cases[0], log)
        return verdict.outcome, verdict.reason, verdict.fingerprint, verdict.message

    return in_fork(run)


def test_what_is_right_passes(in_fork):
    def launch(x):
        y = torch.empty_like(x)
        emulate_kernels.times[(2,)](x, y, 100, BLOCK=64, FACTOR=2.0)
        return {"y": y}

    assert judged(in_fork, launch)[0] == "pass"


def test_the_slack_of_a_storage_is_out_of_bounds(in_fork):
    def launch(x):
        y = torch.empty(128)[:100]
        emulate_kernels.one_too_far[(2,)](x * 2, y, 100, BLOCK=64)
        return {"y": y}

    assert judged(in_fork, launch, sanitize=False)[0] == "pass"
    outcome, reason, fingerprint, message = judged(in_fork, launch)
    assert (outcome, reason) == ("fault", "out-of-bounds")
    assert fingerprint == "fault: out-of-bounds in one_too_far"
    assert line_of("at < n + 1") in message
    assert "program (1, 0, 0), thread 36" in message and "0 bytes behind the end of y" in message


@pytest.mark.parametrize("written", [True, False])
def test_an_output_that_is_read_before_it_is_written(in_fork, written):
    def launch(x):
        y = torch.empty_like(x)
        if written:
            y.copy_(x)
        sanitizer_kernels.adds_to[(2,)](x, y, 100, BLOCK=64)
        return {"y": y}

    outcome, reason, _, message = judged(in_fork, launch)
    if written:
        assert outcome == "pass", message
    else:
        assert (outcome, reason) == ("fault", "uninitialised read") and "into y" in message


def test_programs_that_overtake_each_other(in_fork):
    def launch(x):
        y = x.clone()
        sanitizer_kernels.shifts_in_place[(2,)](y, 100, BLOCK=64)
        return {"y": y}

    outcome, reason, _, message = judged(
        in_fork, launch, lambda x: {"y": torch.cat([x[1:], x[:1] * 0])}
    )
    assert (outcome, reason) == ("fault", "race between programs")
    assert "sanitizer_kernels.py" in message and "into x" in message


@pytest.mark.parametrize("seen", [True, False])
def test_slots_are_their_own_affair_until_they_are_seen(in_fork, seen):
    def launch(x):
        count, y = torch.zeros(1, dtype=torch.int32), torch.empty_like(x)
        sanitizer_kernels.takes_a_slot[(4,)](x, count, y, BLOCK=16)
        return {"y": y if seen else y.reshape(4, 16).sum(0)}

    def reference(x):
        return {"y": x if seen else x.reshape(4, 16).sum(0)}

    outcome, reason, _, message = judged(in_fork, launch, reference, size=64)
    if seen:
        assert (outcome, reason) == ("fault", "order dependence") and "y is another" in message
    else:
        assert outcome == "pass", message
