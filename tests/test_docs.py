"""The pages made from the records: complete, escaped, and as committed."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp import compat
from crosswarp.compat.record import Shim
from crosswarp.laboratory.pages import api, docs
from crosswarp.matrix.facts import datafile, issues, known_texts
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import baseline
from crosswarp.reports import cli
from crosswarp.reports.text import escape

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def made():
    return docs.pages(issues.load(), ROOT / docs.BASELINE)


def test_the_committed_pages_are_up_to_date(made):
    assert docs.stale(ROOT / "docs", made) == [], (
        "run `crosswarp docs` (or `nox -s docs`) and commit docs/"
    )


def test_every_shim_is_found_by_the_text_of_its_error(made):
    for shim in compat.all_shims():
        assert f"## `{shim.name}`" in made["shims.md"]
        assert f"](#{shim.name})" in made["shims.md"]
        assert shim.link in made["shims.md"]
        for line in shim.symptom.splitlines():
            assert escape.code(line.strip()) in made["shims.md"]


def test_every_shim_is_described_by_its_own_module(made):
    for shim in compat.all_shims():
        described = made["shims.md"].partition(f"## `{shim.name}`\n\n")[2]
        module = sys.modules[f"{compat.__name__}.shims.{shim.name}"]
        first = module.__doc__.split()[0].strip("`")
        assert described.lstrip("`").startswith(escape.code(first).strip("`")), shim.name


def test_every_issue_without_a_shim_is_told_with_what_to_do(made):
    names = {shim.name for shim in compat.all_shims()}
    for issue in issues.load():
        if issue.shim not in names and issue.status != "no longer reproduces":
            assert issue.links[0] in made["shims.md"]


def test_every_public_name_is_in_the_reference(made):
    for name in compat.__all__:
        assert f"### `crosswarp.compat.{name}`" in made["api.md"]
        # A text's docstring is that of str.
        if name != "__version__":
            assert getattr(compat, name).__doc__.split()[0] in made["api.md"]
    assert "python -m crosswarp.compat run" in made["api.md"]


def test_making_them_imports_neither_triton_nor_torch():
    code = (
        "import sys; from crosswarp.matrix.facts import issues; from crosswarp.laboratory.pages import docs;"
        "docs.pages(issues.load()); print([n for n in ('triton', 'torch', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_command_writes_and_compares(tmp_path, capsys, monkeypatch, make_record):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "deep" / "docs"
    assert cli.main(["docs", "--out", str(folder), "--check"]) == 1
    assert not folder.exists()
    assert cli.main(["docs", "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "api.md",
        "language.md",
        "report.schema.json",
        "schemas",
        "settings.schema.json",
        "shims.md",
        "targets.md",
    ]
    assert cli.main(["docs", "--out", str(folder), "--check"]) == 0
    (folder / "api.md").write_text("older")
    capsys.readouterr()
    assert cli.main(["docs", "--out", str(folder), "--check"]) == 1
    assert "api.md" in capsys.readouterr().out
    # Which issues were seen is told of a baseline, where there is one.
    docs.BASELINE.parent.mkdir()
    baseline.write(docs.BASELINE, [make_record()])
    assert cli.main(["docs", "--out", str(folder)]) == 0
    assert "Of `baseline/all.json`, 1 columns" in (folder / "issues.md").read_text("utf-8")


HOSTILE = "a|b `c` <script>alert(1)</script> [x](http://evil) *y* # z\x1b[31m"


def test_what_comes_from_records_cannot_become_markup():
    shim = Shim(
        name="odd", issue="x-1", window="<3.0", symptom=HOSTILE, link="javascript:alert(1)",
        delete_when=HOSTILE, apply=lambda patches: None,
    )  # fmt: skip
    issue = datafile.checked(
        Issue,
        {"id": "x-1", "title": HOSTILE, "status": "unverified", "outcome": "crash", "workaround": HOSTILE,
         "fingerprint": "f", "links": ["https://example.org/a/1"], "checked": "2026-11-21"}
    )  # fmt: skip
    issue = replace(issue, links=(HOSTILE,))
    for page in (docs.shims_page([shim], [issue]), docs.shims_page([], [issue])):
        assert "\x1b" not in page
        # In code spans it stands as it is; outside of them nothing of it is left that means anything.
        outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", page)
        assert "<script>" not in outside and "](javascript:" not in outside
        assert not re.search(r"(?<!\\)\]\(http", outside)
        for line in page.splitlines():
            if line.startswith("| "):
                assert line.count(" | ") in (2, 4)


def test_a_shims_cost_is_taken_from_its_docstring(monkeypatch):
    module = type(sys)("fake_shim_module")
    module.__doc__ = "Heals it.\n\nCost: nothing per launch.\n"
    monkeypatch.setitem(sys.modules, "fake_shim_module", module)

    def apply(patches):
        pass

    apply.__module__ = "fake_shim_module"
    shim = Shim("odd", "x", "<3.0", "s", "https://github.com/a/b/issues/1", "never", apply)
    page = docs.shims_page([shim], [])
    assert "Heals it." in page and "- Cost: nothing per launch." in page


def test_docstrings_become_markdown(tmp_path):
    (tmp_path / "__init__.py").write_text(
        textwrap.dedent('''
        """The package: ``a|b`` and *this* is not emphasis.

            code = "<b>"

        And more.
        """
        from .inner import made as make, Thing
        from .start import start
        __all__ = ["make", "Thing", "late", "start"]
        ''').lstrip()
    )
    (tmp_path / "inner.py").write_text(
        textwrap.dedent('''
        __all__ = ["made"]
        def made(a: int, *, b: str = "x") -> None:
            """Make it.

            Args:
                a: the first,
                    and more of it.
                b: `code` here.

            Raises:
                ValueError: no.
            """
        class Thing:
            """A thing."""
            def __init__(self, size: int = 3):
                pass
            def grow(self) -> int:
                """Grow."""
        ''').lstrip()
    )
    (tmp_path / "start.py").write_text('def start() -> int:\n    """Hides its module."""\n')
    page = api.reference(tmp_path, "pkg")
    assert "start() -> int\n```\n\nHides its module." in page
    assert "`a\\|b` and \\*this\\* is not" in page
    assert '```text\ncode = "<b>"\n```' in page
    assert "### `pkg.make`" in page and "made(a: int, *, b: str = 'x') -> None" in page
    assert "- `a`: the first, and more of it." in page and "- `b`: `code` here." in page
    assert "**Raises**\n\n- `ValueError`: no." in page
    assert "class Thing(size: int = 3)" in page and "`grow() -> int`: Grow." in page
    assert "### `pkg.late`" in page
    assert "## `pkg.inner`" in page and "### `pkg.inner.made`" in page


def test_each_known_text_of_a_fixed_issue_stands_on_the_page_of_the_shims(made):
    page = made["shims.md"]
    names = {shim.name for shim in compat.all_shims()}
    for issue in issues.load():
        if issue.shim in names:
            for text in known_texts.written_out(issue.fingerprint):
                assert text in page or text.startswith("tl."), (issue.id, text)
