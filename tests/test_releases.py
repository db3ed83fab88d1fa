"""Releases that the table of columns lacks, from a small index of its own: what is proposed, pasted and written."""

from __future__ import annotations

import sys

import pytest

from crosswarp.matrix import versions
from crosswarp.matrix.environments import releases
from crosswarp.matrix.environments.uvtool import Answer
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import columns
from crosswarp.reports.commands import update as module

TABLE = """# The columns.

[[column]]
id = "triton-3.1.0"
triton = "3.1.0"
torch = "2.5.1"
requirements = ["numpy<2", "setuptools"]

[[column]]
id = "triton-3.2.0"
triton = "3.2.0"
torch = "2.6.0"
requirements = ["numpy<2.4"]

# What is newest.
[[column]]
id = "main"
resolver = "main"
"""
# The Pythons that releases are asked about: here all; elsewhere four, because uv is asked about each of them.
ALL = {"_OLDEST_PYTHON": releases._OLDEST_PYTHON, "_NEWER_PYTHONS": releases._NEWER_PYTHONS}
FEW = {"_OLDEST_PYTHON": sys.version_info.minor - 1, "_NEWER_PYTHONS": 2}
HERE = f">=3.{sys.version_info.minor - 1},<3.{sys.version_info.minor + 3}"


@pytest.fixture(autouse=True)
def pythons(monkeypatch):
    """`pythons(ALL)`."""

    def ask(chosen):
        for name, value in chosen.items():
            monkeypatch.setattr(releases, name, value)

    ask(FEW)
    return ask


@pytest.fixture
def index(local_index):
    """Holds triton 3.1.0, 3.2.0 and 3.10.0 with their torch 2.5.1, 2.6.0 and 2.16.0, and nothing else of either."""
    return local_index


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "columns.toml"
    path.write_text(TABLE)
    return path


@pytest.fixture
def lacking(index, path):
    return lambda: releases.lacking(columns.load(path), index)


@pytest.fixture
def update(index, path, command, monkeypatch):
    monkeypatch.setattr(module, "Uv", lambda: index)
    return lambda *arguments: command("update", "--columns-file", str(path), *arguments)


def as_texts(found):
    return [(str(one.triton), str(one.torch), one.python) for one in found]


def test_a_release_with_the_torch_that_pins_it(lacking, pythons):
    pythons(ALL)
    # 3.10.0 is newer than 3.2.0, as versions and not as text.
    assert as_texts(lacking()) == [("3.10.0", "2.16.0", f">=3.9,<3.{sys.version_info.minor + 5}")]


def test_nothing_is_lacking(index, lacking, update):
    (index.wheels / "triton-3.10.0-py3-none-any.whl").unlink()
    assert lacking() == []
    status, out, _ = update()
    assert status == 0 and "a column for every release" in out


def test_the_newest_torch_that_pins_it_and_no_other(index, lacking, make_wheel):
    make_wheel(index.wheels, "torch", "2.16.1", ["triton==3.10.0"])
    # These ask for no Triton, for any, or for another: none of them pins it.
    make_wheel(index.wheels, "torch", "2.16.1+cpu")
    make_wheel(index.wheels, "torch", "2.17.0+cpu")
    make_wheel(index.wheels, "torch", "2.17.1", ["triton>=3.1"])
    make_wheel(index.wheels, "torch", "2.17.2", ["triton==3.2.0"])
    assert as_texts(lacking()) == [("3.10.0", "2.16.1", HERE)]


def test_a_release_that_no_torch_pins_yet(index, lacking, update, make_wheel):
    make_wheel(index.wheels, "triton", "3.11.0")
    # Older than the table begins, and not out yet.
    make_wheel(index.wheels, "triton", "2.0.0")
    make_wheel(index.wheels, "triton", "3.12.0rc1")
    assert as_texts(lacking())[1:] == [("3.11.0", "None", "")]
    assert "3.11.0  no column yet: no torch in the index pins it." in update()[1]


def test_a_minor_has_one_column_its_last_patch(index, lacking, update, make_wheel):
    for version, torch in (("3.2.1", "2.6.1"), ("3.9.0", "2.15.0"), ("3.9.1", "2.15.1")):
        make_wheel(index.wheels, "triton", version)
        make_wheel(index.wheels, "torch", torch, [f"triton=={version}"])
    found = {str(one.triton): one for one in lacking()}
    assert list(found) == ["3.2.1", "3.9.0", "3.9.1", "3.10.0"]
    assert found["3.2.1"].replaces == "triton-3.2.0" and str(found["3.2.1"].torch) == "2.6.1"
    assert found["3.9.0"].older_than == "triton-3.9.1" and found["3.9.0"].torch is None
    out = " ".join(update()[1].split())
    assert "A later patch than triton-3.2.0, which can go" in out
    assert "3.9.0 no column: triton-3.9.1 is a later patch of the same minor." in out
    assert 'id = "triton-3.9.1"' in out and 'id = "triton-3.9.0"' not in out


