"""Memory by address, through buffers, LDS, scratch, and atomic operations; accesses outside are faults."""

import numpy as np
import pytest
from amd_running import BIG, by_lane, lanes_of, pair, room, run

from crosswarp.matrix.cell.machines import amdgcn


def test_loads_and_stores_of_every_width():
    data, out = np.arange(1024, dtype=np.uint32) * 0x01010101, np.zeros(1024, np.uint32)
    memory, (source, target) = room(data, out)
    for width, words in (("dword", 1), ("dwordx2", 2), ("dwordx4", 4)):
        registers = {1: 10, 2: 11, 4: 13}[words]
        span = "v10" if words == 1 else f"v[10:{registers}]"
        body = (
            f"global_load_{width} {span}, v[2:3], off offset:16\ns_waitcnt vmcnt(0)\n"
            f"global_store_{width} v[4:5], {span}, off"
        )
        lane = np.arange(64) * 4 * words
        run(body, v={**by_lane(2, source + lane), **by_lane(4, target + lane)}, memory=memory)
        assert np.array_equal(out[: 64 * words], data[4 : 4 + 64 * words])


def test_a_scalar_base_with_an_offset_of_each_lane():
    data = np.arange(256, dtype=np.uint32)
    memory, (source,) = room(data)
    found = run(
        "global_load_dword v1, v2, s[4:5] offset:-4\ns_waitcnt vmcnt(0)",
        v={2: np.arange(1, 65) * 4},
        s=pair(4, source),
        memory=memory,
    )
    assert np.array_equal(lanes_of(found, 1), data[:64])


@pytest.mark.parametrize("line, expected", [("global_load_ubyte v1", 0xFE), ("global_load_sbyte v1", 0xFFFFFFFE),
    ("global_load_ushort v1", 0x80FE), ("global_load_sshort v1", 0xFFFF80FE),
    ("global_load_short_d16 v1", 0xAAAA80FE),
    ("global_load_short_d16_hi v1", 0x80FEBBBB)])  # fmt: skip
def test_small_loads_fill_the_register_as_their_name_says(line, expected):
    memory, (source,) = room(np.full(64, 0x123480FE, np.uint32))
    found = run(
        f"{line}, v2, s[4:5]\ns_waitcnt vmcnt(0)",
        v={1: 0xAAAABBBB, 2: np.arange(64) * 4},
        s=pair(4, source),
        memory=memory,
    )
    assert lanes_of(found, 1)[7] == expected


def test_lanes_that_do_not_act_load_and_store_nothing():
    data, out = np.arange(64, dtype=np.uint32), np.full(64, 7, np.uint32)
    memory, (source, target) = room(data, out)
    lane = np.arange(64)
    # Lanes 4 and up point nowhere.
    v = {
        **by_lane(2, source + 4 * lane + (lane > 3) * 2**40),
        **by_lane(4, target + 4 * lane + (lane > 3) * 2**40),
        1: 99,
    }
    found = run(
        "s_mov_b64 exec, 15\nglobal_load_dword v1, v[2:3], off\ns_waitcnt vmcnt(0)\n"
        "global_store_dword v[4:5], v1, off",
        v=v,
        memory=memory,
    )
    assert list(out[:5]) == [0, 1, 2, 3, 7] and lanes_of(found, 1)[4] == 99


def test_an_address_need_not_be_aligned():
    data, out = np.arange(300, dtype=np.uint8), np.zeros(300, np.uint8)
    memory, (source, target) = room(data, out)
    lane = np.arange(64) * 4
    run(
        "global_load_dword v1, v[2:3], off\ns_waitcnt vmcnt(0)\nglobal_store_dword v[4:5], v1, off",
        v={**by_lane(2, source + 1 + lane), **by_lane(4, target + 3 + lane)},
        memory=memory,
    )
    assert np.array_equal(out[3:259], data[1:257])


