"""`crosswarp lint` as a command, and its outputs: text, JSON, SARIF, annotations."""

from __future__ import annotations

import json

import pytest

from crosswarp.matrix.facts import language_table
from crosswarp.matrix.linting import lint, rules
from crosswarp.reports.text import lint_text

TABLE = language_table.load()
ALL = tuple(TABLE)
USE = "from triton.language import gather"
EVIL = "</script>::error::x\x1b[2J\u202e%0A`|<b>\n.py"


@pytest.fixture
def evil(tmp_path):
    (tmp_path / "a.py").write_text(USE + "\n" + "from triton.language import gather\n" * 4)
    (tmp_path / "b.py").write_text("triton(")
    return lint.lint([tmp_path], ALL, table=TABLE, shown=lambda path: f"{path.stem}{EVIL}")


@pytest.mark.parametrize("form", lint_text.FORMATS)
def test_what_a_stranger_wrote_is_escaped(evil, form):
    text = lint_text.rendered(evil, form)
    assert "\x1b" not in text and "\u202e" not in text
    lines = text.splitlines()
    if form == "github":
        assert all(
            line.startswith(("::error file=", "::notice file=", "5 found")) for line in lines
        )
        assert all(line.count("::error") <= 1 for line in lines) and "%250A" in text
    else:
        assert not any(line.startswith("::") for line in lines)
    if form == "text":
        assert "    and in 2 more places of this file" in lines
        assert lines[-1].startswith(
            "5 found in 2 files, 1 file could not be checked; against Triton 2.3.1, "
        )


def test_json_and_sarif_say_all(evil):
    found = json.loads(lint_text.as_json(evil))
    assert found["findings"][0] == {
        "rule": "language-name", "path": f"a{EVIL}", "line": 1, "column": 1, "subject": "triton.language.gather",
        "releases": ["2.3.1", "3.0.0", "3.1.0", "3.2.0"], "what_happens": "import fails",
        "fixed_by": dict.fromkeys(["2.3.1", "3.0.0", "3.1.0", "3.2.0"], "gather"),
        "message": found["findings"][0]["message"], "callers": [], "apart": None,
    }  # fmt: skip
    [run] = json.loads(lint_text.sarif(evil))["runs"]
    ids = {one["id"] for one in run["tool"]["driver"]["rules"]}
    assert ids == {*rules.RULES, "unreadable"} and {one["ruleId"] for one in run["results"]} <= ids
    [place] = run["results"][0]["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1}
    assert "\n" not in place["physicalLocation"]["artifactLocation"]["uri"]


def test_command(tmp_path, command):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["triton>=3.2"]\n[tool.crosswarp]\nlint-exclude = ["old"]'
    )
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x.py").write_text(USE)
    (tmp_path / "new.py").write_text(USE)

    def run(*arguments):
        return command("lint", str(tmp_path), *map(str, arguments))

    status, out, err = run()
    assert status == 1 and "x.py" not in out
    assert "new.py:1:1: language-name: tl.gather is not in Triton 3.2.0: import fails" in out
    assert "Releases: triton>=3.2 (pyproject.toml, project.dependencies)" in err
    assert run("--triton", ">=3.3")[0] == 0
    assert run("--columns", "triton-3.6.0")[0] == 0
    assert run("--rules", "host-name")[0] == 0
    assert run("--exclude", "new.py")[0] == 0
    assert run("--format", "sarif", "--out", tmp_path / "out.sarif")[0] == 1
    assert json.loads((tmp_path / "out.sarif").read_text())["version"] == "2.1.0"
    # The settings that `crosswarp test` reads, in the other of their two files.
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "crosswarp.toml").write_text('columns = ["triton-3.6.0"]\nlint-exclude = ["old"]')
    assert run()[0] == 0 and run("--triton", ">=3.2")[0] == 1
    for wrong, said in (
        (["--triton", "three"], "no column matches"),
        (["--triton", ">=9"], "none of the releases"),
        (["--rules", "nothing"], "there is no such rule"),
    ):
        status, _, err = run(*wrong)
        assert status == 2 and said in err
    status, _, err = command("lint", str(tmp_path / "gone"))
    assert status == 2 and "no such file or folder" in err
    (tmp_path / "crosswarp.toml").unlink()
    pinned = '[project.optional-dependencies]\nother = ["torch==2.9.0+corex.4"]'
    (tmp_path / "pyproject.toml").write_text(pinned)
    status, _, err = run("--exclude", "old")
    assert status == 1 and "Releases: all, for none of the known ones is allowed" in err
    (tmp_path / "crosswarp.toml").write_text("lint-exclude = 3")
    status, _, err = run()
    assert status == 2 and "lint-exclude" in err


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "Releases: >=3.0, for no file here names"),
        ({"requirements.txt": "numpy\ntriton>=3.1,<3.5  # why\n"}, "triton<3.5,>=3.1 (requirements.txt)"),
        ({"requirements.txt": "triton==3.2.0\n"}, "triton>=3.2.0 (requirements.txt)"),
        ({"uv.lock": '[[package]]\nname = "triton"\nversion = "3.3.1"\n'}, "triton>=3.3.1 (uv.lock)"),
        ({".github/workflows/ci.yml": "run: pip install torch==2.6.0 triton==3.2.0"}, "triton>=3.2.0"),
        ({"README.md": "You need **Triton 3.1 or newer**."}, "triton>=3.1 (README.md)"),
        ({"README.md": "Requires `triton >= 2.9` and PyTorch 2.4+"}, "triton>=2.9 (README.md) and torch>=2.4"),
        # The nearer to metadata, the more it counts.
        ({"README.md": "triton>=3.6", "requirements.txt": "triton>=3.4"}, "triton>=3.4 (requirements"),
        # Not this package, not a release.
        ({"README.md": "pytorch-triton 3.1+, tritonclient>=2.0, triton/3.0.1, torch==nightly"}, ">=3.0, for"),
    ],
)  # fmt: skip
def test_the_range_of_a_library_without_metadata(tmp_path, command, files, said):
    (tmp_path / ".git").mkdir()
    (tmp_path / "new.py").write_text(USE)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    _, _, err = command("lint", str(tmp_path))
    assert said in err


def test_a_finding_is_in_the_file_that_has_the_code(tmp_path, command):
    """A kernel that another file launches is no code of that file, however short it is."""
    (tmp_path / "layer.py").write_text(
        "from triton import cdiv\nfrom ops import kernel\n\n\ndef norm(x):\n    kernel[(cdiv(4, 4),)](x)\n"
    )
    (tmp_path / "ops.py").write_text(
        "import triton\nimport triton.language as tl\n\n\ndef unused():\n    return 1\n\n\n"
        "@triton.jit\ndef kernel(x):\n    tl.store(x, tl.gather(x, x, 0))\n"
    )
    status, out, _ = command("lint", str(tmp_path), "--triton", ">=3.2,<3.4", "--json")
    [found] = json.loads(out)["findings"]
    assert status == 1 and found["path"].endswith("ops.py") and found["line"] == 11
    [caller] = found["callers"]
    assert caller.endswith("layer.py:6")
    out = command("lint", str(tmp_path), "--triton", ">=3.2,<3.4")[1]
    assert "ops.py:11:17: language-name: tl.gather is not in" in out
    assert f"    called from {caller}\n" in out
