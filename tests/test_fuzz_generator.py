"""The generator of `crosswarp fuzz`: every program is well defined, and the same choices make the same program."""

import ast
import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswarp.laboratory.cell.fuzzing import data
from crosswarp.laboratory.fuzzing import (
    elementwise,
    generator,
    languages,
    meaning,
    reductions,
    shapes,
)
from crosswarp.laboratory.fuzzing.builder import Builder
from crosswarp.laboratory.fuzzing.choices import Replayed, Seeded
from crosswarp.laboratory.fuzzing.program import Argument, Claim, IllDefined, Program
from crosswarp.laboratory.fuzzing.values import INTEGERS
from crosswarp.matrix.facts import language_table

TABLE = language_table.load()
EVERY = languages.common(TABLE, list(TABLE))
NEW = languages.common(TABLE, ["3.8.0", "3.9.0"])


@pytest.mark.parametrize("first", range(0, 100, 20))
@pytest.mark.parametrize("names", [EVERY, NEW], ids=["every release", "new releases"])
def test_what_is_made_is_well_defined(first, names):
    """`answers` holds every value to its claimed type, shape and bounds, and every place to its tensor."""
    for number in range(first, first + 20):
        program = generator.seeded(19, number, names)
        ast.parse(program.kernel)
        found = meaning.answers(program)
        assert found, program.kernel
        # Something is computed: no tensor is left as it was found unless every store of it is conditional.
        assert any(name in program.kernel for name in ("tl.store(", "tl.atomic_", ".store("))
        # What it calls is there.
        for name in ("larger", "added", "later", "pairs"):
            called = f", {name})" in program.kernel or f", {name}," in program.kernel
            assert called == (f"def {name}(" in program.kernel)


@settings(max_examples=40, deadline=None, database=None, derandomize=True)
@given(st.lists(st.integers(0, 40), max_size=300))
def test_any_choices_make_a_well_defined_program(numbers):
    meaning.answers(generator.generate(Replayed(numbers), "any", NEW))


def test_a_seed_makes_the_same_programs_in_any_order():
    forwards = [generator.seeded(7, number, NEW) for number in range(20)]
    backwards = [generator.seeded(7, number, NEW) for number in reversed(range(20))]
    assert forwards == backwards[::-1]
    assert len({program.kernel for program in forwards}) == 20
    assert generator.seeded(8, 0, NEW).kernel != forwards[0].kernel


def test_what_was_recorded_makes_the_same_program():
    for number in range(30):
        program = generator.seeded(7, number, NEW)
        again = generator.generate(Replayed(program.choices), program.name, NEW)
        assert again == program


def test_a_seed_is_the_same_on_every_machine():
    """The first of them, by the digest of its text: a change is meant, and raises generator.VERSION."""
    found = meaning.digest(generator.seeded(1, 0, frozenset()))
    assert (generator.VERSION, found) == (14, "2f9dcd2641f816d5")


def test_the_plainest_program_is_small():
    program = generator.generate(Replayed([]), "plainest", NEW)
    assert len(program.kernel.splitlines()) < 12, program.kernel
    meaning.answers(program)


def test_only_what_the_language_has_is_used():
    for number in range(150):
        program = generator.seeded(5, number, EVERY)
        assert program.needs <= EVERY
        for name in ("tl.join", "tl.flip", "tl.gather", "tl.range", "tl.permute"):
            assert f"{name}(" not in program.kernel
    used = {name for number in range(300) for name in generator.seeded(5, number, NEW).needs}
    assert {"tl.join", "tl.split", "tl.gather", "tl.range(flatten=True)"} <= used


def test_what_is_avoided_is_not_made():
    free = {tag for number in range(400) for tag in generator.seeded(5, number, NEW).tags}
    assert {"alias-start", "sort", "flip-outer"} <= free
    avoided = {"alias-start", "sort"}
    for number in range(200):
        program = generator.seeded(5, number, NEW, avoided)
        assert not program.tags & avoided
        assert "tl.sort(" not in program.kernel


def test_shapes_of_the_first_long_run_are_left_out():
    shapes = {"scan-short", "dot-int8-acc", "max-bfloat16"}
    assert shapes <= {tag for number in range(400) for tag in generator.seeded(5, number, NEW).tags}
    for number in range(200):
        program = generator.seeded(5, number, NEW, shapes)
        assert not program.tags & shapes
        types = program.claims
        for one in re.findall(r"tl\.(?:cumsum|associative_scan)\((v\d+)", program.kernel):
            assert math.prod(types[one].shape) >= 32, program.kernel
        for one in re.findall(r"tl\.(?:maximum|minimum)\((v\d+)", program.kernel):
            assert types[one].dtype != "bfloat16"


