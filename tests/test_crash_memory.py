"""What is known to kill the compiler, on disk."""

import json
import os

import pytest

from crosswarp.compat.crash_memory import Entry

CRASH = {"kernel": "k", "kind": "signal", "reason": "SIGABRT", "stderr": "Assertion"}


def test_what_is_written_is_read(tmp_path):
    entry = Entry(tmp_path / "deep" / "one.json")
    assert entry.read() is None
    entry.write(CRASH)
    assert entry.read() == CRASH
    assert [path.name for path in entry.path.parent.iterdir()] == ["one.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"kind": "signal"}',
        "\x00\x01",
        "[" * 200_000,
        " " * (1 << 20) + "{}",
    ],
)
def test_a_file_that_is_not_whole_counts_as_nothing(tmp_path, content):
    entry = Entry(tmp_path / "one.json")
    entry.path.write_text(content)
    assert entry.read() is None


def test_a_pipe_in_the_place_of_the_file_counts_as_nothing(tmp_path):
    os.mkfifo(tmp_path / "one.json")
    assert Entry(tmp_path / "one.json").read() is None


def test_a_folder_that_cannot_be_made_costs_only_the_memory(tmp_path):
    (tmp_path / "file").write_text("")
    Entry(tmp_path / "file" / "one.json").write(CRASH)


def test_the_file_is_plain_json(tmp_path):
    entry = Entry(tmp_path / "one.json")
    entry.write(CRASH)
    assert json.loads(entry.path.read_text()) == CRASH
