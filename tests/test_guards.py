"""`crosswarp guards`: what a guard is, one turned round in a process of a made-up column, and what is told."""

# ruff: noqa: E501

from __future__ import annotations

import ast
import builtins
import dataclasses
import importlib
import json
import sys
import textwrap
from pathlib import Path

import pytest

from crosswarp.matrix.cell.kinds.library_guards import forcing
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import CrosswarpError
from crosswarp.matrix.facts import issues, language_table
from crosswarp.matrix.linting import guards
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running import plan
from crosswarp.matrix.work import library_guards
from crosswarp.matrix.work.library_guards import Trial
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.findings.guards import Need, answers
from crosswarp.reports.text import guards_text

HERE = Path(__file__).parent
TABLE = language_table.load()
ALL = tuple(TABLE)


@pytest.fixture
def library(tmp_path):
    """`library({"lib/a.py": text})`: a folder with these files, in packages."""

    def make(files):
        for path, text in files.items():
            file = tmp_path / "site" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            (file.parent / "__init__.py").touch()
            file.write_text(textwrap.dedent(text), "utf-8")
        return tmp_path / "site"

    return make


def found(folder, releases=("3.2.0", "3.9.0")):
    return guards.find(folder, releases, table=TABLE).guards


# Finding


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("import triton\nif triton.__version__ >= '3.4': pass", [("version",)]),
        ("import triton as t\nx = 1 if t.__version__ == '3.4.0' else 2", [("version",)]),
        ("from importlib.metadata import version\nif version('triton') > '3': pass", [("version",)]),
        ("import triton.language as tl\nif not hasattr(tl, 'gather'): pass", [("version",)]),
        ("import torch\nif torch.cuda.get_device_capability()[0] >= 9: pass", [("hardware",)]),
        ("import torch\nx = [4] if torch.version.hip else [4, 8]", [("hardware",)]),
        ("from other import is_hip\nx = 16 if is_hip() else 32", [("hardware",)]),
        ("from other import IS_NVIDIA_HOPPER as H\nW = [2, 4] if H else [2, 4, 8]", []),
        ("from other import IS_NVIDIA_HOPPER\nW = [2, 4] if IS_NVIDIA_HOPPER else [2, 4, 8]", [("hardware",)]),
        ("from other import TRITON_ABOVE_3_4_0, IS_AMD\nif IS_AMD and not TRITON_ABOVE_3_4_0: pass", [("hardware",), ("version",)]),
        ("from other import IS_AMD\nx = [n for n in (1, 2) if not IS_AMD]", [("hardware",)]),
        # The decorators of a kernel are Python's, what stands in it is Triton's.
        ("import triton\nfrom other import IS_AMD\n@triton.jit(noinline=True if IS_AMD else False)\ndef k(x, IS_HIP):\n    if IS_HIP: pass", [("hardware",)]),
        ("if x > 3 and name == 'hip_hop': pass", []),
        ("import torch\nif torch.cuda.is_available() and x.is_cuda: pass", []),
        ("if is_npu_available(): pass", []),
        # By its spelling counts what is imported, and no variable of a function.
        ("def f(cuda_ref):\n    return 1 if cuda_ref else 2", []),
        ("def f():\n    cuda_out = g()\n    if cuda_out: pass", []),
        ("from other import cuda_ref, hip_kernel\nif cuda_ref or hip_kernel: pass", []),
        ("def f(is_hip):\n    if is_hip: pass", []),
        ("import torch\ndef f():\n    hip = torch.version.hip is not None\n    if hip: pass", [("hardware",)]),
        ("import torch\nclass A:\n    def __init__(self):\n        self.new = torch.cuda.get_device_capability() > (8, 0)\n"
         "    def f(self):\n        if self.new: pass", [("hardware",)]),
        ("from other import AMD_GPU, is_sm90, HIP\nx = [AMD_GPU and 1 if is_sm90 else 2 if HIP else 3]", [("hardware",), ("hardware",)]),
        ("x = f'{1 if is_hip() else 2}'", []),
    ],
)  # fmt: skip
def test_what_a_guard_is(library, text, kinds):
    folder = library({"lib/a.py": text})
    assert [one.kinds for one in found(folder)] == kinds


