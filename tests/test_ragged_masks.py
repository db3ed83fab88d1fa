"""What `ragged_masks` writes ahead of a copy, as text: which copies, in old and new spelling, and that others stay."""

import pytest

from crosswarp.compat.shims.ragged_masks import rewritten

LAYOUT = (
    "#blocked = #triton_gpu.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [1, 1], "
    "order = [1, 0]}>\n"
)
COPY = (
    "%26 = triton_gpu.async_copy_global_to_local %22, %23 mask %25 other %cst : "
    "tensor<16x64x!tt.ptr<f32>, #blocked> -> <16x64xf32, #shared, mutable>"
)
OLD_COPY = (
    "%26 = triton_gpu.insert_slice_async %22, %17, %c0_i32, %25, %cst {axis = 0 : i32, cache = 1 : i32} : "
    "tensor<16x64x!tt.ptr<f32, 1>, #blocked> -> tensor<1x16x64xf32, #shared>"
)
UNMASKED = (
    "%26 = triton_gpu.async_copy_global_to_local %22, %23 : tensor<16x64x!tt.ptr<f32>, #blocked> -> <16x64xf32>",
    "%26 = triton_gpu.insert_slice_async %22, %17, %c0_i32 {axis = 0 : i32} : "
    "tensor<16x64x!tt.ptr<f32, 1>, #blocked> -> tensor<1x16x64xf32, #shared>",
)


def masked(copy, bound=61, axis=0):
    shape = ("1x64", "64x1")[axis]
    lines = (
        "%1 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>",
        f"%2 = tt.expand_dims %1 {{axis = {axis} : i32}} : tensor<64xi32> -> tensor<{shape}xi32, #blocked>",
        f"%3 = arith.constant dense<{bound}> : tensor<{shape}xi32, #blocked>",
        f"%4 = arith.cmpi slt, %2, %3 : tensor<{shape}xi32, #blocked>",
        f"%25 = tt.broadcast %4 : tensor<{shape}xi1, #blocked> -> tensor<16x64xi1, #blocked>",
        copy,
    )
    told = (f"    {line} loc(#loc1)" for line in lines)
    return LAYOUT + "\n".join(["tt.func public @kernel() {", *told, "}"]) + "\n"


@pytest.mark.parametrize("copy", [COPY, OLD_COPY])
def test_a_copy_whose_mask_ends_within_it_takes_four_bytes_at_a_time(copy):
    ir = masked(copy)
    lines = rewritten(ir).splitlines()
    pointers = copy.split(" : ")[-1].split(" -> ")[0]
    offsets = "tensor<16x64xi32, #blocked>"
    assert lines[-4:-1] == [
        f"    %ragged_masks_0_0 = arith.constant dense<0> : {offsets}",
        "    %ragged_masks_0 = tt.addptr %22, %ragged_masks_0_0 "
        f"{{tt.contiguity = dense<1> : tensor<2xi32>}} : {pointers}, {offsets}",
        f"    {copy.replace('%22', '%ragged_masks_0')} loc(#loc1)",
    ]
    assert lines[:-4] == ir.splitlines()[:-2]


@pytest.mark.parametrize("kind, beside", [("f16", 2), ("i8", 4), ("f8E5M2", 4), ("f64", 1)])
def test_four_bytes_of_any_type(kind, beside):
    # of 16 bits it takes an even number, of eight one by four, or nothing is pipelined
    bound = 61 if kind == "f64" else 60 if beside == 4 else 62
    found = rewritten(masked(COPY.replace("ptr<f32>", f"ptr<{kind}>"), bound=bound))
    assert f"{{tt.contiguity = dense<{beside}> : tensor<2xi32>}}" in found


@pytest.mark.parametrize(
    "ir",
    [
        masked(COPY, bound=60),
        masked(COPY, bound=48),
        masked(COPY.replace("ptr<f32>", "ptr<f64>"), bound=62),
        masked(COPY.replace("ptr<f32>", "ptr<f16>"), bound=56),
        # each row is copied or is not
        masked(COPY, axis=1),
        *(masked(copy) for copy in UNMASKED),
        masked("tt.store %22, %23, %25 : tensor<16x64x!tt.ptr<f32>, #blocked>"),
    ],
)
def test_others_stay(ir):
    assert rewritten(ir) is None


def test_without_an_order_of_its_own_the_worst_axis_counts():
    slices = COPY.replace("#blocked", "#triton_gpu.slice<{dim = 0, parent = #blocked}>")
    assert "%ragged_masks_0 = tt.addptr" in rewritten(masked(slices))
    assert "%ragged_masks_0 = tt.addptr" in rewritten(masked(slices, axis=1))
    assert rewritten(masked(slices, bound=60)) is None
