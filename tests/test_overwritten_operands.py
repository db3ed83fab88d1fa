"""Where `overwritten_operands` puts a result's zero, and which kernels it concerns."""

import pytest

from crosswarp.compat.shims.overwritten_operands import may_overwrite, zero_behind

ZERO = "	mov.u32 %r5, 0x0;"
ADD = "	@%p2 atom.global.gpu.acq_rel.add.f32 %r5, [ %rd9 + 0 ], %r5;"
BEHIND = "	@!%p2 mov.u32 %r5, 0x0;"
LINE = "	.loc	1 7 13                          // kernel.py:7:13"
LOAD = "	@%p1 ld.global.v2.b64 { %rd13, %rd14 }, [ %rd13 + 0 ];"


@pytest.mark.parametrize(
    "ptx, expected",
    [
        ([ZERO, ADD], [ADD, BEHIND]),
        # As 3.9 marks each line of inline assembly, and where nothing is masked.
        ([ZERO, LINE, ADD.replace("@%p2 ", "")], [LINE, ADD.replace("@%p2 ", "")]),
        ([ZERO, ADD.replace("@", "@!")], [ADD.replace("@", "@!"), BEHIND.replace("!", "")]),
        # What is compared with, and what is brought instead.
        (
            [ZERO, "	@%p2 atom.global.acq_rel.gpu.cas.b32 %r5, [ %rd8 + 0 ], %r5, %r16;"],
            ["	@%p2 atom.global.acq_rel.gpu.cas.b32 %r5, [ %rd8 + 0 ], %r5, %r16;", BEHIND],
        ),
        (
            ["	mov.u64 %rd13, 0x0;", "	mov.u64 %rd14, 0x0;", LOAD],
            ["	mov.u64 %rd14, 0x0;", LOAD, "	@!%p1 mov.u64 %rd13, 0x0;"],
        ),
        # The second reads the result of the first, and no zero.
        ([ZERO, ADD, ADD.replace("%p2", "%p3")], [ADD, BEHIND, ADD.replace("%p2", "%p3")]),
        # One after the other, of which the second is right.
        (
            [ZERO, ADD, "	mov.u32 %r6, 0x0;", ADD.replace("%r5,", "%r6,")],
            [ADD, BEHIND, "	mov.u32 %r6, 0x0;", ADD.replace("%r5,", "%r6,")],
        ),
    ],
)
def test_the_zero_goes_behind(ptx, expected):
    assert zero_behind("\n".join(ptx)).split("\n") == expected


@pytest.mark.parametrize(
    "ptx",
    [
        [ZERO, ADD.replace("%r5,", "%r6,")],
        [ZERO, ADD.replace("%r5;", "%r51;")],
        [ADD],
        # LLVM's own, which is what was meant.
        [ZERO.replace("0x0", "0"), ADD],
        [ZERO, "	add.s32 %r7, %r7, 1;", ADD],
        [ZERO, "$L__BB0_2:", ADD],
        [ZERO, "	red.global.add.f32 [ %rd9 + 0 ], %r5;"],
        [ZERO, "	@%p2 st.global.b32 [ %rd9 + 0 ], { %r5 };"],
        [],
    ],
)
def test_all_else_is_left(ptx):
    assert zero_behind("\n".join(ptx)) is None


def test_kernels_with_such_an_operation():
    types = "(tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>"
    assert may_overwrite("%5 = tt.atomic_rmw fadd, acq_rel, gpu, %3, %4, %m : " + types)
    assert may_overwrite('%5 = "tt.atomic_cas"(%3, %4, %6) : ' + types)
    assert may_overwrite("%5 = tt.int_to_ptr %4 : tensor<16xi64> -> tensor<16x!tt.ptr<i64>>")
    assert not may_overwrite("%5 = tt.load %4 : tensor<16x!tt.ptr<f32>>")
