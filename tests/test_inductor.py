"""`crosswarp inductor`: programs, folders, what a kernel's module is stripped to, and what is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.matrix.cell.kinds.inductor import standalone
from crosswarp.matrix.cell.kinds.suite import modules
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, issues, targets
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.work import inductor as kind
from crosswarp.reports.commands import inductor
from crosswarp.reports.text import inductor_text

SOURCE = """
import triton
import triton.language as tl
from triton.compiler.compiler import AttrsDescriptor
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton.jit
def helper(x):
    return x + 1

@triton_heuristics.pointwise(size_hints={'x': 64}, filename=__file__, triton_meta={'device': DeviceProperties()})
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tl.store(out_ptr0, libdevice.sqrt(helper(tl.load(in_ptr0))))
"""


def test_a_kernel_stands_alone():
    found = standalone.alone(SOURCE, "inductor_helpers_2_15_0")
    assert "triton_heuristics" not in found and "DeviceProperties" not in found
    assert "set_driver_to_gpu" not in found
    # What the decorator alone took of a Triton that others are not.
    assert "AttrsDescriptor" not in found
    assert "from inductor_helpers_2_15_0 import triton_helpers\n" in found
    assert "from inductor_helpers_2_15_0.triton_helpers import libdevice, math as tl_math" in found
    # What it calls is kept, each below triton.jit alone.
    assert found.count("@triton.jit\ndef ") == 2
    compile(found, "kernel.py", "exec")


@pytest.mark.parametrize("text", ["def (", "import triton\nx = 1\n"])
def test_what_is_no_kernel_is_refused(text):
    with pytest.raises(standalone.NotAlone, match="source"):
        standalone.alone(text, "helpers")


def test_helpers_come_with_what_they_import(tmp_path):
    home = tmp_path / "_inductor" / "runtime"
    home.mkdir(parents=True)
    (home / "triton_helpers.py").write_text(
        "import math\nfrom .triton_compat import tl\nfrom .gone import x\n"
    )
    (home / "triton_compat.py").write_text("from triton import language as tl\n")
    (home / "another.py").write_text("")
    copied = standalone.copy_helpers(tmp_path / "_inductor", tmp_path / "out", "helpers")
    assert copied == ["triton_compat", "triton_helpers"]
    assert sorted(path.name for path in (tmp_path / "out" / "helpers").iterdir()) == [
        "__init__.py", "triton_compat.py", "triton_helpers.py",
    ]  # fmt: skip
    with pytest.raises(standalone.NotAlone, match="not there"):
        standalone.copy_helpers(tmp_path, tmp_path / "out", "helpers")


def test_helpers_of_two_torches_have_two_names():
    names = [
        standalone.package_name(one) for one in ("2.15.0+cu132", "2.15.0", "2.6.0", "2.16.0a0+git1")
    ]
    assert names == [f"inductor_helpers_{one}" for one in ("2_15_0", "2_15_0", "2_6_0", "2_16_0a0")]


def test_our_programs_are_known_without_torch():
    found = kind.own_programs()
    assert len(found) >= 30
    assert {
        "layer_norm",
        "adam_foreach",
        "matmul_template",
        "embedding",
        "flex_attention_gradients",
    } <= set(found)


@pytest.mark.parametrize(
    ("text", "programs", "said"),
    [
        ("mine.py", [], "Write my_module.py:step"),
        ("mine.py:not-a-name", [], "Write my_module.py:step"),
        ("gone.py:step", [], "there is no such file"),
        ("{file}:step", ["softmax"], "Leave one of them out"),
    ],
)
def test_what_cannot_be_asked_for_says_what_can(tmp_path, text, programs, said):
    (tmp_path / "mine.py").write_text("")
    with pytest.raises(UsageError, match=said):
        kind.asked(text.format(file=tmp_path / "mine.py"), programs)


def test_a_function_and_our_programs(tmp_path):
    (tmp_path / "mine.py").write_text("")
    asked = kind.asked(f"{tmp_path}/mine.py:step", [], dynamic=True)
    assert kind.Inductor(asked, tmp_path, tmp_path).asked("c", {}).inductor.name == "step"
    assert kind.check_programs(asked) == ("step",)
    ours = kind.asked(None, ["*norm"])
    assert "layer_norm" in kind.check_programs(ours)
    with pytest.raises(UsageError, match="Did you mean softmax"):
        kind.check_programs(kind.asked(None, ["softmx"]))


def test_an_environment_has_a_folder_of_its_own():
    pair = {"torch": "2.6.0+cu124", "triton": "3.2.0"}
    names = {
        kind.key("a", pair, ""), kind.key("b", pair, ""), kind.key("a", pair, "lock"),
        kind.key("a", {**pair, "triton": "3.9.0"}, ""),
    }  # fmt: skip
    assert len(names) == 4
    assert all(name.startswith("torch-2.6.0+cu124-triton-3.") for name in names)


def test_an_environment_that_is_built_from_something_else_has_another_lock(tmp_path):
    column = next(one for one in columns.load() if one.id == "triton-3.6.0")
    builder = Builder(tmp_path, [column], Uv())
    other = replace(column, requirements=("numpy<2",))
    assert builder.lock(column) == builder.lock(column) != builder.lock(other)
    # Nothing was built for it.
    assert not any(tmp_path.iterdir())


def _harvest(root, folder, programs, digest):
    (root / folder).mkdir(parents=True)
    told = {"torch": "2.6.0", "digest": digest, "targets": {"sm_90": programs}}
    (root / folder / "harvest.json").write_text(json.dumps(told))


def test_a_suite_is_made_of_all_that_was_written(tmp_path):
    _harvest(tmp_path, "one", ["softmax", "layer_norm"], "a")
    _harvest(tmp_path, "two", ["softmax", "step"], "b")
    everything = kind.Asked()
    suite = kind.write_suite(tmp_path, 2, everything)
    names = modules.kernels(modules.look(suite))
    # What a user's file gave is asked for by its name.
    assert names == ["inductor_layer_norm", "inductor_softmax"]
    before = (suite / "inductor_softmax.py").read_text()
    (tmp_path / "two" / "harvest.json").write_text(
        json.dumps({"torch": "2.6.0", "digest": "c", "targets": {"sm_90": ["softmax"]}})
    )
    # Verdicts on what has changed since are not taken from an earlier run.
    kind.write_suite(tmp_path, 2, everything)
    assert (suite / "inductor_softmax.py").read_text() != before


def _record(**fields):
    told = {"column": "c", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "inductor_softmax",
            "case": "written", "outcome": "pass"}  # fmt: skip
    return Record(**{**told, **fields})


def test_a_pair_is_told_in_a_line_a_mode():
    red = {
        "outcome": "api-error",
        "fingerprint": "ImportError: cannot import name 'AttrsDescriptor'",
    }
    records = [
        _record(case="pair", kernel="inductor", **red), _record(case="pair", mode="shimmed"),
        _record(case="pair", mode="shimmed", kernel="inductor_sort", outcome="crash", fingerprint="SIGABRT\x1b[1m"),
    ]  # fmt: skip
    lines = inductor_text.pairs(records, {"c": {"torch": "2.6.0", "triton": "3.9.0"}}).splitlines()
    assert lines[2].split()[:6] == ["2.6.0", "3.9.0", "without", "0", "of", "1"]
    assert "AttrsDescriptor" in lines[2]
    assert lines[3].split()[2:6] == ["with", "1", "of", "2"]
    assert "\x1b" not in lines[3]


def test_what_was_written_and_what_a_kernel_takes():
    told = inductor_text.written(
        [_record(message="3 kernels"), _record(outcome="api-error", fingerprint="E: no")]
    )
    assert told.splitlines() == [
        "sm_90  softmax: 3 kernels",
        "sm_90  softmax: api-error: E: no",
        "1 of 2 written",
    ]
    launches = [
        {"registers": 17, "spills": None, "shared": 0},
        {"registers": 40, "spills": 8, "shared": 64},
    ]
    table = inductor_text.resources([_record(case="2.6.0-k-c0", resources={"launches": launches})])
    assert table.splitlines()[2].split() == [
        "softmax/2.6.0-k-c0",
        "sm_90",
        "without",
        "40",
        "8",
        "64",
    ]
    assert inductor_text.resources([_record()]) == ""


def test_red_programs_are_not_as_expected_unless_they_are_known():
    text = "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'"
    red = _record(kernel="inductor", outcome="api-error", fingerprint=text)
    known = issues.load()

    def beside(torch):
        return replace(red, versions={"torch": torch, "triton": "3.6.0"})

    assert kind.Judged([_record()], known).as_expected
    assert kind.Judged([beside("2.6.0+cu124")], known).as_expected
    # Another torch does not ask for it, and without records nothing is known.
    assert not kind.Judged([beside("2.10.0")], known).as_expected
    assert not kind.Judged([beside("2.6.0")]).as_expected


def test_without_a_triton_at_hand_it_says_what_to_do(tmp_path, monkeypatch):
    from crosswarp.reports import cli

    monkeypatch.setattr(inductor.here, "python_at_hand", lambda environ: None)
    assert cli.main(["inductor", "--programs", "softmax", "--work", str(tmp_path)]) == 2


def test_each_target_and_mode_of_a_run_is_a_part_of_its_lane():
    work = kind.Inductor(kind.Asked(), Path(), None)
    known = targets.load()
    on = {name: known[name] for name in ("sm_80", "sm_90")}
    plan = Plan(work, columns=(), targets=on, lanes=("compile",))
    parts = ["sm_80/bare", "sm_80/shimmed", "sm_90/bare", "sm_90/shimmed"]
    assert plan.parts("compile") == parts
    told = plan.spec("c", {}, Path("records"), Path("cache")).inductor
    assert (told.folder, told.compile) == ("", True)