def test_flags_and_functions_are_followed_through_files(library):
    folder = library(
        {
            "lib/flags.py": """
                import torch, triton
                from packaging.version import parse
                def fresh():
                    return parse(triton.__version__) >= parse("3.3")
                OLD = not fresh()
                LETTERS = triton.__version__ >= "3.4"
                QUICK = torch.cuda.get_device_capability() == (9, 0)
            """,
            "lib/ops.py": """
                from .flags import OLD, LETTERS
                from . import flags
                WARPS = [2, 4] if flags.QUICK else [2, 4, 8]
                if OLD:
                    STAGES = 1
                if LETTERS:
                    pass
            """,
        }
    )
    hardware, old, letters = found(folder)
    assert (hardware.id, hardware.kinds) == ("lib/ops.py:4:19", ("hardware",))
    assert hardware.code == "WARPS = [2, 4] if flags.QUICK else [2, 4, 8]"
    assert old.made_of == ("lib/flags.py:6: OLD = not fresh()", "lib/flags.py:4: def fresh()")
    assert (old.holds, old.letters) == ({"3.2.0": True, "3.9.0": False}, False)
    assert letters.letters and letters.holds == {"3.2.0": False, "3.9.0": True}


@pytest.mark.parametrize(
    "text", ["if triton.__version__ ==", "if triton.__version__:\n" + "x = " + "-" * 300 + "1", "triton\0"]
)  # fmt: skip
def test_a_file_that_cannot_be_read_stops_no_other(library, text):
    good = "import triton\nif triton.__version__ == '3.4.0': pass"
    told = guards.find(library({"lib/bad.py": text, "lib/good.py": good}), ALL, table=TABLE)
    assert [one.path for one in told.unreadable] == ["lib/bad.py"]
    assert [one.path for one in told.guards] == ["lib/good.py"]


# Turning


@pytest.fixture
def forced(tmp_path, monkeypatch):
    """`forced(folder, found)`: the hook for these guards, installed, with their folder on the path."""
    before = set(sys.modules)

    def make(folder, all_of_it):
        known = {one.id: (str(folder / one.path), list(one.span)) for one in all_of_it}
        hook = forcing.Forcing(known, str(tmp_path / "met"))
        monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
        monkeypatch.setattr(sys, "dont_write_bytecode", False)
        monkeypatch.syspath_prepend(str(folder))
        hook.install()
        return hook

    yield make
    delattr(builtins, "__crosswarp_guard__")
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_one_expression_is_turned_and_no_other(library, forced):
    text = """\
    from lib_of_guards_flags import IS_AMD, is_hip
    A = [1] if IS_AMD else [1, 2]; B = [3] if IS_AMD else [4]
    C = (1 if
         is_hip(
         ) else 2)
    """
    folder = library({"lib_of_guards/a.py": text})
    all_of_it = found(folder)
    first, second, third = (one.id for one in all_of_it)
    (folder / "lib_of_guards_flags.py").write_text("IS_AMD = False\ndef is_hip(): return IS_AMD\n")
    hook = forced(folder, all_of_it)
    told = {}
    for turned in ("", first, second, third):
        hook.begin(turned)
        sys.modules.pop("lib_of_guards.a", None)
        module = importlib.import_module("lib_of_guards.a")
        told[turned] = (module.A, module.B, module.C)
        assert hook.reached() == {first: [False], second: [False], third: [False]}
    assert told == {
        "": ([1, 2], [4], 2), first: ([1], [4], 2), second: ([1, 2], [3], 2), third: ([1, 2], [4], 1)
    }  # fmt: skip
    # Nothing was left beside the source.
    assert not list((folder / "lib_of_guards").glob("**/a.*.pyc"))


