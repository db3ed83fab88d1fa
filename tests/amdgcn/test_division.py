"""Divisions of float64 by the instructions that the compiler makes of one, against the quotient rounded once."""

import numpy as np
from amd_running import lanes_of, run

# LLVM's code of a division of float64 for gfx942.
DIVISION = """v_div_scale_f64 v[10:11], s[0:1], v[4:5], v[4:5], v[2:3]
    v_rcp_f64_e32 v[12:13], v[10:11]
    v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
    v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]
    v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
    v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]
    v_div_scale_f64 v[14:15], vcc, v[2:3], v[4:5], v[2:3]
    v_mul_f64 v[16:17], v[14:15], v[12:13]
    v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]
    v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]
    v_div_fixup_f64 v[6:7], v[10:11], v[4:5], v[2:3]"""


def pairs(first, values):
    raw = values.view(np.uint64)
    return {first: raw & np.uint64(0xFFFFFFFF), first + 1: raw >> np.uint64(32)}


def quotients(above, below):
    found = run(DIVISION, v={**pairs(2, above), **pairs(4, below)})
    low, high = (lanes_of(found, number).astype(np.uint64) for number in (6, 7))
    return (low | high << np.uint64(32)).view(np.float64)


def test_a_quotient_of_float64_is_rounded_once():
    random = np.random.default_rng(3)
    for spread in (1, 300, 900, 1020):
        above, below = random.standard_normal((2, 64)) * 2.0 ** random.integers(
            -spread, spread, (2, 64)
        )
        with np.errstate(all="ignore"):
            expected = above / below
        # A quotient below the normal numbers is rounded twice by these steps.
        normal = (np.abs(expected) >= 2.0**-1022) | (expected == 0)
        assert np.array_equal(quotients(above, below)[normal], expected[normal])


def test_special_quotients_of_float64():
    numbers = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 5e-324])
    above, below = np.repeat(numbers, 8), np.tile(numbers, 8)
    with np.errstate(all="ignore"):
        expected = above / below
    assert np.array_equal(quotients(above, below), expected, equal_nan=True)
    found, some = quotients(above, below), ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[some]), np.signbit(expected[some]))
