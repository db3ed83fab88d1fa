"""Reading assembly text: operands, modifiers, blocks, metadata; and what is refused by its name."""

import re
from pathlib import Path

import pytest
from amd_running import run, text_of

from crosswarp.matrix.cell.machines import amdgcn
from crosswarp.matrix.cell.machines.amdgcn import lowering, names, operands, syntax


def surface():
    found, where = {}, ""
    for line in (Path(__file__).parent / "opcodes.txt").read_text().splitlines():
        if line.startswith("["):
            where = line.strip("[]")
        elif line and not line.startswith("#"):
            found.setdefault(where, []).extend(line.split())
    return found


def test_every_opcode_that_was_seen_is_known():
    unknown = [
        (where, name)
        for where, opcodes in surface().items()
        for name in opcodes
        if lowering.handler_of(names.base(name.replace("v_dual_", "v_"))) is None
    ]
    assert unknown == []
    assert sum(map(len, surface().values())) > 1000


@pytest.mark.parametrize(
    "text, kind, number, count",
    [
        ("v7", "v", 7, 1), ("s[4:7]", "s", 4, 4), ("a[0:15]", "a", 0, 16), ("vcc", "s", 106, 2),
        ("ttmp9", "s", 117, 1),
        ("exec_lo", "s", 126, 1), ("v3.h", "v", 3, 1), ("ttmp[4:5]", "s", 112, 2), ("0x10", "c", 0, 1),
    ],
)  # fmt: skip
def test_an_operand_is_read(text, kind, number, count):
    found = operands.parse(text)
    assert (found.kind, found.number, found.count) == (kind, number, count)


def test_modifiers_of_a_source_are_read():
    assert operands.parse("-|v4|").negated and operands.parse("-|v4|").absolute
    assert operands.parse("sext(v4)").signed and operands.parse("v4.h").half == "h"
    # A sign of a number is no modifier.
    assert not operands.parse("-16").negated and operands.parse("-1.0").text == "-1.0"


def test_modifiers_are_kept_with_their_values():
    one = syntax.instruction(
        "v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1"
    )
    assert one.modifiers["quad_perm"] == "[1,0,3,2]" and "bound_ctrl" in one.modifiers
    assert [operand.text for operand in one.operands] == ["v1", "v2"]
    wait = syntax.instruction("s_waitcnt vmcnt(3) lgkmcnt(0)")
    assert dict(wait.modifiers) == {"vmcnt": "3", "lgkmcnt": "0"}
    assert dict(syntax.instruction("buffer_inv sc1").modifiers) == {"sc1": ""}
    swizzled = syntax.instruction("ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)")
    assert swizzled.modifiers["offset"] == "swizzle(SWAP,16)"


def test_constants_are_read_in_the_width_of_their_operand():
    assert operands.constant_bits("1.0", 32, True) == 0x3F800000
    assert operands.constant_bits("1.0", 16, True) == 0x3C00
    assert operands.constant_bits("-1", 64, False) == 2**64 - 1
    # A literal of a double is its high half.
    assert operands.constant_bits("0x40080000", 64, True) == 0x4008000000000000
    assert operands.constant_bits("0.15915494", 32, True) == 0x3E22F983


def test_blocks_end_where_control_may_go_elsewhere():
    kernel = syntax.parse(text_of("s_cbranch_scc1 .L\ns_nop 0\n.L:\ns_barrier\ns_nop 1"))
    assert kernel.blocks == [(0, 1), (1, 2), (2, 3), (3, 5)]
    assert kernel.labels == {".L": 2}


def test_lines_of_the_source_belong_to_instructions():
    body = '.file 1 "/home" "softmax.py"\n.loc 1 31 9\ns_nop 0\n.loc 1 0 0\ns_nop 1'
    kernel = syntax.parse(text_of(body))
    assert [one.loc for one in kernel.instructions[:2]] == [("/home/softmax.py", 31)] * 2


def test_metadata_is_read():
    text = text_of("s_nop 0", arguments=[(0, 8, "global_buffer"), (8, 4, "by_value"), (16, 4, "hidden_block_count_x")],
                   kernarg_size=24, user_sgpr_count=4)  # fmt: skip
    kernel = syntax.parse(text)
    assert [one.offset for one in kernel.arguments] == [0, 8, 16]
    assert [one.hidden for one in kernel.arguments] == [False, False, True]
    assert kernel.directive("kernarg_size") == 24 and kernel.wave == 64
    assert syntax.parse(text_of("s_nop 0", "gfx1100")).wave == 32
    assert kernel.generation == (9, 0x42)