def test_lines_and_values_stay():
    text = "x = (\n  a.b\n  and c == 3)\n"
    tree = forcing.turnable(ast.parse(text), {(2, 2, 2, 5): "one", (3, 6, 3, 12): "two"})
    code = compile(tree, "x.py", "exec")
    seen = []

    def met(name, value):
        seen.append((name, value))
        return value

    names = {"a": type("A", (), {"b": "text"}), "c": 3, "__crosswarp_guard__": met}
    exec(code, names)
    assert names["x"] is True and seen == [("one", "text"), ("two", True)]
    assert {line for _, _, line in code.co_lines() if line} <= {1, 2, 3}


# Both sides of a made-up library, in a process of a made-up column

LIBRARY = """
import os, sys
from lib_flags import IS_HOPPER, TRITON_ABOVE_3_4, IS_AMD, IS_HIP
WARPS = [4] if IS_HOPPER else [4, 8]
STAGES = 1 if TRITON_ABOVE_3_4 else 2
if IS_AMD:
    never = 1
def launch(x):
    if max(WARPS) > 4:
        raise RuntimeError("Assertion `hasStage' failed: 8 warps")
    return {"y": x * 2.0}
def late(x):
    if IS_HIP:
        os.abort()
    return launch(x)
"""
FLAGS = "IS_HOPPER, TRITON_ABOVE_3_4, IS_AMD, IS_HIP = True, True, False, False\n"
SUITE = """
import torch
from crosswarp.kernels.case import Case, Kernel
def launch(x, op):
    import guarded_lib.ops
    print('{"turned": "from the library"}')
    return getattr(guarded_lib.ops, op)(x)
KERNEL = Kernel(
    name="ops",
    cases=tuple(Case(op, "fp32", {}, options={"op": op}) for op in ("launch", "late")),
    inputs=lambda case, device, generator: {"x": torch.Tensor([1.0, 2.0])},
    launch=launch,
    reference=lambda x: {"y": x * 2.0},
    tolerance={"fp32": 1e-6},
)
"""


@pytest.fixture
def ask(library, tmp_path, monkeypatch):
    """`ask(text)`: the guards of a made-up library, and what its cases did on the fake column."""

    def call(text=LIBRARY, suite=SUITE, **settings):
        folder = library({"guarded_lib/ops.py": text})
        (folder / "lib_flags.py").write_text(FLAGS)
        (tmp_path / "suite").mkdir()
        (tmp_path / "suite" / "ops.py").write_text(suite)
        path = f"PYTHONPATH={HERE / 'fake_column'}"
        own = library_guards.argv
        monkeypatch.setattr(
            library_guards, "argv", lambda python, spec: ["/usr/bin/env", path, *own(python, spec)]
        )
        known = [one for one in found(folder) if one.path != "lib_flags.py"]
        planned = plan.Plan(
            Suite(tmp_path / "suite", beside={"triton-3.9.0": [folder]}), columns=(), targets={},
            lanes=("interpret",), modes=("bare",), time_limit=60, column_limit=100,
        )  # fmt: skip
        planned = dataclasses.replace(planned, **settings)
        environment = Environment(Path(sys.executable), "fake", {}, {}, ())
        said = []
        trials = library_guards.ask(
            environment, "triton-3.9.0", planned, folder, known, [one.id for one in known], issues.load(),
            here=False, say=said.append,
        )  # fmt: skip
        return known, trials, folder

    return call


def test_both_sides_are_run_and_compared(ask):
    known, trials, folder = ask()
    told = answers(known, [one.id for one in known], trials, [("triton-3.9.0", "cpu")])
    by_text = {one.guard.text: one for one in told}
    assert {text: one.verdict for text, one in by_text.items()} == {
        "IS_HOPPER": "needed on triton-3.9.0 (cpu)",
        "TRITON_ABOVE_3_4": "never needed on any column tried (triton-3.9.0 (cpu))",
        "IS_AMD": "never needed on any column tried (triton-3.9.0 (cpu))",
        "IS_HIP": "needed on triton-3.9.0 (cpu)",
        "max(WARPS) > 4": "needed on triton-3.9.0 (cpu)",
    }
    [warps] = by_text["IS_HOPPER"].places
    assert (warps.held, warps.cases) == ((True,), 2)
    assert "8 warps" in warps.red[0].message and warps.red[0].outcome == "api-error"
    # It is reached by one case alone, and what it does there is the end of a process.
    [abort] = by_text["IS_HIP"].places
    assert (abort.cases, abort.red[0].reason) == (1, "SIGABRT")
    assert not list((folder / "guarded_lib").glob("__pycache__/ops*"))


