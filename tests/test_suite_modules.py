"""A suite's folder: every file is told apart, none is left out without a word, and a KERNEL is judged by its fields."""

from __future__ import annotations

import dataclasses
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp import kernels
from crosswarp.kernels import Case, Kernel
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import kernel_check, modules
from crosswarp.matrix.cell.kinds.suite import kernels as suite_kernels
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.work import suite_modules

KINDS = {
    "plain": ("KERNEL = make()\n", "kernel"),
    "annotated": ("KERNEL: object = make()\n", "kernel"),
    "imported": ("from elsewhere import KERNEL\n", "kernel"),
    "renamed": ("from elsewhere import softmax as KERNEL\n", "kernel"),
    "chosen": ("if True:\n    KERNEL = 1\nelse:\n    KERNEL = 2\n", "kernel"),
    "tried": ("try:\n    import x\nexcept ImportError:\n    KERNEL = None\n", "kernel"),
    "several": ("(KERNEL, other) = make()\n", "kernel"),
    "cookie": ("# -*- coding: latin-1 -*-\nname = '\xe9'\nKERNEL = 1\n".encode("latin-1"), "kernel"),
    "_private": ("KERNEL = 1\n", "helper"),
    "in_a_function": ("def f():\n    KERNEL = 1\n", "helper"),
    "said": ('"""\nKERNEL is what this file does not set\n"""\n', "helper"),
    "told": ("KERNEL: object\n", "helper"),
    "empty": ("", "helper"),
    "lower": ("kernels = []\nkernel = 1\n", "helper"),
    "others": ("from crosswarp.kernels import Kernel\nLANES = ()\n", "helper"),
    "kernal": ("import os\nKERNAL = make()\n", "misspelt"),
    "plural": ("KERNELS = [1]\n", "misspelt"),
    "own_name": ("x = 1\n\nsoftmax = Kernel()\n", "misspelt"),
    "own_name_made": ("softmax = kernel_of(globals())\n", "misspelt"),
    "own_name_dotted": ("softmax = kernels.Kernel(name='x')\n", "misspelt"),
    "syntax": ("KERNEL = 1\n\ndef f(:\n", "syntax"),
    "nul": (b"KERNEL = 1\n\0", "syntax"),
    "no_utf8": (b"KERNEL = '\xff'\n", "syntax"),
    "deep": ("KERNEL = " + "-" * 200_000 + "1\n", "broken"),
}  # fmt: skip


