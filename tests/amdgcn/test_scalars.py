"""Scalar arithmetic, comparisons, lane masks and control."""

import numpy as np
import pytest
from amd_running import lanes_of, run

from crosswarp.matrix.cell.machines import amdgcn
from crosswarp.matrix.cell.machines.amdgcn.operands import EXEC, VCC

BIG = 0xFFFFFFFF
# Instruction, sources s1, s2 and SCC before, expected s3 and SCC after (None: as before).
ROWS = [
    ("s_add_u32 s3, s1, s2", BIG, 2, 0, 1, 1), ("s_add_u32 s3, s1, s2", 5, 2, 1, 7, 0),
    ("s_addc_u32 s3, s1, s2", BIG, 0, 1, 0, 1), ("s_sub_u32 s3, s1, s2", 1, 2, 0, BIG, 1),
    ("s_subb_u32 s3, s1, s2", 5, 2, 1, 2, 0), ("s_subb_u32 s3, s1, s2", 0, 0, 1, BIG, 1),
    ("s_add_i32 s3, s1, s2", 0x7FFFFFFF, 1, 0, 0x80000000, 1), ("s_add_i32 s3, s1, s2", BIG, 1, 1, 0, 0),
    ("s_sub_i32 s3, s1, s2", 0x80000000, 1, 0, 0x7FFFFFFF, 1), ("s_mul_i32 s3, s1, s2", BIG, 3, 1, BIG - 2, None),
    ("s_mul_hi_u32 s3, s1, s2", BIG, BIG, 0, BIG - 1, None), ("s_mul_hi_i32 s3, s1, s2", BIG, 5, 0, BIG, None),
    ("s_lshl_b32 s3, s1, s2", 3, 33, 0, 6, 1), ("s_lshr_b32 s3, s1, s2", 3, 2, 1, 0, 0),
    ("s_ashr_i32 s3, s1, s2", 0x80000000, 31, 0, BIG, 1), ("s_min_i32 s3, s1, s2", BIG, 2, 0, BIG, 1),
    ("s_max_i32 s3, s1, s2", BIG, 2, 1, 2, 0), ("s_min_u32 s3, s1, s2", BIG, 2, 1, 2, 0),
    ("s_max_u32 s3, s1, s2", BIG, 2, 0, BIG, 1), ("s_lshl2_add_u32 s3, s1, s2", 0x40000000, 3, 0, 3, 1),
    ("s_pack_ll_b32_b16 s3, s1, s2", 0x12345, 0x6789A, 0, 0x789A2345, None),
    ("s_bfm_b32 s3, s1, s2", 4, 8, 0, 0xF00, None),
    ("s_bfe_u32 s3, s1, s2", 0xABCD1234, 0x80008, 0, 0x12, 1), ("s_bfe_i32 s3, s1, s2", 0x8000, 0x8000C, 0, 8, 1),
    ("s_bfe_i32 s3, s1, s2", 0xF000, 0x4000C, 0, BIG, 1), ("s_abs_i32 s3, s1", BIG, 0, 0, 1, 1),
    ("s_brev_b32 s3, s1", 1, 0, 0, 0x80000000, None), ("s_bcnt1_i32_b32 s3, s1", 0xF0F, 0, 0, 8, 1),
    ("s_ff1_i32_b32 s3, s1", 0x100, 0, 0, 8, None), ("s_ff1_i32_b32 s3, s1", 0, 0, 0, BIG, None),
    ("s_flbit_i32_b32 s3, s1", 0x100, 0, 0, 23, None), ("s_flbit_i32 s3, s1", 0xFFFFFF00, 0, 0, 24, None),
    ("s_sext_i32_i8 s3, s1", 0x80, 0, 0, 0xFFFFFF80, None), ("s_sext_i32_i16 s3, s1", 0x8000, 0, 0, 0xFFFF8000, None),
    ("s_and_b32 s3, s1, s2", 0xF0, 0x0F, 1, 0, 0), ("s_andn2_b32 s3, s1, s2", 0xFF, 0x0F, 0, 0xF0, 1),
    ("s_xor_b32 s3, s1, s2", 6, 3, 0, 5, 1), ("s_not_b32 s3, s1", BIG, 0, 1, 0, 0),
    ("s_cselect_b32 s3, s1, s2", 7, 8, 1, 7, None), ("s_cselect_b32 s3, s1, s2", 7, 8, 0, 8, None),
    ("s_movk_i32 s3, 0x8000", 0, 0, 0, 0xFFFF8000, None), ("s_cmp_lt_i32 s1, s2", BIG, 0, 0, None, 1),
    ("s_cmp_lt_u32 s1, s2", BIG, 0, 1, None, 0), ("s_cmp_gt_f16 s1, s2", 0x4000, 0x3C00, 0, None, 1),
    ("s_cmp_gt_f16 s1, s2", 0x3C00, 0x7E00, 1, None, 0), ("s_cmp_lg_f32 s1, s2", 0x7FC00000, 0, 1, None, 0),
    ("s_cmpk_gt_i32 s1, 0xffff", 0, 0, 0, None, 1),
    ("s_cmpk_lt_u32 s1, 0xffff", 0xFFFE, 0, 0, None, 1), ("s_bitcmp1_b32 s1, s2", 8, 3, 0, None, 1),
    ("s_bitcmp0_b32 s1, s2", 8, 3, 1, None, 0), ("s_absdiff_i32 s3, s1, s2", 3, 5, 0, 2, 1),
    ("s_cmp_nlt_f32 s1, s2", 0x7FC00000, 0, 0, None, 1), ("s_cmp_nlt_f32 s1, s2", 0, 0x3F800000, 1, None, 0),
    ("s_cmp_neq_f32 s1, s2", 0x7FC00000, 0x7FC00000, 0, None, 1), ("s_cmp_o_f32 s1, s2", 0x7FC00000, 0, 1, None, 0),
    ("s_cmp_u_f16 s1, s2", 0x7E00, 0, 0, None, 1), ("s_cmp_nge_f16 s1, s2", 0x3C00, 0x4000, 0, None, 1),
    ("s_cmovk_i32 s3, 0x8000", 0, 0, 1, 0xFFFF8000, None), ("s_cmovk_i32 s3, 5", 0, 0, 0, 99, None),
]  # fmt: skip