def test_a_guard_that_no_case_reaches_is_said_to_be_not_exercised(ask):
    text = LIBRARY.replace(
        "def late(x):", "def nobody(x):\n    return 1 if IS_AMD else 2\ndef late(x):"
    )
    known, trials, _ = ask(text)
    told = answers(known, [one.id for one in known], trials, [("triton-3.9.0", "cpu")])
    silent = [one.guard.code for one in told if one.verdict == "not exercised"]
    assert silent == ["return 1 if IS_AMD else 2"]


def test_a_column_that_is_cut_short_says_so_and_what_to_do(ask):
    slow = SUITE.replace("import torch", "import time, torch\ntime.sleep(60)")
    with pytest.raises(CrosswarpError, match=r"(?s)longer than 1 s.*--column-limit"):
        ask(suite=slow, column_limit=1)


# What is told

GUARD = guards.Guard("lib/a.py", (3, 4, 3, 10), "IS_AMD", "if IS_AMD", ("hardware",), holds={"3.2.0": True})  # fmt: skip


def trial(column, target, outcome, turned="", case="op", **fields):
    record = Record(column, target, "compile", "bare", "k", case, outcome=outcome, **fields)
    return Trial(record, turned, {GUARD.id: (True,)})


def told_of(*sides):
    trials, places = [], {}
    for column, target, one, other in sides:
        trials += [trial(column, target, one), trial(column, target, other, GUARD.id)]
        places[column, target] = None
    [answer] = answers([GUARD], [GUARD.id], trials, list(places))
    return answer


OLD, MIDDLE, NEW = "triton-3.2.0", "here-triton-3.6.0", "triton-3.10.0"


@pytest.mark.parametrize(
    "sides, verdict",
    [
        ([(OLD, "sm_90", "pass", "crash"), (MIDDLE, "sm_90", "pass", "pass"), (NEW, "sm_90", "pass", "pass")], f"needed on {OLD} (sm_90); not needed since {MIDDLE}"),
        ([(OLD, "sm_90", "pass", "pass"), (NEW, "sm_90", "pass", "limit")], f"needed on {NEW} (sm_90); not needed on {OLD} (sm_90)"),
        ([(OLD, "sm_90", "pass", "pass"), (OLD, "gfx942", "pass", "limit")], f"needed on {OLD} (gfx942); not needed on {OLD} (sm_90)"),
        ([(OLD, "sm_90", "pass", "pass"), (NEW, "sm_90", "pass", "pass")], f"never needed on any column tried ({OLD} (sm_90), {NEW} (sm_90))"),
        ([(OLD, "sm_90", "crash", "pass")], f"goes the wrong way on {OLD} (sm_90): only the other side passes"),
        ([(OLD, "sm_90", "crash", "crash")], f"fails either way on {OLD} (sm_90)"),
        ([(OLD, "sm_90", "pass", "unsupported")], "not exercised"),
        ([(OLD, "sm_90", "pass", "timeout"), (NEW, "sm_90", "pass", "pass")], f"never needed on any column tried ({NEW} (sm_90)); timed out on {OLD} (sm_90), which says nothing"),
        ([], "not tried"),
    ],
)  # fmt: skip
def test_verdict(sides, verdict):
    assert told_of(*sides).verdict == verdict


def test_what_launches_the_same_either_way_was_not_put_to_the_test():
    same = [
        dataclasses.replace(trial(OLD, "sm_90", "pass", turned), launched="kernel, 4 warps")
        for turned in ("", GUARD.id)
    ]
    other = [same[0], dataclasses.replace(same[1], launched="kernel, 8 warps")]
    told = [answers([GUARD], [GUARD.id], one, [(OLD, "sm_90")])[0] for one in (same, other)]
    assert told[0].verdict == f"asked on {OLD} (sm_90), where no launch hangs on it"
    assert told[1].verdict == f"never needed on any column tried ({OLD} (sm_90))"


