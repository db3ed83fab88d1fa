"""What `single_cta` reads off a compiled kernel: whether a block takes of its own memory what lies in another's."""

import pytest

from crosswarp.compat.shims import single_cta

HALVES = "CTAsPerCGA = [1, 2], CTASplitNum = [{}, {}], CTAOrder = [1, 0]"
BASES = "CGALayout = [[{}, {}]]"


def product(first, second, made, said=HALVES, register=False):
    """TTGIR of a product, with how blocks share both operands and the result."""
    kinds = ("#ttg.nvmma_shared<{", "#ttg.nvmma_shared<{", "#ttg.nvidia_mma<{versionMajor = 3, ")
    names = ("#shared", "#shared1", "#mma")
    heads = [
        f"{name} = {kind}{said.format(*split)}}}>"
        for name, kind, split in zip(names, kinds, (first, second, made))
    ]
    operand = (
        "tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>"
        if register
        else "!ttg.memdesc<128x64xf16, #shared, #smem, mutable>"
    )
    line = (
        f"    %28 = ttng.warp_group_dot %16, %27, %cst_2 {{inputPrecision = 0 : i32}} : {operand} * "
        "!ttg.memdesc<64x128xf16, #shared1, #smem> -> tensor<128x128xf32, #mma> loc(#loc15)"
    )
    return {"ttgir": "\n".join([*heads, line])}


def reaches(asm):
    return single_cta._reaches_into_others(asm)


@pytest.mark.parametrize("register", [False, True])
def test_blocks_that_share_columns_need_all_rows_of_the_first_operand(register):
    # of Triton 3.4: columns of the result and of the second operand, all of the first
    assert not reaches(product((1, 1), (1, 2), (1, 2), register=register))
    # stored as well, the first is shared out by rows; in registers it is what the product wants
    assert reaches(product((2, 1), (1, 2), (1, 2), register=register)) is not register


@pytest.mark.parametrize(
    "first, second, made, wrong",
    [
        ((2, 1), (1, 1), (2, 1), False),
        ((1, 1), (1, 1), (2, 1), True),
        ((2, 1), (2, 1), (2, 1), True),
        ((1, 2), (1, 2), (1, 2), True),
        ((2, 1), (1, 2), (2, 2), False),
    ],
)
def test_each_block_needs_whole_rows_and_columns_of_its_part(first, second, made, wrong):
    assert reaches(product(first, second, made)) is wrong


def test_from_triton_3_6_on_a_layout_s_bases_say_so():
    assert not reaches(product((0, 0), (0, 1), (0, 1), BASES))
    assert reaches(product((1, 0), (0, 1), (0, 1), BASES))


def test_a_product_whose_layouts_are_not_there_is_left_alone():
    line = product((1, 1), (1, 1), (2, 1))["ttgir"].splitlines()[-1]
    assert not reaches({"ttgir": line}) and not reaches({}) and not reaches({"ttgir": None})


def test_a_product_of_eight_columns_a_block_is_not_read_as_it_was_written():
    asm = product((1, 1), (1, 2), (1, 2))
    narrow = "#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 0, "
    assert reaches({"ttgir": asm["ttgir"].replace("#shared1 = #ttg.nvmma_shared<{", narrow)})
    # of the first operand it says nothing
    first = narrow.replace("#shared1", "#shared")
    assert not reaches({"ttgir": asm["ttgir"].replace("#shared = #ttg.nvmma_shared<{", first)})


WRITES, WAITS = "\tst.shared.v2.b32 \t[%r48], {%r1, %r2};", "\tbar.sync \t0;"
MEETS = "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;"
MAPS, FETCHES = (
    "\tmapa.shared::cluster.u32 \t%r57, %r56, 1;",
    "\tld.shared::cluster.b32 \t%r6, [%r57];",
)
OWN = "\tld.shared.u32 \t%r6, [%r57];"


@pytest.mark.parametrize(
    "lines, wrong",
    [
        ((WRITES, MEETS, MAPS, FETCHES), False),
        # as 3.8 and 3.9 do: the block's own threads have come, the other's have not
        ((WRITES, WAITS, MAPS, FETCHES), True),
        ((WRITES, MEETS, MAPS, FETCHES, WRITES, WAITS, FETCHES), True),
        (("\tstmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r2};", MAPS, FETCHES), True),
        # written to the other block, and met
        (("\tst.shared::cluster.b32 [%r57], %r1;", WAITS, MAPS, FETCHES), False),
        # as 3.3 does: by an instruction for a block's own memory
        ((WRITES, MEETS, MAPS, OWN), True),
        ((WRITES, WAITS, OWN), False),
    ],
)
def test_what_is_fetched_from_another_block_is_fetched_there_and_when_it_is_written(lines, wrong):
    assert reaches({"ttgir": "", "ptx": "\n".join(lines)}) is wrong


@pytest.mark.parametrize(
    "axis, layout, mark, wrong",
    [
        (0, "CGALayout = [[1]]", "", True),
        (1, BASES.format(1, 0), ", efficient_layout", False),
        (1, HALVES.format(2, 1), ", efficient_layout", False),
        (1, BASES.format(1, 0), "", True),
        # as tokenspeed-triton 3.9.10 does: the warp has its block's half of each column
        (0, BASES.format(1, 0), ", efficient_layout", True),
        (0, HALVES.format(2, 1), ", efficient_layout", True),
        # of three dimensions nothing is known
        (2, "CGALayout = [[1, 0, 0]]", ", efficient_layout", True),
    ],
)
def test_a_gather_across_warps_or_blocks_reads_every_place_in_its_own_memory(
    axis, layout, mark, wrong
):
    lines = (
        f"#blocked1 = #ttg.blocked<{{sizePerThread = [1, 1], order = [0, 1], {layout}}}>",
        f"    %14 = tt.gather %12[%13] {{axis = {axis} : i32{mark}}} : (tensor<32x32xf32, #blocked1>, "
        "tensor<32x32xi32, #blocked1>) -> tensor<32x32xf32, #blocked1> loc(#loc22)",
    )
    laid_out = "\n".join(lines)
    assert reaches({"ttgir": laid_out}) is wrong
    sliced = "#ttg.slice<{dim = 0, parent = #blocked1}>"
    assert reaches(
        {"ttgir": laid_out.replace("(tensor<32x32xf32, #blocked1>", f"(tensor<32xf32, {sliced}>")}
    )
