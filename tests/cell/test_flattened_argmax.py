"""Reshapes whose result is reduced beside something else keep their order; all others stay as Triton made them."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.shims import flattened_argmax as shim
from crosswarp.matrix.cell.standins import virtual_gpu

LOOSE = "    %f = tt.reshape %a_8 allow_reorder : tensor<16x16xf32> -> tensor<256xf32> loc(#loc5)"
KEPT = "    %f = tt.reshape %a_8 : tensor<16x16xf32> -> tensor<256xf32> loc(#loc5)"
RANGE = "    %0 = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32> loc(#loc8)"
PLACES = '    %1:2 = "tt.reduce"(%f, %0) <{axis = 0 : i32}> ({'
SUM = '    %2 = "tt.reduce"(%f) <{axis = 0 : i32}> ({'
MASKED = "    %h = tt.histogram %f, %m : tensor<256xi32> -> tensor<16xi32> loc(#loc9)"
COUNTED = "    %h = tt.histogram %f : tensor<256xi32> -> tensor<16xi32> loc(#loc9)"
SUM_OF_ANOTHER = '    %2 = "tt.reduce"(%g) <{axis = 0 : i32}> ({'
OF_ANOTHER = LOOSE.replace("%f", "%g")


@pytest.mark.parametrize(
    "ir, expected",
    [
        ([LOOSE, RANGE, PLACES], [KEPT, RANGE, PLACES]),
        # As Triton 3.3 names values.
        (
            [LOOSE.replace("%f", "%10"), PLACES.replace("%f", "%10")],
            [KEPT.replace("%f", "%10"), PLACES.replace("%f", "%10")],
        ),
        ([LOOSE, PLACES, OF_ANOTHER, SUM_OF_ANOTHER], [KEPT, PLACES, OF_ANOTHER, SUM_OF_ANOTHER]),
        ([LOOSE.replace("allow_reorder", "allow_reorder efficient_layout"), PLACES],
         [KEPT.replace("%a_8", "%a_8 efficient_layout"), PLACES]),
        ([LOOSE, MASKED], [KEPT, MASKED]),
        ([LOOSE, COUNTED], None),
        ([LOOSE, SUM], None),
        ([KEPT, RANGE, PLACES], None),
        # Another value whose name begins alike.
        ([LOOSE.replace("%f", "%f_1"), PLACES], None),
        ([], None),
    ],
)  # fmt: skip
def test_only_what_is_reduced_beside_another_is_put_in_order(ir, expected):
    found = shim.in_order("\n".join(ir))
    assert found == (None if expected is None else "\n".join(expected))


@triton.jit
def _places(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tile = at[:, None] * SIZE + at[None, :]
    flat = tl.reshape(tl.load(x_ptr + tile), [SIZE * SIZE])
    tl.store(y_ptr, tl.argmax(flat, 0))
    other = tl.reshape(tl.load(x_ptr + SIZE * SIZE + tile), [SIZE * SIZE])
    tl.store(y_ptr + 1, tl.sum(other, 0).to(tl.int32))


@pytest.mark.triton(">=3.3")
@pytest.mark.parametrize("target", ["SM_80", "GFX942"])
def test_a_kernel_keeps_the_order_that_its_places_are_counted_in(in_fork, target):
    def run():
        x, y = torch.zeros(512), torch.zeros(2, dtype=torch.int32)
        virtual_gpu.activate(getattr(targets, target))
        loose = []
        for _ in range(2):
            compiled = _places[(1,)](x, y, SIZE=16)
            loose.append(compiled.asm["ttgir"].count("allow_reorder"))
            compat.install()
            _places.device_caches.clear()
        return loose

    assert in_fork(run) == [2, 1]