def test_one_case_that_needs_it_is_enough():
    trials = [trial(OLD, "sm_90", "pass", case=case) for case in "ab"]
    trials += [trial(OLD, "sm_90", "pass", GUARD.id, "a"), trial(OLD, "sm_90", "crash", GUARD.id, "b")]  # fmt: skip
    [answer] = answers([GUARD], [GUARD.id], trials, [(OLD, "sm_90")])
    assert answer.places[0].need is Need.NEEDED and answer.places[0].cases == 1


EVIL = "x\x1b[2J\u202e</script>`|<b>\n::error::@me"


@pytest.mark.parametrize("form", guards_text.FORMATS)
def test_what_a_stranger_wrote_is_escaped(form):
    evil = dataclasses.replace(
        GUARD, path=EVIL, text=EVIL, code=EVIL, made_of=(EVIL,), letters=True
    )
    red = trial(OLD, "sm_90", "crash", evil.id, EVIL, fingerprint=EVIL)
    trials = [
        Trial(dataclasses.replace(red.record, outcome="pass"), "", {evil.id: (True,)}),
        dataclasses.replace(red, reached={evil.id: (True,)}),
    ]
    told = answers([evil], [evil.id], trials, [(OLD, "sm_90")])
    assert told[0].places[0].need is Need.NEEDED
    text = guards_text.rendered(guards_text.Report(EVIL, told, [], 1, ALL, "compile", 2), form)
    assert "\x1b" not in text and "\u202e" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    if form == "markdown":
        assert "<b>" not in text.replace("`", "") or "`" in text
    if form == "json":
        [one] = json.loads(text)["guards"]
        assert one["verdict"] == f"needed on {OLD} (sm_90)" and one["breaks_at_3_10"] is True
        assert one["places"][0]["red"][0]["words"] == EVIL


def test_command(tmp_path, library, command):
    folder = library({"lib/a.py": "import triton\nX = 1 if triton.__version__ >= '3.4' else 2\n"})
    status, out, _ = command("guards", str(folder))
    assert status == 0
    assert "lib/a.py:2:10: triton.__version__ >= '3.4' (version)" in out
    assert 'wrong from 3.10 on, for "3.10" < "3.9"' in out and "false on 2.3.1, 3.0.0" in out
    file = tmp_path / "out.md"
    assert command("guards", str(folder), "--format", "markdown", "--out", str(file))[0] == 0
    assert "| `triton.__version__ >= '3.4'` lib/a.py:2:10 |" in file.read_text()
    for wrong, said in (
        (["no-such-library"], "no-such-library: there is no such folder, and no such library in libraries.toml. Name"),
        ([str(folder), "--guards", "lib/b.py:1"], "is no guard of it. --list tells"),
        ([str(folder), "--suite", str(tmp_path / "gone")], "there is no such folder. Name one of kernel modules"),
        ([str(folder), "--suite", str(folder), "--here", "x", "--columns", "y"], "name interpreters, or columns"),
    ):  # fmt: skip
        status, _, err = command("guards", *wrong)
        assert status == 2 and said in err


def test_builds_tests_benchmarks_and_other_vendors_are_left_out(library):
    guard = "import torch\nif torch.version.hip: pass\n"
    names = ("setup.py", "tests/a.py", "lib/tests/b.py", "benchmarks/c.py", "benchmark/d.py", "lib/test_e.py",
             "examples/f.py", "conftest.py", "lib/_ascend/g.py", "third_party/x/h.py", "lib/bench_i.py")  # fmt: skip
    told = guards.find(library(dict.fromkeys((*names, "lib/own.py"), guard)), ALL, table=TABLE)
    assert [one.path for one in told.guards] == ["lib/own.py"] and told.left >= len(names)
