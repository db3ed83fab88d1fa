"""pyproject.toml names every package there is: setuptools finds none by itself below a package-dir mapping."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
import pytest

from crosswarp import compat

ROOT = Path(__file__).parent.parent
FOLDERS = ("compat", "kernels", "laboratory", "matrix", "reports")


def test_every_package_is_listed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = [
        "crosswarp." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    ]
    # baseline/ holds data alone.
    assert sorted(listed) == sorted([*found, "crosswarp.baseline"])


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
    assert "Contracts: 9 kept, 0 broken." in ran.stdout


def test_every_room_stands_in_the_table_of_contributing():
    told = set(re.findall(r"`([\w.]+(?:/\w+)*)/`", (ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    rooms = {
        str(path.parent.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    inner = {
        "matrix/cell/machines/amdgcn/instructions",
        "matrix/cell/machines/ptx/arithmetic",
        "matrix/cell/machines/ptx/instructions",
        "matrix/cell/pytest_plugin/lanes",
    }
    assert rooms - inner <= told, sorted(rooms - inner - told)


class _Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.mark.parametrize("home", ["", "https://forge.example/somebody/crosswarp"])
def test_an_index_shows_the_readme_with_addresses_that_lead_somewhere(home):
    text = runpy.run_path(str(ROOT / "setup.py"))["for_an_index"](
        (ROOT / "README.md").read_text("utf-8"), home, "v1.2.3"
    )
    page = _Addresses()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(text))
    ours = [url for url in page.found if "://" not in url or (home and url.startswith(home))]
    if not home:
        assert not [url for url in ours if not url.startswith("#")]
    else:
        assert any(url.startswith(f"{home}/raw/v1.2.3/docs/badges/") for url in ours)
        for url in ours:
            if not url.startswith("#"):
                path = re.fullmatch(rf"{home}/(?:raw|blob)/v1\.2\.3/([^#]+)(?:#.*)?", url)
                assert path and (ROOT / path[1]).exists(), url
    # Code is not touched, and no words are lost.
    assert "from crosswarp import compat" in text


def test_what_a_link_becomes_for_an_index():
    made = runpy.run_path(str(ROOT / "setup.py"))["for_an_index"]
    text = "[![b](docs/b.svg)](docs/i.md) [words](docs/a.md#x) [out](https://a.example/b) ![p](docs/p.png)\n"
    text += "\n    [code](stays.md)\n"
    home = "https://forge.example/o/n"
    assert made(text, home, "v1") == (
        f"[![b]({home}/raw/v1/docs/b.svg)]({home}/blob/v1/docs/i.md) [words]({home}/blob/v1/docs/a.md#x) "
        f"[out](https://a.example/b) ![p]({home}/raw/v1/docs/p.png)\n\n    [code](stays.md)\n"
    )
    assert made(text, "", "v1") == " words [out](https://a.example/b) \n\n    [code](stays.md)\n"


def test_setup_finds_the_release_that_compat_has():
    assert runpy.run_path(str(ROOT / "setup.py"))["release"]() == compat.__version__


def test_the_readme_is_shown_without_an_address_where_none_is_known(monkeypatch):
    monkeypatch.delenv("CROSSWARP_REPOSITORY", raising=False)
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    made = runpy.run_path(str(ROOT / "setup.py"))
    assert made["repository"]() == "" and made["addresses"]("", "v1") == {}
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/n")
    assert runpy.run_path(str(ROOT / "setup.py"))["repository"]().endswith("/o/n")
