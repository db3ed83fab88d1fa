"""What `selected_operands` writes instead of a choice, as text: which choices, and that the others stay."""

import pytest

from crosswarp.compat.shims.selected_operands import rewritten

DOT = "tt.dot %1, %2, %cst, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x16xf16> -> tensor<64x16xf32>"
TRANS = "tt.trans %3 {order = array<i32: 1, 0>} : tensor<64x16xf32> -> tensor<16x64xf32>"
SECOND = "%9 = tt.dot %7, %8, %cst : tensor<16x64xf16> * tensor<64x16xf16> -> tensor<16x16xf32>"


def kernel(*lines):
    told = (f"    {line} loc(#loc1)" for line in lines)
    return "\n".join(["tt.func public @kernel() {", *told, "}"])


def choosing(select, mask="%4", source=TRANS):
    compare = f"%5 = arith.cmpf ogt, {mask}, %cst_0 : tensor<16x64xf32>"
    return kernel(f"%3 = {DOT}", f"%4 = {source}", compare, select, SECOND)


def test_bits_are_chosen_of_floats():
    ir = choosing("%6 = arith.select %5, %x, %y : tensor<16x64xi1>, tensor<16x64xbf16>")
    lines = [line.strip() for line in rewritten(ir).splitlines()]
    name = "%selected_operands_0"
    assert lines[4:-2] == [
        f"{name}_flag = arith.uitofp %5 : tensor<16x64xi1> to tensor<16x64xf32>",
        f"{name}_one = arith.fptosi {name}_flag : tensor<16x64xf32> to tensor<16x64xi16>",
        f"{name}_zero = arith.constant dense<0> : tensor<16x64xi16>",
        f"{name}_mask = arith.subi {name}_zero, {name}_one : tensor<16x64xi16>",
        f"{name}_yes = tt.bitcast %x : tensor<16x64xbf16> -> tensor<16x64xi16>",
        f"{name}_no = tt.bitcast %y : tensor<16x64xbf16> -> tensor<16x64xi16>",
        f"{name}_both = arith.xori {name}_yes, {name}_no : tensor<16x64xi16>",
        f"{name}_part = arith.andi {name}_both, {name}_mask : tensor<16x64xi16>",
        f"{name}_bits = arith.xori {name}_part, {name}_no : tensor<16x64xi16>",
        f"%6 = tt.bitcast {name}_bits : tensor<16x64xi16> -> tensor<16x64xbf16>",
    ]
    # nothing else is touched
    rest = [line.strip() for line in ir.splitlines()]
    assert lines[:4] == rest[:4] and lines[-2:] == rest[-2:]


def test_whole_numbers_are_their_own_bits():
    ir = choosing("%6 = arith.select %5, %x, %y : tensor<16x64xi1>, tensor<16x64xi32>")
    text = rewritten(ir)
    assert "bitcast" not in text
    assert "%6 = arith.xori %selected_operands_0_part, %y : tensor<16x64xi32>" in text


SELECT = "%6 = arith.select %5, %x, %y : tensor<16x64xi1>, tensor<16x64xf32>"


@pytest.mark.parametrize(
    "ir",
    [
        # by another value than the transposed one, by what is not transposed, of what is no product's
        choosing(SELECT, mask="%x"),
        choosing(SELECT, source="arith.negf %3 : tensor<16x64xf32>"),
        choosing(SELECT).replace(DOT, "tt.load %1 : tensor<64x16x!tt.ptr<f32>>"),
        # in a kernel with one product alone
        choosing(SELECT).replace(SECOND, "tt.return"),
        # of one element, and of conditions
        choosing("%6 = arith.select %5, %x, %y : f32"),
        choosing("%6 = arith.select %5, %x, %y : tensor<16x64xi1>, tensor<16x64xi1>"),
        kernel("tt.return"),
        "",
    ],
)
def test_all_else_is_left(ir):
    assert rewritten(ir) is None


def test_what_is_computed_of_the_transposed_product_chooses_too():
    steps = (
        "%10 = math.exp %4 : tensor<16x64xf32>",
        "%5 = arith.cmpf ogt, %10, %cst : tensor<16x64xf32>",
    )
    assert rewritten(kernel(f"%3 = {DOT}", f"%4 = {TRANS}", *steps, SELECT, SECOND)) is not None
