"""What the shims of Triton 2.3 that write IR otherwise make of it, as text; that it is right then, real columns say."""

from types import SimpleNamespace

import pytest

from crosswarp.compat.record import Concerned, Patches, Rewrite, Shim
from crosswarp.compat.seams import compilation, ir
from crosswarp.compat.shims import byte_comparisons, range_equality, wide_scans

RANGE = "    %0 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc2)"
NUMBER = "    %c = arith.constant dense<16> : tensor<64xi32> loc(#loc2)"
LOADED = "    %5 = tt.load %4 {cache = 1 : i32} : tensor<64xi32> loc(#loc2)"


def compared(how, one, other):
    return f"    %9 = arith.cmpi {how}, {one}, {other} : tensor<64xi32> loc(#loc3)"


@pytest.mark.parametrize("how", ["eq", "ne"])
def test_a_range_is_compared_by_its_multiples(how):
    found = range_equality.rewritten("\n".join([RANGE, NUMBER, compared(how, "%0", "%c")]))
    assert found.splitlines()[2:] == [
        "    %range_equality_0 = arith.constant dense<3> : tensor<64xi32>",
        "    %range_equality_0_a = arith.muli %0, %range_equality_0 : tensor<64xi32> loc(#loc3)",
        "    %range_equality_0_b = arith.muli %c, %range_equality_0 : tensor<64xi32> loc(#loc3)",
        f"    %9 = arith.cmpi {how}, %range_equality_0_a, %range_equality_0_b : tensor<64xi32> loc(#loc3)",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [RANGE, NUMBER, compared("slt", "%0", "%c")],
        # What is loaded is in no order that a compiler knows, nor is what is made of it.
        [LOADED, NUMBER, compared("eq", "%5", "%c")],
        [LOADED, NUMBER, "    %6 = arith.addi %5, %c : tensor<64xi32>", compared("eq", "%6", "%5")],
        [RANGE, "    %9 = arith.cmpf oeq, %a, %b : tensor<64xf32>"],
        [RANGE, "    %9 = arith.cmpi eq, %0, %c : i32"],
        [],
    ],
)
def test_other_comparisons_are_left(lines):
    assert range_equality.rewritten("\n".join(lines)) is None


@pytest.mark.parametrize(
    "line",
    [
        # Made of a range by way of others, and what a loop hands on.
        "    %1 = tt.expand_dims %0 {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>",
        "    %1 = scf.for %i = %a to %b step %d iter_args(%arg5 = %5) -> (tensor<64xi32>) : i32 {",
    ],
)
def test_what_is_made_of_a_range_counts(line):
    ir = "\n".join([RANGE, LOADED, line, compared("eq", "%1", "%5")])
    assert "range_equality_0" in range_equality.rewritten(ir)


def test_bytes_are_compared_as_floats():
    ir = "    %9 = arith.cmpi ult, %a, %b : tensor<16x64xi8> loc(#loc3)"
    assert byte_comparisons.rewritten(ir).splitlines() == [
        "    %byte_comparisons_0_a = arith.uitofp %a : tensor<16x64xi8> to tensor<16x64xf32> loc(#loc3)",
        "    %byte_comparisons_0_b = arith.uitofp %b : tensor<16x64xi8> to tensor<16x64xf32> loc(#loc3)",
        "    %9 = arith.cmpf olt, %byte_comparisons_0_a, %byte_comparisons_0_b : tensor<16x64xf32> loc(#loc3)",
    ]


@pytest.mark.parametrize(
    "kind, wide", [("i8", "f32"), ("tensor<64xi8>", "tensor<64xi1>, tensor<64xf32>")]
)
def test_the_sign_is_put_in_behind_the_conversion(kind, wide):
    found = byte_comparisons.rewritten(f"  %9 = arith.cmpi sge, %arg5, %arg7 : {kind}")
    name = "%byte_comparisons_0_"
    assert f"{name}s_a = arith.select {name}an, {name}al, {name}a : {wide}\n" in found
    assert "%9 = arith.cmpf oge, %byte_comparisons_0_s_a, %byte_comparisons_0_s_b : " in found
    assert "sitofp" not in found


@pytest.mark.parametrize("kind", ["i16", "i80", "tensor<64xi32>", "tensor<64xi1>"])
def test_other_integers_are_compared_as_they_are(kind):
    assert byte_comparisons.rewritten(f"  %9 = arith.cmpi slt, %a, %b : {kind}") is None


