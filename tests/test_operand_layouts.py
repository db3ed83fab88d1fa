"""What `operand_layouts` writes instead of a product, as text: which products, and that the others stay."""

import pytest

from crosswarp.compat.seams import ir as seam
from crosswarp.compat.shims.operand_layouts import rewritten

HALVES = "tensor<64x32xf16> * tensor<32x16xf16> -> tensor<64x16xf32>"
BYTES = "tensor<16x32xi8> * tensor<32x16xi8> -> tensor<16x16xi32>"


def kernel(*lines):
    return "\n".join(
        ["tt.func public @kernel() {", *(f"    {line} loc(#loc1)" for line in lines), "}"]
    )


def converted(source="i8"):
    return (
        "%1 = tt.load %9 : tensor<32x64x!tt.ptr<f16>>",
        "%2 = tt.trans %1 {order = array<i32: 1, 0>} : tensor<32x64xf16> -> tensor<64x32xf16>",
        f"%3 = tt.load %8 : tensor<32x16x!tt.ptr<{source}>>",
        f"%4 = arith.sitofp %3 : tensor<32x16x{source}> to tensor<32x16xf16>",
    )


def test_the_converted_operand_of_a_transposed_one_is_hidden():
    ir = kernel(*converted(), f"%5 = tt.dot %2, %4, %cst, inputPrecision = tf32 : {HALVES}")
    lines = [line.strip() for line in rewritten(ir).splitlines()]
    assert lines[-2] == (
        "%5 = tt.dot %2, %operand_layouts_0_b, %cst, inputPrecision = tf32 : " + HALVES
    )
    assert (
        "%operand_layouts_0_b_sum = arith.addf %operand_layouts_0_b_wide, %operand_layouts_0_b_zero"
        " : tensor<32x16xf32>"
    ) in lines
    # nothing else is touched
    assert lines[1:5] == [line.strip() for line in ir.splitlines()[1:5]]


def test_attributes_of_older_releases_stay_whole():
    options = "{allowTF32 = true, maxNumImpreciseAcc = 0 : i32}"
    ir = kernel(*converted(), f"%5 = tt.dot %2, %4, %cst {options} : {HALVES}")
    assert f"%5 = tt.dot %2, %operand_layouts_0_b, %cst {options} : {HALVES}" in rewritten(ir)


def test_as_the_first_operand():
    ir = kernel(
        "%1 = tt.load %9 : tensor<16x32x!tt.ptr<f32>>",
        "%2 = tt.trans %1 {order = array<i32: 1, 0>} : tensor<16x32xf32> -> tensor<32x16xf32>",
        "%3 = tt.load %8 : tensor<64x32x!tt.ptr<f16>>",
        "%4 = arith.extf %3 : tensor<64x32xf16> to tensor<64x32xf32>",
        "%5 = tt.dot %4, %2, %cst : tensor<64x32xf32> * tensor<32x16xf32> -> tensor<64x16xf32>",
    )
    text = rewritten(ir)
    # float32 needs no widening
    assert (
        "%operand_layouts_0_a = arith.addf %4, %operand_layouts_0_a_zero : tensor<64x32xf32>"
        in text
    )
    assert "%5 = tt.dot %operand_layouts_0_a, %2, %cst : tensor<64x32xf32>" in text


SINGLES = "tensor<64x32xf32> * tensor<32x16xf32> -> tensor<64x16xf32>"


def bytes_as_float32(options, first="%2", second="%9"):
    return kernel(
        "%1 = tt.load %7 : tensor<64x32x!tt.ptr<i8>>",
        "%2 = arith.sitofp %1 : tensor<64x32xi8> to tensor<64x32xf32>",
        "%3 = tt.load %8 : tensor<32x16x!tt.ptr<f8E5M2>>",
        "%4 = tt.fp_to_fp %3 : tensor<32x16xf8E5M2> -> tensor<32x16xf32>",
        f"%5 = tt.dot {first}, {second}, %cst{options} : {SINGLES}",
    )


