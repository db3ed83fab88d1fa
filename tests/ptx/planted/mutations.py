"""What is planted: one line of a recorded PTX text changed into what a compiler's bug would leave there.

A line is named by its words, however spaced; `None` takes it away. All of the changed texts assemble with ptxas (of
Triton 3.6.0, 2026-11-22; those for sm_100 with its ptxas-blackwell).
"""

from typing import NamedTuple, Optional

# Why a mutation stays green. Everything else is to be red. A race shows in no numbers of one order of execution: it is
# for what watches each access.
LOCK_STEP = "a race: the threads of a CTA run in lock step here, so that what was stored is there when it is read"
AT_ONCE = "a race: the sums of wgmma are there at once, so that nobody has to wait for them"


class Mutation(NamedTuple):
    """One planted fault.

    Attributes:
        text: stem of the recorded file.
        kind: in words.
        line: what stands there; alone in its text, but for those that have `place`.
        survives: why it cannot be seen in the numbers; empty for all that must be seen.
        place: which of several such lines.
    """

    text: str
    kind: str
    line: str
    instead: Optional[str]
    survives: str = ""
    place: Optional[int] = None


MUTATIONS = [
    Mutation(*fields)
    for fields in [
        ("softmax-0", "dropped mask of a load", "@%p1 ld.global.b16 { %rs1 }, [ %rd1 + 0 ];",
         "ld.global.b16 { %rs1 }, [ %rd1 + 0 ];"),
        ("softmax-0", "dropped mask of a store", "@%p1 st.global.b16 [ %rd2 + 0 ], { %rs3 };",
         "st.global.b16 [ %rd2 + 0 ], { %rs3 };"),
        ("softmax-0", "wrong value where masked", "mov.b16 %rs2, -1024;", "mov.b16 %rs2, 0;",
         "no bug of this case: its numbers lie near 100, beside which e^0 is nothing"),
        ("softmax-0", "wrong shuffle lane", "shfl.sync.bfly.b32 %r36, %r35, 16, 31, -1;",
         "shfl.sync.bfly.b32 %r36, %r35, 8, 31, -1;"),
        ("softmax-0", "swapped operands", "sub.f32 %r33, %r14, %r32;", "sub.f32 %r33, %r32, %r14;"),
        ("softmax-0", "max of half of the warps", "max.f32 %r29, %r3, %r28;", "mov.b32 %r29, %r3;",
         "equivalent: the softmax is the same whatever is taken off, until it overflows"),
        ("softmax-1", "wrong comparison", "setp.lt.s32 %p1, %r9, %r7;", "setp.le.s32 %p1, %r9, %r7;"),
        ("softmax-1", "lost half of a reduction", "fma.rn.f32 %r15, %r11, %r12, %r14;", "mov.b32 %r15, %r14;"),
        ("rms_norm-0", "wrong offset", "add.s64 %rd3, %rd1, 8;", "add.s64 %rd3, %rd1, 4;"),
        ("rms_norm-0", "removed barrier", "bar.sync 0;", None, LOCK_STEP, 0),
        ("rms_norm-0", "one term too few", "fma.rn.f32 %r36, %r5, %r5, %r35;", "mov.b32 %r36, %r35;"),
        ("rms_norm-0", "wrong offset in shared memory", "mad.lo.s32 %r71, %r22, 12, %r9;",
         "mad.lo.s32 %r71, %r22, 8, %r9;"),
        ("rms_norm-0", "missing cvt", "cvt.rn.f32.s32 %r54, %r27;", "mov.b32 %r54, %r27;"),
        ("rms_norm-2", "lost accumulator", "add.f32 %r78, %r78, %r22;", "mov.b32 %r78, %r22;",
         "equivalent: a loop of one turn: what it adds to is zero"),
        ("rms_norm-2", "one part of a sum left out", "add.f32 %r53, %r84, %r52;", "mov.b32 %r53, %r52;",
         "equivalent: 5 rows: the part belongs to rows that are masked, and is zero"),
        ("layer_norm-1", "a loop's value taken too late", "mov.b32 %r82, %r23;", None),
        ("layer_norm-1", "lost accumulator", "fma.rn.f32 %r84, %r42, %r81, %r84;", "mul.f32 %r84, %r42, %r81;"),
        ("layer_norm-1", "lost sign", "neg.f32 %r73, %r72;", "mov.b32 %r73, %r72;"),
        ("layer_norm-1", "wrong shuffle lane", "shfl.sync.bfly.b32 %r70, %r69, 1, 31, -1;",
         "shfl.sync.bfly.b32 %r70, %r69, 2, 31, -1;"),
        ("layer_norm-1", "selp of the wrong predicate", "selp.f32 %r42, %r41, 0f00000000, %p4;",
         "selp.f32 %r42, %r41, 0f00000000, %p5;"),
        ("layer_norm-0", "dropped mask of a value", "selp.f32 %r45, %r44, 0f00000000, %p1;", "mov.b32 %r45, %r44;"),
        ("layer_norm-0", "another operation", "div.full.f32 %r60, %r59, %r43;", "mul.f32 %r60, %r59, %r43;"),
        ("matmul-0", "lost accumulator",
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r216, %r217, %r218, %r219 }, "
         "{ %r147, %r148, %r149, %r150 }, "
         "{ %r143, %r144 }, { %r216, %r217, %r218, %r219 };",
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r216, %r217, %r218, %r219 }, "
         "{ %r147, %r148, %r149, %r150 }, "
         "{ %r143, %r144 }, { %r208, %r209, %r210, %r211 };"),
        ("matmul-0", "swapped fragments",
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r127, %r128, %r129, %r130}, [%r37];",
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r127, %r129, %r128, %r130}, [%r37];"),
        ("matmul-0", "not transposed",
         "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r131, %r132, %r143, %r144}, [%r41];",
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r131, %r132, %r143, %r144}, [%r41];"),
        ("matmul-0", "swapped operands",
         "cvt.rn.f16x2.f32 %r227, %r210, %r208;", "cvt.rn.f16x2.f32 %r227, %r208, %r210;"),
        ("matmul-0", "wrong swizzle", "xor.b32 %r94, %r93, 64;", "xor.b32 %r94, %r93, 32;"),
        ("matmul-0", "wrong stride of a loop", "add.s64 %rd72, %rd72, 64;", "add.s64 %rd72, %rd72, 32;"),
        ("matmul-0", "a mask that forgets the loop", "setp.lt.s32 %p35, %r32, %r207;", "setp.lt.s32 %p35, %r32, %r45;"),
        ("matmul-0", "dropped mask of a store", "@%p68 st.global.b16 [ %rd47 + 0 ], { %rs41 };",
         "st.global.b16 [ %rd47 + 0 ], { %rs41 };"),
        ("persistent_matmul.sm_90-0", "removed wgmma.wait", "wgmma.wait_group.sync.aligned 0;",
         "wgmma.wait_group.sync.aligned 1;", AT_ONCE),
        ("persistent_matmul.sm_90-0", "removed wait of cp.async", "cp.async.wait_group 0;", None, "", 1),
        ("persistent_matmul.sm_90-0", "wrong descriptor", "add.s64 %rd170, %rd180, 4611686293305294852;",
         "add.s64 %rd170, %rd180, 4611686293305294850;"),
        ("persistent_matmul.sm_90-0", "wrong offset",
         "st.shared.b16 [%r48+35584], %rs13;", "st.shared.b16 [%r48+35586], %rs13;"),
        ("persistent_matmul.sm_90-0", "a copy of fewer bytes",
         "cp.async.cg.shared.global [ %r153 + 0 ], [ %rd114 + 0 ], 0x10, %r154;",
         "cp.async.cg.shared.global [ %r153 + 0 ], [ %rd114 + 0 ], 0x10, 8;"),
        ("persistent_matmul.sm_90-0", "lost accumulator", "mov.pred %p10, -1;", "mov.pred %p10, 0;"),
        ("scaled_matmul.sm_100-0", "removed wait of a product",
         "mbarrier.try_wait.parity.shared.b64 complete, [%r71], %r72;", "mov.pred complete, -1;"),
        ("scaled_matmul.sm_100-0", "removed commit",
         "@%p7 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd25];", None),
        ("scaled_matmul.sm_100-0", "removed wait of a store", "tcgen05.wait::st.sync.aligned;", None, "", 2),
        ("scaled_matmul.sm_100-0", "lost accumulator", "mov.pred %p8, -1;", "mov.pred %p8, 0;"),
        ("scaled_matmul.sm_100-0", "wrong byte of the scale factors", "mov.b32 %r69, 681575568;",
         "mov.b32 %r69, 144704640;"),
        ("scaled_matmul.sm_100-0", "swapped operands",
         "@%p7 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.sca"
         "le_vec::1X [ %r65 + 0 ], %rd23, %rd24, %r69, [ %r67 + 0 ], [ %r68 + 0 ], %p8;",
         "@%p7 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.sca"
         "le_vec::1X [ %r65 + 0 ], %rd23, %rd24, %r69, [ %r68 + 0 ], [ %r67 + 0 ], %p8;"),
        ("flash_attention.sm_100-0", "removed wait of a store", "tcgen05.wait::st.sync.aligned;", None, "", 2),
        ("flash_attention.sm_100-0", "wrong column of tensor memory",
         "@%p19 tcgen05.mma.cta_group::1.kind::f16 [ %r1565 + 0 ], [ %r986 + 8 ], %rd72, %r360, %p18;",
         "@%p19 tcgen05.mma.cta_group::1.kind::f16 [ %r1565 + 0 ], [ %r986 + 0 ], %rd72, %r360, %p18;"),
        ("cumulative_sum-0", "swapped operands", "selp.f32 %r29, %r13, %r28, %p7;", "selp.f32 %r29, %r28, %r13, %p7;"),
        ("cumulative_sum-0", "wrong shuffle lane", "shfl.sync.up.b32 %r33, %r32, 4, 0, -1;",
         "shfl.sync.up.b32 %r33, %r32, 2, 0, -1;"),
        ("cumulative_sum-0", "wrong kind of shuffle", "shfl.sync.up.b32 %r30, %r29, 2, 0, -1;",
         "shfl.sync.down.b32 %r30, %r29, 2, 31, -1;"),
        ("cumulative_sum-0", "wrong comparison", "setp.gt.u32 %p13, %r3, 15;", "setp.ge.u32 %p13, %r3, 15;"),
        ("cumulative_sum-0", "lost accumulator", "add.f32 %r92, %r92, %r91;", "mov.b32 %r92, %r91;"),
        ("histogram-0", "swapped operands", "selp.b32 %r94, %r93, %r16, %p2;", "selp.b32 %r94, %r16, %r93, %p2;"),
        ("histogram-0", "wrong rounding", "cvt.rzi.s32.f32 %r78, %r77;", "cvt.rni.s32.f32 %r78, %r77;"),
        ("histogram-0", "no atomic", "@%p10 atom.global.gpu.acq_rel.add.u32 %r61, [ %rd23 + 0 ], %r62;",
         "@%p10 st.global.u32 [ %rd23 + 0 ], %r62;"),
        ("histogram-0", "wrong offset in shared memory", "ld.shared.v2.b64 {%rd24, %rd28}, [%r7+512];",
         "ld.shared.v2.b64 {%rd24, %rd28}, [%r7+1024];"),
        ("embedding-1", "atomic of another operation",
         "@%p2 atom.global.gpu.acq_rel.add.f32 %r5, [ %rd13 + 0 ], %r6;",
         "@%p2 atom.global.gpu.acq_rel.exch.b32 %r5, [ %rd13 + 0 ], %r6;"),
        ("embedding-0", "wrong operand", "mul.lo.s64 %rd16, %rd1, %rd15;", "mul.lo.s64 %rd16, %rd15, %rd15;"),
        ("embedding-1", "wrong comparison", "setp.eq.b64 %p1, %rd5, %rd8;", "setp.ne.b64 %p1, %rd5, %rd8;"),
        ("swiglu-0", "swapped halves", "cvt.rn.f16x2.f32 %r10, %r68, %r67;", "cvt.rn.f16x2.f32 %r10, %r67, %r68;"),
        ("swiglu-0", "missing cvt", "cvt.f32.f16 %r53, %rs8;", "cvt.u32.u16 %r53, %rs8;"),
        ("swiglu-0", "swapped operands", "div.full.f32 %r45, %r44, %r42;", "div.full.f32 %r45, %r42, %r44;"),
        ("swiglu-1", "wrong operand", "mul.f32 %r70, %r61, %r66;", "mul.f32 %r70, %r62, %r66;"),
        ("causal_conv1d-0", "a loop's value taken too late", "mov.b32 %r87, %r19;", None),
        ("causal_conv1d-0", "wrong offset", "add.s64 %rd5, %rd6, 2;", "add.s64 %rd5, %rd6, 0;"),
        ("causal_conv1d-0", "wrong comparison", "setp.gt.s32 %p3, %r29, -1;", "setp.gt.s32 %p3, %r29, 0;",
         "equivalent: the block before the first has no row 0: its last row is -1, or 15 and more"),
        ("causal_conv1d-0", "signed for unsigned", "setp.lt.u64 %p19, %rd32, %rd3;", "setp.lt.s64 %p19, %rd32, %rd3;",
         "equivalent: both count rows, which are no negative numbers"),
        ("selective_scan-0", "swapped operands", "fma.rn.f32 %r138, %r133, %r136, %r134;",
         "fma.rn.f32 %r138, %r134, %r136, %r133;"),
        ("selective_scan-0", "wrong shuffle lane", "shfl.sync.up.b32 %r142, %r140, 16, 0, -1;",
         "shfl.sync.up.b32 %r142, %r140, 8, 0, -1;"),
        ("selective_scan-0", "removed barrier", "bar.sync 0;", None, LOCK_STEP, 1),
    ]
]  # fmt: skip
