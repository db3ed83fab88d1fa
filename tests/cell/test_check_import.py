"""`crosswarp check` imports a file as far as its kernels, and launches them with what only has a type."""

import os
import textwrap

import pytest
import torch
import triton
import triton.language as tl
from targets import SM_90

from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell.kinds.check import importing, launching
from crosswarp.matrix.cell.standins import virtual_gpu

HEAD = """
import triton
import triton.language as tl


@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


"""


@pytest.fixture
def imported(tmp_path):
    """`imported(text)`: what a child says of the import of a file with a kernel, below which is `text`."""

    def ask(text, package=""):
        folder = tmp_path / package
        folder.mkdir(exist_ok=True)
        if package:
            (folder / "__init__.py").touch()
        path = folder / "kernels_here.py"
        path.write_text(HEAD + textwrap.dedent(text))
        check = {
            "file": str(path), "module": f"{package}.kernels_here" if package else "", "root": str(tmp_path)
        }  # fmt: skip

        def child(send):
            virtual_gpu.activate(SM_90)
            module, error = importing.load(check)
            later = importing.kernel(module, "later") is not None
            ended = "" if error is None else importing.ended(error, str(path))
            return importing.kernel(module, "kernel") is not None, later, ended

        outcome = run_isolated(child, time_limit=60)
        assert outcome.kind == "returned", outcome
        return outcome.value

    return ask


@pytest.mark.parametrize("package", ["", "pack"])
def test_an_import_ends_at_the_first_launch(imported, package):
    text = "try:\n    kernel[(1,)](None, BLOCK=1)\nexcept Exception:\n    pass\nlater = 1\n"
    line = HEAD.count("\n") + 2
    assert imported(text, package) == (True, False, f"its import launches a kernel at line {line}")


def test_what_an_import_raises_comes_after_its_kernels(imported):
    line = HEAD.count("\n") + 1
    assert imported("raise KeyError('a')") == (
        True, False, f"its import ends at line {line}: KeyError: 'a'"
    )  # fmt: skip
    assert imported("later = 1") == (True, True, "")


@pytest.mark.parametrize(
    "told, value",
    [
        ({"type": "i32", "hint": "16", "value": None}, 4096),
        ({"type": "i32", "hint": "any", "value": None}, 4097),
        ({"type": "i32", "hint": "1", "value": None}, 1),
        ({"type": "i64", "hint": "16", "value": None}, 1 << 40),
        ({"type": "i1", "hint": "", "value": None}, True),
        ({"type": "fp32", "hint": "", "value": 0.25}, 0.25),
        ({"type": "none", "hint": "", "value": None}, None),
        ({"type": "constexpr", "hint": "", "value": {"value": [1, 2]}}, (1, 2)),
        ({"type": "constexpr", "hint": "", "value": {"dtype": "float16"}}, tl.float16),
        ({"type": "constexpr", "hint": "", "value": {"name": "path"}}, os.path),
    ],
)
def test_arguments(told, value):
    assert launching.argument(os, told) == value


@pytest.mark.parametrize("element", sorted(launching._TORCH))
def test_pointers_are_aligned_as_told(element):
    if not hasattr(torch, launching._TORCH[element]):
        pytest.skip(f"torch {torch.__version__} has no {element}")
    for hint, aligned in (("16", True), ("any", False)):
        made = launching.argument(None, {"type": f"*{element}", "hint": hint, "value": None})
        assert (made.data_ptr() % 16 == 0) is aligned
        assert made.dtype == getattr(torch, launching._TORCH[element])


def test_as_many_configurations_as_asked_for():
    configs = [triton.Config({"BLOCK": size}) for size in (16, 32, 64)]

    class Inner:
        pass

    class Outer:
        fn = Inner()

    Outer.fn.configs = configs
    launching._limit(Outer, 0)
    assert Outer.fn.configs == configs
    launching._limit(Outer, 2)
    assert Outer.fn.configs == configs[:2]