LAYOUT = (
    "#blocked = #triton_gpu.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], "
    "order = [1, 0], CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>"
)
OTHER = (
    "#triton_gpu.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1], "
    "CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>"
)


def scan(axis=0, given="%12", made="%13", types=("tensor<8x512xf32, #blocked>",)):
    back = f"({', '.join(types)})" if len(types) > 1 else types[0]
    return [
        f'    {made} = "tt.scan"({given}) <{{axis = {axis} : i32}}> ({{',
        "    ^bb0(%arg2: f32 loc(unknown), %arg3: f32 loc(unknown)):",
        "      %14 = arith.addf %arg2, %arg3 : f32 loc(#loc15)",
        "      tt.scan.return %14 : f32 loc(#loc13)",
        f"    }}) : ({', '.join(types)}) -> {back} loc(#loc13)",
    ]


def test_a_scan_of_what_single_threads_hold_is_made_across_lanes():
    found = wide_scans.rewritten("\n".join([LAYOUT, *scan()])).splitlines()
    own, other = "tensor<8x512xf32, #blocked>", f"tensor<8x512xf32, {OTHER}>"
    there, back = f"({own}) -> {other} loc(#loc13)", f"({other}) -> {own} loc(#loc13)"
    assert found[1] == f"    %wide_scans_0_in0 = triton_gpu.convert_layout %12 : {there}"
    assert found[2] == '    %wide_scans_0 = "tt.scan"(%wide_scans_0_in0) <{axis = 0 : i32}> ({'
    assert found[3:6] == scan()[1:4]
    assert found[6] == f"    }}) : ({other}) -> {other} loc(#loc13)"
    assert found[7] == f"    %13 = triton_gpu.convert_layout %wide_scans_0 : {back}"


def test_a_scan_of_two_tensors_is_read_by_its_parts():
    own = "tensor<8x512xf32, #blocked>"
    lines = [
        LAYOUT,
        *scan(given="%12, %11", made="%13:2", types=(own, own)),
        "    tt.store %9, %13#0 : " + own,
        "    tt.store %8, %13#1 : " + own,
    ]
    found = wide_scans.rewritten("\n".join(lines))
    assert '%wide_scans_0:2 = "tt.scan"(%wide_scans_0_in0, %wide_scans_0_in1)' in found
    assert "tt.store %9, %wide_scans_0_0 :" in found and "tt.store %8, %wide_scans_0_1 :" in found
    assert "%13#" not in found


@pytest.mark.parametrize(
    "lines",
    [
        # Along the last axis, whose elements lie in the lanes; of one row; of one dimension; of another kind of layout.
        [LAYOUT, *scan(axis=1)],
        [LAYOUT, *scan(types=("tensor<1x512xf32, #blocked>",))],
        [LAYOUT.replace("= [1, 32]", "= [8, 4]"), *scan()],
        [LAYOUT.replace("= [1, 4], order", "= [4, 1], order"), *scan()],
        ["#mma = #triton_gpu.nvidia_mma<{versionMajor = 2}>", *scan(types=("tensor<8x512xf32, #mma>",))],
        [LAYOUT],
    ],
)  # fmt: skip
def test_other_scans_are_left(lines):
    assert wide_scans.rewritten("\n".join(lines)) is None


@pytest.mark.parametrize("named", [False, True])
def test_what_a_kernel_is_compiled_for_is_known_while_it_is_rewritten(monkeypatch, named):
    seen = []

    class Backend:
        @staticmethod
        def make_ttgir(mod, metadata, opt, capability):
            seen.append(ir.meant())
            return mod

    def rewritten(text):
        seen.append(ir.meant())
        return None

    monkeypatch.setattr(ir, "backends", lambda names: [("nvidia", Backend)])
    patches = Patches(fix="a fix")
    shim = Shim(
        *("a fix", "", "", "", "", ""),
        concerns=Concerned(lambda reached: True),
        changes=(Rewrite(rewritten),),
    )
    ir.open_for(shim, patches)
    compilation.place(shim, patches)
    options = SimpleNamespace(num_warps=8)
    if named:
        Backend.make_ttgir("module", {}, opt=options, capability=90)
    else:
        Backend.make_ttgir("module", {}, options, 90)
    patches.undo()
    # and only then
    assert seen == [ir.Meant(90, 8), ir.Meant(0, 0)]
    assert seen[0].by_warp_groups and not seen[1].by_warp_groups
