"""Loads land at the wait that asks for them, and not before."""

import numpy as np
import pytest
from amd_running import lanes_of, run

from crosswarp.matrix.cell.machines import amdgcn

BIG = 0xFFFFFFFF


@pytest.fixture
def memory():
    data = np.arange(256, dtype=np.uint32)
    found = amdgcn.Memory()
    found.address = found.add_array(data)
    found.data = data
    return found


def at(memory, register=4):
    return {register: memory.address & BIG, register + 1: memory.address >> 32}


LANES = np.arange(64) * 4
TWO = "global_load_dword v1, v3, s[4:5]\nglobal_load_dword v2, v3, s[4:5] offset:256\n"


@pytest.mark.parametrize("wait, first, second", [("s_nop 0", False, False), ("s_waitcnt vmcnt(1)", True, False),
    ("s_waitcnt vmcnt(0)", True, True), ("s_waitcnt lgkmcnt(0)", False, False),
    ("s_waitcnt 0", True, True)])  # fmt: skip
def test_a_wait_lands_all_but_the_newest(memory, wait, first, second):
    found = run(TWO + wait, v={3: LANES}, s=at(memory), memory=memory)
    assert bool(lanes_of(found, 1)[5] == 5) is first and bool(lanes_of(found, 2)[5] == 69) is second
    assert first or lanes_of(found, 1)[5] == amdgcn.POISON


def test_what_is_read_too_early_is_nan_as_every_float():
    raw = np.array([amdgcn.POISON], np.uint32)
    assert np.isnan(raw.view(np.float32)).all() and np.isnan(raw.view(np.float16)).all()
    assert all((half & 0x7F80) == 0x7F80 and half & 0x7F for half in raw.view(np.uint16))


def test_only_the_lanes_that_act_are_loaded(memory):
    body = "s_mov_b64 exec, 3\nglobal_load_dword v1, v3, s[4:5]\ns_mov_b64 exec, -1\n"
    found = run(body, v={1: 9, 3: LANES}, s=at(memory), memory=memory)
    assert list(lanes_of(found, 1)[:3]) == [amdgcn.POISON, amdgcn.POISON, 9]
    found = run(
        body + "v_mov_b32_e32 v2, v1\ns_waitcnt vmcnt(0)",
        v={1: 9, 3: LANES},
        s=at(memory),
        memory=memory,
    )
    assert list(lanes_of(found, 1)[:3]) == [0, 1, 9] and lanes_of(found, 2)[0] == amdgcn.POISON


def test_a_load_lands_over_what_was_written_meanwhile(memory):
    body = "global_load_dword v1, v3, s[4:5]\nv_mov_b32_e32 v1, 7\ns_waitcnt vmcnt(0)"
    assert lanes_of(run(body, v={3: LANES}, s=at(memory), memory=memory), 1)[5] == 5


def test_stores_share_the_counter_of_loads_until_gfx10(memory):
    # The store is newer than the load, so a wait for all but one is a wait for the load.
    body = "global_load_dword v1, v3, s[4:5]\nglobal_store_dword v3, v2, s[4:5] offset:512\ns_waitcnt vmcnt(1)"
    found = run(body, v={2: 0, 3: LANES}, s=at(memory), memory=memory)
    assert lanes_of(found, 1)[5] == 5
    body = body.replace("dword", "b32") + "\ns_waitcnt_vscnt null, 0x0"
    found = run(body, "gfx1100", v={2: 0, 3: LANES[:32]}, s=at(memory), memory=memory)
    assert lanes_of(found, 1)[5] == amdgcn.POISON


def test_scalar_loads_come_in_any_order(memory):
    body = "s_load_dword s8, s[4:5], 0x4\ns_load_dwordx2 s[10:11], s[4:5], 0x8\n"
    found = run(body + "s_waitcnt lgkmcnt(1)", s=at(memory), memory=memory)
    assert found.r(8)[0, 0] == amdgcn.POISON
    found = run(body + "s_waitcnt lgkmcnt(0)", s=at(memory), memory=memory)
    assert [int(found.r(number)[0, 0]) for number in (8, 10, 11)] == [1, 2, 3]
    found = run(
        body.replace("dwordx2", "b64").replace("dword", "b32") + "s_wait_kmcnt 0x0",
        "gfx1201",
        s=at(memory),
        memory=memory,
    )
    assert [int(found.r(number)[0, 0]) for number in (8, 10, 11)] == [1, 2, 3]


def test_loads_of_lds_wait_for_their_own(memory):
    body = """v_lshlrev_b32_e32 v1, 2, v0
        ds_write_b32 v1, v0
        ds_read_b32 v2, v1
        ds_read_b32 v3, v1
        s_load_dword s8, s[4:5], 0x4
        s_waitcnt lgkmcnt(1)"""
    found = run(body, s=at(memory), memory=memory, shared=256)
    # The scalar load may be back already, so one load of LDS may still be under way.
    assert lanes_of(found, 2)[5] == 5 and lanes_of(found, 3)[5] == amdgcn.POISON


@pytest.mark.parametrize("wait, loaded, shared", [("s_wait_loadcnt 0x0", True, False),
    ("s_wait_dscnt 0x0", False, True),
    ("s_wait_loadcnt_dscnt 0x0", True, True), ("s_wait_loadcnt_dscnt 0x101", False, False),
    ("s_wait_kmcnt 0x0", False, False),
    ("s_wait_storecnt 0x0", False, False)])  # fmt: skip
def test_gfx12_counts_each_kind_by_itself(memory, wait, loaded, shared):
    body = (
        f"v_lshlrev_b32_e32 v1, 2, v0\nds_store_b32 v1, v0\nglobal_load_b32 v2, v1, s[4:5]\n"
        f"ds_load_b32 v3, v1\n{wait}"
    )
    found = run(body, "gfx1201", s=at(memory), memory=memory, shared=128)
    assert bool(lanes_of(found, 2)[5] == 5) is loaded and bool(lanes_of(found, 3)[5] == 5) is shared


def test_each_wave_waits_for_itself(memory):
    body = """v_readfirstlane_b32 s8, v0
        global_load_dword v1, v3, s[4:5]
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc1 .end
        s_waitcnt vmcnt(0)
        .end:"""
    found = run(body, v={3: 20}, s=at(memory), memory=memory, waves=2)
    assert list(found.V[1][:, 0]) == [amdgcn.POISON, 5]


def test_of_two_loads_into_one_register_the_later_stays(memory):
    body = "global_load_dword v1, v3, s[4:5]\nglobal_load_dword v1, v3, s[4:5] offset:256\ns_waitcnt vmcnt(0)"
    assert lanes_of(run(body, v={3: LANES}, s=at(memory), memory=memory), 1)[5] == 69


def test_half_a_register_lands_beside_the_other(memory):
    body = (
        "global_load_short_d16 v1, v3, s[4:5]\nglobal_load_short_d16_hi v1, v3, s[4:5] offset:4\n"
        "s_waitcnt vmcnt(0)"
    )
    assert (
        lanes_of(run(body, v={1: BIG, 3: LANES}, s=at(memory), memory=memory), 1)[5] == 6 << 16 | 5
    )