@pytest.mark.parametrize("line, a, b, before, result, after", ROWS)
def test_a_scalar_instruction(line, a, b, before, result, after):
    # SCC is set by a comparison, and read by a selection.
    body = f"s_cmp_eq_u32 s10, 1\n{line}\ns_cselect_b32 s4, 1, 0"
    found = run(body, s={1: a, 2: b, 3: 99, 10: before})
    if result is not None:
        assert found.r(3)[0, 0] == result
    assert found.r(4)[0, 0] == (before if after is None else after)


def test_64_bits_are_two_registers():
    found = run("s_lshl_b64 s[4:5], s[2:3], 33\ns_add_u32 s6, s4, s5", s={2: 1, 3: 0})
    assert (found.r(4)[0, 0], found.r(5)[0, 0], found.r(6)[0, 0]) == (0, 2, 2)
    found = run("s_cmp_eq_u64 s[2:3], s[4:5]\ns_cselect_b32 s6, 1, 0", s={2: 1, 3: 7, 4: 1, 5: 7})
    assert found.r(6)[0, 0] == 1
    found = run(
        "s_bitset1_b64 s[4:5], s1\ns_bitset0_b64 s[6:7], s1", s={1: 40, 4: 0, 5: 0, 6: BIG, 7: BIG}
    )
    assert (found.r(4)[0, 0], found.r(5)[0, 0]) == (0, 0x100)
    assert (found.r(6)[0, 0], found.r(7)[0, 0]) == (BIG, BIG & ~0x100)
    found = run("s_mul_u64 s[2:3], s[2:3], s[4:5]", "gfx1201", s={2: BIG, 3: 0, 4: BIG, 5: 0})
    assert found.r64(2)[0, 0] == BIG * BIG


def test_the_scalar_that_reads_zero_stays_so():
    found = run("s_mov_b32 null, 5\ns_add_i32 s2, null, 7", "gfx1100")
    assert found.r(2)[0, 0] == 7


@pytest.mark.parametrize("target, bits", [("gfx942", 64), ("gfx1100", 32)])
def test_masks_stay_masks_and_become_bits(target, bits):
    body = f"""v_cmp_gt_u32_e64 s[2:3], 8, v0
        v_cmp_lt_u32_e64 s[4:5], 3, v0
        s_and_b{bits} s[6:7], s[2:3], s[4:5]
        s_bcnt1_i32_b{bits} s8, s[6:7]
        s_mov_b32 s9, s6"""
    if bits == 32:
        body = body.replace("s[2:3]", "s2").replace("s[4:5]", "s4").replace("s[6:7]", "s6")
    found = run(body, target)
    assert found.r(8)[0, 0] == 4 and found.r(9)[0, 0] == 0xF0
    # A register of a mask that is written is a number again.
    found = run(
        body
        + "\ns_mov_b32 s6, 1\n"
        + f"s_bcnt1_i32_b{bits} s8, {'s[6:7]' if bits == 64 else 's6'}",
        target,
    )
    assert found.r(8)[0, 0] == 1


def test_exec_says_which_lanes_act():
    body = """v_cmp_gt_u32_e32 vcc, 4, v0
        s_and_saveexec_b64 s[2:3], vcc
        v_mov_b32_e32 v1, 7
        s_cselect_b32 s4, 1, 0
        s_xor_b64 exec, exec, s[2:3]
        v_mov_b32_e32 v1, 8
        s_or_b64 exec, exec, s[2:3]
        v_add_u32_e32 v1, 1, v1"""
    found = run(body, v={1: 0})
    assert list(lanes_of(found, 1)) == [8] * 4 + [9] * 60
    assert found.r(4)[0, 0] == 1 and found.r(2)[0, 0] == BIG


