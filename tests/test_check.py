"""`crosswarp check`: its command line, what it shows, and a whole run with a fake cell process."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest

from crosswarp.matrix.environments import here
from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.signatures import given
from crosswarp.matrix.work import brought
from crosswarp.reports.commands import check

SCHEMAS = Path(__file__).parent.parent / "docs" / "schemas"
FILE = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))

@triton.jit
def other(x, BLOCK: tl.constexpr = 16):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

def run(x):
    copy[(1,)](x, x, x.numel(), BLOCK=64, num_warps=4)
"""
# Says of the items that a specification plans what OUTCOMES says of their kernels, by mode.
CELL = """
import json, os, sys, time
spec = json.load(open(sys.argv[-1]))
outcomes = json.loads(os.environ["OUTCOMES"])
out = open(spec["records"], "a")
def say(**event):
    out.write(json.dumps(event) + "\\n"); out.flush()
items = [(t, m, k, c) for t in spec["targets"] for k, one in spec["check"]["kernels"].items() for c in one["cases"]
         for m in spec["modes"]]
say(event="session", lane="compile", planned=len(items), versions={"triton": "3.2.0"})
for target, mode, kernel, case in items:
    item = "/".join((target, "compile", mode, kernel, case))
    say(event="start", item=item)
    answer = outcomes.get(kernel, {}).get(mode, {"outcome": "pass"})
    if answer["outcome"] == "die":
        os.kill(os.getpid(), 9)
    if answer["outcome"] in ("cancel", "late"):
        if answer["outcome"] == "cancel":
            os.kill(int(os.environ["ASKED_BY"]), 2)
        time.sleep(60)
    say(event="cell", target=target, lane="compile", mode=mode, kernel=kernel, case=case, seconds=0.1, **answer)
    say(event="end", item=item, cells=1)
"""


@pytest.fixture
def checked(tmp_path, monkeypatch, command):
    """`checked(*options, copy={"bare": {...}})`: a check whose cell process says this of the kernels."""
    script = tmp_path / "cell.py"
    script.write_text(CELL, "utf-8")
    file = tmp_path / "kernels.py"
    file.write_text(textwrap.dedent(FILE), "utf-8")
    found = {"python": "3.11.7", "triton": "3.2.0", "torch": "2.6.0"}
    monkeypatch.setattr(check.here, "glance", lambda python: Here(python, found))
    monkeypatch.setattr(
        check.check.Check, "argv", lambda _, python, spec: [sys.executable, str(script), str(spec)]
    )
    monkeypatch.chdir(tmp_path)

    def go(*options, **outcomes):
        monkeypatch.setenv("OUTCOMES", json.dumps(outcomes))
        return command("check", "kernels.py", "--here", sys.executable, *options)

    return go


def test_all_green(checked):
    code, out, err = checked("--targets", "H100,gfx942")
    assert code == 0
    assert "x *fp32:16, y *fp32:16, n i32:16, BLOCK=64, num_warps=4" in " ".join(out.split())
    assert "2 kernels, 2 to be compiled for sm_90, gfx942" in out
    assert "ASSUMED: x *fp32, y *fp32 (" in out and "--signature 'copy:x=*fp32,y=*fp32'" in out
    lines = [line.split(",")[0] for line in out.splitlines() if line.startswith("ok ")]
    assert lines == [
        "ok here-triton-3.2.0 sm_90 copy: pass", "ok here-triton-3.2.0 sm_90 other: pass",
        "ok here-triton-3.2.0 gfx942 copy: pass", "ok here-triton-3.2.0 gfx942 other: pass",
    ]  # fmt: skip
    assert "kernel  sm_90  gfx942\ncopy    ✓      ✓\nother   ✓      ✓" in out
    assert "4 cases" in out and "none failed. Exit 0." in out
    assert "triton 3.2.0" in err