def test_shapes_of_the_silent_findings_are_made_and_left_out():
    shapes = {"dot-trans-cast", "dot-int8-made", "dot-made-cast", "loop-mask", "atomic-result"}
    assert shapes <= {tag for number in range(600) for tag in generator.seeded(5, number, NEW).tags}
    for number in range(200):
        program = generator.seeded(5, number, NEW, shapes)
        assert not program.tags & shapes
        types = program.claims
        for name, one in re.findall(
            r"tl\.dot\(tl\.trans\(v\d+\), (v\d+)\)|(v\d+) = tl\.atomic_", program.kernel
        ):
            made = (
                re.search(rf" {name} = (v\d+)\.to\(tl\.float16\)", program.kernel) if name else None
            )
            assert made is None or types[made[1]].dtype != "int8", program.kernel
            assert not one or not types[one].shape or math.prod(types[one].shape) >= 512


def test_a_histogram_of_what_a_reduction_made_is_made_and_left_out():
    tag = "histogram-reduced"
    told = [number for number in range(1000) if tag in generator.seeded(5, number, NEW).tags]
    assert told
    for number in told:
        assert "tl.histogram(" in generator.seeded(5, number, NEW).kernel
        assert tag not in generator.seeded(5, number, NEW, {tag}).tags


@pytest.mark.parametrize(
    "then, concerned",
    [
        ([], True),
        ([elementwise.with_literal, elementwise.binary], True),
        ([elementwise.clamp, elementwise.select], True),
        ([shapes.reshape], False),
        ([elementwise.with_literal, shapes.flip], False),
    ],
)
def test_what_is_computed_of_a_reduced_tile_is_no_other_for_a_histogram(then, concerned):
    def walked(avoided=()):
        builder = Builder(Replayed([]), NEW, avoided)
        builder.let("int32", (64, 64), (0, 15), "tl.load(x0)")
        for statement in (reductions.reduce, *then, shapes.histogram):
            statement(builder)
        return builder

    free, left_out = walked(), walked({"histogram-reduced"})
    assert "tl.sum(" in free.texts()[0] and "tl.histogram(" in free.texts()[0]
    assert ("histogram-reduced" in free.tags) == concerned
    assert ("tl.histogram(" in left_out.texts()[0]) != concerned


def test_a_product_of_three_dimensions_is_for_releases_that_have_it():
    programs = [generator.seeded(2, number, NEW) for number in range(400)]
    batched = [
        program
        for program in programs
        for name, one in program.claims.items()
        if len(one.shape) == 3 and f" {name} = tl.dot(" in program.kernel
    ]
    assert batched
    assert all("tl.permute" in program.needs for program in batched)
    assert "tl.permute" not in languages.common(TABLE, ["2.3.1"])


def test_two_tensors_are_scanned_at_once_where_the_release_can():
    old = languages.common(TABLE, ["2.3.1"])
    assert "scan-pairs" in {tag for n in range(300) for tag in generator.seeded(5, n, NEW).tags}
    assert "scan-pairs" not in {tag for n in range(300) for tag in generator.seeded(5, n, old).tags}


def test_large_tiles_get_more_warps_in_three_of_four_programs():
    """A thread of what is left holds more than 32 elements, which compiles slowly."""
    counted = []
    for number in range(400):
        program = generator.seeded(5, number, NEW)
        largest = max(math.prod(one.shape) for one in program.claims.values())
        if largest >= 64 * 32:
            counted.append(largest > 32 * 32 * program.options["num_warps"])
    assert len(counted) > 50
    assert 0 < sum(counted) < len(counted) / 4, "some are left as they are"


def test_floats_of_eight_bits_are_made_floats_alone():
    made = set()
    for number in range(60):
        builder = Builder(Seeded(5, number), NEW, ())
        builder.let("float8e5", (16,), (0, 7), "v.to(tl.float8e5)")
        elementwise.convert(builder)
        made.add(builder.pool[-1].dtype)
    assert {"float16", "float32"} <= made and made.isdisjoint(INTEGERS)


def test_every_kind_of_statement_comes_up():
    tags = {tag for number in range(400) for tag in generator.seeded(2, number, NEW).tags}
    assert {
        "loop", "loop-nested", "loop-while", "loop-flatten", "loop-static", "alias-carried", "dot-acc", "dot-float8e5",
        "dot-int8", "dot-bfloat16", "dot-3d", "dot-trans-dot", "if", "if-store", "loop-then-if-store", "split",
        "num-ctas",
        "join", "reduce-xor_sum", "scan-cumsum", "scan-reverse", "atomic-add", "histogram", "gather", "sort",
    } <= tags  # fmt: skip


