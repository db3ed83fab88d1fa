"""What is known of how numbers lie along an axis, of IR's text: held to the numbers themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswarp.compat.alignment import Alignment

HEAD = "tt.func public @kernel(%n: i32 {tt.divisibility = 16 : i32}, %any: i32) {"
COMPARE = {"slt": np.less, "sge": np.greater_equal, "sgt": np.greater, "sle": np.less_equal}
COMPARE.update(eq=np.equal, ne=np.not_equal)
ARITHMETIC = {"addi": np.add, "subi": np.subtract, "muli": np.multiply}
ARITHMETIC.update(minsi=np.minimum, maxsi=np.maximum)


def known(*lines):
    return Alignment("\n".join([HEAD, *(f"  {line} loc(#loc)" for line in lines), "}"]))


def compared(bound, *, by="slt", start=0, turned=False):
    """How many of `64 numbers from start on < bound` are known to be the same."""
    sides = "%2, %1" if turned else "%1, %2"
    return known(
        f"%1 = tt.make_range {{end = {start + 64} : i32, start = {start} : i32}} : tensor<64xi32>",
        *(
            [bound]
            if bound.startswith("%2")
            else [bound, "%2 = tt.splat %0 : i32 -> tensor<64xi32>"]
        ),
        f"%3 = arith.cmpi {by}, {sides} : tensor<64xi32>",
    ).equal_along("%3", 0)


@pytest.mark.parametrize(
    "bound, together",
    [
        ("%2 = arith.constant dense<61> : tensor<64xi32>", 1),
        ("%2 = arith.constant dense<60> : tensor<64xi32>", 4),
        ("%2 = arith.constant dense<48> : tensor<64xi32>", 16),
        ("%2 = tt.splat %n : i32 -> tensor<64xi32>", 16),
        ("%2 = tt.splat %n : (i32) -> tensor<64xi32>", 16),
        ("%2 = tt.splat %any : i32 -> tensor<64xi32>", 1),
        ("%0 = arith.constant 8 : i32", 8),
        ("%0 = tt.get_program_id x : i32", 1),
    ],
)
def test_a_bound_decides_how_many_are_the_same(bound, together):
    assert compared(bound) == together


def test_a_bound_from_the_other_side():
    bound = "%2 = arith.constant dense<24> : tensor<64xi32>"
    assert compared(bound, by="sgt", turned=True) == compared(bound, by="sge") == 8
    # "x > 24" changes behind 24, as "x == 24" does
    assert compared(bound, by="sgt") == compared(bound, by="eq") == 1
    assert compared(bound, start=20) == 4


TUTORIAL = (
    "%c64 = arith.constant 64 : i32",
    "%c1 = arith.constant 1 : i32",
    "%c0 = arith.constant 0 : i32",
    "%one = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #slice>",
    "%row = tt.expand_dims %one {axis = 0 : i32} : tensor<64xi32, #slice> -> tensor<1x64xi32, #blocked>",
    "%9:2 = scf.for %turn = %c0 to %any step %c1 iter_args(%sum = %zero, %at = %START) -> (f32, i32)  : i32 {",
    "  %10 = arith.muli %turn, %c64 : i32",
    "  %11 = arith.subi %n, %10 : i32",
    "  %12 = tt.splat %11 : i32 -> tensor<1x64xi32, #blocked>",
    "  %13 = arith.cmpi slt, %row, %12 : tensor<1x64xi32, #blocked>",
    "  %14 = tt.broadcast %13 : tensor<1x64xi1, #blocked> -> tensor<32x64xi1, #blocked>",
    "  %15 = tt.splat %at : i32 -> tensor<1x64xi32, #blocked>",
    "  %16 = arith.cmpi slt, %row, %15 : tensor<1x64xi32, #blocked>",
    "  %17 = tt.broadcast %16 : tensor<1x64xi1, #blocked> -> tensor<32x64xi1, #blocked>",
    "  %18 = arith.andi %14, %17 : tensor<32x64xi1, #blocked>",
    "  %19 = arith.addi %at, %STEP : i32",
    "  scf.yield %sum, %19 : tensor<64xf32>, i32",
    "}",
)


def loop(start="%c0", step="%c64"):
    return known(*(line.replace("%START", start).replace("%STEP", step) for line in TUTORIAL))


def test_a_product_whose_length_divides_by_sixteen_needs_nothing():
    # tl.load(…, mask=offsets[None, :] < K - k * BLOCK_K), along either axis
    assert loop().equal_along("%14", 1) == 16
    assert loop().equal_along("%14", 0) >= 16


@pytest.mark.parametrize(
    "start, step, together",
    [("%c0", "%c64", 64), ("%n", "%c64", 16), ("%any", "%c64", 1), ("%c0", "%c1", 1)],
)
def test_what_a_loop_hands_on_is_what_all_of_its_turns_are(start, step, together):
    assert loop(start, step).equal_along("%17", 1) == together
    assert loop(start, step).equal_along("%18", 1) == min(together, 16)
    assert (
        known(
            *(line.replace("%START", start).replace("%STEP", step) for line in TUTORIAL),
            "%20 = tt.splat %9#1 : i32 -> tensor<1x64xi32, #blocked>",
            "%21 = arith.cmpi slt, %row, %20 : tensor<1x64xi32, #blocked>",
        ).equal_along("%21", 1)
        == together
    )


def test_of_what_is_not_known_nothing_is_said():
    lines = [
        "%1 = tt.load %p : tensor<64x!tt.ptr<i1>>",
        '%2:2 = "tt.reduce"(%1, %1) <{axis = 0 : i32}> ({',
        "  }) : (tensor<64xi1>, tensor<64xi1>) -> (i1, i1)",
        "%3 = arith.constant dense<[true, false]> : tensor<2xi1>",
        "%4 = scf.if %c -> (tensor<64xi1>) {",
        "    scf.yield %true : tensor<64xi1>",
        "  }",
        "%true = arith.constant dense<true> : tensor<64xi1>",
    ]
    module = known(*lines)
    assert [module.equal_along(name, 0) for name in ("%1", "%2#1", "%3", "%4", "%arg7")] == [1] * 5
    assert module.equal_along("%true", 0) > 64


def test_a_chain_without_end_ends():
    lines = [f"%{n} = arith.andi %{n - 1}, %{n - 1} : tensor<64xi1>" for n in range(1, 3000)]
    assert known(*lines).equal_along("%2999", 0) == 1


class Drawn:
    """IR, line by line, with the numbers that each value has."""

    def __init__(self):
        self.lines, self.values = [], {"%n": 32, "%any": 5}

    def said(self, text, number):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = number
        return name

    def range(self, start, new):
        numbers = np.arange(start, start + 32)
        text = f"tt.make_range {{end = {start + 32} : i32, start = {start} : i32}} : tensor<32xi32>"
        one, shape = self.said(text, numbers), ("1x32", "32x1")[new]
        text = (
            f"tt.expand_dims {one} {{axis = {new} : i32}} : tensor<32xi32> -> tensor<{shape}xi32>"
        )
        of = self.said(text, np.expand_dims(numbers, new))
        text = f"tt.broadcast {of} : tensor<{shape}xi32> -> tensor<32x32xi32>"
        return self.said(text, np.broadcast_to(self.values[of], (32, 32)))

    def constant(self, number):
        return self.said(f"arith.constant {number} : i32", number)

    def splat(self, scalar):
        text = f"tt.splat {scalar} : i32 -> tensor<32x32xi32>"
        return self.said(text, np.full((32, 32), self.values[scalar]))

    def tile(self, said):
        if isinstance(said, tuple):
            return self.range(*said)
        return self.splat(self.constant(said) if isinstance(said, int) else said)

    def of_two(self, name, a, b):
        kind = "i32" if np.isscalar(self.values[a]) else "tensor<32x32xi32>"
        made = ARITHMETIC[name](self.values[a], self.values[b])
        return self.said(f"arith.{name} {a}, {b} : {kind}", int(made) if kind == "i32" else made)

    def compared(self, by, a, b):
        made = COMPARE[by](self.values[a], self.values[b])
        return self.said(f"arith.cmpi {by}, {a}, {b} : tensor<32x32xi32>", made)

    def hold(self, *masks):
        module = known(*self.lines)
        for mask in masks:
            for axis in (0, 1):
                length = min(module.equal_along(mask, axis), 32)
                groups = np.moveaxis(self.values[mask], axis, -1).reshape(32, -1, length)
                assert (groups == groups[..., :1]).all(), (axis, length, mask, self.lines)


RANGES = [(start, new) for start in (0, 4, 16) for new in (0, 1)]
BOUNDS = (0, 4, 16, 24, 40, "%n", "%any")


@pytest.mark.parametrize("name", sorted(ARITHMETIC))
def test_of_two_operands_all_is_true_that_is_said(name):
    for first in [*RANGES, *BOUNDS]:
        for second in [*RANGES, *BOUNDS]:
            drawn = Drawn()
            made = drawn.of_two(name, drawn.tile(first), drawn.tile(second))
            masks = []
            for other in [*BOUNDS, *RANGES[:2]]:
                pair = (made, drawn.tile(other))
                masks += [
                    drawn.compared(by, *ends)
                    for by in sorted(COMPARE)
                    for ends in (pair, pair[::-1])
                ]
            drawn.hold(*masks)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_of_any_mask_all_is_true_that_is_said(data):
    drawn = Drawn()

    def scalar():
        kind = data.draw(st.sampled_from(["argument", "constant", "arithmetic"]))
        if kind == "argument":
            return data.draw(st.sampled_from(["%n", "%any"]))
        if kind == "constant":
            return drawn.constant(data.draw(st.sampled_from([0, 1, 3, 4, 8, 16, 24, -4, -16])))
        name = data.draw(st.sampled_from(sorted(ARITHMETIC)))
        return drawn.of_two(name, scalar(), scalar())

    def tile(plainest, depth=0):
        kinds = [plainest, "range", "splat", *["arithmetic"] * (2 * (depth < 3))]
        kind = data.draw(st.sampled_from(kinds))
        if kind == "range":
            return drawn.range(*data.draw(st.sampled_from(RANGES)))
        if kind == "splat":
            return drawn.splat(scalar())
        name = data.draw(st.sampled_from(sorted(ARITHMETIC)))
        return drawn.of_two(name, tile("range", depth + 1), tile("splat", depth + 1))

    def mask():
        ends = tile("range"), tile("splat")
        ends = ends[::-1] if data.draw(st.booleans()) else ends
        return drawn.compared(data.draw(st.sampled_from(sorted(COMPARE))), *ends)

    a, b = mask(), mask()
    both = drawn.values[a] & drawn.values[b]
    drawn.hold(a, b, drawn.said(f"arith.andi {a}, {b} : tensor<32x32xi1>", both))
