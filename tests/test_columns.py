"""The column file: what is in it, what is refused, and how columns are chosen."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from crosswarp.matrix.environments.environment import python_for
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import (
    announced,
    columns,
    datafile,
    issues,
    language_table,
    selection,
    targets,
)

FOUNDING = ["triton-2.3.1", "triton-3.0.0", "triton-3.1.0", "triton-3.2.0", "main"]
GOOD = '[[column]]\nid = "triton-3.2.0"\ntriton = "3.2.0"\ntorch = "2.6.0"\n'


def ids(wanted):
    return [column.id for column in columns.choose(columns.load(), wanted)]


def test_every_published_minor_is_there():
    listed = [column.triton for column in columns.load() if column.triton]
    assert listed == [
        "2.3.1",
        "3.0.0",
        "3.1.0",
        "3.2.0",
        "3.3.1",
        "3.4.0",
        "3.5.1",
        "3.6.0",
        "3.7.1",
        "3.8.0",
        "3.9.0",
    ]
    assert columns.newest(columns.load()).triton == "3.9.0"


def test_founding_is_the_default_profile():
    assert ids([columns.DEFAULT_PROFILE]) == FOUNDING
    assert ids(["all"]) == [column.id for column in columns.load()]


def test_numpy_and_setuptools_where_the_old_ones_need_them():
    for column in columns.load():
        names = {Requirement(text).name: Requirement(text) for text in column.requirements}
        if column.triton in ("2.3.1", "3.0.0", "3.1.0"):
            assert not names["numpy"].specifier.contains("2.0.0")
        if column.triton in ("3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0"):
            assert not names["numpy"].specifier.contains("2.4.0")
        if column.triton in ("2.3.1", "3.0.0", "3.1.0", "3.2.0"):
            assert "setuptools" in names


def test_a_patch_release_needs_no_entry():
    (found,) = columns.choose(columns.load(), ["triton-3.5.0"])
    (entry,) = columns.choose(columns.load(), ["triton-3.5.1"])
    assert (found.id, found.triton, found.torch) == ("triton-3.5.0", "3.5.0", entry.torch)
    assert found.requirements == entry.requirements and found.patch_of == "triton-3.5.1"
    # Its torch pins the other patch.
    assert found.overrides == ("triton==3.5.0", f"torch=={entry.torch}") and entry.overrides == ()
    (swapped,) = columns.choose(columns.load(), ["triton-3.5.0+python-3.12"])
    assert swapped.id == "triton-3.5.0+python-3.12" and swapped.overrides == found.overrides


@pytest.mark.parametrize(
    "text",
    ["triton-3.5", "triton-3.5.0.1", "triton-3.05.0", "triton-3.99.0", "triton-3.5.0rc1", "triton-v3.5.0"],
)  # fmt: skip
def test_what_is_no_patch_release_of_the_table(text):
    with pytest.raises(UsageError, match="no column matches"):
        columns.choose(columns.load(), [text])


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (["triton-3.[01].*"], ["triton-3.0.0", "triton-3.1.0"]),
        (["main", "triton-2.3.1"], ["triton-2.3.1", "main"]),
        (["founding", "triton-3.9.0"], [*FOUNDING[:4], "triton-3.9.0", "main"]),
        (["triton-3.2.0+torch-2.5.1"], ["triton-3.2.0+torch-2.5.1"]),
        # The official pair spelled out is the official column.
        (["triton-3.2.0+torch-2.6.0"], ["triton-3.2.0"]),
        (["triton-3.2.0+torch-2.6.0+python-3.12", "main"], ["main", "triton-3.2.0+python-3.12"]),
        # One spelling, whatever the order, and each once.
        (
            ["triton-3.1.0+python-3.12+torch-2.4.1+numpy-1.26.4", "triton-3.1.0+numpy-1.26.4+torch-2.4.1+python-3.12"],
            ["triton-3.1.0+torch-2.4.1+numpy-1.26.4+python-3.12"],
        ),
    ],
)  # fmt: skip
def test_choosing(wanted, chosen):
    assert ids(wanted) == chosen


def test_a_pair_off_the_table_keeps_what_its_triton_needs():
    (pair,) = columns.choose(columns.load(), ["triton-3.1.0+torch-2.6.0"])
    assert (pair.triton, pair.torch, pair.official) == ("3.1.0", "2.6.0", False)
    assert "numpy<2" in pair.requirements


def test_what_is_in_place_of_its_own():
    (other,) = columns.choose(columns.load(), ["triton-3.2.0+numpy-2.4.1+python-3.12.1"])
    assert other.requirements == ("numpy==2.4.1", "setuptools")
    assert (other.torch, other.python, other.official) == ("2.6.0", "==3.12.1", False)
    assert other.swapped == {"numpy": "2.4.1", "python": "3.12.1"}
    (minor,) = columns.choose(columns.load(), ["triton-3.2.0+python-3.12"])
    assert (minor.python, minor.requirements) == ("==3.12.*", ("numpy<2.4", "setuptools"))
    assert all(column.official for column in columns.load() if not column.resolver)


@pytest.mark.parametrize(
    ("wanted", "named", "todo"),
    [
        ("triton-3.2.0+torch-two", '"two" is not a whole version of torch', "Write it as"),
        ("triton-3.2.0+torch-2.6", '"2.6" is not a whole version of torch', "Write it as"),
        ("triton-3.2.0+torch-1!2.6.0", "is not a whole version of torch", "Write it as"),
        ("triton-3.2.0+torch-../../x", "is not a whole version of torch", "Write it as"),
        ("triton-3.2.0+numpy-", '"" is not a whole version of numpy', "Write it as"),
        ("triton-3.2.0+python-3", '"3" is not a version of Python', "Write it as"),
        ("triton-3.2.0+python->3.9", "is not a version of Python", "Write it as"),
        ("triton-3.2.0+cuda-12", "cannot be read", "Write it as"),
        ("triton-3.2.0+", "cannot be read", "Write it as"),
        ("triton-3.2.0+numpy-1.26.4+numpy-1.26.4", "cannot be read", "Write it as"),
        # No build of Triton, and none of our own cell side.
        ("triton-2.3.1+python-3.13", "takes Python", "Name one of those"),
        ("triton-2.3.1+python-3.8", "takes Python", "Name one of those"),
        ("main+torch-2.5.1", "pins no versions", "Name a release"),
        ("triton-9.9.9+python-3.12", 'holds no "triton-9.9.9"', "crosswarp update"),
    ],
)
def test_what_cannot_be_swapped_says_what_to_do(wanted, named, todo):
    with pytest.raises(UsageError) as caught:
        ids([wanted])
    assert named in str(caught.value) and todo in str(caught.value)


@pytest.mark.parametrize("wanted", ["triton-3.2", "nope*", "triton-9.9.9+torch-2.5.1"])
def test_an_unknown_column_says_what_to_do(wanted):
    with pytest.raises(UsageError, match="crosswarp columns"):
        ids([wanted])


def test_a_close_name_is_offered():
    with pytest.raises(UsageError, match=re.escape("Did you mean triton-3.2.0")):
        ids(["triton-3.2.O"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[column]\n", "not valid TOML"),
        ("", "column: Field required"),
        (GOOD + GOOD, "the same id stands twice: triton-3.2.0"),
        (GOOD + 'colour = "red"\n', 'column "triton-3.2.0": colour'),
        (GOOD.replace('torch = "2.6.0"\n', ""), "needs both triton and torch"),
        (GOOD.replace('"3.2.0"\ntorch', '"3.2.1"\ntorch'), "the id must be triton-3.2.1"),
        (GOOD.replace("2.6.0", "two"), '"two" is not a version'),
        (GOOD + 'python = "3.9 or so"\n', "is not a range of versions"),
        (GOOD + 'requirements = ["numpy<<2"]\n', '"numpy<<2" is not a requirement'),
        (GOOD + 'resolver = "main"\n', "pins no triton"),
        (GOOD + 'resolver = "maine"\n', "resolver"),
    ],
)
def test_a_malformed_file_is_one_message_that_names_the_place(tmp_path, text, named):
    path = tmp_path / "columns.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        columns.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert named in message
    assert message.rstrip().endswith((".", "entries.", "place."))


def test_a_missing_file_and_strange_bytes(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        columns.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        columns.load(tmp_path / "bytes.toml")


def test_the_interpreter_at_hand_is_taken_where_the_column_allows_it(monkeypatch):
    newest = columns.choose(columns.load(), ["triton-3.9.0"])[0]
    oldest = columns.choose(columns.load(), ["triton-2.3.1"])[0]
    monkeypatch.setattr("crosswarp.matrix.environments.environment._here", lambda: "3.14")
    assert python_for(newest) == "3.14"
    assert python_for(oldest) != "3.14" and "<3.13" in python_for(oldest)
    # 3.10 sorts after 3.9, which a comparison of strings gets wrong.
    monkeypatch.setattr("crosswarp.matrix.environments.environment._here", lambda: "3.10")
    assert python_for(oldest) == "3.10"


@pytest.mark.parametrize(
    ("short", "names"),
    [
        ("3.2.0", ["triton-3.2.0"]),
        ("3.[12].*", ["triton-3.1.0", "triton-3.2.0"]),
        ("3.5.0", ["triton-3.5.0"]),
        ("3.2.0+torch-2.5.1", ["triton-3.2.0+torch-2.5.1"]),
    ],
)
def test_a_version_alone_names_its_column(short, names):
    assert [one.id for one in columns.choose(columns.load(), [short])] == names


def test_what_is_suggested_looks_most_like_what_was_written():
    names = ["triton-2.3.1", "triton-3.9.0", "triton-3.8.0"]
    assert selection.by_likeness("triton-3.8", names)[0] == "triton-3.8.0"
    with pytest.raises(UsageError, match="Did you mean triton-3.2.0"):
        columns.choose(columns.load(), ["triton-3.2.O"])


def test_the_newest_pair_goes_by_that_word():
    table = columns.load()
    assert columns.choose(table, ["newest"]) == [columns.newest(table)]
    assert columns.newest(table) in columns.choose(table, ["newest", "triton-2.3.1"])


def test_crosswarps_own_files_are_what_their_models_accept():
    """They are read without validation, so that a command need not import pydantic."""
    for module, model, key in (
        (columns, columns.ColumnFile, "column"),
        (issues, issues.IssueFile, "issue"),
        (targets, targets.TargetFile, "target"),
        (announced, announced.ChangeFile, "change"),
    ):
        document = datafile.document(module.DEFAULT_FILE)
        whole = {key: document} if module is targets else document
        assert module.load() == getattr(datafile.checked(model, whole), key)
    table = json.loads(language_table.DEFAULT_FILE.read_text("utf-8"))
    assert datafile.checked(language_table.TableFile, table).names


def test_the_tables_of_every_command_are_read_without_pydantic():
    """It takes a tenth of a second to import."""
    code = (
        "import sys; from crosswarp.matrix.facts import columns, issues, targets; columns.load(), issues.load(), "
        "targets.load(); import crosswarp.reports.commands.diff, crosswarp.reports.commands.range, "
        "crosswarp.reports.commands.issues, crosswarp.reports.commands.lint, "
        "crosswarp.reports.commands.check; print('pydantic' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
