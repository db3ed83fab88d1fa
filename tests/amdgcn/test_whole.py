"""Instructions of more than one expression agree with AMD's pseudo-code: see whole.py."""

import pytest
import whole

_LOGIC = ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor")
SCALARS = [
    *(
        (f"s_{name}_b{bits} {_d}, {_a}, {_b}", (bits, bits), bits)
        for bits, _d, _a, _b in ((32, "s10", "s20", "s22"), (64, "s[10:11]", "s[20:21]", "s[22:23]"))
        for name in (*_LOGIC, "cselect")
    ),
    *((f"s_{name}_saveexec_b64 s[10:11], s[20:21]", (64,), 64) for name in _LOGIC),
    *((f"s_{name}_b32 s10, s20", (32,), 32) for name in ("not", "mov", "cmov")),
    *((f"s_{name}_b64 s[10:11], s[20:21]", (64,), 64) for name in ("not", "mov", "cmov")),
    *(
        (f"s_cmp_{how}_{kind} s20, s22", (32, 32), 0)
        for how in ("eq", "lg", "gt", "ge", "lt", "le")
        for kind in ("i32", "u32")
    ),
    *((f"s_cmp_{how}_u64 s[20:21], s[22:23]", (64, 64), 0) for how in ("eq", "lg")),
    *((f"s_cmpk_{how}_i32 s20, 0x8001", (32,), 0) for how in ("eq", "lg", "gt", "ge", "lt", "le")),
    *((f"s_cmpk_{how}_u32 s20, 0x8001", (32,), 0) for how in ("eq", "lg", "gt", "ge", "lt", "le")),
    ("s_addc_u32 s10, s20, s22", (32, 32), 32), ("s_subb_u32 s10, s20, s22", (32, 32), 32),
    ("s_bitcmp0_b32 s20, s22", (32, 32), 0), ("s_bitcmp1_b32 s20, s22", (32, 32), 0),
    ("s_bitcmp0_b64 s[20:21], s22", (64, 32), 0), ("s_bitcmp1_b64 s[20:21], s22", (64, 32), 0),
    ("s_movk_i32 s10, 0x8001", (), 32), ("s_addk_i32 s10, 0x8001", (), 32), ("s_mulk_i32 s10, 0x8001", (), 32),
]  # fmt: skip


@pytest.mark.parametrize("line, widths, width", SCALARS, ids=[row[0].split()[0] for row in SCALARS])
def test_scalars(line, widths, width):
    assert whole.scalar(line, widths, width) == []


