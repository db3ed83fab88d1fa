"""Block pointers: Triton's own up to 3.8, ours from 3.9 on. Numbers are compared in block_pointer_cases.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import block_pointer_cases
import block_pointer_kernels as kernels
import pytest
import targets
import torch
import triton
import triton.language as tl
from triton.language import core

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu

VERSION = triton.__version__
GONE = in_window(">=3.9", VERSION)
NAMES = ("make_block_ptr", "advance", "load", "store")
HERE = Path(__file__).parent

# The interpreter of 2.3.1 has no block pointers at all.
pytestmark = [pytest.mark.triton(">=3.0"), pytest.mark.both_ends]
only_where_gone = pytest.mark.triton(">=3.9")


def numbers(lane, *options, **environment):
    done = subprocess.run(
        [sys.executable, HERE / "block_pointer_cases.py", lane, *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def wrong(result):
    return {case: seen for case, seen in result["seen"].items() if seen != "ok"}


def test_numbers_in_the_interpreter():
    result = numbers("interpret", *([] if GONE else ["bare"]), TRITON_INTERPRET="1")
    assert not wrong(result)
    assert len(result["seen"]) > 60
    assert ("block_pointers" in result["acted"]) == GONE


@only_where_gone
def test_bare_the_interpreter_says_what_is_gone():
    result = numbers("interpret", "bare", TRITON_INTERPRET="1")
    assert all("Block pointers have been removed" in seen for seen in result["seen"].values())


def compile_all(target):
    """What each kernel raised, on the virtual GPU."""
    virtual_gpu.activate(target)
    red = {}

    def attempt(name, launch):
        try:
            launch()
        except Exception as error:
            red[name] = f"{type(error).__name__}: {error}: {error.__cause__}"

    for name, kernel in kernels.SUMS.items():
        x, y = torch.ones(5, 44), torch.zeros(16, 16)
        attempt(name, lambda kernel=kernel, x=x, y=y: kernel[(1,)](x, y, 5, 41, 44, B=16))
    seen = set()
    for plan in block_pointer_cases.copies(100):
        kind = (plan["rank"], plan["out"])
        if plan["dtype"] == torch.float8_e5m2 or kind in seen:
            continue
        seen.add(kind)
        plan = {**plan, "check": plan["check"] or (0,)}
        attempt(
            f"copy {plan}",
            lambda plan=plan: block_pointer_cases.run_copy(
                plan, torch.device("cpu"), torch.Generator().manual_seed(1)
            ),
        )
    half = torch.ones(64, 64).half()
    attempt(
        "matmul",
        lambda: kernels.matmul[(1, 1)](
            half, half, half, 64, 64, 64, 64, 1, 64, 1, 64, BM=32, BN=64, BK=16
        ),
    )
    return len(seen) + len(kernels.SUMS) + 1, red


@only_where_gone
@pytest.mark.parametrize("target", [targets.SM_90, targets.GFX942])
def test_every_kernel_compiles(in_fork, target):
    def run():
        bare = compile_all(target)
        # Not the kernels that failed, but their module, is older than the shim.
        compat.install()
        return bare, compile_all(target), compat.acted()

    (tried, bare), (_, shimmed), acted = in_fork(run)
    assert len(bare) == tried
    assert all("removed" in text or "advance" in text for text in bare.values())
    assert shimmed == {}
    assert "block_pointers" in acted


FROM_IMPORT = """
import triton
import triton.language as tl
from triton.language import load, make_block_ptr, store

@triton.jit
def copied(x, y, n, B: tl.constexpr):
    p = make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    store(tl.advance(make_block_ptr(y, (n,), (1,), (0,), (B,), (0,)), (1,)), load(p, boundary_check=(0,)))
