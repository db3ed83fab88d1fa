"""How generated programs run in this column: by themselves, or one after the other in a child that they share."""

import numpy as np
import pytest
import targets

from crosswarp.laboratory.cell.fuzzing import data, executing
from crosswarp.matrix.cell.asked import AskedSuite

pytestmark = pytest.mark.both_ends
# These are about the processes that run programs, whichever Triton is in them.
on_one_release = pytest.mark.triton(">=3.9")

# What is added, so that each of these is another program to Triton's cache.
KERNEL = """import os

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, BEYOND: tl.constexpr = {number}):
    at = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(y_ptr + at, tl.load(x_ptr + at) + BEYOND)


{after}
"""
BLOCKS, SIZE = 2, 32


def asked(number, means=None, after="", target="sm_80", **options):
    """A program that adds `number`; `means` is what it is held to, if that is another."""
    x = data.fill(SIZE, "int32", -9, 9, 1)
    argument = {"dtype": "int32", "size": SIZE, "low": -9, "high": 9}
    return {
        "program": {
            "name": f"adds-{number}",
            "kernel": KERNEL.format(number=number, after=after),
            "arguments": [dict(argument, name="x", salt=1), dict(argument, name="y", low=0, salt=0)],
            "numbers": {}, "options": {"num_warps": 1}, "blocks": BLOCKS,
        },
        "expected": {"y": data.digest(x + np.int32(number if means is None else means))},
        "target": target, "options": {}, **options,
    }  # fmt: skip


QUICK = {"together": True, "assembled": False}


@pytest.fixture
def children(tmp_path, in_fork):
    """Ask for these programs, and say of each how it ended, and in which child it ran (counted from 0)."""

    def run(*requests, time_limit=100.0):
        def inside():
            ours = executing.Children(str(tmp_path), AskedSuite(time_limit=time_limit))
            pids, answers = [], []
            begin = ours._begin

            def counted(target):
                begin(target)
                pids.append(ours._child.pid)

            ours._begin = counted
            by_name = {
                "sm_80": targets.SM_80, "sm_90": targets.SM_90, "gfx942": targets.GFX942,
            }  # fmt: skip
            for request in requests:
                found = ours.run(request, by_name[request["target"]])
                answers.append((found, len(pids) - 1))
            ours.end()
            return answers

        return in_fork(inside)

    return run


def outcomes(answers):
    return [found["verdict"]["outcome"] for found, _ in answers]


def numbers(answers):
    return [number for _, number in answers]


def test_a_program_by_itself_has_a_child_and_its_resources(children):
    answers = children(asked(1), asked(2))
    assert outcomes(answers) == ["pass", "pass"] and numbers(answers) == [0, 1]
    assert all(found["resources"]["registers"] > 0 for found, _ in answers)


def test_programs_that_pass_share_a_child_and_are_not_assembled(children, monkeypatch):
    answers = children(*(asked(number, **QUICK) for number in range(3)))
    assert outcomes(answers) == ["pass"] * 3 and numbers(answers) == [0, 0, 0]
    assert not any("resources" in found for found, _ in answers)


def test_what_is_not_assembled_is_executed_and_compared(children):
    (found, _), _ = answers = children(asked(1, means=2, **QUICK), asked(3, **QUICK))
    assert outcomes(answers) == ["mismatch", "pass"] and set(found["wrong"]) == {"y"}
    # What went wrong may have left something behind.
    assert numbers(answers) == [0, 1]


@pytest.mark.triton(">=3.0")
def test_a_program_is_executed_for_amd_as_well(children):
    (found, _), _ = answers = children(
        asked(1, means=2, target="gfx942"), asked(3, target="gfx942")
    )
    assert outcomes(answers) == ["mismatch", "pass"] and set(found["wrong"]) == {"y"}


@on_one_release
def test_a_separate_program_shares_with_nobody(children):
    answers = children(asked(1, **QUICK), asked(2), asked(3, **QUICK))
    assert outcomes(answers) == ["pass"] * 3 and numbers(answers) == [0, 1, 2]
    assert "resources" in answers[1][0]


@on_one_release
def test_a_child_is_for_one_target(children):
    answers = children(*(asked(1, target=name, **QUICK) for name in ("sm_80", "sm_90", "sm_90")))
    assert outcomes(answers) == ["pass"] * 3 and numbers(answers) == [0, 1, 1]


@on_one_release
def test_a_child_that_dies_costs_its_program_alone(children):
    """It has answered for those before it, and those behind it get another."""
    dies = asked(2, after="os.abort()", **QUICK)
    answers = children(asked(1, **QUICK), dies, asked(3, **QUICK))
    assert outcomes(answers) == ["pass", "crash", "pass"] and numbers(answers) == [0, 0, 1]
    assert answers[1][0]["verdict"]["reason"] == "SIGABRT"


@on_one_release
def test_a_child_that_leaves_or_hangs_is_told_as_that(children):
    leaves = asked(1, after="os._exit(0)", **QUICK)
    hangs = asked(2, after="import time; time.sleep(600)", **QUICK)
    # Neither compiles anything, which may take longer on a busy machine.
    answers = children(leaves, hangs, time_limit=8.0)
    assert outcomes(answers) == ["crash", "timeout"] and numbers(answers) == [0, 1]


@on_one_release
def test_a_child_serves_so_many_and_no_more(children, monkeypatch):
    monkeypatch.setattr(executing, "_TOGETHER", 2)
    answers = children(*(asked(number, **QUICK) for number in range(5)))
    assert outcomes(answers) == ["pass"] * 5 and numbers(answers) == [0, 0, 1, 1, 2]


def test_what_a_kernel_is_in_one_program_it_is_not_in_the_next(children):
    """Same names, other text: each is compiled anew, and a second launch of the first is the first."""
    answers = children(asked(1, **QUICK), asked(2, means=1, **QUICK), asked(1, **QUICK))
    assert outcomes(answers) == ["pass", "mismatch", "pass"]
