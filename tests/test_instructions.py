"""Instructions are counted by class in PTX and in AMD's assembly, and in nothing that only looks like it."""

import struct

import pytest

from crosswarp.matrix.cell.standins.virtual_gpu import instructions
from crosswarp.matrix.cell.standins.virtual_gpu.instructions import in_amdgcn, in_ptx

PTX = """
.version 8.4
.target sm_90a
.visible .entry _kernel(
	.param .u64 _kernel_param_0
)
{
	.reg .b32 	%r<9>;
$L__BB0_1:                              // ld.global.v4.b32 in a comment
	.loc	1 30 0                          // kernel.py:30:0
	ld.param.u64 	%rd1, [_kernel_param_0];
	@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
	@!%p1 ld.global.L1::evict_last.L2::cache_hint.b16 { %rs1 }, [ %rd1 + 0 ], %rd2;
	ld.global.nc.v2.f64 {%fd1, %fd2}, [%rd1];
	ld.acquire.gpu.global.u32 %r1, [%rd1];
	st.global.v8.b32 [ %rd1 + 0 ], { %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8 };
	st.global.b8 	[%rd1], %rs1;
	cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
	@%p1 cp.async.ca.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x4, 0x4;
	cp.async.commit_group;
	cp.async.wait_group 	0;
	@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
	cp.async.bulk.commit_group;
	ld.shared.v2.b32 	{%r1, %r2}, [%r3];
	st.shared::cta.b32 	[%r1], %r2;
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 { %f1, %f2 }, { %r1 }, { %r2 }, { %f1, %f2 };
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2 {%f1,%f2}, %rd1, %rd2, %p2, 1, 1;
	@%p2 tcgen05.mma.cta_group::1.kind::f16 [ %r1 + 0 ], %rd1, %rd2, %r2, %p1;
	tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r1];
	atom.global.gpu.acq_rel.add.f32 %r1, [ %rd1 + 0 ], %r2;
	red.global.add.f32 [%rd1], %f1;
	bar.sync 	0;
	mbarrier.init.shared::cta.b64 [%r1], 1;
	{ mov.b32 %r1, %r2;
	ret;
}
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
	}
"""

AMD = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
_kernel:                                ; @_kernel
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	global_load_dwordx4 v[0:3], v4, s[4:5]
	global_load_ushort v1, v2, s[4:5]
	global_load_short_d16_hi v1, v2, s[4:5]
	global_load_ubyte_d16 v1, v2, s[4:5]
	global_load_b128 v[0:3], v4, s[4:5]
	global_load_d16_u8 v1, v2, s[4:5]
	global_load_u16 v1, v2, s[4:5]
	buffer_load_dwordx2 v[0:1], v2, s[4:7], 0 offen
	buffer_load_dword v1, s[4:7], 0 offen lds
	global_load_lds_dwordx4 v1, s[4:5]
	global_store_b96 v1, v[2:4], s[4:5]
	global_store_d16_hi_b16 v1, v2, s[4:5]
	flat_store_b64 v[0:1], v[2:3]
	global_atomic_add_f32 v1, v2, s[4:5]
	ds_add_u32 v1, v2
	ds_read2st64_b64 v[0:3], v4 offset1:1
	ds_load_b128 v[0:3], v4
	ds_write_b16_d16_hi v1, v2
	ds_bpermute_b32 v1, v2, v3
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
	v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]
	scratch_store_dwordx2 off, v[56:57], off offset:828 ; 8-byte Folded Spill
	scratch_load_dword v1, off, off
	buffer_store_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Spill
	s_barrier
	s_endpgm
	.section	.rodata,"a",@progbits
		.amdhsa_next_free_vgpr 148
; codeLenInByte = 7192
amdhsa.kernels:
  - .agpr_count:     16
"""


def test_ptx():
    assert in_ptx(PTX) == {
        "load.16": 2, "load.2": 1, "load.4": 1, "store.32": 1, "store.1": 1, "async.16": 1, "async.4": 1, "bulk": 1,
        "shared.load": 1, "shared.store": 1, "matrix": 1, "mma.m16n8k16.f32.bf16.bf16.f32": 1,
        "wgmma.m64n128k32.f32.e4m3.e5m2": 1, "tcgen05.f16": 1, "atomic": 2, "barrier": 1, "total": 27,
    }  # fmt: skip


def test_ptx_of_a_newer_llvm_has_operands_on_lines_below():
    folded = """
\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
\t\t{%r98, %r99, %r100, %r101},
\t\t{%r90, %r91};
\tcp.async.cg.shared.global
\t\t[%r5], [%rd7],
\t\t0x10, 0x10;
\tcall.uni (retval0),
\tvprintf,
\t(
\tparam0,
\tparam1
\t);
waitLoop:
"""
    assert in_ptx(folded) == {"async.16": 1, "mma.m16n8k16.f32.bf16.bf16.f32": 1, "total": 3}


def test_amdgcn():
    assert in_amdgcn(AMD) == {
        "load.16": 2, "load.8": 1, "load.2": 3, "load.1": 2, "async.4": 1, "async.16": 1, "store.12": 1, "store.8": 1,
        "store.2": 1, "atomic": 2, "shared.load": 2, "shared.store": 1, "mfma.f32_32x32x8_f16": 1,
        "wmma.f32_16x16x16_f16": 1, "scratch": 3, "barrier": 1, "total": 27,
    }  # fmt: skip
    assert instructions.code_of_amdgcn(AMD) == 7192


def test_without_comments_every_buffer_access_is_a_spill():
    """As in Triton 3.0 and 3.1."""
    text = AMD.replace("; codeLenInByte = 7192", "").replace(" ; 4-byte Folded Spill", "")
    assert in_amdgcn(text)["scratch"] == 5 and "load.8" not in in_amdgcn(text)
    assert instructions.code_of_amdgcn(text) is None


def test_local_memory_in_machine_code():
    """LDL and STL in two forms of operands, and their neighbours in the table of operations, LDS and STG."""
    code = b"".join(
        struct.pack("<Q8x", (0xABCD << 16) | word)
        for word in (0x983, 0x387, 0x1983, 0x984, 0x986, 0x24)
    )
    assert instructions.local_in_sass(code) == 3
    # A torn end is no instruction.
    assert instructions.local_in_sass(code[:18]) == 1


@pytest.mark.parametrize("text", ["", "\x00\xff", "\t", "\n\t;\n", "{ @%p1"])
def test_what_is_no_assembly_has_no_instructions(text):
    assert in_ptx(text) == in_amdgcn(text) == {}
    assert instructions.code_of_amdgcn(text) is None
