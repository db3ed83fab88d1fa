"""Reading a user's file ends, whatever the path is."""

from __future__ import annotations

import ast
import os
import threading
import time
from pathlib import Path

import pytest

from crosswarp.matrix import reading
from crosswarp.matrix.errors import CrosswarpError, UsageError
from crosswarp.matrix.facts import issues
from crosswarp.matrix.results import baseline
from crosswarp.matrix.running import jobs
from crosswarp.matrix.signatures import given, source

ROOT = Path(__file__).resolve().parent.parent
# Files of crosswarp's own, or of a run, and those that are known to be files of a bounded size.
OWN = {
    "matrix/facts/issue_lints.py", "matrix/facts/known_texts.py", "matrix/facts/language_table.py",
    "matrix/facts/probed_targets.py", "matrix/linting/fixes.py", "matrix/running/ir.py",
    "matrix/dispatch/part.py", "matrix/dispatch/dispatch.py", "matrix/checkout/answers.py",
    "matrix/results/store.py", "reports/page/site.py", "reports/page/folder.py", "laboratory/pages/docs.py",
    "matrix/facts/errors/__init__.py", "matrix/work/inductor.py", "matrix/work/library_guards.py",
    "matrix/work/library_ops.py", "matrix/work/suite_keys.py", "laboratory/asking/target_probe.py",
    "reports/vendoring/copies.py", "reports/vendoring/needs.py", "reports/reproducing/reproducer.py",
    "laboratory/reproducing/edited.py", "reports/findings/language_answers.py",
    "reports/page/why_data.py", "laboratory/pages/error_pages.py",
}  # fmt: skip


def test_a_file_and_its_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo\rthree\n")
    assert (
        reading.data(path) == b"one\r\ntwo\rthree\n" and reading.text(path) == "one\ntwo\nthree\n"
    )
    assert reading.data(path, most=15) and reading.data(Path(os.devnull)) == b""
    with pytest.raises(OSError, match="larger than"):
        reading.data(path, most=14)
    with pytest.raises(IsADirectoryError):
        reading.data(tmp_path)


def test_a_pipe_is_read_to_its_end_and_not_longer_than_somebody_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PATIENCE", 60)
    read, write = os.pipe()
    slow = threading.Thread(
        target=lambda: (os.write(write, b"one"), time.sleep(0.1), os.write(write, b"two"), os.close(write))
    )  # fmt: skip
    slow.start()
    assert reading.data(Path(f"/dev/fd/{read}")) == b"onetwo"
    slow.join()
    monkeypatch.setattr(reading, "PATIENCE", 0.2)
    # Nobody has opened the other end; somebody has, and is silent.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert reading.data(fifo) == b""
    held = os.open(fifo, os.O_RDWR)
    with pytest.raises(OSError, match="nobody writes"):
        reading.data(fifo)
    os.close(held)


@pytest.mark.parametrize("read", [issues.load, baseline.read, jobs.read, source.parse])
@pytest.mark.parametrize("kind", ["zero", "fifo", "endless pipe"])
def test_every_reader_of_a_file_that_is_handed_in_ends(tmp_path, monkeypatch, read, kind):
    monkeypatch.setattr(reading, "PATIENCE", 0.2)
    monkeypatch.setattr(reading, "MOST", 1000)
    path, held = tmp_path / "file.py", None
    if kind == "zero":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
        held = os.open(path, os.O_RDWR) if kind == "endless pipe" else None
    try:
        with pytest.raises(CrosswarpError):
            read(path)
            # An empty file of Python is one.
            raise UsageError("empty")
    finally:
        if held is not None:
            os.close(held)


def test_what_reads_files_otherwise_is_listed():
    """A new reader of what a user hands in takes `reading`; what reads files of our own is added to the list."""
    found = set()
    for folder in ("laboratory", "matrix", "reports"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if "/cell/" in name or "/environments/" in name or "/fuzzing/" in name:
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Attribute) and node.attr in ("read_text", "read_bytes"):
                    found.add(name)
    assert found == OWN, sorted(found ^ OWN)


def test_commas_without_end_are_split_at_once():
    began = time.process_time()
    with pytest.raises(UsageError) as error:
        given.signature("k:" + "," * 400_000)
    with pytest.raises(UsageError):
        given.constexpr("k:" + "[," * 200_000)
    assert time.process_time() - began < 3 and len(str(error.value)) < 1000


def test_a_comma_in_brackets_parts_nothing():
    names = given.constexpr("k:SHAPE=(1, 2),N=3,LIST=[4,5]").names
    assert {name: told["value"] for name, told in names.items()} == {
        "SHAPE": [1, 2], "N": 3, "LIST": [4, 5],
    }  # fmt: skip
