"""What a value of the IR comes of, read from its text: through single operations, loops, branches and functions."""

import pytest

from crosswarp.compat.origins import UNKNOWN, Origins, functions

TILE = "tensor<16x16xf32>"


def of(name, *lines, at=None):
    """Of what has this name in line `at`, else behind the last."""
    lines = [*(f"    {line} loc(#loc1)" for line in lines), "    tt.return loc(#loc1)"]
    return Origins(lines).of(len(lines) - 1 if at is None else at, name)


LOAD = "%0 = tt.load %p : tensor<16x16x!tt.ptr<f32>>"
DOT = f"%1 = tt.dot %a, %b, %cst, inputPrecision = tf32 : {TILE} * {TILE} -> {TILE}"


def test_operations_on_single_elements_hand_on_what_they_get():
    narrowed = "%2 = arith.truncf %1 : tensor<16x16xf32> to tensor<16x16xf16>"
    widened = "%3 = arith.extf %2 : tensor<16x16xf16> to tensor<16x16xf32>"
    found = of("%3", DOT, narrowed, widened)
    assert found == (16, False, True)
    assert of("%4", DOT, "%4 = tt.trans %1 {order = array<i32: 1, 0>} : ") == (64, True, True)
    assert of("%9", DOT) == UNKNOWN


def test_a_loop_hands_on_to_its_next_turn_and_to_what_is_behind_it():
    loop = (
        LOAD,
        "%7:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0, %t = %c0) -> (tensor<16x16xf32>, i32)  : i32 {",
        f"  %2 = arith.addf %s, %0 : {TILE}",
        f"  {DOT}",
        f"  %3 = arith.addf %s, %1 : {TILE}",
        f"  scf.yield %3, %t : {TILE}, i32",
        "}",
        f"%8 = arith.addf %7#0, %0 : {TILE}",
    )
    # ahead of the product, and behind the loop
    assert of("%2", *loop, at=3).product and of("%8", *loop).product
    assert not of("%7#1", *loop).product and not of("%0", *loop).product


def test_what_a_variable_takes_over_from_another_is_found_turn_by_turn():
    loop = (
        LOAD,
        f"%7:3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0, %t = %0, %u = %0) -> ({TILE}, {TILE}, {TILE}) {{",
        f"  {DOT}",
        f"  scf.yield %t, %u, %1 : {TILE}, {TILE}, {TILE}",
        "}",
    )
    assert all(of(f"%7#{number}", *loop).product for number in range(3))


def test_a_loop_of_one_result_and_what_it_began_with():
    loop = (
        LOAD,
        "%h = arith.truncf %0 : tensor<16x16xf32> to tensor<16x16xf16>",
        "%w = arith.extf %h : tensor<16x16xf16> to tensor<16x16xf32>",
        f"%7 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %w) -> ({TILE}) {{",
        f"  scf.yield %0 : {TILE}",
        "}",
    )
    assert of("%7", *loop).bits == 16


@pytest.mark.parametrize("side", ("yes", "no"))
def test_a_branch_hands_on_what_either_side_makes(side):
    made = {"yes": "%0", "no": "%0", side: "%1"}
    branch = (
        LOAD, DOT, f"%7 = scf.if %c -> ({TILE}) {{", f"  scf.yield {made['yes']} : {TILE}", "} else {",
        f"  scf.yield {made['no']} : {TILE}", "}",
    )  # fmt: skip
    assert of("%7", *branch).product
    assert not of("%7", *(line.replace("%1 :", "%0 :") for line in branch)).product


def test_a_while_loop():
    loop = (
        LOAD,
        f"%7:2 = scf.while (%s = %0, %k = %c0) : ({TILE}, i32) -> ({TILE}, i32) {{",
        "  %8 = arith.cmpi slt, %k, %n : i32",
        f"  scf.condition(%8) %s, %k : {TILE}, i32",
        "} do {",
        "^bb0(%t: tensor<16x16xf32> loc(#loc4), %l: i32 loc(#loc5)):",
        f"  %9 = arith.addf %t, %0 : {TILE}",
        f"  {DOT}",
        f"  scf.yield %1, %l : {TILE}, i32",
        "}",
    )
    assert of("%9", *loop, at=7).product and of("%7#0", *loop).product
    assert not of("%7#1", *loop).product


def test_a_reduction_inside_ends_no_loop():
    loop = (
        LOAD,
        f"%7 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0) -> ({TILE}) {{",
        '  %4 = "tt.reduce"(%s) <{axis = 1 : i32}> ({',
        "  ^bb0(%x: f32 loc(#loc1), %y: f32 loc(#loc1)):",
        "    %5 = arith.addf %x, %y : f32",
        "    tt.reduce.return %5 : f32",
        f"  }}) : ({TILE}) -> tensor<16xf32>",
        f"  {DOT}",
        f"  scf.yield %1 : {TILE}",
        "}",
    )
    assert of("%7", *loop).product


def test_each_function_has_values_of_its_own():
    one = "  tt.func private @one() {\n    %1 = tt.dot %a, %b, %c : tensor<1xf32>\n  }"
    other = "  tt.func public @other() {\n    %1 = tt.load %p : tensor<16x!tt.ptr<f32>>\n  }"
    ir = f"module {{\n{one}\n{other}\n}}"
    parts = list(functions(ir))
    assert "\n".join(line for part in parts for line in part) == ir
    assert [Origins(part).of(len(part) - 1, "%1").product for part in parts] == [False, True, False]


def test_regions_side_by_side_may_use_one_name():
    branch = (
        LOAD, DOT, f"%7 = scf.if %c -> ({TILE}) {{", f"  %8 = arith.addf %1, %0 : {TILE}", f"  scf.yield %8 : {TILE}",
        "} else {", f"  %8 = arith.addf %0, %0 : {TILE}", f"  scf.yield %8 : {TILE}", "}",
        f"%8 = arith.addf %0, %0 : {TILE}",
    )  # fmt: skip
    assert of("%8", *branch, at=4).product and of("%7", *branch).product
    assert not of("%8", *branch, at=7).product and not of("%8", *branch).product


def test_it_ends_whatever_it_is_given():
    # not as MLIR writes it: a name twice in one region, brackets that nobody opened
    twice = (LOAD, DOT, f"%2 = arith.addf %1, %0 : {TILE}", f"%2 = arith.addf %0, %0 : {TILE}")
    assert not of("%2", *twice).product
    assert of("%1", "}", "})", DOT, "scf.yield %1 : i32", "} else {", "^bb0(%x: f32):").product


def test_behind_a_branch_the_variables_of_the_loop_around_it_are_known():
    loop = (
        LOAD, DOT, f"%7 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %1) -> ({TILE}) {{",
        f"  %8 = scf.if %c -> ({TILE}) {{", f"    scf.yield %0 : {TILE}", "  } else {",
        f"    scf.yield %0 : {TILE}", "  }", f"  %9 = arith.addf %s, %8 : {TILE}",
        f"  scf.yield %0 : {TILE}", "}",
    )  # fmt: skip
    assert of("%9", *loop, at=9).product
