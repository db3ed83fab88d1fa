"""What is published: wheel and source distribution, built once, installed away from the checkout."""

from __future__ import annotations

import os
import subprocess
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from crosswarp import compat
from crosswarp.matrix.environments.uvtool import Uv

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.load(tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (16,), (0,)))
"""
HOME = "https://forge.example/somebody/crosswarp"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel, which uv builds from the source distribution, and that."""
    out = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CROSSWARP_REPOSITORY", HOME)
        done = Uv()(["build", "--out-dir", str(out), str(ROOT)])
    assert done.ok, done.why
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    def make(what):
        home = tmp_path_factory.mktemp("home")
        uv = Uv()
        assert uv(["venv", "-q", str(home)]).ok
        done = uv(["pip", "install", "-q", "-p", str(home / "bin" / "python"), what])
        assert done.ok, done.why
        return home

    return make


@pytest.fixture(scope="module")
def small(built, environment):
    """The shims, from the wheel."""
    return environment(str(built[0]))


@pytest.fixture(scope="module")
def whole(built, environment):
    """With the host side, from the source distribution."""
    return environment(f"crosswarp[matrix] @ {built[1].as_uri()}")


def crosswarp(home, where, *arguments, stdin=""):
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(home / "bin" / "crosswarp"), *arguments],
        capture_output=True, text=True, cwd=where, check=False, input=stdin, env=environ,
    )  # fmt: skip


def test_the_wheel_holds_everything_and_nothing_under_a_generic_name(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    for folder in ("compat", "kernels", "matrix", "reports", "baseline"):
        kinds = ("*.py", "*.toml", "*.json", "*.html", "*.css", "*.js", "*.svg")
        files = [path for kind in kinds for path in (ROOT / folder).rglob(kind)]
        missing = {f"crosswarp/{path.relative_to(ROOT).as_posix()}" for path in files} - names
        assert not missing
    assert {"crosswarp/compat/py.typed", "crosswarp/kernels/py.typed"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"crosswarp"}
    assert not [name for name in names if name.startswith("crosswarp/laboratory")]


def test_the_source_holds_tests_and_docs(built):
    with tarfile.open(built[1]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    for folder in ("tests", "docs", "examples", "baseline", "laboratory", ".github"):
        wanted = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
        }
        assert wanted <= names, sorted(wanted - names)[:5]
    assert {"noxfile.py", "action.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"} <= names


def test_what_an_index_is_told(built):
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = (one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
        told = message_from_string(wheel.read(name).decode("utf-8"))
    assert told["Version"] == compat.__version__
    assert told["License-Expression"] == "Apache-2.0" and told["License-File"] == "LICENSE"
    assert told["Author"] and "Typing :: Typed" in told.get_all("Classifier")
    assert f"Repository, {HOME}" in told.get_all("Project-URL")
    text = told.get_payload()
    assert f"{HOME}/raw/v{compat.__version__}/docs/badges/" in text and "](docs/" not in text


def test_the_small_install_answers_and_says_how_to_get_the_rest(small, tmp_path):
    installed = [path.name for path in small.glob("lib/python*/site-packages/*.dist-info")]
    assert {name.split("-")[0] for name in installed} == {"crosswarp", "packaging"}
    done = crosswarp(small, tmp_path, "--version")
    assert (done.returncode, done.stdout) == (0, f"crosswarp {compat.__version__}\n")
    done = crosswarp(
        small, tmp_path, "why", stdin="E  TypeError: missing a required argument: 'num_warps'"
    )
    assert done.returncode == 0 and "reserved_options" in done.stdout, done.stderr
    assert crosswarp(small, tmp_path, "doctor").returncode == 2
    (tmp_path / "k.py").write_text(KERNEL, "utf-8")
    for arguments, status, answer in (
        (["diff", "3.8.0", "3.9.0"], 1, "- Block pointers are gone"),
        (["lint", "k.py"], 1, "tl.make_block_ptr refuses"),
        (["issues"], 0, "known issues"),
    ):
        done = crosswarp(small, tmp_path, *arguments)
        assert done.returncode == status and answer in done.stdout, done.stderr
    done = crosswarp(small, tmp_path, "check", "k.py")
    assert done.returncode == 2 and "there is no Triton here" in done.stderr
    (tmp_path / "crosswarp.toml").write_text("lint-exclude = []\n", "utf-8")
    done = crosswarp(small, tmp_path, "lint", "k.py")
    assert done.returncode == 2 and "lint needs pydantic here" in done.stderr
    done = crosswarp(small, tmp_path, "columns")
    assert done.returncode == 2 and 'pip install "crosswarp[matrix]"' in done.stderr
    done = crosswarp(small, tmp_path)
    assert done.returncode == 2 and "This is the small install" in done.stdout
    _has_no_laboratory(small, tmp_path)


def _has_no_laboratory(home, where):
    done = crosswarp(home, where, "fuzz", "--minutes", "1")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert 'In a checkout of crosswarp, install it: pip install -e ".[fuzz]"' in done.stderr
    shown = crosswarp(home, where, "--help").stdout
    assert "\n  lint " in shown and "developers" not in shown and "fuzz" not in shown


def test_the_whole_answers_from_its_baseline_with_neither_torch_nor_triton(whole, tmp_path):
    names = {
        path.name.split("-")[0] for path in whole.glob("lib/python*/site-packages/*.dist-info")
    }
    assert "pydantic" in names and not names & {"torch", "triton"}
    _has_no_laboratory(whole, tmp_path)
    done = crosswarp(whole, tmp_path, "columns", "--ids")
    assert done.returncode == 0 and done.stdout.split()[0] == "triton-2.3.1", done.stderr
    done = crosswarp(whole, tmp_path, "diff", "3.8.0", "3.9.0")
    assert done.returncode == 1 and "triton-10833" in done.stdout, done.stderr
    assert "This is the baseline of crosswarp" in done.stderr
    done = crosswarp(whole, tmp_path, "report", "--format", "html", "--out", "site")
    assert done.returncode == 0 and (tmp_path / "site" / "index.html").is_file(), done.stderr
