"""What a reduction made is laid out as a loaded tile is before it is counted; other histograms stay as they were."""

import inspect

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.shims import reduced_histogram as shim
from crosswarp.matrix.cell.standins import virtual_gpu

HEADER = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {"""
SLICE = "#ttg.slice<{dim = 1, parent = #blocked}>"
PLAIN = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"


def counted(layout, operands="%12#1", result="#blocked1"):
    types = f"tensor<128xi32, {layout}> -> tensor<16xi32, {result}>"
    return f"    %15 = tt.histogram {operands} : {types} loc(#loc21)"


def rewritten(*lines, header=HEADER):
    found = shim.rewritten("\n".join([header, *lines]))
    return found and found.splitlines()[len(header.splitlines()) :]


@pytest.mark.parametrize("layout", [SLICE, SLICE.replace("blocked", "mma"), "#linear"])
def test_what_is_counted_is_converted_first(layout):
    assert rewritten(counted(layout)) == [
        "    %reduced_histogram_0_0 = ttg.convert_layout %12#1 : "
        f"tensor<128xi32, {layout}> -> tensor<128xi32, {PLAIN}> loc(#loc21)",
        counted(PLAIN, "%reduced_histogram_0_0"),
    ]


def test_its_mask_is_converted_as_well():
    # as a histogram is laid out that is stored beside a tile
    given, made = counted(SLICE, "%v, %m", SLICE), counted(PLAIN, "%a, %b", SLICE)
    first, second, found = rewritten(given)
    assert (
        found.replace("%reduced_histogram_0_0", "%a").replace("%reduced_histogram_0_1", "%b")
        == made
    )
    assert first.startswith("    %reduced_histogram_0_0 = ttg.convert_layout %v : tensor<128xi32,")
    assert second == (
        "    %reduced_histogram_0_1 = ttg.convert_layout %m : "
        f"tensor<128xi1, {SLICE}> -> tensor<128xi1, {PLAIN}> loc(#loc21)"
    )


def test_each_has_names_of_its_own():
    other = counted(SLICE).replace("%15", "%16").replace(" loc(#loc21)", "")
    lines = rewritten(counted(SLICE), "    %c = arith.constant 1 : i32", other)
    assert [line.split()[0] for line in lines] == [
        "%reduced_histogram_0_0", "%15", "%c", "%reduced_histogram_1_0", "%16",
    ]  # fmt: skip
    assert "loc(" not in lines[-1]


def test_warps_lanes_and_blocks_are_the_module_s():
    header = HEADER.replace("ttg", "triton_gpu").replace("= 1 : i32", "= 2 : i32")
    header = header.replace("= 32 : i32", "= 64 : i32").replace("= 4 : i32", "= 8 : i32")
    first, _ = rewritten(counted(SLICE.replace("ttg", "triton_gpu")), header=header)
    assert (
        "triton_gpu.convert_layout %12#1" in first
        and "#triton_gpu.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [8], order = [0], "
        "CTAsPerCGA = [2], CTASplitNum = [2], CTAOrder = [0]}>"
        in first
    )


@pytest.mark.parametrize(
    "line", [counted("#blocked1"), counted(PLAIN), counted("#blocked1", "%a, %b"), ""]
)
def test_what_is_loaded_is_counted_as_it_is(line):
    assert rewritten(line) is None


@triton.jit
def _counts(
    x_ptr,
    y_ptr,
    REDUCED: tl.constexpr,
    MASKED: tl.constexpr,
    SIZE: tl.constexpr,
    BINS: tl.constexpr,
):
    at = tl.arange(0, SIZE)
    if REDUCED:
        x = tl.load(x_ptr + at[:, None] * BINS + tl.arange(0, BINS)[None, :])
        found = tl.where(at < SIZE - 5, (tl.argmin(x, 1) * 3 + 1) % BINS, 2)
    else:
        found = tl.load(x_ptr + at)
    if MASKED:
        counts = tl.histogram(found, BINS, mask=at < SIZE - 7)
    else:
        counts = tl.histogram(found, BINS)
    tl.store(y_ptr + tl.arange(0, BINS), counts)


def _texts(target, masked=False):
    """The IR with layouts of a histogram of a loaded tile and of a reduced one, and whether the shim acted on each."""
    virtual_gpu.activate(getattr(targets, target))
    compat.install()
    found = []
    for reduced in (False, True):
        x, y = torch.zeros(1024, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
        compiled = _counts[(1,)](x, y, REDUCED=reduced, MASKED=masked, SIZE=64, BINS=16)
        found.append((compiled.asm["ttgir"], shim.SHIM.name in compat.acted()))
    return found


@pytest.mark.triton(">=3.0,<3.5")
@pytest.mark.parametrize("target", ["SM_80", "SM_90", "GFX942"])
def test_a_reduced_tile_is_converted_and_a_loaded_one_is_not(in_fork, target):
    (loaded, before), (reduced, after) = in_fork(lambda: _texts(target))
    assert (before, after) == (False, True)
    assert ".convert_layout" not in loaded and shim.rewritten(loaded) is None
    # names are lost where it is printed again
    assert ".convert_layout" in reduced and shim.rewritten(reduced) is None


@pytest.mark.triton(">=3.4,<3.5")
def test_a_mask_is_taken(in_fork):
    _, (reduced, acted) = in_fork(lambda: _texts("SM_90", masked=True))
    assert acted and reduced.count("ttg.convert_layout") == 2 and shim.rewritten(reduced) is None


@pytest.mark.triton(">=3.5")
def test_later_releases_compile_it_as_they_do(in_fork):
    masked = "mask" in inspect.signature(tl.histogram).parameters
    assert [acted for _, acted in in_fork(lambda: _texts("SM_80", masked))] == [False, False]
