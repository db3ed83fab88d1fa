"""The command line when something is wrong: one message, what to do, the exit status, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.results.store import Store

GOOD_COLUMN = '[[column]]\nid = "triton-3.2.0"\ntriton = "3.2.0"\ntorch = "2.6.0"\n'


@pytest.fixture
def crosswarp(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name in ("CROSSWARP_MAIN", "CROSSWARP_NIGHTLY_INDEX"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "issues.toml").write_text("")
    # Nothing here may come as far as building an environment.
    monkeypatch.setattr(Builder, "__call__", lambda *a: pytest.fail("an environment was built"))

    def call(*arguments):
        if arguments[:1] in (("run",), ("report",)) and "--issues-file" not in arguments:
            arguments = (*arguments, "--issues-file", "issues.toml")
        return command(*arguments)

    return call


@pytest.mark.parametrize(
    ("arguments", "named", "todo"),
    [
        (
            ["run", "--columns", "triton-3.2.O"],
            'no column matches "triton-3.2.O"',
            "crosswarp columns",
        ),
        (
            ["run", "--columns", "triton-3.2.0,nope"],
            'no column matches "nope"',
            "crosswarp columns",
        ),
        (["run", "--targets", "sm_91"], 'no target matches "sm_91"', "crosswarp targets"),
        (["run", "--kernels", "softmaxx"], 'no kernel matches "softmaxx"', "There are: "),
        (
            ["run", "--lanes", "compiled"],
            'no lane matches "compiled"',
            "compile, emulate, interpret, device",
        ),
        (["run", "--modes", "naked"], 'no mode matches "naked"', "bare, shimmed"),
        (["run", "--suite", "nowhere"], "no such folder", "Name a folder"),
        (["run", "--main", "none.whl"], "no such wheel", "Give a wheel"),
        (
            ["run", "--main", "release/3.8.x", "--columns", "triton-3.2.0"],
            "what runs is triton-3.2.0",
            "--triton main",
        ),
        (["run", "--here", "--columns", "main"], "--here runs one column", "Leave out --triton"),
        (["run", "--columns-file", "nowhere.toml"], "no such file", "Give a path"),
    ],
)
def test_usage(crosswarp, arguments, named, todo):
    status, out, err = crosswarp(*arguments)
    assert status == 2
    assert err.startswith("crosswarp: ") and named in err and todo in err
    assert out == ""


@pytest.mark.parametrize(
    "arguments",
    [[], ["walk"], ["run", "--jobs", "0"], ["run", "--jobs", "x"], ["report", "--format", "pdf"]],
)
def test_argparse_errors_are_usage_errors_too(crosswarp, arguments):
    assert crosswarp(*arguments)[0] == 2


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("columns", GOOD_COLUMN + "colour = 1\n", 'column "triton-3.2.0": colour'),
        ("columns", "[[column]\n", "not valid TOML"),
        ("targets", "[sm_90]\nbackend = 'cuda'\n", "sm_90: arch: Field required"),
        ("issues", "[[issue]]\nid = 'x'\n", 'issue "x": title: Field required'),
    ],
)
def test_a_malformed_file(crosswarp, tmp_path, name, text, named):
    (tmp_path / "bad.toml").write_text(text)
    status, _, err = crosswarp("run", f"--{name}-file", "bad.toml")
    assert status == 2
    assert (
        "bad.toml" in err and named in err and err.strip().endswith((".", "Correct these entries."))
    )


def test_a_suite_without_kernels(crosswarp, tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "helper.py").write_text("x = 1\n")
    status, _, err = crosswarp("run", "--suite", "suite")
    assert status == 2 and "holds no kernel" in err and "--suite" in err


@pytest.mark.parametrize(
    "arguments", [["report", "--format", "comment"], ["report", "--store", "no.db"], ["runs"]]
)
def test_no_store_yet(crosswarp, arguments):
    status, _, err = crosswarp(*arguments)
    assert status == 4 and "Run `crosswarp run` first" in err


def test_no_such_run(crosswarp):
    with Store(__import__("pathlib").Path("store.db")) as store:
        store.begin([], {})
    status, _, err = crosswarp("report", "--store", "store.db", "--run", "7")
    assert status == 2 and "crosswarp runs" in err


def test_a_store_that_is_none(crosswarp, tmp_path):
    (tmp_path / "store.db").write_text("hello " * 1000)
    status, _, err = crosswarp("runs", "--store", "store.db")
    assert status == 4 and "Move it away" in err


def test_here_without_triton(crosswarp):
    # The host's own interpreter has no Triton, and that is said in one message.
    status, _, err = crosswarp("run", "--here")
    assert status == 3 and "cannot be imported" in err and "without --here" in err


def test_here_that_is_no_interpreter(crosswarp, tmp_path):
    status, _, err = crosswarp("run", "--here", str(tmp_path / "python"))
    assert status == 3 and "Name another" in err


def test_lists(crosswarp):
    status, out, _ = crosswarp("columns", "--ids")
    assert status == 0 and out.splitlines()[0] == "triton-2.3.1" and out.splitlines()[-1] == "main"
    status, out, _ = crosswarp("targets")
    assert status == 0 and "gfx942" in out


def test_an_index_that_cannot_be_reached(tmp_path):
    # Port 9 of this machine: nothing listens there, so the answer is quick and no name is looked up.
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull,
        "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip
    (tmp_path / "issues.toml").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "crosswarp.reports.cli", "run", "--columns", "triton-3.2.0,main", "--targets", "sm_90",
         "--lanes", "compile", "--issues-file", "issues.toml"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("triton-3.2.0: its environment could not be built") == 1
    assert "Check the network and the package index" in done.stderr
    assert (
        "columns.toml" in done.stderr or "main: its environment could not be built" in done.stderr
    )
    with Store(tmp_path / ".crosswarp" / "store.db") as store:
        records = store.records(1)
        assert {record.column for record in records} == {"triton-3.2.0", "main"}
        assert {(record.outcome, record.reason) for record in records} == {
            ("not-run", "environment failed")
        }


@pytest.mark.parametrize("option", ["--columns", "--targets", "--lanes", "--modes", "--kernels"])
def test_an_empty_selection_is_a_usage_error(crosswarp, option):
    """What an unset variable of a CI becomes."""
    status, _, err = crosswarp("run", option, "")
    assert status == 2 and "leave the option out" in err


def test_a_work_folder_that_is_a_file_is_a_usage_error(crosswarp, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, err = crosswarp("run", "--work", str(tmp_path / "file"), "--columns", "triton-3.2.0")
    assert status == 2 and "can be written" in err


def test_columns_off_the_table_are_shown_as_such(command):
    status, out, _ = command("columns", "triton-3.2.0+torch-2.5.1,triton-3.2.0+python-3.12,main")
    assert status == 0
    shown = {line.split()[0]: " ".join(line.split()) for line in out.splitlines()}
    assert shown["triton-3.2.0+torch-2.5.1"].endswith("off the table triton==3.2.0 torch==2.5.1")
    assert shown["triton-3.2.0+python-3.12"].endswith("off the table") and "==3.12.*" in out
    assert "overridden" not in command("columns", "main")[1]
    assert command("columns", "--ids", "triton-3.[01].*")[1] == "triton-3.0.0\ntriton-3.1.0\n"
    assert command("columns", "triton-3.2.0+torch-x")[0] == 2
