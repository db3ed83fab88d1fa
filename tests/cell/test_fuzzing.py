"""How generated programs run in this column, each in a forked child."""

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


QUICK = {"assembled": False}
TARGETS = {"sm_80": targets.SM_80, "sm_90": targets.SM_90, "gfx942": targets.GFX942}


@pytest.fixture
def answers(tmp_path, in_fork):
    """Ask for these programs, one after the other."""

    def run(*requests, time_limit=100.0):
        limits = AskedSuite(time_limit=time_limit)
        return in_fork(
            lambda: [
                executing.run(one, TARGETS[one["target"]], str(tmp_path), limits)
                for one in requests
            ]
        )

    return run


def outcomes(of):
    return [answer["verdict"]["outcome"] for answer in of]


def test_a_program_has_its_resources_if_it_is_assembled(answers):
    whole, quick = of = answers(asked(1), asked(2, **QUICK))
    assert outcomes(of) == ["pass", "pass"]
    assert whole["resources"]["registers"] > 0 and "resources" not in quick


def test_wrong_numbers_are_named_by_their_tensor(answers):
    of = answers(asked(1, means=2, **QUICK), asked(3, **QUICK))
    assert outcomes(of) == ["mismatch", "pass"]
    assert of[0]["verdict"]["fingerprint"] == "mismatch: y"


@pytest.mark.triton(">=3.0")
def test_a_program_is_executed_for_amd_as_well(answers):
    of = answers(asked(1, means=2, target="gfx942"), asked(3, target="gfx942"))
    assert outcomes(of) == ["mismatch", "pass"]


@on_one_release
def test_a_program_that_dies_or_hangs_costs_no_other(answers):
    dies = asked(1, after="os.abort()", **QUICK)
    leaves = asked(2, after="os._exit(0)", **QUICK)
    hangs = asked(3, after="import time; time.sleep(600)", **QUICK)
    of = answers(dies, leaves, asked(4, **QUICK))
    assert outcomes(of) == ["crash", "crash", "pass"]
    assert of[0]["verdict"]["reason"] == "SIGABRT"
    assert outcomes(answers(hangs, time_limit=3.0)) == ["timeout"]


def test_a_kernel_is_in_each_program_another(answers):
    """Same names, other text: each is compiled anew, and a second launch of the first is the first."""
    of = answers(asked(1, **QUICK), asked(2, means=1, **QUICK), asked(1, **QUICK))
    assert outcomes(of) == ["pass", "mismatch", "pass"]
