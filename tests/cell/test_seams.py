"""What stands in the place of Triton's own functions looks like them: torch, debuggers and pickle ask."""

import ast
import importlib
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import small_kernels
import targets
import torch
import triton  # noqa: F401

from crosswarp import compat
from crosswarp.compat.copies import COMMON
from crosswarp.compat.seams import attribute
from crosswarp.matrix.cell.standins import virtual_gpu

# Whose purpose is to take other arguments, by the fix that replaces them.
TAKES_MORE = (
    *("autotune_arguments", "block_pointers", "do_bench_arguments", "dot_and_reduce_arguments"),
    *("exact_flip", "flip_default_dim", "gluon_names", "sorted_floats", "tensor_methods"),
)


# That of the cache of a function, of `functools`.
CACHE = ("cache_info", "cache_clear", "cache_parameters")


def face(value):
    """Name, module, parameters and cache, as `inspect`, `functools` and pickle see them."""
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if not inspect.isroutine(function) and not hasattr(function, "cache_info"):
        return None
    try:
        signature = str(inspect.signature(function))
    except ValueError:  # of compiled code
        signature = ""
    # What Triton takes for a builtin of its own says that it is from `triton.language.core`.
    package = (function.__module__ or "").partition(".")[0]
    cache = [name for name in CACHE if hasattr(function, name)]
    return function.__name__, package, function.__qualname__, signature, cache


def replaced():
    """(who, owner, name) of every attribute that is replaced now."""
    for one in COMMON.applied:
        for owner, name, _ in one.patches.replaced():
            yield one.shim.name, owner, name
    for seam in attribute.standing():
        yield "a seam", seam.owner, seam.name


def installed_and_bare():
    """(who, owner, name, what stands there, what Triton has there) of every attribute that a process replaces that has
    compiled a kernel: some wait for the first one."""
    compat.install()
    virtual_gpu.activate(targets.SM_90, guarded=False)
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)
    places = list(replaced())
    ours = [vars(owner).get(name) for _, owner, name in places]
    assert compat.left_out() == {}
    compat.uninstall()
    return [
        (who, owner, name, after, vars(owner).get(name))
        for (who, owner, name), after in zip(places, ours)
    ]


EITHER_FIRST = pytest.mark.parametrize("imported", ["triton", "triton.runtime.interpreter"])


@EITHER_FIRST
def test_what_replaces_a_function_has_its_name_and_its_parameters(in_fork, imported):
    def run():
        importlib.import_module(imported)
        return [
            (shim, getattr(owner, "__name__", str(owner)), name, face(before), face(after))
            for shim, owner, name, after, before in installed_and_bare()
            if face(before) and face(after) and shim not in TAKES_MORE
        ]

    found = in_fork(run)
    assert len(found) > 10
    assert any(name == "make_ir" for _, _, name, _, _ in found)
    differing = [one for one in found if one[3] != one[4]]
    assert not differing, "\n".join(map(str, differing))


@EITHER_FIRST
def test_a_seam_says_what_it_stands_for(in_fork, imported):
    def run():
        importlib.import_module(imported)
        seams = [one for one in installed_and_bare() if one[0] == "a seam"]
        return len(seams), [
            (str(owner)[:60], name)
            for _, owner, name, after, before in seams
            if getattr(after, "__func__", after).__wrapped__
            is not getattr(before, "__func__", before)
        ]

    count, silent = in_fork(run)
    assert count > 10
    assert silent == []


@EITHER_FIRST
def test_an_attribute_is_replaced_once_however_many_fixes_need_it(in_fork, imported):
    """A fix that replaces what another replaces, or what a seam has, would bypass what leaves out a fix that raises."""

    def run():
        importlib.import_module(imported)
        places = {}
        for who, owner, name, _, _ in installed_and_bare():
            places.setdefault((id(owner), name), (owner, name, []))[2].append(who)
        # A name that Triton lacks is nobody's to bypass.
        return [
            (str(owner)[:60], name, who)
            for owner, name, who in places.values()
            if len(who) > 1 and name in vars(owner)
        ]

    several = in_fork(run)
    assert several == []


@pytest.mark.one_release
def test_what_is_asked_of_compiled_kernels_is_imported_when_one_is_compiled():
    """Its modules and the pipeline are a third of what installing would cost."""
    code = """
        import sys, torch, triton
        from crosswarp import compat
        from crosswarp.matrix.cell.standins import virtual_gpu
        import small_kernels, targets

        compat.install()
        names = [f"crosswarp.compat.{name}" for name in ("seams.pipeline", "shims.thread_locality")]
        before = [name in sys.modules for name in names]
        virtual_gpu.activate(targets.SM_80, guarded=False)
        small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)
        print(before, [name in sys.modules for name in names], compat.left_out())
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent
    )
    assert ran.stdout.splitlines()[-1] == "[False, False] [True, True] {}"


@pytest.mark.both_ends
def test_installing_imports_none_of_what_takes_long():
    """Measured: each takes as long as a third of all else that installing does, or longer."""
    code = """
        import sys, triton
        before = set(sys.modules)
        from crosswarp import compat
        compat.install()
        print(sorted(set(sys.modules) - before))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    imported = set(ast.literal_eval(ran.stdout))
    assert "crosswarp.compat.install" in imported
    assert not imported & {
        *("importlib.metadata", "packaging.version", "numpy", "torch", "triton.language.semantic"),
        *("triton.compiler.code_generator", "crosswarp.compat.worker"),
    }
