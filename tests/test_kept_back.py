"""The new cases that a GPU timed, and which of its times count."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

TIMED = Path(__file__).parent / "data" / "performance_kept_back.csv"


@pytest.fixture
def kept_back(load_script):
    return load_script("proofs/kept_back.py")


def test_each_new_case_is_like_one_that_was_timed(tmp_path, kept_back, load_script):
    proof = load_script("proofs/performance_against_device.py")
    kept_back.write_suite(tmp_path)
    kernels = tomllib.loads(kept_back.CASES.read_text("utf-8"))
    new = {f"{kernel}/{row['like']}" for kernel, rows in kernels.items() for row in rows}
    assert new <= {pair.name.partition(",")[0] for pair in proof.of_file(TIMED)[0]}
    paths = sorted(tmp_path.glob("*/*.py"))
    assert {path.stem for path in paths} == set(kernels)
    for path in paths:
        compile(path.read_text("utf-8"), path, "exec")


def test_only_times_of_the_gpu_alone_count(tmp_path, kept_back):
    def lines(*measures):
        row = {"release": "3.9.0", "set": "small", "kernel": "softmax"}
        return "".join(json.dumps({**row, "case": case, **rest}) + "\n" for case, rest in measures)

    def at(median, host_bound=False):
        return {"median": median, "host_bound": host_bound}

    first = lines(
        ("a", {"timing": [at(3.0), at(2.0)]}),
        ("b", {"timing": [at(1.0), at(1.0, True)]}),
        ("c", {"error": "E"}),
    )
    again = lines(("a", {"timing": [at(1.5)]}), ("c", {"timing": [at(1.0)]}))
    (tmp_path / "3.9.0-1.jsonl").write_text(first + again)
    assert kept_back.timed(tmp_path) == {("3.9.0", "small", "softmax", "a"): 1.5}