def test_red_is_told_with_the_issue_and_what_heals_it(checked, tmp_path):
    red = {
        "outcome": "crash",
        "fingerprint": "LinearLayout.cpp: reshapeOuts: Assertion",
        "reason": "SIGABRT",
    }
    green = {"outcome": "pass", "shims": ["autotune_failing_config"]}
    issues = tmp_path / "issues.toml"
    issues.write_text(
        """
[[issue]]
id = "triton-1"
title = "aborts"
status = "unverified"
triton = ">=3.2,<3.3"
outcome = "crash"
fingerprint = "reshapeOuts"
links = ["https://example.org/owner/project/issues/1"]
shim = "compiler_crash"
checked = "2026-11-22"
"""
    )
    code, out, _ = checked(
        "--targets", "sm_90", "--issues-file", str(issues), copy={"bare": red, "shimmed": green}
    )
    assert code == 1
    said = " ".join(out.split())
    assert "FAILS here-triton-3.2.0 sm_90 copy: crash without compat, pass with compat" in said
    assert "SIGABRT: LinearLayout.cpp: reshapeOuts: Assertion" in said
    assert "known: aborts [triton-1] https://example.org/owner/project/issues/1" in said
    assert (
        "shim: compiler_crash" in said and "fixed by compat: from crosswarp import compat" in said
    )
    assert "ASSUMED: x *fp32:16, y *fp32:16" in said
    assert "copy    †✓" in out and "1 failed, 1 of them passes with compat" in said


def test_a_process_that_dies_is_one_red_line(checked):
    code, out, err = checked("--targets", "sm_90", other={"bare": {"outcome": "die"}}, copy={})
    assert code == 1
    assert "ok here-triton-3.2.0 sm_90 copy: pass" in out
    assert "FAILS here-triton-3.2.0 sm_90 other: crash, 0.0 s\n      worker died" in out
    assert "other   †\n" in out and "2 cases" in out and out.endswith(": 1 failed. Exit 1.\n")


def test_what_is_not_checked_is_named_and_is_no_success(checked, tmp_path):
    text = textwrap.dedent(FILE).replace("(0, BLOCK)))", "(0, BLOCK())))")
    (tmp_path / "kernels.py").write_text(text, "utf-8")
    # Nothing stands for a function that the file does not have.
    (tmp_path / "kernels.py").write_text(text.replace("BLOCK=64, ", "BLOCK=f(), "), "utf-8")
    code, out, _ = checked("--targets", "sm_90")
    assert code == 1
    assert "copy: NOT CHECKED:" in out and "    --constexpr 'copy:BLOCK=?'\n" in out
    assert "Not checked: copy" in out
    assert checked("--targets", "sm_90", "--kernels", "other")[0] == 0
    assert checked("--targets", "sm_90", "--kernels", "copy")[0] == 2
    assert checked("--targets", "sm_90", "--constexpr", "copy:BLOCK=64")[0] == 0


def test_json_is_the_whole_and_the_lines_go_elsewhere(checked):
    code, out, err = checked("--targets", "sm_90", "--json", "--modes", "bare")
    found = json.loads(out)
    jsonschema.validate(found, json.loads((SCHEMAS / "check.schema.json").read_text("utf-8")))
    assert (code, found["exit_code"], found["outcomes"]) == (0, 0, {"pass": 2})
    assert [one["kernel"] for one in found["cells"]] == ["copy", "other"]
    assert found["kernels"][0]["signatures"][0]["arguments"][0] == {
        "name": "x", "type": "*fp32", "hint": "16", "value": None, "origin": "the launch at line 15: a tensor",
        "assumed": True, "others": [],
    }  # fmt: skip
    assert "ok here-triton-3.2.0 sm_90 copy" in err


def test_no_run_is_left_behind(checked, tmp_path):
    checked("--targets", "sm_90")
    assert not list((tmp_path / ".crosswarp").glob("*.db"))


def test_without_any_triton_it_says_what_to_do(command, tmp_path, monkeypatch):
    (tmp_path / "kernels.py").write_text(FILE)
    monkeypatch.setattr(here, "python_at_hand", lambda environ: None)
    monkeypatch.chdir(tmp_path)
    code, _, err = command("check", "kernels.py")
    assert code == 2
    assert "there is no Triton here" in err and err.strip().endswith(
        "(--triton newest; 3 to 5 GB)."
    )


def test_the_triton_at_hand(tmp_path):
    assert here.python_at_hand({"VIRTUAL_ENV": str(tmp_path)}) is None or "triton" in sys.modules
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    home = tmp_path / "lib" / "python3.11" / "site-packages" / "triton"
    home.mkdir(parents=True)
    (home / "__init__.py").touch()
    assert here.python_at_hand({"VIRTUAL_ENV": str(tmp_path)}) is not None


def test_a_bare_name_of_an_interpreter_is_looked_up_on_path(tmp_path, monkeypatch):
    from crosswarp.matrix.environments import here

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "python3").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert here.absolute(Path("python3")) == tmp_path / "bin" / "python3"
    assert here.absolute(Path("./bin/python3")) == tmp_path / "bin" / "python3"
    # A name that is nowhere is a file of this folder: the error names that.
    assert here.absolute(Path("python9")) == tmp_path / "python9"


