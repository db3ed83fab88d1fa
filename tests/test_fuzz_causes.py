"""docs/evidence/fuzz-causes.md: its programs are well defined, fail somewhere, and the page has the data."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from crosswarp.laboratory.fuzzing.meaning import answers
from crosswarp.matrix.errors import EnvironmentFailed

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")


@pytest.fixture(scope="module")
def proof(load_script):
    return load_script("proofs/fuzz_causes.py")


@pytest.fixture
def alone(proof, monkeypatch, tmp_path):
    """`alone(changes)`: the data is one program, the first, with these changes; the data's and the page's files."""
    monkeypatch.setattr(proof, "DATA", tmp_path / "causes.json")
    monkeypatch.setattr(proof, "PAGE", tmp_path / "page.md")

    def write(**changes):
        causes = proof.Cause(**{**proof.asdict(first(proof)), **changes})
        proof.write([causes])
        return proof.DATA, proof.PAGE

    return write


def first(proof):
    kernel = (
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def kernel(x0, y0):\n    tl.store(y0 + tl.program_id(0), tl.load(x0))\n"
    )
    meaning = "def meaning(block, x0, y0):\n    y0[block] = x0[0]\n"
    arguments = [
        {"name": "x0", "dtype": "int32", "size": 1, "low": 3, "high": 9, "salt": 1},
        {"name": "y0", "dtype": "int32", "size": 2, "low": -7, "high": -7, "salt": 0},
    ]
    return proof.Cause(
        "a | name", "It <dies>.", [[1004, 7], [1005, 8]], kernel, meaning, arguments, {}, {"num_warps": 4},
        "None found", "2026-11-25", {"3.2.0": {"sm_80": ["crash", "SIGABRT: a | b"]}},
        {"3.1.0": "2026-11-25", "3.2.0": "2026-11-25"},
    )  # fmt: skip


def test_the_page_is_what_the_data_says(proof):
    assert proof.PAGE.read_text("utf-8") == proof.page(proof.read())


def test_each_program_is_well_defined_and_red_somewhere(proof):
    causes = proof.read()
    assert len({cause.name for cause in causes}) == len(causes)
    for cause in causes:
        # IllDefined where it is not
        written = answers(cause.program)
        assert all(np.isfinite(values).all() for values in written.values())
        assert cause.red and cause.about and cause.public and cause.searched, cause.name
        assert set(cause.red) <= set(cause.ran)


def test_a_section_has_the_program_the_table_and_the_words(proof):
    page = proof.page([first(proof)])
    assert "0 of the 1 are silent" in page
    assert "## a | name" in page and "Met by programs 7 of seed 1004, 8 of seed 1005." in page
    assert "```python\n@triton.jit\ndef kernel(x0, y0):" in page
    assert "|  | 3.1.0 | 3.2.0 |" in page
    assert "| sm_80 | · | crash |" in page and "| sm_90 | · | · |" in page
    assert "- 3.2.0: `SIGABRT: a" in page
    assert "None found (searched 2026-11-25)." in page


def test_what_has_wrong_numbers_comes_first(proof):
    silent = first(proof)
    silent.name, silent.red = "quiet", {"3.2.0": {"sm_90": ["mismatch", "mismatch: y0"]}}
    page = proof.page([first(proof), silent])
    assert page.index("## quiet") < page.index("## a | name")
    assert "1 of the 2 are silent" in page and "| sm_90 | · | **wrong** |" in page
    # numbers have no words
    assert "mismatch: y0" not in page


def test_a_cluster_is_not_tried_where_there_is_none(proof):
    one = first(proof)
    one.options["num_ctas"] = 2
    assert "| sm_80 |  |  |" in proof.page([one])


def test_a_program_that_is_red_nowhere_is_told(proof, alone, capsys):
    alone(red={})
    assert proof.main([]) == 1
    assert "a | name: red nowhere" in capsys.readouterr().out


def test_an_interpreter_without_triton_is_an_error_that_says_what_to_do(proof, alone):
    data, _ = alone()
    before = data.read_text("utf-8")
    with pytest.raises(EnvironmentFailed, match="Make `import torch, triton"):
        proof.main(["--here", sys.executable])
    assert data.read_text("utf-8") == before