def test_whole_tiles_and_fetched_values_come_up():
    older = languages.common(TABLE, ["3.8.0"])
    tags = {tag for number in range(500) for tag in generator.seeded(2, number, older).tags}
    assert {
        "block-pointer", "block-pointer-store", "block-pointer-advanced", "descriptor", "descriptor-store",
        "fetched-add", "fetched-xchg", "fetched-cas",
    } <= tags  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_what_a_tile_reaches_beyond_its_edge_is_zero_and_not_written(seed):
    older = languages.common(TABLE, ["3.8.0"])
    seen = 0
    for number in range(600):
        program = generator.seeded(40 + seed, number, older)
        if "boundary_check" not in program.kernel:
            continue
        seen += 1
        meaning.answers(program)
        # A tile that reaches over its edge is checked along that axis.
        for line in program.kernel.splitlines():
            if "make_block_ptr" not in line:
                continue
            name = line.split()[0]
            _, extents, _, offsets, tile, _ = ast.literal_eval("(0" + line[line.index(", ") :])
            beyond = [axis for axis in (0, 1) if offsets[axis] + tile[axis] > extents[axis]]
            used = [one for one in program.kernel.splitlines() if f"({name}," in one or f"({name})" in one]  # fmt: skip
            for use in used if "advance" not in program.kernel else ():
                checked = use.partition("boundary_check=(")[2].partition(")")[0]
                assert all(str(axis) in checked for axis in beyond), program.kernel
    assert seen > 10


def _program(body: str, claims: dict[str, Claim], size: int = 4) -> Program:
    text = f"def meaning(block, x0, y0, lim, trips):\n{body}"
    arguments = (Argument("x0", "int32", size, 0, 9, 1), Argument("y0", "int32", size, -7, -7))
    return Program("p", "", text, arguments, {"lim": 3, "trips": 2}, {}, claims=claims)


FITS = Claim("int32", (4,), 0, 9)


@pytest.mark.parametrize(
    "body, claim, told",
    [
        ("    v1 = np.asarray(x0[np.arange(4)], np.int32) + 10", FITS, "lies between"),
        ("    v1 = np.asarray(x0[np.arange(4)], np.float32)", FITS, "claimed"),
        ("    v1 = np.asarray(x0[np.arange(2)], np.int32)", FITS, "claimed"),
        ("    v1 = np.asarray(x0[np.arange(4) - 1], np.int32)", FITS, "outside"),
        ("    v1 = np.asarray(x0[np.arange(4) + 1], np.int32)", FITS, "outside"),
        ("    v1 = np.asarray(x0[np.arange(4)] / 2, np.float32)", Claim("float32", (4,), 0, 9), "no integer"),
        ("    y0[np.arange(4) // 2] = 1", FITS, "two lanes"),
        ("    x0[np.arange(4)] = 1", FITS, "read and written"),
        ("    v1 = np.asarray(np.int8([100, 0, 0, 0]) * np.int8(2), np.int32)", FITS, "lies between"),
        ("    v1 = np.asarray(np.float32(1) / np.float32(0) + x0[np.arange(4)], np.int32)", FITS, "FloatingPoint"),
    ],
)  # fmt: skip
def test_what_is_not_well_defined_is_refused(body, claim, told):
    with pytest.raises(IllDefined, match=told):
        meaning.answers(_program(body + "\n", {"v1": claim}))


def test_both_blocks_write_to_places_of_their_own():
    for number in range(40):
        program = generator.seeded(3, number, NEW)
        if any(tag.startswith("atomic") for tag in program.tags):
            continue
        one = dataclasses.replace(program)
        for argument in one.arguments:
            # Each store's address begins with the block's own part of the tensor.
            if argument.salt == 0:
                lines = [line for line in one.kernel.splitlines() if f"({argument.name} + " in line]
                assert lines and all("block" in line for line in lines)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float32"])
def test_inputs_fill_their_bounds(dtype):
    found = data.fill(4096, dtype, -3, 4, 5)
    assert found.dtype == dtype
    assert set(found.tolist()) == set(range(-3, 5))
    assert not np.array_equal(found, data.fill(4096, dtype, -3, 4, 6))
    assert np.array_equal(data.fill(7, dtype, 2, 9, 0), np.full(7, 2))


def test_a_digest_tells_numbers_apart_and_not_zeros():
    assert data.digest(np.float32([0.0, 1])) == data.digest(np.float32([-0.0, 1]))
    assert data.digest(np.float32([0.0, 1])) != data.digest(np.float32([0.0, 2]))
    assert data.digest(np.int32([1])) != data.digest(np.float32([1]))
    assert data.digest(np.float32([np.nan])) == data.digest(-np.float32([np.nan]))


def test_an_atomic_operation_that_is_read_is_left_out_of_loops_and_branches():
    def inside(avoided):
        programs = [generator.seeded(5, number, NEW, avoided) for number in range(400)]
        assert not any(program.tags & set(avoided) for program in programs)
        lines = [line for program in programs for line in program.kernel.splitlines()]
        # Scalars stay: one thread makes their operation, and hands the result on through shared memory.
        return any(re.match(r" {8,}v\d+ = tl\.atomic_\w+\(.*\[", line) for line in lines)

    assert inside(())
    assert not inside(("fetched-inside",))
