"""Faults that are planted in AMD's code, and what the sanitizer says of each; right code is no finding."""

import sys
from pathlib import Path

import numpy as np
import pytest

from crosswarp.matrix.cell.machines import amdgcn
from crosswarp.matrix.cell.observers import sanitizer

sys.path.insert(0, str(Path(__file__).parents[1] / "amdgcn"))

from amd_running import text_of  # noqa: E402

# Each of two waves stores its numbers in LDS, and reads those of the other.
EXCHANGE = """s_load_dwordx2 s[2:3], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    v_xor_b32_e32 v2, 0x100, v1
    ds_write_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v3, v2
    s_waitcnt lgkmcnt(0)
    s_lshl_b32 s5, s4, 9
    v_add_u32_e32 v1, s5, v1
    global_load_dword v4, v1, s[2:3]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v3, v3, v4
    global_store_dword v1, v3, s[2:3]"""


def found(body, programs=2, size=256, fill=None, order=True):
    y = np.zeros(size, np.int32)
    tensor = sanitizer.Tensor.of_array(y, "y", parameter=0)
    text = text_of(body, arguments=[(0, 8, "global_buffer")], kernarg_size=8, user_sgpr_kernarg_segment_ptr=1,
                   user_sgpr_count=4)  # fmt: skip
    unwritten = [] if fill is None else [sanitizer.Unwritten(y.ctypes.data, y.nbytes, 4)]
    program = amdgcn.load(text, checked=True)
    told = sanitizer.run_amd(
        program,
        (programs,),
        [y.ctypes.data],
        [tensor],
        threads=128,
        shared=512,
        unwritten=unwritten,
    )
    return {finding.kind: finding for finding in told}, y


def test_right_code_is_no_finding():
    told, y = found(EXCHANGE)
    assert told == {}
    assert list(y[:2]) == [64, 65] and y[64] == 0


@pytest.mark.parametrize("line, replacement, kind", [
    ("s_barrier\n", "s_nop 0\n", "race in shared memory"),
    ("s_waitcnt vmcnt(0)", "s_nop 0", "missing wait"),
    ("ds_write_b32 v1, v0", "s_nop 0", "uninitialised read of shared memory"),
    ("v_xor_b32_e32 v2, 0x100, v1", "v_add_u32_e32 v2, 0x100, v1", "out-of-bounds"),
    ("s_lshl_b32 s5, s4, 9", "s_mov_b32 s5, 0", "order dependence"),
])  # fmt: skip
def test_a_planted_fault_is_a_finding(line, replacement, kind):
    assert EXCHANGE.count(line) == 1
    if kind == "order dependence":
        # Workgroups share their numbers, and the last one's number is stored.
        replacement += "\n    v_add_u32_e32 v3, s4, v3\n    v_mul_lo_u32 v3, v3, s4"
    told, _ = found(EXCHANGE.replace(line, replacement))
    assert kind in told, told


STORED = "s_waitcnt lgkmcnt(0)\n    s_barrier\n"


def test_a_store_that_its_wave_did_not_wait_for_is_under_way_behind_the_barrier():
    findings, _ = found(EXCHANGE.replace(STORED, "s_nop 0\n    s_barrier\n"))
    assert set(findings) == {"missing wait"}
    assert "did not wait for it before the barrier" in str(findings["missing wait"])
    findings, _ = found(EXCHANGE.replace(STORED, "s_barrier\n    s_waitcnt lgkmcnt(0)\n"))
    assert set(findings) == {"missing wait"}


def test_a_wait_before_the_next_barrier_is_enough():
    assert found(EXCHANGE.replace(STORED, "s_barrier\n    " + STORED))[0] == {}


def test_a_wait_ends_more_stores_than_a_counter_counts():
    store = "ds_write_b32 v1, v0\n"
    assert found(EXCHANGE.replace(store, 300 * store))[0] == {}


def test_a_finding_names_its_place():
    told, _ = found(EXCHANGE.replace("s_waitcnt vmcnt(0)", "s_nop 0"))
    finding = told["missing wait"]
    assert "v4 is used before its load was waited for" in str(finding)
    assert "v_add_u32_e32 v3, v3, v4" in finding.instruction and finding.program_id == (0, 0, 0)


def test_reads_of_what_nobody_wrote_and_accesses_outside():
    told, _ = found(EXCHANGE, fill="unwritten")
    assert "uninitialised read" in told and "y" in told["uninitialised read"].tensor
    told, _ = found(EXCHANGE, programs=3)
    assert (
        "out-of-bounds" in told
        and "behind y" in str(told["out-of-bounds"])
        or "end of y" in str(told["out-of-bounds"])
    )
