"""What two launches cost, judged together: trades, what is told, and how many warps fit a multiprocessor."""

from __future__ import annotations

import pytest

from crosswarp.matrix.facts import targets
from crosswarp.matrix.results.comparison import compare
from crosswarp.matrix.results.occupancy import resident_warps

TARGETS = targets.load()


@pytest.fixture
def compared(make_record):
    """`compared({...}, {...}, target=…)`: the comparison of one launch with what it was."""

    def make(before, after, target="sm_90", warps=4):
        def record(figures):
            launch = {"kernel": "_kernel", "num_warps": warps, "registers": 32, **figures}
            return make_record(target=target, resources={"launches": [launch]})

        return compare(record(before), record(after))

    return make


def metrics_of(found):
    return [(change.metric, bool(change.remark)) for change in found.changes]


@pytest.mark.parametrize(
    ("target", "registers", "shared", "warps", "resident"),
    [
        # CUDA's occupancy calculator, by hand: 65,536 registers, in quarters, in steps of 8 a thread.
        ("sm_90", 32, 0, 4, 64),
        ("sm_90", 255, 0, 4, 8),
        ("sm_90", 129, 0, 4, 12),
        ("sm_90", 255, 0, 16, 0),
        # 24 blocks at most, of one warp.
        ("sm_89", 32, 0, 1, 24),
        ("sm_89", 32, 0, 4, 48),
        # 228 KiB, of which each block takes one more than it asks for.
        ("sm_90", 32, 114_688, 4, 8),
        ("sm_90", 32, 115_712, 4, 8),
        ("sm_90", 32, 115_713, 4, 4),
        ("sm_75", 32, 65_536, 4, 4),
        ("sm_90", 32, 233_473, 4, 0),
        # 512 vector registers a lane and 8 waves on each of four SIMDs.
        ("gfx942", 128, 0, 4, 16),
        ("gfx942", 64, 0, 4, 32),
        ("gfx942", 64, 40_000, 4, 4),
        ("gfx906", 128, 0, 4, 8),
        # A work-group processor: 1,536 registers a lane, 128 KiB.
        ("gfx1100", 96, 0, 4, 64),
        ("gfx1100", 256, 0, 4, 24),
        ("gfx1100", 32, 65_536, 4, 8),
    ],
)
def test_resident_warps(target, registers, shared, warps, resident):
    assert resident_warps(TARGETS[target], registers, shared, warps) == resident


@pytest.mark.parametrize(("metric", "value"), [("stack", 8), ("stack", 24), ("spills", 8)])
def test_a_small_stack_that_appears_is_told_and_not_judged(compared, metric, value):
    found = compared({metric: 0}, {metric: value})
    assert (found.outcome, metrics_of(found)) == ("changed", [(metric, True)])
    # It is there already: nothing new.
    assert compared({metric: value - 4}, {metric: value}).outcome == "same"


def test_registers_that_take_what_was_in_memory_are_a_trade(compared):
    """As from Triton 3.1.0 to 3.2.0 on sm_80, and the one of the report: a stack of 1,920 bytes became 528."""
    found = compared({"registers": 128, "stack": 1920}, {"registers": 255, "stack": 528})
    assert (found.outcome, metrics_of(found)) == ("changed", [("registers", True)])
    (change,) = found.changes
    assert "1392 bytes a thread left memory, 8 warps are resident where 16 were" in change.remark


def test_registers_that_take_more_than_left_memory_are_none(compared):
    """As flash_attention from 3.2.0 to 3.3.1 on sm_90: 508 bytes of registers for a stack of 16."""
    found = compared({"registers": 128, "stack": 16}, {"registers": 255, "stack": 0})
    assert (found.outcome, metrics_of(found)) == ("resource-regressed", [("registers", False)])


def test_registers_that_cost_no_warp_are_told(compared):
    # Shared memory lets no more than two blocks in, before as after.
    found = compared({"registers": 80, "shared": 100_000}, {"registers": 168, "shared": 100_000})
    assert (found.outcome, metrics_of(found)) == ("changed", [("registers", True)])
    assert "8 warps are resident where 8 were" in found.changes[0].remark
    assert compared({"registers": 80}, {"registers": 168}).outcome == "resource-regressed"


