"""What `packed_fp8` writes instead of a packed pair, and which kernels it concerns, as text."""

from crosswarp.compat.shims.atomic_results import has_small_atomic
from crosswarp.compat.shims.packed_fp8 import makes_fp8, packed_otherwise

PAIRS = """
	cvt.rn.satfinite.e4m3x2.f32  %rs1, %r10, %r9;
	shr.u16 	%rs5, %rs1, 8;
	cvt.rn.satfinite.e5m2x2.f32  %rs2, %r12, %r11;
	mov.b32 	%r17, {%rs1, %rs2};
"""  # fmt: skip


def test_pairs_of_fp8_are_put_together_by_a_shift():
    text = packed_otherwise(PAIRS)
    assert "mov.b32" not in text
    assert "cvt.u32.u16 %r17, %rs1;" in text and "cvt.u32.u16 %crosswarp_upper, %rs2;" in text
    assert "or.b32 %r17, %r17, %crosswarp_upper;" in text
    assert text.count("{") == text.count("}") == 1
    # the conversions are as they were
    assert text.splitlines()[:4] == PAIRS.splitlines()[:4]


def test_one_half_is_enough():
    assert packed_otherwise(PAIRS.replace("{%rs1, %rs2}", "{%rs1, %rs9}")) is not None
    assert packed_otherwise(PAIRS.replace("{%rs1, %rs2}", "{%rs9, %rs2}")) is not None


def test_other_pairs_are_left():
    assert packed_otherwise(PAIRS.replace("{%rs1, %rs2}", "{%rs8, %rs9}")) is None
    assert packed_otherwise("mov.b32 	%r17, {%rs1, %rs2};") is None
    # four bytes, taken apart
    assert packed_otherwise(PAIRS.replace("%r17, {%rs1, %rs2}", "{%rs1, %rs2}, %r17")) is None


def test_kernels_that_make_fp8():
    made = "%9 = tt.fp_to_fp %8, rounding = rtne : tensor<32x32xf32{}> -> tensor<32x32xf8E4M3FN{}>"
    assert makes_fp8(made.format("", ""))
    assert makes_fp8(made.format(", #blocked", ", #blocked").replace("f8E4M3FN", "f8E5M2"))
    read = "%9 = tt.fp_to_fp %8 : tensor<32x32xf8E4M3FN> -> tensor<32x32xf32>"
    assert not makes_fp8(read)


def test_kernels_with_an_atomic_operation_of_few_elements():
    types = "(tensor<{0}x!tt.ptr<f32>>, tensor<{0}xf32>, tensor<{0}xi1>) -> tensor<{0}xf32>"
    line = "%5 = tt.atomic_rmw fadd, acq_rel, gpu, %3, %4, %m : " + types
    assert has_small_atomic(line.format("16"))
    assert has_small_atomic(line.format("16x32"))
    assert not has_small_atomic(line.format("32x32"))
    assert not has_small_atomic(
        "%5 = tt.atomic_rmw fadd, acq_rel, gpu, %3, %4 : (!tt.ptr<f32>, f32) -> f32"
    )
    generic = (
        '%5 = "tt.atomic_rmw"(%3) <{atomic_rmw_op = 5 : i32}> : (tensor<1xf32>) -> tensor<1xf32>'
    )
    assert has_small_atomic(generic)
