"""The wheel: built, installed away from the checkout, with all that it needs to run."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from crosswarp.matrix.environments.uvtool import Uv

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_holds_everything_and_its_command_runs(tmp_path):
    uv = Uv()
    built = uv(["build", "--wheel", "--out-dir", str(tmp_path / "dist"), str(ROOT)])
    assert built.ok, built.why
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("compat", "kernels", "matrix", "reports"):
        kinds = ("*.py", "*.toml", "*.json", "*.html", "*.css", "*.js", "*.svg")
        files = [path for kind in kinds for path in (ROOT / folder).rglob(kind)]
        missing = {f"crosswarp/{path.relative_to(ROOT).as_posix()}" for path in files} - names
        assert not missing
    assert {"crosswarp/compat/py.typed", "crosswarp/kernels/py.typed"} <= names
    # Nothing of ours lies under a generic name on the user's import path.
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"crosswarp"}
    home = tmp_path / "home"
    assert uv(["venv", "-q", str(home)]).ok
    python = home / "bin" / "python"
    installed = uv(
        ["pip", "install", "-q", "-p", str(python), f"crosswarp[matrix] @ {wheel.as_uri()}"]
    )
    assert installed.ok, installed.why
    done = subprocess.run(
        [str(home / "bin" / "crosswarp"), "columns", "--ids"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "triton-2.3.1"


def test_without_the_host_libraries_the_command_says_what_to_install(tmp_path):
    uv = Uv()
    home = tmp_path / "home"
    assert uv(["venv", "-q", str(home)]).ok
    python = home / "bin" / "python"
    assert uv(["pip", "install", "-q", "-p", str(python), str(ROOT)]).ok
    done = subprocess.run(
        [str(home / "bin" / "crosswarp"), "columns"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert 'pip install "crosswarp[matrix]"' in done.stderr