@pytest.mark.parametrize("options", (", inputPrecision = tf32", " {allowTF32 = true}"))
def test_bytes_in_a_product_of_float32_are_hidden(options):
    text = rewritten(bytes_as_float32(options))
    assert f"%5 = tt.dot %operand_layouts_0_a, %9, %cst{options} : {SINGLES}" in text
    both = rewritten(bytes_as_float32(options, second="%4"))
    assert "tt.dot %operand_layouts_0_a, %operand_layouts_0_b, %cst" in both
    # without tensor cores it is right
    assert rewritten(bytes_as_float32("")) is None
    assert rewritten(bytes_as_float32(" {allowTF32 = false}")) is None


def test_a_product_of_bytes_that_another_made_is_computed_in_halves():
    ir = kernel(
        "%1 = tt.load %9 : tensor<32x16x!tt.ptr<i8>>",
        "%2 = tt.dot %7, %8, %cst : tensor<16x32xf16> * tensor<32x32xf16> -> tensor<16x32xf32>",
        "%3 = arith.fptosi %2 : tensor<16x32xf32> to tensor<16x32xi8>",
        f"%4 = tt.dot %3, %1, %sums : {BYTES}",
    )
    lines = [line.strip() for line in rewritten(ir).splitlines()]
    assert lines[-2] == "%4 = arith.addi %operand_layouts_0_i, %sums : tensor<16x16xi32>"
    assert "%operand_layouts_0_a = arith.sitofp %3 : tensor<16x32xi8> to tensor<16x32xf16>" in lines


def made_and_converted(source="i8", kind="f16"):
    made = f"tensor<64x32x{kind}> * tensor<32x16x{kind}> -> tensor<64x16xf32>"
    return kernel(
        "%1 = tt.dot %7, %8, %cst : tensor<64x32xf16> * tensor<32x32xf16> -> tensor<64x32xf32>",
        f"%2 = arith.truncf %1 : tensor<64x32xf32> to tensor<64x32x{kind}>",
        f"%3 = tt.load %9 : tensor<32x16x!tt.ptr<{source}>>",
        f"%4 = arith.sitofp %3 : tensor<32x16x{source}> to tensor<32x16x{kind}>",
        f"%5 = tt.dot %2, %4, %cst : {made}",
    )


@pytest.mark.parametrize("kind", ("f16", "bf16"))
def test_the_converted_operand_beside_a_made_one_is_hidden(kind):
    text = rewritten(made_and_converted(kind=kind))
    assert f"%5 = tt.dot %2, %operand_layouts_0_b, %cst : tensor<64x32x{kind}>" in text
    assert "%operand_layouts_0_a" not in text
    # from 16 bits to 16 bits
    assert rewritten(made_and_converted("i16", kind)) is None


def eighths(rows=64, made="%2", second="%4"):
    """A product of float8, of what a product made and what was loaded."""
    return kernel(
        f"%1 = tt.dot %7, %8, %cst : tensor<{rows}x32xf16> * tensor<32x32xf16> -> tensor<{rows}x32xf32>",
        f"%2 = tt.fp_to_fp %1, rounding = rtne : tensor<{rows}x32xf32> -> tensor<{rows}x32xf8E5M2>",
        "%3 = tt.load %9 : tensor<32x16x!tt.ptr<f16>>",
        "%4 = tt.fp_to_fp %3, rounding = rtne : tensor<32x16xf16> -> tensor<32x16xf8E5M2>",
        f"%5 = tt.dot {made}, {second}, %cst, inputPrecision = tf32 : tensor<{rows}x32xf8E5M2> * "
        f"tensor<32x16xf8E5M2> -> tensor<{rows}x16xf32>",
    )


def compiled_for(monkeypatch, capability, num_warps):
    meant = seam.Meant(capability, num_warps)
    monkeypatch.setattr(seam._state, "meant", meant)


