"""`chosen_pointers` on a kernel's IR: the choices of a pointer that it finds, by release, and what it removes."""

import pytest

from crosswarp.compat.shims.chosen_pointers import chooses, without_range

SMALL = "%x: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32} loc(#loc1)"
LARGE = "%z: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(#loc2)"
BY_TILE = "%5 = arith.select %4, %3, %2 : tensor<64xi1>, tensor<64x!tt.ptr<f32>> loc(#loc3)"
BY_SCALAR = "%5 = arith.select %4, %x, %z : !tt.ptr<f32> loc(#loc3)"
RETURNED = "^bb5(%3: tensor<64xf32> loc(unknown), %4: !tt.ptr<f32> loc(unknown)):  // 2 preds"
BRANCHED = "%1 = scf.if %0 -> (!tt.ptr<f32>) {"
LOOPED = "%1:2 = scf.for %i = %a to %b step %c iter_args(%p = %x, %q = %z) -> (!tt.ptr<f32>, !tt.ptr<f32>) {"


def kernel(*lines, first=SMALL, second=SMALL):
    return "\n".join(
        [f"tt.func public @k({first}, {second}) attributes {{noinline = false}} {{", *lines, "}"]
    )


@pytest.mark.parametrize(
    "line, releases",
    [
        (BY_TILE, ("3.6.0", "3.7.1")),
        (RETURNED, ("3.6.0", "3.7.1")),
        (BRANCHED, ("3.6.0",)),
        (BY_SCALAR, ()),
        (LOOPED, ()),
        ("%5 = arith.select %4, %3, %2 : tensor<64xi1>, tensor<64xf32>", ()),
        ("^bb5(%3: tensor<64xf32> loc(unknown)):", ()),
    ],
)
def test_small_tensors_alone(line, releases):
    found = tuple(one for one in ("3.6.0", "3.7.1", "3.8.0", "3.9.0") if chooses(kernel(line), one))
    assert found == releases


@pytest.mark.parametrize(
    "line, releases",
    [
        (BY_TILE, ("3.6.0", "3.7.1", "3.8.0")),
        (BY_SCALAR, ("3.6.0", "3.7.1", "3.8.0")),
        (BRANCHED, ("3.6.0", "3.7.1", "3.8.0", "3.9.0")),
        (LOOPED, ("3.6.0", "3.7.1", "3.8.0", "3.9.0")),
        ("%5 = tt.load %4 : tensor<64x!tt.ptr<f32>>", ()),
    ],
)
def test_a_small_tensor_beside_a_large_one(line, releases):
    ir = kernel(line, second=LARGE)
    assert (
        tuple(one for one in ("3.6.0", "3.7.1", "3.8.0", "3.9.0") if chooses(ir, one)) == releases
    )


def test_a_pointer_that_was_loaded_is_of_no_small_tensor():
    loaded = "%9 = tt.int_to_ptr %8 : i64 -> !tt.ptr<f32>"
    assert chooses(kernel(loaded, BRANCHED), "3.9.0")
    assert not chooses(kernel(BRANCHED), "3.9.0")


@pytest.mark.parametrize(
    "hints, left",
    [
        (
            "{tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}",
            "{tt.divisibility = 16 : i32}",
        ),
        ("{tt.pointer_range = 32 : i32}", "{}"),
        ("{tt.pointer_range = 32 : i32, tt.x = 1 : i32}", "{tt.x = 1 : i32}"),
        ("{tt.divisibility = 16 : i32}", "{tt.divisibility = 16 : i32}"),
    ],
)
def test_nothing_but_the_hint_goes(hints, left):
    ir = kernel(BY_TILE, first=f"%x: !tt.ptr<f32> {hints}", second=LARGE)
    assert without_range(ir) == ir.replace(hints, left, 1)