def test_an_access_outside_is_a_fault_with_its_place():
    memory, (source,) = room(np.zeros(64, np.uint32))
    body = '.file 1 "/home" "kernel.py"\n.loc 1 12 3\nglobal_load_dword v1, v2, s[4:5]'
    with pytest.raises(amdgcn.Fault) as raised:
        run(
            body, v={2: np.arange(64) * 4 + 8}, s=pair(4, source), memory=memory, waves=2, grid=(3,)
        )
    fault = raised.value
    assert (fault.kind, fault.program_id, fault.thread, fault.line) == (
        "out-of-window",
        (0, 0, 0),
        62,
        ("/home/kernel.py", 12),
    )
    assert "at the end of array0 of 256 bytes" in str(
        fault
    ) and "global_load_dword v1, v2, s[4:5]" in str(fault)


def descriptor(first, address, size):
    return {first: address & BIG, first + 1: address >> 32, first + 2: size, first + 3: 0x27000}


def test_a_buffer_loads_0_outside_and_stores_nothing():
    data = np.arange(1, 65, dtype=np.uint32)
    memory, (source,) = room(data)
    v = {1: np.arange(64) * 4, 2: 5}
    found = run(
        "buffer_load_dword v3, v1, s[4:7], 0 offen offset:4\ns_waitcnt vmcnt(0)\n"
        "buffer_store_dword v2, v1, s[4:7], 0 offen offset:120",
        v=v,
        s=descriptor(4, source, 128),
        memory=memory,
    )
    assert list(lanes_of(found, 3)[:33]) == [*range(2, 33), 0, 0]
    assert list(data[29:33]) == [30, 5, 5, 33]
    # Triton masks so.
    found = run(
        "buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen\ns_waitcnt vmcnt(0)",
        v={1: 0x80000000},
        s=descriptor(4, source, 0x7FFFFFFE),
        memory=memory,
    )
    assert not lanes_of(found, 7).any()


def test_a_swizzled_buffer_is_refused_where_it_is_used():
    s = {**descriptor(4, 0, 64), 5: 0x80000000}
    with pytest.raises(amdgcn.Unsupported, match="swizzled"):
        run("buffer_load_dword v3, v1, s[4:7], 0 offen", v={1: 0}, s=s)


def test_lds_of_each_workgroup_is_its_own():
    body = """v_lshlrev_b32_e32 v1, 3, v0
        v_mov_b32_e32 v2, s8
        ds_write2_b32 v1, v0, v2 offset0:1 offset1:4
        s_waitcnt lgkmcnt(0)
        ds_read2_b32 v[4:5], v1 offset0:1 offset1:4
        ds_read_u16 v6, v1 offset:4
        s_waitcnt lgkmcnt(0)"""
    found = run(body, shared=1024, grid=(4,), s={8: 77})
    lane = np.arange(64)
    assert all(np.array_equal(found.V[4][wave], lane) for wave in range(4))
    assert (found.V[5] == 77).all() and np.array_equal(found.V[6][2], lane)
    wide = run(
        "v_lshlrev_b32_e32 v1, 3, v0\nds_write_b64 v1, v[2:3]\ns_waitcnt lgkmcnt(0)\n"
        "ds_read_b64 v[4:5], v1\ns_waitcnt lgkmcnt(0)",
        shared=512,
        v={2: lane, 3: lane * 2},
    )
    assert np.array_equal(lanes_of(wide, 5), lane * 2)


def test_lds_is_as_large_as_the_launch_says():
    with pytest.raises(amdgcn.Fault, match="of 128 bytes of LDS"):
        run("v_lshlrev_b32_e32 v1, 2, v0\nds_write_b32 v1, v0", shared=128)
    run(
        "v_lshlrev_b32_e32 v1, 2, v0\nds_write_b32 v1, v0", shared=128, group_segment_fixed_size=128
    )