@pytest.mark.parametrize(
    "line, opcode, why",
    [
        ("v_frobnicate_b32 v0, v1", "v_frobnicate_b32", ""),
        ("v_add_f32_e64 v0, v1, v2 saturate", "v_add_f32_e64", "saturate"),
        ("v_add_lshl_u32 v0, v1, v2, v3 clamp", "v_add_lshl_u32", "clamp"),
        ("v_add_f32_e64 v0, v1, v2 op_sel:[1,0,0]", "v_add_f32_e64", "op_sel"),
        ("v_readlane_b32 s0, v1, s2 op_sel:[1]", "v_readlane_b32", "op_sel"),
        ("buffer_load_dword v0, v1, s[0:3], 0 idxen", "buffer_load_dword", "idxen"),
        ("ds_read_b32 v0, v1 gds", "ds_read_b32", "gds"),
        ("v_accvgpr_write_b32 a0, -v1", "v_accvgpr_write_b32", "modifier"),
        ("v_add_u32_e32 v0, symbol, v1", "v_add_u32_e32", "symbol"),
        ("s_waitcnt bvhcnt(0)", "s_waitcnt", "bvhcnt"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", "s_setreg_imm32_b32", "register"),
        ("v_add_f32_e32 s0, v1, v2", "v_add_f32_e32", "destination"),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3] cbsz:1", "v_mfma_f32_16x16x16_f16", "cbsz"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused_by_its_name(line, opcode, why):
    with pytest.raises(amdgcn.Unsupported) as raised:
        amdgcn.load(text_of(line))
    assert raised.value.opcode == opcode and raised.value.line == 4
    assert why in str(raised.value) and "device" in str(raised.value)


@pytest.mark.parametrize(
    "target, line, why",
    [
        ("gfx950", "v_dot2_bf16_bf16 v0, v1, v2, v3 op_sel:[1,0,0,0]", "op_sel of a pair"),
        ("gfx950", "v_dot2_bf16_bf16 v0, v1, v2, v3 op_sel:[0,1,0,0]", "op_sel of a pair"),
        ("gfx942", "s_and_saveexec_b32 s0, s1", "another width"),
        ("gfx1100", "s_and_saveexec_b64 s[0:1], s[2:3]", "another width"),
        ("gfx942", "v_permlane64_b32 v0, v1", "a wave of 64"),
        ("gfx1200", "s_wait_dscnt vmcnt", "without one number"),
        ("gfx1100", "v_pk_add_u16 v0, v1, v2 neg_lo:[1,0]", "negated source"),
        ("gfx1100", "v_pk_add_u16 v0, v1, v2 neg_hi:[0,1]", "negated source"),
        ("gfx942", "v_mfma_f32_16x16x16_f7 a[0:3], v[0:1], v[2:3], a[0:3]", "f7"),
        ("gfx942", "v_mfma_f32_32x32x4_2b_f16 a[0:31], v[0:1], v[2:3], a[0:31]", "2 blocks of 32 x 32"),
        ("gfx942", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "this form"),
        ("gfx1100", "v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "16-bit accumulators"),
        ("gfx1100", "v_wmma_f32_16x16x16_f7 v[0:7], v[8:15], v[16:23], v[0:7]", "items of f7"),
        ("gfx942", "buffer_load_dword v0, v1, s[0:1], 0 offen", "the descriptor s[0:1]"),
        ("gfx942", "buffer_load_dword v0, v1, v[0:3], 0 offen", "the descriptor v[0:3]"),
        ("gfx942", "s_load_dwordx2 s0, s[2:3], 0x0", "the destination s0"),
        ("gfx942", "s_load_dword v0, s[2:3], 0x0", "the destination v0"),
        ("gfx1200", "s_barrier_signal 1", "not the workgroup's"),
        ("gfx1100", "s_sendmsg sendmsg(MSG_INTERRUPT)", "this message"),
        ("gfx942", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", "this register"),
    ],
)  # fmt: skip
def test_forms_that_are_not_known_are_refused(target, line, why):
    with pytest.raises(amdgcn.Unsupported, match=re.escape(why)) as raised:
        amdgcn.load(text_of(line, target))
    assert raised.value.opcode == line.split()[0]


@pytest.mark.parametrize(
    "name, reads, writes",
    [
        ("s_add_u32", False, True), ("s_addc_u32", True, True), ("s_subb_u32", True, True), ("s_and_b64", False, True),
        ("s_cmp_eq_u32", False, True), ("s_mov_b32", False, False), ("s_mul_i32", False, False),
        ("s_cselect_b32", True, False), ("s_cmov_b32", True, False), ("s_cbranch_scc0", True, False),
        ("s_cbranch_vccz", False, False), ("s_load_dword", False, False), ("v_add_u32", False, False),
        ("ds_read_b32", False, False),
    ],
)  # fmt: skip
def test_what_an_instruction_does_to_scc(name, reads, writes):
    assert (names.reads_scc(name), names.writes_scc(name)) == (reads, writes)


@pytest.mark.parametrize(
    "name, base",
    [("v_add_f32_e32", "v_add_f32"), ("v_add_f32_e64_dpp", "v_add_f32"), ("v_add_nc_u32_e64", "v_add_u32"),
     ("v_mov_b32_sdwa", "v_mov_b32"), ("v_add_f32", "v_add_f32")],
)  # fmt: skip
def test_the_name_without_its_encoding(name, base):
    assert names.base(name) == base


def test_modes_that_instructions_do_not_follow_are_refused():
    with pytest.raises(amdgcn.Unsupported, match="float_denorm_mode_32 0"):
        amdgcn.load(text_of("s_nop 0", float_denorm_mode_32=0))
    with pytest.raises(amdgcn.Unsupported, match="without a kernel"):
        amdgcn.load("\ts_nop 0\n")


def test_both_halves_of_a_dual_issue_read_before_one_writes():
    swapped = run("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", "gfx1100", v={1: 11, 2: 22})
    assert swapped.V[1][0, 0] == 22 and swapped.V[2][0, 0] == 11
