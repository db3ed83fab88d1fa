"""How a workgroup begins: user registers, preloaded and hidden arguments, ids, and whole launches."""

import struct

import numpy as np
import pytest
from amd_running import run, text_of

from crosswarp.matrix.cell.machines import amdgcn

ARGUMENTS = [(0, 8, "global_buffer"), (8, 4, "by_value"), (12, 4, "by_value")]


def words(found, *numbers):
    return [int(found.r(number)[0, 0]) for number in numbers]


def test_user_registers_come_in_their_order():
    found = run("s_nop 0", user_sgpr_private_segment_buffer=1, user_sgpr_dispatch_ptr=1, user_sgpr_queue_ptr=1,
                user_sgpr_kernarg_segment_ptr=1, user_sgpr_dispatch_id=1, user_sgpr_count=12,
                system_sgpr_workgroup_id_x=1, kernarg_size=16, arguments=ARGUMENTS, values=[5, 6, 7])  # fmt: skip
    launch = found.launch
    assert words(found, 4) == [launch.packet_address & 0xFFFFFFFF] and words(found, 8) == [
        launch.argument_address & 0xFFFFFFFF
    ]
    assert words(found, 12) == [0]


@pytest.mark.parametrize(
    "on, registers", [("xyz", (2, 3, 4)), ("x", (2,)), ("xz", (2, 3)), ("z", (2,))]
)
def test_only_the_ids_that_are_on_take_a_register(on, registers):
    wanted = {f"system_sgpr_workgroup_id_{letter}": int(letter in on) for letter in "xyz"}
    found = run(
        "s_nop 0", grid=(2, 3, 4), user_sgpr_kernarg_segment_ptr=1, user_sgpr_count=2, **wanted
    )
    # The last of 24 workgroups.
    ids = dict(zip("xyz", (1, 2, 3)))
    assert [int(found.r(number)[-1, 0]) for number in registers] == [ids[letter] for letter in on]


def test_gfx12_has_the_ids_in_trap_registers():
    found = run(
        "s_and_b32 s2, ttmp7, 0xffff\ns_lshr_b32 s3, ttmp7, 16\ns_mov_b32 s4, ttmp9\ns_bfe_u32 s5, ttmp8, 0x50019",
        "gfx1201",
        grid=(2, 3, 4),
        waves=2,
    )
    assert [int(found.r(number)[-1, 0]) for number in (4, 2, 3, 5)] == [1, 2, 3, 1]


def test_arguments_are_preloaded_where_the_text_says():
    found = run("s_nop 0", user_sgpr_kernarg_segment_ptr=1, user_sgpr_kernarg_preload_length=3, user_sgpr_count=5,
                user_sgpr_kernarg_preload_offset=1, kernarg_size=16, arguments=ARGUMENTS,
                values=[0x500000006, 7, 1.5])  # fmt: skip
    assert words(found, 2, 3, 4) == [5, 7, struct.unpack("<I", struct.pack("<f", 1.5))[0]]


def test_hidden_arguments_say_the_shape_of_the_launch():
    hidden = [
        (16, 4, "hidden_block_count_x"),
        (20, 4, "hidden_block_count_y"),
        (28, 2, "hidden_group_size_x"),
        (30, 2, "hidden_group_size_y"),
    ]
    body = "s_load_dwordx4 s[8:11], s[0:1], 0x10\ns_waitcnt lgkmcnt(0)"
    found = run(body, grid=(5, 6), waves=2, user_sgpr_kernarg_segment_ptr=1, user_sgpr_count=2, kernarg_size=32,
                arguments=[*ARGUMENTS, *hidden], values=[1, 2, 3])  # fmt: skip
    assert words(found, 8, 9, 11) == [5, 6, 128 | 1 << 16]


def test_the_dispatch_packet_has_the_size_of_a_workgroup():
    body = "s_load_dword s8, s[0:1], 0x4\ns_load_dword s9, s[0:1], 0xc\ns_waitcnt lgkmcnt(0)"
    found = run(body, grid=(3,), waves=2, user_sgpr_dispatch_ptr=1, user_sgpr_count=2)
    assert words(found, 8, 9) == [128 | 1 << 16, 3 * 128]


@pytest.mark.parametrize(
    "values, message",
    [
        ([1, 2, 3, 4], "takes 3 arguments"),
        ([1], "number 1 is missing"),
        ([1, "x", 3], "argument 1 is a str"),
        ([1, 1.0, np.float16(1)], "argument 2 has 2 bytes"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        run("s_nop 0", kernarg_size=16, arguments=ARGUMENTS, values=values)


ADD = """s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x8
    s_lshl_b32 s7, s4, 8
    v_lshl_add_u32 v1, v0, 2, s7
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[2:3]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, s6, v2
    global_store_dword v1, v2, s[2:3]"""


@pytest.mark.parametrize("order", ["forward", "reversed", 3])
@pytest.mark.parametrize("lanes", [64, 16384])
def test_a_launch_runs_every_workgroup(order, lanes):
    data = np.arange(64 * 7, dtype=np.uint32)
    memory = amdgcn.Memory()
    address = memory.add_array(data)
    text = text_of(
        ADD,
        arguments=ARGUMENTS,
        kernarg_size=16,
        user_sgpr_kernarg_segment_ptr=1,
        user_sgpr_count=4,
    )
    result = amdgcn.run(
        text, (7,), [address, 5, 0], threads=64, memory=memory, order=order, lanes=lanes
    )
    assert np.array_equal(data, np.arange(64 * 7) + 5)
    assert result.instructions == 7 * 64 * 10
    assert amdgcn.run(text, (0,), [address, 5, 0], threads=64, memory=memory).instructions == 0
    with pytest.raises(amdgcn.Unsupported, match="96 threads in waves of 64"):
        amdgcn.run(text, (1,), [address, 5, 0], threads=96, memory=memory)


def test_workgroups_that_wait_for_later_ones_are_taken_up_again():
    """The first workgroup waits for a flag that the last one sets, which runs in another chunk."""
    body = """s_load_dwordx2 s[2:3], s[0:1], 0x0
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 1
        s_waitcnt lgkmcnt(0)
        s_cmp_eq_u32 s4, 0
        s_cbranch_scc0 .set
        .wait:
        global_atomic_or v3, v1, v1, s[2:3] sc0
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s6, v3
        s_cmp_eq_u32 s6, 0
        s_cbranch_scc1 .wait
        s_branch .end
        .set:
        global_store_dword v1, v2, s[2:3]
        .end:"""
    flag = np.zeros(1, np.uint32)
    memory = amdgcn.Memory()
    address = memory.add_array(flag)
    text = text_of(
        body,
        arguments=ARGUMENTS[:1],
        kernarg_size=8,
        user_sgpr_kernarg_segment_ptr=1,
        user_sgpr_count=4,
    )
    amdgcn.run(text, (2,), [address], threads=64, memory=memory, lanes=64)
    assert flag[0] == 1
    flag[0] = 0
    with pytest.raises(amdgcn.Deadlock, match="ask forever"):
        amdgcn.run(text, (1,), [address], threads=64, memory=memory)