@pytest.mark.parametrize("target, store, load", [
    ("gfx942", "scratch_store_dword off, v1, off offset:8", "scratch_load_dword v2, off, off offset:8"),
    ("gfx90a", "buffer_store_dword v1, off, s[0:3], 0 offset:8", "buffer_load_dword v2, off, s[0:3], 0 offset:8"),
    # Triton's kernels move the descriptor, and have one of a tensor in s[0:3] afterwards.
    ("gfx90a", "s_mov_b64 s[8:9], s[0:1]\ns_mov_b64 s[10:11], s[2:3]\ns_mov_b32 s1, 0\n"
     "buffer_store_dword v1, off, s[8:11], 0 offset:8", "buffer_load_dword v2, off, s[8:11], 0 offset:8"),
])  # fmt: skip
def test_scratch_is_of_each_lane(target, store, load):
    wanted = {
        "private_segment_fixed_size": 16,
        "user_sgpr_private_segment_buffer": int(target == "gfx90a"),
    }
    found = run(f"{store}\n{load}\ns_waitcnt vmcnt(0)", target, v={1: np.arange(64)}, **wanted)
    assert np.array_equal(lanes_of(found, 2), np.arange(64))
    with pytest.raises(amdgcn.Fault, match="scratch"):
        run(store.replace("offset:8", "offset:16"), target, v={1: 0}, **wanted)


ATOMICS = [
    ("add", 10, lambda old, values: old + sum(values)), ("sub", 100, lambda old, values: old - sum(values)),
    ("umax", 5, lambda old, values: max(old, *values)), ("smin", 5, lambda old, values: min(old, *values)),
    ("and", BIG, lambda old, values: old & np.bitwise_and.reduce(values)),
    ("or", 0, lambda old, values: old | np.bitwise_or.reduce(values)),
    ("xor", 1, lambda old, values: old ^ np.bitwise_xor.reduce(values)), ("swap", 1, lambda old, values: values[-1]),
]  # fmt: skip


@pytest.mark.parametrize("name, before, meaning", ATOMICS, ids=[row[0] for row in ATOMICS])
def test_an_atomic_operation_of_all_lanes_on_one_address(name, before, meaning):
    data = np.array([before, 0], np.uint32)
    memory, (target,) = room(data)
    values = np.arange(1, 65)
    found = run(
        f"global_atomic_{name} v1, v2, v3, s[4:5] sc0\ns_waitcnt vmcnt(0)",
        v={2: 0, 3: values},
        s=pair(4, target),
        memory=memory,
    )
    assert data[0] == meaning(before, values) % 2**32 and data[1] == 0
    # Lanes in their order: the first one found what was there.
    assert lanes_of(found, 1)[0] == before


def test_atomic_operations_of_floats_and_pairs():
    sums = np.zeros(4, np.float32)
    memory, (target,) = room(sums)
    run(
        "global_atomic_add_f32 v2, v3, s[4:5]",
        v={2: np.arange(64) % 2 * 4, 3: np.arange(64, dtype=np.float32).view("u4")},
        s=pair(4, target),
        memory=memory,
    )
    assert list(sums[:2]) == [sum(range(0, 64, 2)), sum(range(1, 64, 2))]
    halves = np.zeros(2, np.float16)
    memory, (target,) = room(halves)
    run(
        "global_atomic_pk_add_f16 v2, v3, s[4:5]",
        v={2: 0, 3: 0x3C004000},
        s=pair(4, target),
        memory=memory,
    )
    assert list(halves) == [128, 64]
    wide = np.array([2**40], np.uint64)
    memory, (target,) = room(wide)
    run(
        "global_atomic_add_x2 v2, v[4:5], s[4:5]",
        v={2: 0, 4: BIG, 5: 0},
        s=pair(4, target),
        memory=memory,
    )
    assert wide[0] == 2**40 + 64 * BIG


def test_compare_and_swap_takes_the_comparison_from_the_second_register():
    data = np.array([7], np.uint32)
    memory, (target,) = room(data)
    found = run(
        "global_atomic_cmpswap v1, v2, v[4:5], s[4:5] sc0\ns_waitcnt vmcnt(0)",
        v={2: 0, 4: np.arange(100, 164), 5: 7},
        s=pair(4, target),
        memory=memory,
    )
    assert data[0] == 100 and list(lanes_of(found, 1)[:3]) == [7, 100, 100]