def write(folder, names):
    folder.mkdir(exist_ok=True)
    for name in names:
        text = KINDS[name][0]
        (folder / f"{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_every_file_is_what_it_is(tmp_path):
    found = {module.name: module for module in modules.look(write(tmp_path / "suite", KINDS))}
    assert {name: module.kind for name, module in found.items()} == {
        name: kind for name, (_, kind) in KINDS.items()
    }
    assert (found["kernal"].line, found["own_name"].line, found["syntax"].line) == (2, 3, 3)
    assert all(module.why for module in found.values() if module.kind != "kernel")


def test_both_sides_read_the_same_names(tmp_path):
    folder = write(tmp_path / "suite", KINDS)
    wanted = [name for name, (_, kind) in KINDS.items() if kind in ("kernel", "syntax", "broken")]
    assert (
        suite_modules.kernel_names(folder)
        == suite_kernels.names(str(folder), ["*"])
        == sorted(wanted)
    )


@pytest.mark.parametrize(
    "name", [n for n, (_, kind) in KINDS.items() if kind in ("misspelt", "broken")]
)
def test_a_file_that_cannot_be_a_kernel_is_refused(tmp_path, monkeypatch, command, name):
    """Beside a good one: the run would be green, and say nothing."""
    folder = write(tmp_path / "suite", ["plain", name])
    monkeypatch.chdir(tmp_path)
    status, out, err = command("run", "--suite", "suite", "--work", "work", "--store", "s.db")
    assert (status, out) == (2, "")
    (module,) = [one for one in modules.look(folder) if one.name == name]
    assert module.place in err and module.why in err and "Correct them" in err
    assert suite_modules.check_kernels(["plain"], folder) == ("plain",)
    with pytest.raises(UsageError, match="cannot be taken"):
        suite_modules.check_kernels([name[:3] + "*"], folder)


@pytest.mark.parametrize("kind", ["folder", "link", "fifo", "rights"])
def test_what_is_no_file_is_refused_as_well(tmp_path, kind, monkeypatch):
    folder = write(tmp_path / "suite", ["plain"])
    other = folder / "other.py"
    if kind == "folder":
        other.mkdir()
    elif kind == "link":
        other.symlink_to("nowhere")
    elif kind == "fifo":
        os.mkfifo(other)
    else:
        other.write_text("KERNEL = 1\n")
        read = Path.read_bytes

        def refused(path):
            if path == other:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return read(path)

        # Whoever may read everything, as root, has no file that is refused.
        monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(UsageError, match="other.py"):
        suite_modules.check_kernels(["*"], folder)


def test_every_file_that_is_left_out_is_named(tmp_path):
    folder = write(tmp_path / "suite", ["plain", "_private", "lower", "empty", "kernal"])
    (folder / "more").mkdir()
    (folder / "more" / "softmax.py").write_text("KERNEL = 1\n")
    (folder / "data").mkdir()
    said = suite_modules.left_out(folder)
    for name in (
        "_private.py (its name begins with _)",
        "lower.py (it sets no KERNEL)",
        "empty.py",
        "kernal.py",
        "more/",
    ):
        assert name in said
    assert "plain" not in said and "data" not in said
    assert (
        suite_modules.left_out(None)
        == suite_modules.left_out(write(tmp_path / "whole", ["plain"]))
        == ""
    )


def test_a_suite_that_cannot_be_opened(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(UsageError, match="Name a folder"):
            suite_modules.check_kernels(["*"], path)


# KERNEL, judged by its fields

CASE = Case("fp32-4", "fp32", {"N": 4})
GOOD = Kernel("made", (CASE,), dict, dict, dict, {"fp32": 1e-6})


def case(**changes):
    return dataclasses.replace(
        GOOD, cases=(CASE, dataclasses.replace(CASE, **{"id": "b", **changes}))
    )


def test_a_good_one():
    assert kernel_check.problems(GOOD) == []
    assert kernel_check.cases_in(GOOD, "device") == [("fp32-4", ("*",))]
    many = case(targets=["sm_*", "gfx9[04]?"], lanes=["compile"], dtype="int8", requires=("dot",))
    assert kernel_check.problems(many) == []
    assert kernel_check.cases_in(many, "compile")[1] == ("b", ("sm_*", "gfx9[04]?"))
    assert [name for name, _ in kernel_check.cases_in(many, "interpret")] == ["fp32-4"]


@pytest.mark.parametrize(
    ("kernel", "field"),
    [
        (None, "KERNEL: it is None"),
        ({"name": "x"}, "KERNEL: "),
        (case(targets=None), "cases[1] (b): targets: it is None"),
        (case(targets="sm_90"), "write ('sm_90',), with the comma"),
        (case(targets=()), "targets: there is none"),
        (case(targets=("sm90",)), "'sm90' matches no target"),
        (case(targets=(90,)), "targets: it holds 90 is a int"),
        (case(id=7), "cases[1]: id: 7 is a int"),
        (case(id=""), "id: ''"),
        (case(id="a\nb"), "id: 'a\\nb'"),
        (case(id="\ud800"), "id: '\\ud800'"),
        (case(id="fp32-4"), "cases: 2 have the id 'fp32-4'"),
        (case(dtype="fp64"), "dtype: 'fp64' is none of fp32, fp16"),
        (case(dtype=None), "dtype: None"),
        (case(dtype=[]), "dtype: []"),
        (case(dtype="bf16"), "no tolerance for bf16"),
        (case(lanes=("compiled",)), "lanes: 'compiled' is none of"),
        (case(lanes="compile"), "lanes: 'compile' is one text"),
        (case(lanes=()), "lanes: there is none"),
        (case(shape=None), "shape: it is None"),
        (case(options={1: 2}), "options: not all of its keys"),
        (case(requires=("dott",)), "requires: 'dott' is none of"),
        (dataclasses.replace(GOOD, cases=()), "cases: there is none"),
        (dataclasses.replace(GOOD, cases=None), "cases: it is None"),
        (dataclasses.replace(GOOD, cases=(1,)), "cases[0]: 1 is a int"),
        (dataclasses.replace(GOOD, launch=None), "launch: it is None"),
        (dataclasses.replace(GOOD, tolerance=1e-6), "tolerance: 1e-06 is a float"),
        (dataclasses.replace(GOOD, tolerance={"fp32": "1e-6"}), "tolerance['fp32']: '1e-6'"),
        (dataclasses.replace(GOOD, tolerance={"fp32": float("nan")}), "tolerance['fp32']: nan"),
        (dataclasses.replace(GOOD, tolerance_on={"gfx9": None}), "tolerance_on['gfx9']: it is None"),
        (dataclasses.replace(GOOD, tolerance_on=None), "tolerance_on: it is None"),
        (dataclasses.replace(GOOD, uses="dot"), "uses: 'dot' is one text"),
        (dataclasses.replace(GOOD, name=None), "name: it is None"),
        (dataclasses.replace(GOOD, probes=["mine"]), "probes: ['mine'] is a list"),
        (dataclasses.replace(GOOD, probes={"dot": str}), "'dot' is one of crosswarp's"),
        (dataclasses.replace(GOOD, probes={"mine": True}), "probes['mine']: True is a bool"),
        (dataclasses.replace(GOOD, probes={7: str}), "probes: 7 is a int"),
        (dataclasses.replace(GOOD, uses=("mine",)), "uses: 'mine' is none of"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_field(kernel, field):
    found = kernel_check.problems(kernel)
    assert any(field in one for one in found), found


def test_a_suite_may_have_features_of_its_own():
    probes = {"mine": str, "yours": str}
    own = dataclasses.replace(case(requires=("mine", "dot")), uses=("yours",), probes=probes)
    assert kernel_check.problems(own) == []


def test_only_the_compile_lane_needs_no_tolerance():
    assert kernel_check.problems(case(dtype="bf16", lanes=("compile",))) == []


def test_only_the_compile_lane_needs_no_reference():
    compiled = dataclasses.replace(CASE, lanes=("compile",))
    least = Kernel("made", (compiled,), launch=dict)
    assert kernel_check.problems(least) == []
    (told,) = kernel_check.problems(dataclasses.replace(GOOD, reference=None))
    assert told == 'reference: it is None: give a function, or its cases lanes=("compile",)'
    (told,) = kernel_check.problems(dataclasses.replace(least, reference=3))
    assert told.startswith("reference: 3 is a int")
    # A launcher may make its own tensors, in any lane.
    assert kernel_check.problems(dataclasses.replace(GOOD, inputs=None)) == []
    assert kernel_check.problems(Kernel("made", (compiled,)))[0].startswith("launch: it is None")


@pytest.mark.parametrize(
    ("globs", "chosen"),
    [
        (["*"], ["fp16-7", "fp16-64", "bf16-7"]), (["fp16*"], ["fp16-7", "fp16-64"]), (["x"], []),
        (["*-64", "bf*"], ["fp16-64", "bf16-7"]),
    ],
)  # fmt: skip
def test_cases_are_chosen_by_globs_and_dealt_after_that(globs, chosen):
    from crosswarp.matrix.cell.kinds.suite import plan as suite_plan

    loaded = [(name, ("*",)) for name in ("fp16-7", "fp16-64", "bf16-7")]
    spec = AskedSuite(modes=["bare"], cases=globs)

    def cases(**more):
        items = suite_plan._items(replace(spec, **more), "compile", "k", loaded, {"sm_90": ""})
        return [item.case for item in items]

    assert cases() == chosen
    # No share holds another case, and together they hold each once.
    assert sorted(cases(shard=[1, 2]) + cases(shard=[2, 2])) == sorted(chosen)


@pytest.mark.parametrize(
    ("globs", "lanes"),
    [
        (("*",), {"compile", "emulate", "interpret", "device"}),
        (("sm_*",), {"compile", "emulate", "interpret", "device"}),
        # The GPU is newer than one of them.
        (("gfx942", "sm_80"), {"interpret", "device"}),
        (("sm_100",), {"interpret"}),
        (("gfx942",), {"interpret"}),
        (("gfx*",), {"interpret"}),
    ],
)
def test_a_gpu_runs_the_cases_of_its_maker_that_name_no_newer_chip(globs, lanes):
    from crosswarp.matrix.cell.kinds.suite import plan as suite_plan

    spec = AskedSuite(modes=["bare"])

    def runs(lane, target="sm_90"):
        return bool(suite_plan._items(spec, lane, "k", [("case", globs)], {target: ""}))

    assert {lane for lane in suite_plan.protocol.LANES if runs(lane)} == lanes
    # A GPU that gave no name.
    assert runs("device", "gpu")


def test_a_kernel_is_named_for_its_file():
    assert kernel_check.problems(GOOD, name="made") == []
    (told,) = kernel_check.problems(GOOD, name="other")
    assert "'made'" in told and "other.py" in told


def test_many_problems_are_shortened():
    cases = tuple(dataclasses.replace(CASE, id=number) for number in range(30))
    found = kernel_check.problems(dataclasses.replace(GOOD, cases=cases))
    assert len(found) == kernel_check.MOST + 1 and found[-1] == "and 22 more"


def test_a_library_may_have_none_of_its_ops():
    assert kernel_check.problems(dataclasses.replace(GOOD, cases=()), may_be_empty=True) == []


def test_our_own_are_named_as_ever():
    assert suite_kernels.names(None, ["*"]) == list(kernels.NAMES)