def test_an_interpreter_is_asked_without_importing_anything(tmp_path):
    from crosswarp.matrix.environments import here

    for name, file in (("triton", "__init__.py"), ("torch", "version.py")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit\n__version__ = '3.2.0'\n")
        (tmp_path / name / file).write_text("raise SystemExit\n__version__: str = '3.2.0'\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    found = here.glance(python)
    assert (found.versions["triton"], found.versions["torch"]) == ("3.2.0", "3.2.0")
    assert found.column.id == "here-triton-3.2.0"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nothing.py"], "there is no such file"),
        (["empty.py"], "no function below @triton.jit"),
        (["kernels.py", "--kernels", "nobody"], "There are: copy, other"),
        (["kernels.py", "--signature", "nobody:*fp32"], "no kernel is called nobody"),
        (["kernels.py", "--signature", "copy"], "begin with the kernel"),
    ],
)
def test_usage(checked, command, tmp_path, arguments, said):
    (tmp_path / "empty.py").write_text("import triton\n")
    code, _, err = command("check", *arguments, "--here", sys.executable)
    assert code == 2 and said in err


def test_what_a_cell_needs_is_brought_along(tmp_path):
    folder = brought.bring_along(tmp_path / "path", ("packaging",))
    assert sorted(os.listdir(folder)) == ["crosswarp", "packaging"]
    assert (folder / "crosswarp" / "matrix" / "cell" / "kinds" / "check" / "__main__.py").is_file()


def test_hostile_text_is_shown_as_text(checked):
    red = {
        "outcome": "api-error",
        "fingerprint": "\x1b[2Jgone\r::error::x",
        "message": "\x1b]0;t\x07",
    }
    _, out, _ = checked("--targets", "sm_90", copy={"bare": red, "shimmed": red})
    assert "\x1b" not in out and "::error::" not in out and "gone" in out


def test_an_environment_in_which_nothing_starts_is_no_success(checked, tmp_path):
    (tmp_path / "cell.py").write_text("raise SystemExit('torch is broken here')\n", "utf-8")
    code, out, err = checked("--targets", "sm_90")
    assert code == 3
    assert "torch is broken here" in err and "copy    ?" in out


@pytest.mark.parametrize(
    "how, option, status", [("cancel", (), 130), ("late", ("--column-limit", "5"), 1)]
)
def test_verdicts_before_ctrl_c_or_a_limit_are_kept(checked, monkeypatch, how, option, status):
    monkeypatch.setenv("ASKED_BY", str(os.getpid()))
    stopped = {"bare": {"outcome": how}}
    code, out, err = checked("--targets", "sm_90,sm_80", *option, other=stopped)
    assert code == status and "FAILS" not in out and "run 1" not in err
    assert "ok here-triton-3.2.0 sm_80 copy: pass" in out and "copy    ✓" in out
    assert "sm_80 other: not checked" in out
    assert "Not checked: copy, other (not reached" in " ".join(out.split())
    assert ("Cancelled. 2 cases" in out) is (how == "cancel") and f"Exit {status}." in out
    code, out, _ = checked("--targets", "sm_90,sm_80", *option, "--format", "json", other=stopped)
    document = json.loads(out)
    assert code == document["exit_code"] == status
    cells = [(one["kernel"], one["outcome"]) for one in document["cells"]]
    assert cells == [("copy", "pass"), ("copy", "pass"), ("other", "not-run")]


@pytest.mark.parametrize(
    "option, status, exit_line",
    [
        ((), 1, "none failed. Exit 1, because a package is missing."),
        (("--stub",), 0, "none failed. Exit 0."),
    ],
)
def test_a_missing_package_is_one_line_and_no_failing_cell(checked, option, status, exit_line):
    missing = {"outcome": "pass", "resources": {"missing package": ["einops"]}}
    code, out, _ = checked(
        "--targets", "sm_90", *option, copy={"bare": missing, "shimmed": missing}
    )
    said = "your environment: not checked as it is imported: pip install einops (or --stub)\n"
    assert code == status and (said in out) is not option.__contains__("--stub")
    assert exit_line in " ".join(out.split())