def test_atomic_operations_on_lds_and_buffers():
    found = run(
        "v_mov_b32_e32 v1, 0\nv_mov_b32_e32 v2, 1\nds_write_b32 v1, v1\nds_add_rtn_u32 v3, v1, v2\n"
        "ds_read_b32 v4, v1\ns_waitcnt lgkmcnt(0)",
        shared=16,
    )
    assert np.array_equal(lanes_of(found, 3), np.arange(64)) and lanes_of(found, 4)[0] == 64
    data = np.zeros(16, np.uint32)
    memory, (target,) = room(data)
    # Half of the lanes lie outside.
    run(
        "buffer_atomic_add v2, v1, s[4:7], 0 offen",
        v={1: np.arange(64) * 2 & ~3, 2: 1},
        s=descriptor(4, target, 32),
        memory=memory,
    )
    assert list(data) == [2] * 8 + [0] * 8


def test_loads_into_lds_lie_behind_each_other_from_m0_on():
    data = np.arange(64, dtype=np.uint32)[::-1].copy()
    memory, (source,) = room(data)
    body = """s_mov_b32 m0, 0x40
        buffer_load_dword v1, s[4:7], 0 offen lds
        s_waitcnt vmcnt(0)
        v_lshlrev_b32_e32 v2, 2, v0
        ds_read_b32 v3, v2 offset:64
        s_waitcnt lgkmcnt(0)"""
    found = run(
        body, v={1: np.arange(64) * 4}, s=descriptor(4, source, 256), memory=memory, shared=512
    )
    assert np.array_equal(lanes_of(found, 3), data)
    late = run(
        body.replace("s_waitcnt vmcnt(0)", "s_nop 0"),
        v={1: np.arange(64) * 4},
        s=descriptor(4, source, 256),
        memory=memory,
        shared=512,
    )
    assert (lanes_of(late, 3) == amdgcn.POISON).all()


NUMBERS = """numbers:
\t.long\t5, 0x6                          ; a comment
\t.quad\t0x100000007
\t.zero\t4
\t.byte\t-1, 2, 3, 0
\t.size\tnumbers, 24
"""
FINDS = {
    "gfx942": """s_getpc_b64 s[6:7]
        s_add_u32 s6, s6, numbers@rel32@lo+{0}
        s_nop 0
        s_addc_u32 s7, s7, numbers@rel32@hi+{2}
        s_load_dword s8, s[6:7], 0x0
        s_waitcnt lgkmcnt(0)""",
    "gfx1201": """s_getpc_b64 s[6:7]
        s_wait_alu 0xfffe
        s_sext_i32_i16 s7, s7
        s_add_co_u32 s6, s6, numbers@rel32@lo+{1}
        s_wait_alu 0xfffe
        s_add_co_ci_u32 s7, s7, numbers@rel32@hi+{3}
        s_load_b32 s8, s[6:7], 0x0
        s_wait_kmcnt 0x0""",
}


@pytest.mark.parametrize("target", FINDS)
def test_code_finds_a_table_by_its_distance(target):
    words = []
    for place in range(0, 24, 4):
        body = FINDS[target].format(place + 4, place + 12, place + 16, place + 24)
        words.append(int(run(body, target, tables=NUMBERS).r(8)[0, 0]))
    assert words == [5, 6, 7, 1, 0, 0x000302FF]


@pytest.mark.parametrize(
    "body, tables, why",
    [
        (FINDS["gfx942"].format(4, 0, 16), NUMBERS.replace(".zero", ".uleb128"), ".uleb128"),
        (FINDS["gfx942"].format(4, 0, 16), NUMBERS.replace("\t.size", "\t.p2align"), "p2align"),
        (FINDS["gfx942"].format(4, 0, 16), NUMBERS.partition("\t.size")[0], "without an end"),
        (
            FINDS["gfx942"].format(4, 0, 16).replace("s_nop 0", "v_nop"),
            NUMBERS,
            "begin at s_getpc_b64",
        ),
        (FINDS["gfx942"].format(4, 0, 16), "", "no table of this name"),
        (FINDS["gfx942"].format(4, 0, 16).split("\n", 1)[1], NUMBERS, "begin at s_getpc_b64"),
    ],
)
def test_tables_that_are_not_known_are_refused(body, tables, why):
    with pytest.raises(amdgcn.Unsupported, match=why):
        run(body, tables=tables)
