"""`crosswarp check` imports a file as far as its kernels, and launches them with what only has a type."""

import math
import os
import sys
import textwrap

import pytest
import torch
import triton
import triton.language as tl
from targets import SM_90

from crosswarp.compat.isolate import run_isolated
from crosswarp.kernels.case import TORCH
from crosswarp.matrix.cell.kinds.check import importing, launching, observing
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

    def ask(text, package="", kernel=""):
        folder = tmp_path / package
        folder.mkdir(exist_ok=True)
        if package:
            (folder / "__init__.py").touch()
        path = folder / "kernels_here.py"
        path.write_text(HEAD + textwrap.dedent(text))
        check = {
            "file": str(path), "module": f"{package}.kernels_here" if package else "", "root": str(tmp_path),
            "kernels": {kernel: {"function": kernel, "first": 1, "line": 99, "within": ""}} if kernel else {},
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


@pytest.mark.parametrize("place", ["__init__", "beside"])
def test_a_kernel_is_reached_although_its_package_stumbles_over_a_stand_in(
    imported, tmp_path, place
):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / f"{place}.py").write_text("import no_such\nLEVEL = int(no_such.level())\n")
    text = "from pack.beside import LEVEL\nlater = 1\n\n\n@triton.jit\ndef below(x):\n    tl.store(x, 1.0)\n"
    assert imported(text, "pack", "below") == (True, True, "")