"""


@only_where_gone
def test_names_imported_before_the_shim_came(in_fork, tmp_path):
    (tmp_path / "from_import.py").write_text(FROM_IMPORT)

    def run():
        sys.path.insert(0, str(tmp_path))
        import from_import

        compat.install()
        virtual_gpu.activate(targets.SM_90)
        from_import.copied[(1,)](torch.ones(9), torch.ones(9), 9, B=16)
        return len(virtual_gpu.launches)

    assert in_fork(run) == 1


@only_where_gone
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("changes_its_block", "Loop-carried variable p has initial type block_pointer<pointer<fp32>, [16]>"),
        ("forgets_the_result", "assign its result"),
        ("masks_a_block", "use boundary_check and padding_option"),
        ("checks_a_pointer", "need a block pointer: use mask and other"),
        ("pads_with_ones", "use '', 'zero' or 'nan'"),
        ("is_out_of_order", "order must be a permutation of 0 to 0, not [1]"),
        ("checks_a_dimension_too_many", "dimensions from 0 to 0, not [1]"),
    ],
)  # fmt: skip
def test_what_cannot_be_says_so(in_fork, name, text):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        kernel = getattr(kernels, name)
        try:
            kernel[(1,)](torch.ones(64), torch.ones(64), 40, B=16)
        except Exception as error:
            return f"{error} {error.__cause__}"

    assert text in in_fork(run)


def test_plain_loads_and_stores_stay_as_they_are(in_fork):
    """The same key in Triton's cache and the same code, with and without."""
    import small_kernels

    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        small_kernels.scaled[(1,)](torch.ones(9), torch.ones(9), 9, BLOCK=16)
        return small_kernels.scaled.cache_key, compat.acted()

    def bare():
        virtual_gpu.activate(targets.SM_90)
        return small_kernels.scaled.cache_key

    key, acted = in_fork(run)
    assert key == in_fork(bare)
    assert "block_pointers" not in acted


RENAMED = """
import triton
from triton.language import constexpr, make_block_ptr as made

@triton.jit
def renamed(x, B: constexpr):
    made(x, (B,), (1,), (0,), (B,), (0,))
"""


@only_where_gone
def test_the_cache_knows_which_block_pointers_a_kernel_was_compiled_with(in_fork, tmp_path):
    (tmp_path / "renamed.py").write_text(RENAMED)

    def run(when):
        from triton.compiler import ASTSource

        sys.path.insert(0, str(tmp_path))
        import renamed

        # device_functions calls make_block_ptr by way of another function only, take never
        functions = [kernels.matmul, kernels.device_functions, renamed.renamed, kernels.take]
        sources = [ASTSource(function, {}, {}) for function in functions]
        if when == "bare":
            return [source.hash() for source in sources]
        if when == "late":
            # Triton keeps the hash of a function that it has seen
            assert all(source.hash() for source in sources)
        compat.install()
        return [source.hash() for source in sources]

    early = in_fork(lambda: run("early"))
    assert in_fork(lambda: run("late")) == early
    bare = in_fork(lambda: run("bare"))
    assert [a == b for a, b in zip(early, bare)] == [False, False, False, True]


def test_outside_its_window_nothing_is_replaced_and_uninstall_restores_all(in_fork):
    def run():
        def held():
            return [vars(owner).get(name) for owner in (core, tl, core.tensor) for name in NAMES]

        before = held()
        compat.install()
        inside = [name for name, old, new in zip(NAMES * 3, before, held()) if old is not new]
        compat.uninstall()
        return inside, all(old is new for old, new in zip(before, held()))

    inside, restored = in_fork(run)
    assert restored
    if GONE:
        assert inside == [*NAMES, *NAMES, "advance", "store"]
    else:
        assert not {"make_block_ptr", "advance"} & set(inside)


@only_where_gone
def test_what_is_replaced_at_the_first_compilation_is_restored_too(in_fork):
    def run():
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        from triton.compiler.code_generator import CodeGenerator

        def held():
            names = ("call_Function", "_verify_loop_carried_variable")
            return [vars(CodeGenerator)[name] for name in names]

        before = held()
        compat.install()
        source = ASTSource(
            kernels.masks_nothing, {"x": "*fp32", "n": "i32", "B": "constexpr"}, {"B": 16}
        )
        triton.compile(source, target=GPUTarget("cuda", 90, 32))
        during = held()
        compat.uninstall()
        return [a is b for a, b in zip(before, during)], [a is b for a, b in zip(before, held())]

    assert in_fork(run) == ([False, False], [True, True])


@only_where_gone
def test_more_values_than_names_compile_as_they_did(in_fork):
    from crosswarp.kernels.known_issues import surplus_values

    def run():
        virtual_gpu.activate(targets.SM_90)
        x = torch.ones(100)
        try:
            surplus_values.launch(x)
            bare = "launched"
        except Exception as error:
            bare = f"{error} {error.__cause__}"
        compat.install()
        surplus_values.launch(x)
        return bare, len(virtual_gpu.launches)

    bare, launched = in_fork(run)
    assert "too many values to unpack (expected 2)" in bare
    assert launched == 1
