"""The table of other libraries' tests: what could not be collected, whose each red is, and what is ours."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "ecosystem" / "unmodified.py"
OUTPUT = """\
..R [100%]
==================================== ERRORS ====================================
_______________ ERROR collecting tests/losses/test_parallel.py ________________
ImportError while importing test module 'tests/losses/test_parallel.py'.
E   ModuleNotFoundError: No module named 'apex'
___________________ ERROR collecting tests/ops/test_other.py ___________________
tests/ops/test_other.py:3: in <module>
E   ValueError: first
E   ImportError: last
=================================== FAILURES ===================================
E   AssertionError: of a test
=========================== short test summary info ============================
ERROR tests/losses/test_parallel.py
"""


@pytest.fixture(scope="module")
def unmodified():
    spec = importlib.util.spec_from_file_location("unmodified", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["unmodified"] = module
    spec.loader.exec_module(module)
    return module


def test_modules_that_could_not_be_imported_say_why(unmodified):
    assert unmodified._not_collected(OUTPUT) == {
        "tests/losses/test_parallel.py": "ModuleNotFoundError: No module named 'apex'",
        "tests/ops/test_other.py": "ImportError: last",
    }


def test_a_red_has_a_cause_or_counts_as_ours(unmodified, tmp_path):
    lines = [
        {"test": "t.py::a", "outcome": "compiled", "launches": 3, "why": ""},
        {
            "test": "t.py::b",
            "outcome": "red",
            "launches": 0,
            "why": "the test took longer than 60 s: …",
        },
        {"test": "t.py::c", "outcome": "red", "launches": 1, "why": "KeyError: nobody knows"},
        # Green, and broken while it was torn down.
        {"test": "t.py::d", "outcome": "no launch", "launches": 0, "why": ""},
        {
            "test": "t.py::d",
            "outcome": "red",
            "launches": 0,
            "why": "took longer: the test took longer than 60 s",
        },
        {"test": "t.py::e", "outcome": "skipped", "launches": 0, "why": ""},
    ]
    about = {
        "modules": {"u.py": "No module named 'apex'"}, "date": "2026-11-22", "sample": 20, "exit": 1,
        "revision": "0" * 40,
    }  # fmt: skip
    (tmp_path / "flash-attention-3.6.0-bare.json").write_text(json.dumps(about))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "flash-attention-3.6.0-bare.jsonl").write_text(text)
    cell = unmodified.read(tmp_path / "flash-attention-3.6.0-bare.json")
    assert (cell.library, cell.column, cell.mode) == ("flash-attention", "3.6.0", "bare")
    page = unmodified.page([cell])
    # ours / library / Triton / limit / unknown
    row = "| flash-attention | 3.6.0 | bare | 5 | 1 (3) | 0 | 1 | 3 | 1 | 0 / 1 / 0 / 2 / 1 |"
    assert row in page, page
    assert "5 tests; red by our mapping, or without a known cause: 1 (20.0 %)." in page
    assert "`t.py::c`: KeyError: nobody knows" in page


def test_a_run_that_was_stopped_is_told_as_such(unmodified):
    about = {"exit": None, "sample": 20}
    cell = unmodified.Cell("mamba", "3.6.0", "bare", [], {}, about)
    assert "| mamba | 3.6.0 | bare | 0 of 20, stopped | 0 (0) |" in unmodified.table([cell], [])


def test_the_causes_can_be_read(unmodified):
    known = unmodified.causes()
    assert known and all(one.says and one.matches for one in known)
    libraries = unmodified.tomllib.loads((SCRIPT.parent / "libraries.toml").read_text())
    assert {one.library for one in known} <= {*libraries, "*"}