CONDITIONS = ["scc0", "scc1", "vccz", "vccnz", "execz", "execnz"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_branches(condition):
    assert whole.branch(f"s_cbranch_{condition}") == []


def test_a_branch_without_a_condition():
    assert whole.branch("s_branch") == []


VECTORS = [
    ("v_cndmask_b32_e32 v2, v4, v6, vcc", ("u32", "u32"), "u32"),
    ("v_fmac_f32_e32 v2, v4, v6", ("f32", "f32"), "f32"),
    ("v_fmac_f64_e32 v[2:3], v[4:5], v[6:7]", ("f64", "f64"), "f64"),
    ("v_pk_add_f32 v[2:3], v[4:5], v[6:7]", ("2f32", "2f32"), "2f32"),
    ("v_pk_mul_f32 v[2:3], v[4:5], v[6:7]", ("2f32", "2f32"), "2f32"),
    ("v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]", ("2f32", "2f32", "2f32"), "2f32"),
    *((f"v_pk_{name}_f16 v2, v4, v6", ("2f16", "2f16"), "2f16") for name in ("add", "mul")),
    ("v_pk_fma_f16 v2, v4, v6, v8", ("2f16", "2f16", "2f16"), "2f16"),
    *(
        (f"v_pk_{name} v2, v4, v6", ("2u16", "2u16"), "2u16")
        for name in ("add_u16", "sub_u16", "add_i16", "sub_i16", "mul_lo_u16", "max_u16", "min_u16", "max_i16",
                     "min_i16", "lshlrev_b16", "lshrrev_b16", "ashrrev_i16")
    ),
    ("v_add_co_u32_e32 v2, vcc, v4, v6", ("u32", "u32"), "u32"),
    ("v_sub_co_u32_e32 v2, vcc, v4, v6", ("u32", "u32"), "u32"),
    ("v_subrev_co_u32_e32 v2, vcc, v4, v6", ("u32", "u32"), "u32"),
    *(
        (f"v_{name}_co_u32_e32 v2, vcc, v4, v6, vcc", ("u32", "u32"), "u32")
        for name in ("addc", "subb", "subbrev")
    ),
    ("v_mad_u64_u32 v[2:3], vcc, v4, v6, v[8:9]", ("u32", "u32", "u64"), "u64"),
    ("v_mad_i64_i32 v[2:3], vcc, v4, v6, v[8:9]", ("u32", "u32", "u64"), "u64"),
    ("v_dot4_i32_i8 v2, v4, v6, v8", ("u32", "u32", "u32"), "u32"),
]  # fmt: skip


@pytest.mark.parametrize("line, kinds, result", VECTORS, ids=[row[0].split()[0] for row in VECTORS])
def test_vectors(line, kinds, result):
    assert whole.vector(line, kinds, result) == []


CLOSE = ["exp", "log", "rcp", "rcp_iflag", "sqrt"]


@pytest.mark.parametrize("name", CLOSE)
def test_approximations_are_within_a_unit_in_the_last_place(name):
    assert whole.vector(f"v_{name}_f32_e32 v2, v4", ("f32",), "f32", ulps=1) == []


LANES = [
    "v_readlane_b32 s10, v4, s22", "v_readfirstlane_b32 s10, v4", "v_writelane_b32 v2, s10, s22",
    "ds_bpermute_b32 v2, v6, v4", "ds_permute_b32 v2, v6, v4",
]  # fmt: skip


@pytest.mark.parametrize("line", LANES)
def test_other_lanes(line):
    assert whole.lanes(line, line.split()[0]) == []


def span(first, words):
    return f"v{first}" if words == 1 else f"v[{first}:{first + words - 1}]"


_SIZES = (("dword", 1), ("dwordx2", 2), ("dwordx3", 3), ("dwordx4", 4))
_SMALL = ("ubyte", "sbyte", "ushort", "sshort")
MEMORY = [
    *((f"ds_read_{kind} v16, v4", 1) for kind in ("u8", "i8", "u16", "i16", "b32")),
    *((f"ds_read_b{32 * words} {span(16, words)}, v4", words) for words in (2, 3, 4)),
    *((f"ds_write_{kind} v4, v8", 0) for kind in ("b8", "b16", "b32")),
    *((f"ds_write_b{32 * words} v4, {span(8, words)}", 0) for words in (2, 3, 4)),
    ("ds_read2_b32 v[16:17], v4 offset0:1 offset1:3", 2), ("ds_read2_b64 v[16:19], v4 offset0:1 offset1:2", 4),
    ("ds_write2_b32 v4, v8, v12 offset0:1 offset1:3", 0),
    ("ds_write2_b64 v4, v[8:9], v[12:13] offset0:1 offset1:2", 0),
    ("ds_read2st64_b32 v[16:17], v4 offset0:0 offset1:1", 2),
    ("ds_read2st64_b64 v[16:19], v4 offset0:0 offset1:1", 4),
    ("ds_write2st64_b32 v4, v8, v12 offset0:0 offset1:1", 0),
    ("ds_write2st64_b64 v4, v[8:9], v[12:13] offset0:0 offset1:1", 0),
    ("ds_add_u32 v4, v8", 0),
    *((f"global_load_{kind} v16, v[4:5], off", 1) for kind in _SMALL),
    *((f"global_load_{kind} {span(16, words)}, v[4:5], off", words) for kind, words in _SIZES),
    *((f"global_store_{kind} v[4:5], {span(8, words)}, off", 0) for kind, words in _SIZES),
    *((f"global_store_{kind} v[4:5], v8, off", 0) for kind in ("byte", "short")),
    *((f"buffer_load_{kind} v16, v4, s[20:23], 0 offen", 1) for kind in _SMALL),
    *((f"buffer_load_{kind} {span(16, words)}, v4, s[20:23], 0 offen", words) for kind, words in _SIZES),
    *((f"buffer_store_{kind} {span(8, words)}, v4, s[20:23], 0 offen", 0) for kind, words in _SIZES),
    *((f"buffer_store_{kind} v8, v4, s[20:23], 0 offen", 0) for kind in ("byte", "short")),
    ("s_load_dword s24, s[20:21], 0x0", 1),
    *((f"s_load_dwordx{words} s[24:{23 + words}], s[20:21], 0x0", words) for words in (2, 4, 8, 16)),
]  # fmt: skip


@pytest.mark.parametrize("line, words", MEMORY, ids=[row[0].split()[0] for row in MEMORY])
def test_memory(line, words):
    name = line.split()[0]
    wait = "lgkmcnt(0)" if name.startswith(("ds_", "s_")) else "vmcnt(0)"
    assert whole.memory(line, name, words, wait) == []