def test_a_kernel_is_reached_although_other_code_of_its_package_fails(imported, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("from . import broken\n")
    (tmp_path / "pack" / "broken.py").write_text("import triton\n\ntriton.no_such_name\n")
    (tmp_path / "pack" / "beside.py").write_text("LEVEL = 3\n")
    assert imported("from .beside import LEVEL\nlater = LEVEL\n", "pack") == (True, True, "")


def test_an_import_begins_anew_with_each_stand_in(imported):
    text = "import no_such_package\nimport another_such_package\nlater = 1\n"
    assert imported(text, "pack") == (True, True, "")


def test_what_an_import_raises_comes_after_its_kernels(imported):
    line = HEAD.count("\n") + 1
    assert imported("raise KeyError('a')") == (
        True, False, f"its import ends at line {line}: KeyError: 'a'"
    )  # fmt: skip
    assert imported("later = 1") == (True, True, "")


SPELLED = """
import functools
import torch
import triton
import triton.language as tl


def _called(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


called = triton.jit(_called)


def hidden(fn):
    return lambda *args: fn


@hidden
@triton.autotune(configs=[triton.Config({"BLOCK": 16})], key=[])
@triton.jit
def decorated(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


def make(size):
    @triton.jit
    def inner(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), size)

    return inner


class Ops:
    @staticmethod
    @triton.jit
    def held(x):
        tl.store(x, 1.0)
"""


def _asked(path, text, *kernels):
    """As the host asks for kernels, each (name, function): of their place it says the lines."""
    path.write_text(text)
    lines = text.splitlines()
    told = {}
    for name, function in kernels:
        line = next(
            at for at, one in enumerate(lines, 1) if one.strip().startswith(f"def {function}(")
        )
        within = name.rpartition(".")[0] if name.startswith("make") else ""
        told[name] = {
            "line": line,
            "first": line - 3,
            "function": function,
            "within": within,
            "cases": {},
        }
    return {
        "file": str(path),
        "module": "",
        "root": str(path.parent),
        "kernels": told,
        "configurations": 0,
    }


def test_a_kernel_is_found_in_any_spelling(in_fork, tmp_path):
    kernels = (
        ("called", "_called"),
        ("decorated", "decorated"),
        ("make.inner", "inner"),
        ("Ops.held", "held"),
    )
    check = _asked(tmp_path / "spelled.py", SPELLED, *kernels)

    def found():
        virtual_gpu.activate(SM_90)
        module, error = importing.load(check)
        return error is None, {
            name: type(importing.find(check, module, name)).__name__ for name, _ in kernels
        }

    whole, types = in_fork(found)
    assert whole
    assert types == {
        "called": "JITFunction", "decorated": "Autotuner", "make.inner": "JITFunction", "Ops.held": "JITFunction",
    }  # fmt: skip


RUN = """
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, ids, n, eps, b, D: tl.constexpr, T: tl.constexpr):
    tl.store(x + tl.load(ids) * n + tl.arange(0, D), tl.load(x).to(T) + eps)


@triton.autotune(configs=[triton.Config({"D": 16})], key=["n"])
@triton.jit
def tuned(x, n, D: tl.constexpr):
    tl.store(x + tl.arange(0, D), n)


@pytest.mark.parametrize("dtype, d", [(torch.float16, 32), (torch.float32, 64)])
def test_it(dtype, d):
    x = torch.randn(8, d, device="cuda", dtype=dtype)
    scale[(8,)](x, torch.arange(8, device="cuda"), d, 1e-5, None, D=d, T=tl.float32, num_warps=2)
    torch.testing.assert_close(x, x + 1)
    scale[(8,)](x[:, 1:], torch.arange(8, device="cuda"), d, 1e-5, None, D=d, T=tl.float32, num_warps=2)


if __name__ == "__main__":
    x = torch.zeros(64, device="cuda", dtype=torch.bfloat16)
    triton.testing.do_bench(lambda: tuned[(1,)](x, x.numel()))
    raise SystemExit
"""


def test_what_a_file_launches_where_it_is_run(in_fork, tmp_path):
    check = _asked(tmp_path / "run.py", RUN, ("scale", "scale"), ("tuned", "tuned"))

    def launched():
        from crosswarp.matrix.cell.standins import virtual_torch

        virtual_gpu.activate(SM_90)
        virtual_torch.install(SM_90, zeroed=True)
        found = []
        observing.observe(check, found.append)
        return [(name, observing.shown(one)) for name, line, one in found], os.getcwd()

    found, folder = in_fork(launched)
    assert found[0] == ("tuned", "x *bf16, n=64 i32")
    text = "x *fp16, ids *i64, n=32 i32, eps=1e-05 fp32, b none, D=32, T='float32', num_warps=2"
    # The second is not aligned, which is another program.
    assert found[1:] == [("scale", text)] * 2
    assert folder != str(tmp_path)


NOTEBOOK = """
import torch
import triton
import triton.language as tl


@triton.jit
def first(x):
    tl.store(x, 1.0)


given = torch.zeros(4)
made = first[(1,)](given)
print(made.nothing, given)


@triton.jit
def second(x):
    tl.store(x, 2.0)


second[(1,)](given)
"""


def test_a_kernel_below_a_launch_is_found(in_fork, tmp_path):
    check = _asked(tmp_path / "notebook.py", NOTEBOOK, ("first", "first"), ("second", "second"))

    def imported():
        virtual_gpu.activate(SM_90)
        module, error = importing.load(check)
        return error, [importing.find(check, module, one) is not None for one in check["kernels"]]

    assert in_fork(imported) == (None, [True, True])


COUNTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def sized(x, D: tl.constexpr, K: tl.constexpr):
    tl.store(x + tl.arange(0, D), 1)


def test_it():
    x = torch.zeros(4, device="cuda", dtype=torch.int32)
    sized[(1,)](x, D=2, K=x[0].item())
    sized[(1,)](x, D=int(x[0]), K=3)
"""


def test_a_size_that_no_kernel_has_counted_is_assumed(in_fork, tmp_path):
    check = _asked(tmp_path / "counts.py", COUNTS, ("sized", "sized"))

    def launched():
        from crosswarp.matrix.cell.standins import virtual_torch

        virtual_gpu.activate(SM_90)
        virtual_torch.install(SM_90, zeroed=True)
        found = []
        observing.observe(check, found.append)
        return [one["assumed"] for _, _, one in found]

    assert in_fork(launched) == [[], ["D"]]


def test_what_torch_script_would_compile_is_left_as_it_is(in_fork, tmp_path):
    path = tmp_path / "scripted.py"
    path.write_text(
        "import torch\n@torch.jit.script\ndef made(n: int):\n    return torch.empty((n,), dtype=torch.float32)\n"
    )

    def scripted():
        from crosswarp.matrix.cell.standins import virtual_torch

        patches = virtual_torch.install(SM_90)
        sys.path.insert(0, str(tmp_path))
        try:
            return tuple(__import__("scripted").made(3).shape)
        finally:
            patches.undo()

    assert in_fork(scripted) == (3,)


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


def test_a_heuristic_makes_no_large_block_of_a_number(monkeypatch):
    # An allocator that is set here would be there for every later test of this process.
    monkeypatch.setattr(launching, "_allocate", lambda: None)

    class Kernel:
        def __getitem__(self, grid):
            return lambda *given: self.given.extend(given)

    tuned, plain = Kernel(), Kernel()
    tuned.values = {"BLOCK": lambda args: args["n"]}
    argument = {"name": "n", "type": "i32", "hint": "16", "value": None}
    signature = {
        "assumed": [],
        "arguments": [argument],
        "positional": 1,
        "spare": {},
        "options": {},
    }
    for kernel, number in ((tuned, 128), (plain, 4096)):
        kernel.given = []
        launching._launch(os, kernel, signature)
        assert kernel.given == [number]


@pytest.mark.parametrize("element", sorted(TORCH))
def test_pointers_are_aligned_as_told(element):
    if not hasattr(torch, TORCH[element]):
        pytest.skip(f"torch {torch.__version__} has no {element}")
    for hint, aligned in (("16", True), ("any", False)):
        made = launching.argument(None, {"type": f"*{element}", "hint": hint, "value": None})
        assert (made.data_ptr() % 16 == 0) is aligned
        assert made.dtype == getattr(torch, TORCH[element])


def test_a_file_that_reads_itself_is_imported(in_fork, tmp_path):
    text = f"import sys\n\nCODE = open(sys.argv[0]).read()\n{SPELLED}"
    check = _asked(tmp_path / "reads.py", text, ("decorated", "decorated"))

    def found():
        sys.argv = ["-c"]
        virtual_gpu.activate(SM_90)
        module, error = importing.load(check)
        return error is None, importing.find(check, module, "decorated") is not None

    assert in_fork(found) == (True, True)


def test_a_package_that_fails_in_its_own_code_gets_a_stand_in(in_fork, tmp_path):
    (tmp_path / "broken_of_nobody.py").write_text("class Own(type(len)):\n    pass\n")
    text = f"from broken_of_nobody import Own\nimport broken_of_nobody\n{SPELLED}"
    check = _asked(tmp_path / "stumbles.py", text, ("decorated", "decorated"))

    def found():
        virtual_gpu.activate(SM_90)
        module, error = importing.load(check)
        there = importing.find(check, module, "decorated") is not None
        return error is None, there, check["absent"]

    assert in_fork(found) == (True, True, ["broken_of_nobody"])


def test_a_function_that_triton_refuses_is_no_kernel(in_fork, tmp_path):
    text = f"import nowhere_of_nobody\n{SPELLED}\n@triton.jit\ndef refused(x, *rest):\n    pass\n"
    check = _asked(
        tmp_path / "refuses.py", text, ("decorated", "decorated"), ("refused", "refused")
    )

    def found():
        virtual_gpu.activate(SM_90)
        own = triton.runtime.jit.JITFunction.__init__

        def __init__(self, fn, *args, **options):
            if fn.__name__ == "refused":
                self.fn = fn
                raise TypeError("no *rest")
            own(self, fn, *args, **options)

        triton.runtime.jit.JITFunction.__init__ = __init__
        module, error = importing.load(check)
        there = [importing.find(check, module, name) is not None for name in check["kernels"]]
        return type(error), importing.refused(error) is not None, there

    assert in_fork(found) == (TypeError, True, [True, False])


def test_as_many_configurations_as_asked_for():
    configs = [triton.Config({"BLOCK": size}) for size in (16, 32, 64)]

    class Inner:
        pass

    class Outer:
        fn = Inner()

    Outer.fn.configs = configs
    launching._limit(Outer, 0, math.inf)
    assert Outer.fn.configs == configs
    assert launching.configurations(Outer) == 3 and launching.configurations(len) == 0
    launching._limit(Outer, 2, math.inf)
    assert Outer.fn.configs == [configs[0], configs[2]]
    launching._limit(Outer, 1, math.inf)
    assert Outer.fn.configs == configs[:1]


def test_a_heuristic_may_ask_for_several_axes():
    tensor = torch.empty(launching.ELEMENTS)
    for heuristic, value in (
        (lambda named: named["x"].shape[0], 64),
        (lambda named: named["x"].shape[1] + named["n"], 11),
        (lambda named: len(named["x"].view(2, 2, 2, 8).shape), 4),
        (lambda named: named["x"].stride(3), 1),
    ):
        assert launching._for_any_axes("W", heuristic, {"x": tensor, "n": 3}) == value