def test_so_is_float8e4nv():
    text = rewritten(eighths(rows=32).replace("f8E5M2", "f8E4M3FNUZ"))
    assert (
        "%operand_layouts_0_bh = tt.fp_to_fp %4 : tensor<32x16xf8E4M3FNUZ> -> tensor<32x16xf16>"
        in text
    )


def test_a_product_of_float8_that_another_made_is_computed_in_halves():
    lines = [line.strip() for line in rewritten(eighths()).splitlines()]
    assert (
        "%operand_layouts_0_ah = tt.fp_to_fp %2 : tensor<64x32xf8E5M2> -> tensor<64x32xf16>"
        in lines
    )
    assert lines[-2] == (
        "%5 = tt.dot %operand_layouts_0_a, %operand_layouts_0_b, %cst, inputPrecision = tf32 : "
        "tensor<64x32xf16> * tensor<32x16xf16> -> tensor<64x16xf32>"
    )
    # what nothing made but a load is right
    assert rewritten(eighths(made="%x")) is None


@pytest.mark.parametrize(
    "capability, num_warps, rows, right",
    [
        (90, 4, 64, True),
        (90, 4, 32, False),
        (90, 2, 64, False),
        (80, 4, 64, False),
        (0, 0, 64, False),
    ],
)
def test_by_warp_groups_it_is_right(monkeypatch, capability, num_warps, rows, right):
    compiled_for(monkeypatch, capability, num_warps)
    assert (rewritten(eighths(rows)) is None) is right


def test_a_made_operand_is_read_right_where_it_is_of_32_bits_or_the_second():
    assert rewritten(made_and_converted("f16", "f32")) is None
    ir = kernel(
        "%1 = tt.dot %7, %8, %cst : tensor<32x32xf16> * tensor<32x16xf16> -> tensor<32x16xf32>",
        "%2 = arith.truncf %1 : tensor<32x16xf32> to tensor<32x16xf16>",
        "%3 = tt.load %9 : tensor<64x32x!tt.ptr<i8>>",
        "%4 = arith.sitofp %3 : tensor<64x32xi8> to tensor<64x32xf16>",
        f"%5 = tt.dot %4, %2, %cst : {HALVES}",
    )
    assert rewritten(ir) is None


def test_what_is_right_is_left():
    plain = "%5 = tt.dot %2, %1, %cst : " + HALVES
    loaded = "%1 = tt.load %9 : tensor<32x16x!tt.ptr<i8>>"
    first = "%3 = tt.load %8 : tensor<16x32x!tt.ptr<i8>>"
    for ir in (
        kernel(plain),
        # transposed, and nothing is converted
        kernel(*converted()[:2], plain),
        # converted, and nothing is transposed
        kernel(*converted()[2:], "%5 = tt.dot %7, %4, %cst : " + HALVES),
        # from 16 bits to 16 bits
        kernel(*converted("i16"), "%5 = tt.dot %2, %4, %cst : " + HALVES),
        # bytes that were loaded
        kernel(loaded, first, "%4 = tt.dot %3, %1, %sums : " + BYTES),
        # more than float32 adds up exactly
        kernel(
            "%2 = tt.dot %7, %8, %cst : tensor<16x32xf16> * tensor<32x2048xf16> -> tensor<16x2048xf32>",
            "%3 = arith.fptosi %2 : tensor<16x2048xf32> to tensor<16x2048xi8>",
            "%4 = tt.dot %3, %1, %s : tensor<16x2048xi8> * tensor<2048x16xi8> -> tensor<16x16xi32>",
        ),
    ):
        assert rewritten(ir) is None, ir


def test_two_products_have_names_of_their_own():
    ir = kernel(
        *converted(), f"%5 = tt.dot %2, %4, %cst : {HALVES}", f"%6 = tt.dot %2, %4, %5 : {HALVES}"
    )
    text = rewritten(ir)
    assert "%operand_layouts_0_b," in text and "%operand_layouts_1_b," in text