def test_a_failure_of_what_was_assumed_is_not_the_kernels(checked):
    unknown = {
        "outcome": "not-run",
        "reason": "assumed",
        "message": "with assumed types only: x\nmore",
    }
    alone = {"bare": unknown, "shimmed": unknown}
    code, out, _ = checked("--targets", "sm_90", copy=alone)
    assert code == 1 and "copy: not checked" in out and "FAILS" not in out
    assert "with assumed types only: x" in out and "Not checked: copy" in out
    code, out, err = checked("--targets", "sm_90", copy=alone, other=alone)
    assert code == 2 and "other: not checked" in out and "No case ran" not in err


def test_a_failure_says_whose_fault_it_is(checked):
    red = {
        "outcome": "compile-error",
        "fingerprint": "NameError('scale is not defined')",
        "phase": "compile",
    }
    code, out, _ = checked("--targets", "sm_90", copy={"bare": red, "shimmed": red})
    assert code == 1 and "your kernel: define scale, or pass it as a tl.constexpr" in out


@pytest.mark.parametrize(
    "name, before", [("pyproject.toml", '[project]\nname = "x"\n'), ("crosswarp.toml", "")]
)
def test_answers_are_saved_and_found_again(checked, tmp_path, name, before):
    (tmp_path / name).write_text(before)
    text = (tmp_path / "kernels.py").read_text("utf-8").replace("BLOCK=64, ", "BLOCK=f(), ")
    (tmp_path / "kernels.py").write_text(text, "utf-8")
    first = ("--constexpr", "copy:BLOCK=32", "--signature", "copy:x=*fp16", "--save")
    assert "BLOCK=32" in checked("--targets", "sm_90", *first)[1]
    _, out, _ = checked("--targets", "sm_90", "--constexpr", "other:BLOCK=8", "--save")
    assert "x *fp16:16" in out and "BLOCK=32" in out and "BLOCK=8" in out
    said = (tmp_path / name).read_text("utf-8")
    assert said.startswith(before) and said.count("constexpr = [") == 1
    # What is typed counts more than what is saved.
    assert "BLOCK=16," in checked("--targets", "sm_90", "--constexpr", "copy:BLOCK=16")[1]


def test_a_line_to_paste_is_whole(checked, tmp_path):
    names = [f"a_long_name_of_a_pointer_{number}" for number in range(9)]
    stores = "\n    ".join(f"tl.store({one}, 1.0)" for one in names)
    text = f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef wide({', '.join(names)}):\n    {stores}\n"
    (tmp_path / "kernels.py").write_text(text, "utf-8")
    _, out, _ = checked("--targets", "sm_90")
    line = next(one for one in out.splitlines() if "--signature" in one)
    assert line.endswith(f"'wide:{','.join(f'{one}=*fp32' for one in names)}'")


def test_a_pasted_string_keeps_its_quotes(checked, tmp_path):
    text = (
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def kernel(x, PREC: tl.constexpr):\n    if PREC == 'fp32':\n        tl.store(x, 1.0)\n"
    )
    (tmp_path / "kernels.py").write_text(text, "utf-8")
    _, out, _ = checked("--targets", "sm_90")
    line = next(one for one in out.splitlines() if "--constexpr" in one)
    option, value = shlex.split(line.partition("otherwise: ")[2])
    assert given.constexpr(value).names == {"PREC": {"value": "fp32"}}
    assert line.endswith("""--constexpr 'kernel:PREC="fp32"'""")


def test_where_it_is_to_be_written_is_looked_at_before_anything_is_compiled(checked, tmp_path):
    for out, why in (("nowhere/report.json", "is no folder"), (".", "is a folder")):
        code, _, err = checked("--targets", "sm_90", "--out", str(tmp_path / out))
        assert code == 2 and why in err and "to be compiled" not in err


def test_json_says_why_it_has_its_exit_status(checked):
    lacks = {
        mode: {"outcome": "pass", "resources": {"missing package": ["einops"]}}
        for mode in ("bare", "shimmed")
    }
    code, out, _ = checked("--targets", "sm_90", "--json", copy=lacks)
    document = json.loads(out)
    assert code == 1 and document["missing_packages"] == ["einops"]
    assert document["ending"].startswith(
        "your environment: not checked as it is imported: pip install einops"
    )
    assert document["ending"].endswith("Exit 1, because a package is missing.")


def test_json_says_its_end_on_standard_error(checked):
    code, out, err = checked("--targets", "sm_90", "--json")
    document = json.loads(out)
    assert document["exit_code"] == code == 0 and document["missing_packages"] == []
    assert document["ending"].endswith("none failed. Exit 0.")
    assert err.endswith("none failed. Exit 0.\n")