def test_each_wave_takes_its_own_way():
    body = """v_readfirstlane_b32 s2, v0
        s_cmp_eq_u32 s2, 64
        s_cbranch_scc1 .two
        v_mov_b32_e32 v1, 1
        s_branch .end
        .two:
        v_mov_b32_e32 v1, 2
        .end:
        v_add_u32_e32 v1, 10, v1"""
    found = run(body, waves=3)
    assert list(found.V[1][:, 0]) == [11, 12, 11]


def test_a_loop_runs_as_often_as_each_wave_wants():
    body = """v_readfirstlane_b32 s2, v0
        s_lshr_b32 s2, s2, 6
        s_mov_b32 s3, 0
        .loop:
        s_add_i32 s3, s3, 5
        s_sub_u32 s2, s2, 1
        s_cbranch_scc0 .loop"""
    assert list(run(body, waves=4).r(3)[:, 0]) == [5, 10, 15, 20]


@pytest.mark.parametrize(
    "condition, mask, taken", [("vccz", 0, 1), ("vccnz", 0, 0), ("vccnz", 4, 1), ("execz", 4, 0)]
)
def test_branches_ask_whether_a_mask_is_empty(condition, mask, taken):
    body = f"s_mov_b32 s2, 1\ns_cbranch_{condition} .L\ns_mov_b32 s2, 0\n.L:\ns_nop 0"
    assert run(body, s={VCC: mask, VCC + 1: 0}).r(2)[0, 0] == taken


def test_a_barrier_waits_for_every_wave_of_its_workgroup():
    """Wave 1 stores late what wave 0 reads after the barrier."""
    body = """v_readfirstlane_b32 s2, v0
        v_mov_b32_e32 v1, 0
        s_cmp_eq_u32 s2, 64
        s_cbranch_scc1 .store
        s_barrier
        ds_read_b32 v3, v1
        s_waitcnt lgkmcnt(0)
        s_branch .end
        .store:
        v_mov_b32_e32 v3, 42
        ds_write_b32 v1, v3
        s_waitcnt lgkmcnt(0)
        s_barrier
        .end:"""
    found = run(body, waves=2, shared=64, grid=(2,))
    assert (found.whole(found.V[3]) == 42).all()
    found = run(body.replace("s_barrier", "s_nop 0"), waves=2, shared=64)
    assert found.V[3][0, 0] != 42


def test_an_ended_wave_holds_nobody_up_at_a_barrier():
    body = """v_readfirstlane_b32 s2, v0
        s_cmp_eq_u32 s2, 64
        s_cbranch_scc1 .end
        s_barrier
        v_mov_b32_e32 v1, 5
        .end:"""
    assert list(run(body, waves=2, v={1: 0}).V[1][:, 0]) == [5, 0]


def test_waves_that_ask_forever_are_a_deadlock():
    words = np.zeros(4, np.uint32)
    memory = amdgcn.Memory()
    address = memory.add_array(words)
    body = """.wait:
        global_atomic_add v2, v[0:1], v3, off sc0
        s_waitcnt vmcnt(0)
        v_cmp_eq_u32_e32 vcc, 1, v2
        s_cbranch_vccz .wait"""
    registers = {0: address & BIG, 1: address >> 32, 3: 0}
    from amd_running import start

    began = start(body, v=registers, memory=memory)
    from crosswarp.matrix.cell.machines.amdgcn.schedule import Chunk

    assert isinstance(began.chunk, Chunk) and began.chunk.run() is False
    assert "global_atomic_add" in began.chunk.place()


def test_a_limit_of_instructions_stops_a_loop():
    text_body = ".L:\ns_branch .L"
    from amd_running import text_of

    with pytest.raises(amdgcn.OutOfTime, match="s_branch"):
        amdgcn.run(
            text_of(text_body), (1,), [], threads=64, limits=amdgcn.Limits(instructions=1000)
        )


def test_exec_is_a_register_as_well():
    found = run(
        "s_mov_b64 exec, 0\ns_mov_b32 s2, exec_lo\ns_mov_b64 exec, -1\nv_mov_b32_e32 v1, 3",
        v={1: 0},
    )
    assert found.r(2)[0, 0] == 0 and (lanes_of(found, 1) == 3).all()
    assert found.mask(EXEC).all()


def test_a_trap_is_a_fault_but_where_it_guards_preloaded_arguments():
    with pytest.raises(amdgcn.Fault, match="trap: the kernel stops itself"):
        run("s_nop 0\ns_trap 2")
    with pytest.raises(amdgcn.Fault, match="trap"):
        run("s_trap 2")
    run("s_trap 2 ; Kernarg preload header.", user_sgpr_kernarg_preload_length=1, kernarg_size=8)
