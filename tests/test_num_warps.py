"""crosswarp.compat.launch.num_warps and its table, without Triton."""

import pytest

from crosswarp.compat import CompatError
from crosswarp.compat.launch import MAX_THREADS_PER_BLOCK, NUM_WARPS, num_warps


@pytest.mark.parametrize("glob", NUM_WARPS)
def test_the_table_is_in_powers_of_two(glob):
    sizes, warps = zip(*NUM_WARPS[glob])
    assert list(sizes) == sorted(set(sizes))
    assert all(number & (number - 1) == 0 for number in warps)


@pytest.mark.parametrize(
    "target, warp_size", [("sm_80", 32), ("sm_90", 32), ("gfx942", 64), ("gfx90a", 64)]
)
def test_a_block_holds_what_comes_out_for_any_row(target, warp_size):
    chosen = [num_warps(2**exponent, target) for exponent in range(20)]
    assert all(1 <= number * warp_size <= MAX_THREADS_PER_BLOCK for number in chosen)


def test_what_was_measured_on_an_h200():
    """tests/bench/README.md: holding 65,536 elements, 32 warps are slower than 16."""
    chosen = {size: num_warps(size, "sm_90") for size in (1024, 8192, 32768, 65536)}
    assert chosen == {1024: 2, 8192: 16, 32768: 32, 65536: 16}
    # What was not measured: the steps of the libraries.
    assert num_warps(65536, "sm_80") == 32


def test_a_row_that_is_no_power_of_two_counts_as_it_is():
    assert num_warps(4095, "sm_90") == num_warps(4096, "sm_90") < num_warps(4097, "sm_90")


class Target:
    def __init__(self, arch):
        self.arch = arch


@pytest.mark.parametrize(
    "target, name",
    [
        (Target(90), "sm_90"),
        (("cuda", 90), "sm_90"),
        (Target("gfx942"), "gfx942"),
        (Target("gfx942:sramecc+"), "gfx942"),
    ],
)
def test_tritons_own_targets_are_known(target, name):
    assert num_warps(65536, target) == num_warps(65536, name)


@pytest.mark.parametrize("size", [0, -1, 1.5, None])
def test_a_size_that_is_none_says_what_to_give(size):
    with pytest.raises(CompatError, match="give the number of elements"):
        num_warps(size, "sm_90")


def test_an_unknown_target_says_what_is_known():
    with pytest.raises(CompatError, match=r"known: use None for the current GPU.*sm_\*"):
        num_warps(64, "tpu")
