"""A loop that loads what it has just stored: recognised in the IR, and compiled without early loads."""

import memory_order_kernels
import pytest
import targets
import torch

from crosswarp import compat
from crosswarp.compat.memory_order import may_store_above_a_load
from crosswarp.compat.reachable import reachable
from crosswarp.compat.shims import read_back as shim
from crosswarp.kernels.known_issues import read_back
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches
from crosswarp.matrix.cell.standins.virtual_gpu.launching import run_with

# Stands for the addresses that the kernels below share.
HEAD = """module {
  tt.func public @kernel(%x: !tt.ptr<f32> loc("x"), %y: !tt.ptr<f32> loc("y"), %n: i32 loc("n")) {
    %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32> loc(#loc1)
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>> loc(#loc1)
    %2 = tt.addptr %1, %0 : tensor<128x!tt.ptr<f32>>, tensor<128xi32> loc(#loc1)
    %3 = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>> loc(#loc1)
    %4 = tt.addptr %3, %0 : tensor<128x!tt.ptr<f32>>, tensor<128xi32> loc(#loc1)
"""
STORE_X = "tt.store %2, %9 : tensor<128x!tt.ptr<f32>> loc(#loc1)"
LOAD_X = "%5 = tt.load %2 : tensor<128x!tt.ptr<f32>> loc(#loc1)"
LOAD_Y = "%6 = tt.load %4 : tensor<128x!tt.ptr<f32>> loc(#loc1)"
LOAD_BY_X = (
    "%7 = tt.addptr %3, %5 : tensor<128x!tt.ptr<f32>>, tensor<128xi32>\n"
    "%8 = tt.load %7 : tensor<128x!tt.ptr<f32>>"
)
CARRIED = "%8 = tt.load %p : tensor<128x!tt.ptr<f32>>"


def loop(*lines, carried="", after=()):
    text = "\n".join(lines)
    begin = f"scf.for %i = %c0 to %n step %c1 {carried} : i32 {{"
    return (
        f"{HEAD}{begin}\n{text}\n}} {{tt.num_stages = 2 : i32}} loc(#loc2)\n"
        + "\n".join(after)
        + "\n}\n}"
    )


@pytest.mark.parametrize(
    "ir, found",
    [
        (loop(STORE_X, LOAD_X), True),
        (loop(LOAD_X, STORE_X, LOAD_X), True),
        (loop(STORE_X, CARRIED, carried="iter_args(%p = %2) -> (tensor<128x!tt.ptr<f32>>)"), True),
        # In place: each turn loads before it stores.
        (loop(LOAD_X, STORE_X), False),
        (loop(STORE_X, LOAD_Y), False),
        # An index that was loaded from x is no pointer to x.
        (loop(LOAD_X, STORE_X, LOAD_BY_X), False),
        (loop(STORE_X, after=[LOAD_X]), False),
        # Each inner loop is pipelined by itself.
        (loop(STORE_X, "scf.for %j = %c0 to %n step %c1 : i32 {", LOAD_X, "}"), False),
        (loop("scf.for %j = %c0 to %n step %c1 : i32 {", STORE_X, LOAD_X, "}"), True),
        (HEAD + STORE_X + "\n" + LOAD_X + "\n}\n}", False),
    ],
)
def test_only_a_load_below_a_store_of_the_same_loop_is_looked_for(ir, found):
    assert shim.loads_what_it_stored(ir) == found


class Source:
    def __init__(self, src):
        self.src = src


ONE = "def f(x):\n    for i in range(9):\n        {}\n        {}\n"
LOAD, STORE = "a = tl.load(x + i)", "tl.store(x + i, 1)"


@pytest.mark.parametrize(
    "sources, concerned",
    [
        ([ONE.format(STORE, LOAD)], True),
        ([ONE.format(LOAD, STORE)], False),
        # What is stored is loaded before.
        ([ONE.format("tl.store(x + i, tl.load(x + i))", "pass")], False),
        ([ONE.format("desc.store([i], 1)", "tl._experimental_descriptor_load(x)")], True),
        # Unrolled, the store of one turn stands above the load of the next.
        ([ONE.format(LOAD, STORE).replace("9", "9, loop_unroll_factor=2")], True),
        ([ONE.format("for j in tl.static_range(2):", f"    {LOAD}\n            {STORE}")], True),
        ([ONE.format("for j in other(2):", f"    {LOAD}\n            {STORE}")], True),
        ([ONE.format("for j in tl.range(2):", f"    {LOAD}\n            {STORE}")], False),
        ([ONE.format(f"y = [{LOAD[4:]} for i in y]", f"y = [{STORE} for i in y]")], False),
        ([ONE.format("y = [(tl.load(x), tl.store(x, 1)) for i in y]", "pass")], True),
        # A function that is called twice in a turn.
        (
            [
                "def f(x):\n    for i in range(9):\n        g(x)\n        g(x)\n",
                f"def g(x):\n    {LOAD}\n    {STORE}\n",
            ],
            True,
        ),
        # One that nothing is known of.
        ([ONE.format("x.g()", "x.h()"), f"def g(x):\n    {LOAD}\n    {STORE}\n"], True),
        (["def f(x):\n    tl.store(x, 1)\n    tl.load(x)\n"], False),
        ([ONE.format(LOAD, "pass")], False),
        (["def f(x):\n    for i in tl.static_range(9):\n        tl.store(x, tl.load(x))\n"], False),
        (["for this is not Python: load store"], True),
    ],
)
def test_whatever_may_be_compiled_otherwise_has_a_key_of_its_own(sources, concerned):
    assert may_store_above_a_load(map(Source, sources)) == concerned


def written_kernels():
    found = vars(memory_order_kernels).items()
    return {name: kernel for name, kernel in found if name.startswith(("above_", "below_"))}


@pytest.mark.parametrize("name", written_kernels())
def test_what_a_kernel_reaches_tells_whether_a_loop_stores_above_a_load(name):
    reached = reachable([written_kernels()[name]])
    assert may_store_above_a_load(reached) == name.startswith("above_")


@pytest.mark.both_ends
def test_no_kernel_is_passed_over_that_the_ir_gives_away(in_fork):
    """Here "below" are those alone whose IR says so as well: the key must be another wherever the code is."""

    def irs():
        virtual_gpu.activate(targets.SM_80)
        found = {}
        for name, kernel in written_kernels().items():
            if name == "below_a_sort":
                # Some versions take seconds to trace it.
                continue
            compiled = kernel[(1,)](torch.zeros(256), 8)
            found[name] = shim.loads_what_it_stored(compiled.asm["ttir"])
        return found

    told = in_fork(irs)
    assert {name for name, wrong in told.items() if wrong} <= {
        name for name in told if name.startswith("above_")
    }
    # The half of what is looked for is a line that is not there; without these the test above would be of nothing.
    assert told["above_store_then_load"] and told["above_in_two_turns_of_an_unrolled_loop"]


def copies(stages, shims):
    """Loads of a kernel's PTX that are made ahead, and the shims that acted."""
    virtual_gpu.activate(targets.SM_80)
    compat.install(only=shims, guard="off")
    found = []
    run_with(lambda handed: found.append(handed.function.text))
    read_back.launch(torch.zeros(1024), stages)
    assert launches
    return found[0].count("cp.async.cg") + found[0].count("cp.async.ca"), compat.acted()


@pytest.mark.triton(">=3.2")
def test_such_a_loop_loads_in_its_turn(in_fork):
    bare, _ = in_fork(lambda: copies(2, []))
    healed, acted = in_fork(lambda: copies(2, ["read_back"]))
    assert bare > 0 and healed == 0 and acted == ["read_back"]
