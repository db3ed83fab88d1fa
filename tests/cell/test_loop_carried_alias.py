"""A variable that a loop sets to another one is carried, from Triton 3.5 on with the shim.

The main job shows that no release before needs it.
"""

import sys

import loop_alias_kernels as kernels
import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.kernels.known_issues import loop_carried_alias
from crosswarp.matrix.cell.standins import virtual_gpu

FORGETS = in_window(">=3.5", triton.__version__)
only_where_it_forgets = pytest.mark.triton(">=3.5")

# How many values each loop carries, the outer one first.
FORGOTTEN = {
    "previous": [2],
    "previous_while": [3],
    "read_inside": [2],
    "two_back": [3],
    "swapped": [2],
    "fibonacci": [2],
    "greatest": [2],
    "through_a_temporary": [2],
    "inner_loop_copies": [2, 1],
    "inner_loop_loads": [2, 2],
    "calls_previous": [2],
    "in_a_tuple": [3],
}
RIGHT = {
    "apart": [2],
    "swapped_apart": [2],
    "greatest_apart": [1],
    "back_to_the_first": [1],
    "unused_copy": [2],
    "unrolled": [],
}


def compiled(name):
    """The kernel's TTIR, without where in the source each operation comes from."""
    virtual_gpu.activate(targets.SM_90)
    made = getattr(kernels, name)[(1,)](torch.ones(64), torch.zeros(64), 5)
    return "\n".join(line.partition(" loc(")[0] for line in made.asm["ttir"].splitlines())


def carried(ttir):
    loops = [line for line in ttir.splitlines() if "scf.for" in line or "scf.while" in line]
    return [
        line.partition("iter_args(" if "scf.for" in line else "scf.while")[2]
        .partition(")")[0]
        .count("= %")
        for line in loops
    ]


def bare_and_shimmed(in_fork, name):
    def shimmed():
        compat.install()
        return compiled(name)

    # One after the other, with one cache: what bare Triton left there must not be taken.
    return in_fork(lambda: compiled(name)), in_fork(shimmed)


@only_where_it_forgets
@pytest.mark.parametrize("name", FORGOTTEN)
def test_what_began_with_the_same_value_is_carried(in_fork, name):
    bare, shimmed = bare_and_shimmed(in_fork, name)
    assert carried(shimmed) == FORGOTTEN[name]
    assert sum(carried(bare)) < sum(FORGOTTEN[name])


@only_where_it_forgets
@pytest.mark.parametrize("name", RIGHT)
def test_what_was_right_stays_as_it_is(in_fork, name):
    bare, shimmed = bare_and_shimmed(in_fork, name)
    assert carried(bare) == RIGHT[name]
    assert bare == shimmed


@only_where_it_forgets
@pytest.mark.parametrize("target", ["SM_90", "GFX942"])
@pytest.mark.parametrize("case", loop_carried_alias.KERNEL.cases, ids=lambda case: case.id)
def test_the_known_issue_is_red_bare_and_green_shimmed(in_fork, case, target):
    def run(shimmed):
        if shimmed:
            compat.install()
        virtual_gpu.activate(getattr(targets, target))
        inputs = loop_carried_alias.inputs(case, "cpu", torch.Generator().manual_seed(1))
        try:
            loop_carried_alias.launch(**inputs)
        except RuntimeError as error:
            return str(error)
        return "launched"

    bare, shimmed = in_fork(lambda: run(False)), in_fork(lambda: run(True))
    assert "compiled without its loop" in bare
    assert shimmed == "launched"


@only_where_it_forgets
def test_it_acts_where_it_must_and_uninstalled_nothing_of_it_is_left(in_fork):
    def run():
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        from triton.compiler.code_generator import CodeGenerator

        def loops(name):
            types = {"x": "*fp32", "y": "*fp32", "n": "i32"}
            source = ASTSource(getattr(kernels, name), types, {})
            return carried(triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["ttir"])

        def held():
            return vars(CodeGenerator)["_find_carries"]

        own, bare = held(), loops("previous")
        compat.install()
        # In a loop that is wanted as it is it has nothing to do.
        loops("apart")
        idle = compat.acted()
        shimmed, acted, during = loops("previous"), compat.acted(), held()
        compat.uninstall()
        assert during is not own and held() is own
        return bare, idle, shimmed, acted, loops("previous")

    assert in_fork(run) == ([], [], [2], ["loop_carried_alias"], [])


def test_outside_its_window_it_is_not_installed(in_fork):
    def run():
        compat.install()
        return [shim.name for shim in compat.active()]

    assert ("loop_carried_alias" in in_fork(run)) == FORGETS


ELSEWHERE = """
import loop_alias_kernels
import triton
import triton.language as tl
from triton.language import core


@triton.jit
def by_module(x, y, n):
    loop_alias_kernels.previous(x, y, n)


@triton.jit
def by_default(x, y, n, inner: tl.constexpr = loop_alias_kernels.previous):
    inner(x, y, n)


@triton.jit
def calls_by_default(x, y, n):
    by_default(x, y, n)


@triton.jit
def given(x, y, n, inner: tl.constexpr):
    inner(x, y, n)


@triton.jit
def adds(x, y, n):
    total = tl.load(x)
    for i in range(0, n):
        total += tl.load(x)
        x += 1
    tl.store(y, total)
"""


@only_where_it_forgets
def test_the_cache_keeps_apart_what_may_have_been_compiled_wrong(in_fork, tmp_path):
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)

    def run(shimmed):
        from triton.compiler import ASTSource

        sys.path.insert(0, str(tmp_path))
        import elsewhere

        if shimmed:
            # Others have kernels of their own to keep apart.
            compat.install(only=["loop_carried_alias"])
        functions = [getattr(kernels, name) for name in FORGOTTEN]
        functions += [elsewhere.by_module, elsewhere.calls_by_default]
        sources = [ASTSource(function, {}, {}) for function in functions]
        sources.append(ASTSource(elsewhere.given, {}, {"inner": kernels.previous}))
        others = [kernels.unrolled, kernels.greatest_apart, elsewhere.adds, elsewhere.given]
        return (
            [source.hash() for source in sources],
            [ASTSource(function, {}, {}).hash() for function in others],
        )

    bare, others = in_fork(lambda: run(False))
    shimmed, same = in_fork(lambda: run(True))
    assert others == same
    assert all(a != b for a, b in zip(bare, shimmed))
    assert in_fork(lambda: run(True)) == (shimmed, same)
