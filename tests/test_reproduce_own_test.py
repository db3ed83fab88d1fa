"""A red cell of a library's own tests as a shell script: what it installs, and what it hands to pytest."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from crosswarp.matrix.results.store import Environment

PLAN = {
    "library": {"name": "made-up", "tests": ["tests", "more/test_c.py"]}, "targets": ["sm_80", "sm_90"],
    "commit": "0123456789abcdef",
}  # fmt: skip
SETTINGS = """[tool.crosswarp]
stub = ["made_up._C"]
time-limit = 9
requires = ["einops>=0.6"]
env = { NOTE = "it's $HOME" }
"""
VERSIONS = {
    "triton": "3.2.0", "torch": "2.6.0+cu124", "numpy": "1.26.4", "python": "3.11.7", "ptxas": "12.8",
}  # fmt: skip


@pytest.fixture
def checkout(tmp_path, make_buildable, monkeypatch):
    folder = make_buildable(tmp_path / "made_up", SETTINGS)
    for path in ("tests/ops/test_b.py", "more/test_c.py"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def reproduce(checkout, stored, make_record, command):
    """`reproduce(kernel=...)`: status, output and error of the command for that one red cell."""

    def make(*arguments, plan=PLAN, **changes):
        values = {
            "kernel": "ops.test_b::T::test_one", "case": "fp16-[a]", "outcome": "crash",
            "fingerprint": "SIGABRT: x", "versions": VERSIONS,
        }  # fmt: skip
        record = make_record(**{**values, **changes})
        made = Environment("triton-3.2.0", "triton-3.2.0", "ready", "", {}, ("einops==0.8.1",), 0.0)
        stored([record], code=1, environments=[made], **plan)
        return command("reproduce", *(arguments or [record.id]), "--store", "../store.db")

    return make


def run(text, folder, *arguments):
    """What the script runs, word by word, with stand-ins for pytest and Python."""
    for name in ("pytest", "python"):
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            "#!/usr/bin/env python3\nimport json, os, sys\n"
            f"print(json.dumps([{name!r}, *sys.argv[1:], os.environ.get('NOTE')]))\n"
        )
        path.chmod(0o755)
    (folder / "r.sh").write_text(text)
    environ = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "r.sh", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_script_runs_the_test_and_installs_what_it_was_seen_with(reproduce, checkout):
    status, text, _ = reproduce()
    assert status == 0
    assert (
        "# ops.test_b::T::test_one, fp16-[a]\n# crash: SIGABRT: x\n# Seen on sm_90, lane compile with"
        in text
    )
    assert (
        "triton 3.2.0, torch 2.6.0+cu124, numpy 1.26.4, python 3.11.7, ptxas 12.8, made-up at commit 01234"
        in text
    )
    (ran,) = run(text, checkout)
    assert ran == [
        "pytest", "--virtual-gpu", "sm_90", "--virtual-gpu-lane", "compile", "--crosswarp-bare", "--crosswarp-stub",
        "made_up._C", "--crosswarp-time-limit", "9", "tests/ops/test_b.py::T::test_one[fp16-[a]]", "it's $HOME",
    ]  # fmt: skip
    needed, library = run(text, checkout, "install")
    assert needed[4:-1] == [
        "torch==2.6.0", "numpy==1.26.4", "pytest", "crosswarp", "einops==0.8.1",
    ]  # fmt: skip
    # After torch, which asks for the Triton of its own pair.
    assert library[4:-1] == ["--no-deps", "triton==3.2.0", "."]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kernel": "more.test_c::test_one", "case": "-"}, ["more/test_c.py::test_one"]),
        ({"kernel": "ops.test_b", "case": "import"}, ["tests/ops/test_b.py"]),
        ({"kernel": "collection", "case": "import"}, ["tests", "more/test_c.py"]),
        # Gone since: as it would be called.
        ({"kernel": "test_gone::test_one", "case": "-"}, ["tests/test_gone.py::test_one"]),
        (
            {"lane": "interpret", "target": "cpu", "mode": "shimmed", "case": "-"},
            ["--virtual-gpu", "sm_80", "--crosswarp-shims"],
        ),
    ],
)  # fmt: skip
def test_what_pytest_is_given(reproduce, checkout, changes, words):
    status, text, _ = reproduce(**changes)
    (ran,) = run(text, checkout)
    assert status == 0 and set(words) <= set(ran)
    assert ran[-1 - len(words) : -1] == words or "cpu" in changes.values()


def test_one_script_for_each_cause(reproduce, checkout):
    status, out, _ = reproduce("--run", "1", "--out", "scripts")
    (path,) = (checkout / "scripts").glob("*.sh")
    assert status == 0 and out.strip() == f"scripts/{path.name}"
    assert f"#   sh {path.name} install" in path.read_text()


@pytest.mark.parametrize(
    ("changes", "arguments", "said"),
    [
        ({"plan": {**PLAN, "library": {"name": "another"}}}, (), "Name its checkout with --library"),
        ({}, ("x", "--library", "nowhere"), "there is no such folder"),
        ({"kernel": "test_a::test_\x1b[2J"}, (), "a shell cannot be given its name"),
    ],
)  # fmt: skip
def test_what_is_no_script(reproduce, changes, arguments, said):
    status, out, err = reproduce(*arguments, **changes)
    assert (status, out) == (2, "") and said in err


def test_hostile_text_stays_a_comment_or_a_word(reproduce, checkout):
    hostile = "x\n$(touch gone)`touch gone`';touch gone #"
    cell = {"kernel": "test_a::t';touch gone;'", "case": "$(touch gone)", "fingerprint": hostile}
    versions = {"triton": hostile, "python": hostile}
    reproduce("--run", "1", "--out", "s", **cell, versions=versions)
    (path,) = (checkout / "s").glob("*.sh")
    (ran,) = run(path.read_text(), checkout)
    assert ran[-2] == "tests/test_a.py::t';touch gone;'[$(touch gone)]"
    assert not list(checkout.rglob("gone"))