def test_memory_for_room_is_a_trade_when_the_room_is_there(compared):
    comparison = compared({"registers": 255, "stack": 0}, {"registers": 128, "stack": 400})
    assert (comparison.outcome, metrics_of(comparison)) == ("changed", [("stack", True)])
    # More came than was given up; no room was won; none is known of.
    for after, target in (
        ({"registers": 128, "stack": 600}, "sm_90"),
        ({"registers": 240, "stack": 40}, "sm_90"),
        ({"registers": 128, "stack": 400}, "gpu"),
    ):
        comparison = compared({"registers": 255, "stack": 0}, after, target)
        assert comparison.outcome == "resource-regressed"
    # 20 warps are resident where 16 were: too few.
    comparison = compared({"registers": 128, "stack": 0}, {"registers": 96, "stack": 40})
    assert comparison.outcome == "resource-regressed"


def test_spills_and_registers_that_both_grow_are_both_worse(compared):
    found = compared({"registers": 64, "stack": 64}, {"registers": 128, "stack": 128})
    assert metrics_of(found) == [("stack", False), ("registers", False)]


def test_accesses_that_move_into_a_loop_are_no_trade(compared):
    few, many = {"instructions": {"scratch": 20}}, {"instructions": {"scratch": 60}}
    found = compared({"registers": 255, **few}, {"registers": 128, **many})
    assert (found.outcome, metrics_of(found)) == ("resource-regressed", [("scratch", False)])


def test_on_a_target_without_a_table_the_figures_alone_judge(compared):
    found = compared(
        {"registers": 80, "shared": 100_000}, {"registers": 168, "shared": 100_000}, "gpu"
    )
    assert found.outcome == "resource-regressed"


def test_shared_memory_that_grows_by_tens_of_kib_is_told(compared):
    found = compared({"shared": 114_688}, {"shared": 147_456})
    assert (found.outcome, metrics_of(found)) == ("changed", [("shared", True)])
    assert found.changes[0].remark == "32,768 bytes more"
    assert compared({"shared": 114_688}, {"shared": 131_071}).outcome == "same"
    assert compared({"shared": 147_456}, {"shared": 114_688}).outcome == "same"


def test_shared_memory_that_no_longer_fits_a_smaller_gpu_is_told(compared):
    found = compared({"shared": 98_304}, {"shared": 106_496})
    assert found.outcome == "changed"
    assert found.changes[0].remark == "no longer within the 101,376 of sm_86, sm_89, sm_120, sm_121"
    both = compared({"shared": 65_536}, {"shared": 66_560}).changes[0].remark
    assert both == "no longer within the 65,536 of sm_75"
    # Of the same maker; and at the limit it still fits.
    assert compared({"shared": 98_304}, {"shared": 101_376}).outcome == "same"
    amd = compared({"shared": 65_536}, {"shared": 66_560}, "gfx950").changes[0].remark
    assert "gfx906" in amd and "gfx1201" in amd and "sm_75" not in amd


def test_barriers_that_change_around_the_same_exchanges_are_told(compared):
    """triton#9871: its fix put 4 barriers between the accesses that were there."""
    shared = {"shared.load": 8, "shared.store": 4, "matrix": 2}
    before, after = ({"instructions": {**shared, "barrier": n}} for n in (28, 32))
    found = compared(before, after)
    assert (found.outcome, metrics_of(found)) == ("changed", [("barriers", True)])
    assert (found.changes[0].before, found.changes[0].after) == (28, 32)
    assert "more may be the fix" in found.changes[0].remark
    assert "fewer may be a race" in compared(after, before).changes[0].remark


def test_barriers_that_come_with_what_they_guard_are_nothing(compared):
    before = {"instructions": {"shared.load": 8, "barrier": 28}}
    after = {"instructions": {"shared.load": 12, "barrier": 32}}
    assert compared(before, after).outcome == "same"
    # Not counted by an older baseline.
    assert compared({}, after).outcome == "same"


def test_what_is_worse_comes_before_what_is_told(compared):
    before = {"stack": 0, "code": 40_000, "shared": 0}
    found = compared(before, {"stack": 8, "code": 80_000, "shared": 20_000})
    assert found.outcome == "resource-regressed"
    assert metrics_of(found) == [("code", False), ("stack", True), ("shared", True)]


def test_a_baseline_keeps_what_is_compared(make_record, tmp_path):
    from crosswarp.matrix.results import baseline

    counts = {"shared.load": 8, "barrier": 28, "total": 90}
    launch = {"kernel": "_kernel", "num_warps": 4, "registers": 32, "instructions": counts}
    record = make_record(resources={"launches": [launch]})
    baseline.write(tmp_path / "all.json", [record])
    (again,) = baseline.read(tmp_path / "all.json")
    more = {**launch, "instructions": {**counts, "barrier": 32}}
    assert compare(again, make_record(resources={"launches": [launch]})).outcome == "same"
    assert compare(again, make_record(resources={"launches": [more]})).outcome == "changed"
