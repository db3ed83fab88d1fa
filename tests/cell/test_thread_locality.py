"""Sums that a loop adds up keep their meaning: the pass is left out where it would change it, and nowhere else."""

import re
import sys

import loop_sum_kernels as kernels
import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat import loop_sums
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu

PLAIN = ("plain", "part_first", "greatest", "two_sums")
UNTOUCHED = ("computed_rows",)
# Wrong numbers, silently …
WRONG = (
    "read",
    "read_in_the_second_of_two_loops",
    "read_in_a_branch",
    "minus",
    "greatest_sum",
    "branch",
)
# … and the compiler's end.
DIES = ("nested", "decay", "last_negated", "used_twice")
# Fixed in Triton 3.9, which leaves these alone; the last is then wrong instead.
FIXED = (
    "read",
    "read_in_the_second_of_two_loops",
    "read_in_a_branch",
    "branch",
    "nested",
    "last_negated",
    "used_twice",
)
HAS_FIXED = in_window(">=3.9", triton.__version__)


@pytest.fixture(autouse=True)
def this_shim_alone(monkeypatch):
    only = [
        shim for shim in compat.all_shims() if shim.name in ("thread_locality", "compiler_crash")
    ]
    monkeypatch.setattr(sys.modules["crosswarp.compat.install"], "listed", lambda: only)


def compiled(name, target=targets.SM_90):
    virtual_gpu.activate(target)
    arguments = torch.ones(8, 512), torch.zeros(8), torch.zeros(8, 8)
    return getattr(kernels, name)[(1,)](*arguments, 512, num_warps=4).asm


def rewritten(asm):
    """Whether a loop carries the parts of a sum, a row of them for each."""
    loops = [line for line in asm["ttgir"].splitlines() if "scf.for" in line]
    return any(re.search(r"-> \(.*tensor<\d+x\d+xf32", line) for line in loops)


def code(asm):
    """The assembly, without the paths and line numbers that its debug information has."""
    text = asm["ptx"] if "ptx" in asm else asm["amdgcn"]
    return [line for line in text.splitlines() if not re.match(r"\s*\.(loc|file)\b", line)]


def left_alone(name):
    """Whether this Triton's own pass does."""
    return HAS_FIXED and name in FIXED


def bare_and_shimmed(in_fork, names, target):
    """name -> (rewritten, code) bare, or None where the compiler dies; name -> (rewritten, code, acted) shimmed."""

    def bare():
        made = {}
        for name in names:
            dies = name in DIES and not left_alone(name)
            asm = None if dies else compiled(name, target)
            made[name] = None if dies else (rewritten(asm), code(asm))
        return made

    def shimmed():
        compat.install()
        made, acted = {}, sys.modules["crosswarp.compat.acts"].COMMON.acted
        for name in names:
            acted.clear()
            asm = compiled(name, target)
            made[name] = rewritten(asm), code(asm), compat.acted()
        return made

    # One after the other, with one cache: what bare Triton left there must not be taken.
    return in_fork(bare), in_fork(shimmed)


def check(names, bare, shimmed):
    for name in names:
        stays, ptx, acted = shimmed[name]
        if name in PLAIN + UNTOUCHED or left_alone(name):
            # Of two sums the pass takes either first, from one process to the next.
            assert name == "two_sums" or bare[name][1] == ptx, name
            kept = name in PLAIN or name in ("read_in_the_second_of_two_loops", "used_twice")
            assert (bare[name][0], stays, acted) == (kept, kept, []), name
        else:
            assert (stays, acted) == (False, ["thread_locality"]), name
            assert name in DIES or (bare[name][0] and bare[name][1] != ptx), name


def test_the_pass_is_left_out_where_it_is_wrong_and_nowhere_else(in_fork):
    names = PLAIN + UNTOUCHED + WRONG + DIES
    check(names, *bare_and_shimmed(in_fork, names, targets.SM_90))


@pytest.mark.triton(">=3.0")
def test_the_same_on_amd(in_fork):
    names = ("plain", "minus", "decay")
    check(names, *bare_and_shimmed(in_fork, names, targets.GFX942))


def test_what_kills_the_compiler_bare_is_its_assertion(in_fork):
    def run():
        compat.uninstall()
        compiled("decay")

    with pytest.raises(pytest.fail.Exception) as died:
        in_fork(run)
    assert "OptimizeThreadLocality.cpp" in str(died.value)
    assert "BlockArgument" in str(died.value)


NAMES_COME_AGAIN = """
    %cst = arith.constant dense<0.000000e+00> : tensor<8xf32> loc("%total":1:1)
    %1 = scf.for %i = %c0 to %n step %c1 iter_args(%total = %cst) -> (tensor<8xf32>)  : i32 {
      %5 = tt.load %p : tensor<8x64x!tt.ptr<f32>> loc("%total":1:1)
      %6 = "tt.reduce"(%5) <{axis = 1 : i32}> ({
      ^bb0(%a: f32 loc(unknown), %b: f32 loc(unknown)):
        %7 = arith.addf %a, %b : f32
        tt.reduce.return %7 : f32
      }) : (tensor<8x64xf32>) -> tensor<8xf32>
      %8 = arith.addf %total, %6 : tensor<8xf32>
      scf.yield %8 : tensor<8xf32>
    } loc(#loc1)
    %2 = scf.for %i = %c0 to %n step %c1 iter_args(%total = %cst) -> (tensor<8xf32>)  : i32 {
      tt.store %q, %total : tensor<8x!tt.ptr<f32>>
      tt.store %q, %total : tensor<8x!tt.ptr<f32>>
      %8 = arith.addf %total, %1 : tensor<8xf32>
      scf.yield %8 : tensor<8xf32>
    }
"""


def test_names_that_come_again_in_another_loop_are_others():
    assert not loop_sums.has_broken_sum(NAMES_COME_AGAIN)
    other = NAMES_COME_AGAIN.replace("arith.addf %total, %6", "arith.subf %total, %6")
    assert loop_sums.has_broken_sum(other)
    assert loop_sums.has_broken_sum(other, checks_uses=True)


def test_a_pass_that_checks_uses_is_trusted_with_what_is_read():
    read = NAMES_COME_AGAIN.replace(
        "%8 = arith.addf %total, %6", "tt.store %q, %total\n      %8 = arith.addf %total, %6"
    )
    assert loop_sums.has_broken_sum(read) and not loop_sums.has_broken_sum(read, checks_uses=True)


def test_what_is_used_twice_behind_the_loop_is_broken_unless_it_is_stored():
    once = NAMES_COME_AGAIN.replace("arith.addf %total, %1", "arith.mulf %total, %cst")
    for uses, broken in (
        (["%9 = arith.addf %1, %1 : tensor<8xf32>"], True),
        (["%9 = arith.mulf %1, %cst : tensor<8xf32>"], False),
        (["tt.store %q, %1 : tensor<8x!tt.ptr<f32>>"] * 2, False),
        (
            ["tt.store %q, %1 : tensor<8x!tt.ptr<f32>>", "scf.if %c {", "  tt.store %q, %1", "}"],
            True,
        ),
    ):
        ir = once + "".join(f"    {use}\n" for use in uses)
        assert loop_sums.has_broken_sum(ir) == broken, uses
        assert not loop_sums.has_broken_sum(ir, checks_uses=True), uses


def test_a_loop_of_another_kernel_goes_on_as_it_is(in_fork):
    """A kernel that is compiled in between has its pass."""

    def run():
        compat.install()
        return [rewritten(compiled(name)) for name in ("plain", "minus", "two_sums")]

    assert in_fork(run) == [True, False, True]