def test_a_release_for_one_python_only(index, lacking):
    newer = sys.version_info.minor + 2
    (index.wheels / "triton-3.10.0-py3-none-any.whl").rename(
        index.wheels / f"triton-3.10.0-cp3{newer}-cp3{newer}-manylinux_2_17_x86_64.whl"
    )
    assert as_texts(lacking()) == [("3.10.0", "2.16.0", f">=3.{newer},<3.{newer + 1}")]


def test_what_is_proposed_can_be_pasted(update, path):
    status, out, _ = update()
    assert status == 0 and path.read_text() == TABLE
    block = out[out.index("[[column]]") : out.index("Paste it")]
    path.write_text(f"{TABLE}\n{block}")
    made = {column.id: column for column in columns.load(path)}["triton-3.10.0"]
    # What its interpreter needs is as the release before it has it, until somebody tries.
    assert (made.torch, made.requirements, made.profile) == ("2.16.0", ("numpy<2.4",), ("all",))
    assert "Then try it: crosswarp run --triton 3.10.0" in " ".join(out.split())
    assert "crosswarp language --triton 3.10.0 --write" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_written_where_it_belongs(index, update, path, make_wheel):
    make_wheel(index.wheels, "triton", "3.1.1")
    make_wheel(index.wheels, "torch", "2.5.2", ["triton==3.1.1"])
    path.chmod(0o640)
    status, out, _ = update("--write")
    assert status == 0 and "[[column]]" not in out
    listed = ["triton-3.1.0", "triton-3.1.1", "triton-3.2.0", "triton-3.10.0", "main"]
    assert [column.id for column in columns.load(path)] == listed
    # The rest is as it was, and a comment stays above its column.
    assert '\n\n# What is newest.\n[[column]]\nid = "main"' in path.read_text()
    assert path.read_text().startswith("# The columns.\n\n[[column]]")
    assert path.stat().st_mode & 0o777 == 0o640
    assert update("--write")[1].startswith("The table has a column for every release")
    assert [one.name for one in path.parent.glob("columns.toml*")] == ["columns.toml"]


def test_a_table_without_main_is_written_to_its_end(update, path):
    path.write_text(TABLE.partition("# What is newest.")[0].rstrip())
    assert update("--write")[0] == 0
    assert [column.id for column in columns.load(path)][-1] == "triton-3.10.0"


def test_a_file_that_cannot_be_written(update, monkeypatch):
    def refuse(*arguments, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(releases.datafile.tempfile, "mkstemp", refuse)
    status, _, err = update("--write")
    assert status == 2 and "Permission denied" in err and "--columns-file" in err


def test_an_index_that_does_not_answer(index, lacking, update, monkeypatch):
    for wheel in index.wheels.glob("triton-*.whl"):
        wheel.unlink()
    with pytest.raises(EnvironmentFailed, match="has no triton>=3.1.0. Check the network"):
        lacking()
    assert update()[0] == 3
    monkeypatch.setattr(module, "Uv", lambda: lambda *a, **k: Answer(2, "", "dns error"))
    status, out, err = update()
    assert (status, out) == (3, "") and "dns error" in err and "Check the network" in err


def test_a_table_that_begins_nowhere(update, path):
    path.write_text(TABLE[TABLE.index("# What is newest.") :])
    status, _, err = update()
    assert status == 2 and "no published pair" in err


# The error messages of a new release


def test_what_a_new_release_says_in_its_errors(index, update, make_wheel):
    wheel = make_wheel(index.wheels, "triton", "3.10.0")
    # The package is read and not run, nor is what it needs fetched.
    held = {
        "triton/__init__.py": 'raise SystemExit("run")\n',
        "triton/language/core.py": 'raise ValueError("a message of another planet")\n',
        "triton/language/semantic.py": "raise ValueError("
        """"arange's end argument must be larger than the start argument")\n""",
    }
    make_wheel(index.wheels, "triton", "3.10.0", ["never-published"], held)
    status, out, _ = update()
    assert status == 0 and wheel.exists()
    head = next(line for line in out.splitlines() if line.startswith("Error messages of"))
    assert head.startswith("Error messages of Triton 3.10.0. Against the index (3.9.0): ")
    assert "  added     language/core.py: a message of another planet\n" in out
    assert (
        "  reworded  language/semantic.py: arange's end argument must be greater than the start argument\n"
        "            now: arange's end argument must be larger than the start argument\n" in out
    )
    assert "  dropped   language/semantic.py: cannot add pointers together\n" in out


def test_releases_whose_messages_are_not_read(index, update, monkeypatch):
    found = [releases.Release(versions.exact(one)) for one in ("3.8.1", "3.10.0")]
    monkeypatch.setattr(releases, "lacking", lambda *given: found)
    # The index has those of 3.8; this wheel of 3.10.0 holds a module of that name.
    status, out, _ = update()
    assert status == 0 and out.count("Error messages") == 1
    assert "Not read: the wheel of triton 3.10.0 holds no" in " ".join(out.split())
    # A job reads one line.
    assert update("--format", "github")[1] == "columns=\n"
    monkeypatch.setattr(module, "Uv", lambda: lambda *given: Answer(2, "", "no space left"))
    status, out, _ = update()
    assert status == 0 and "no column yet" in out
    assert "triton 3.10.0 was not fetched: no space left" in " ".join(out.split())
