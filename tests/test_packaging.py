"""pyproject.toml names every package there is: setuptools finds none by itself below a package-dir mapping."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("compat", "kernels", "matrix", "reports")


def test_every_package_is_listed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = [
        "crosswarp." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    ]
    assert sorted(listed) == sorted(found)


def test_matrix_imports_nothing_heavy():
    """The cell side comes through crosswarp.matrix, in environments that have none of the host's libraries."""
    code = (
        "import sys; before = set(sys.modules); import crosswarp.matrix, crosswarp.kernels, crosswarp.compat;"
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for name in ("pydantic", "rich", "tabulate", "torch", "triton", "sqlite3"):
        assert f"'{name}'" not in loaded


def test_imports_point_down():
    """The floors, and the rooms on each: the contracts are in pyproject.toml."""
    ran = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Contracts: 5 kept, 0 broken." in ran.stdout


def test_every_room_stands_in_the_table_of_contributing():
    told = set(re.findall(r"`([\w.]+(?:/\w+)*)/`", (ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    rooms = {
        str(path.parent.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    inner = {
        "matrix/cell/ptx/arithmetic",
        "matrix/cell/ptx/instructions",
        "matrix/cell/pytest_plugin/ways",
    }
    assert rooms - inner <= told, sorted(rooms - inner - told)
