"""What a host asks of a column: one class for the side that writes it and the side that reads it."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from crosswarp.matrix.cell.asked import (
    Asked,
    AskedCheck,
    AskedGuards,
    AskedInductor,
    AskedSuite,
    AskedTests,
    LibraryOps,
    OwnTests,
    Programs,
    read,
)

COMMON = {
    "column": "triton-3.2.0", "expect": {"triton": "3.2.0"}, "records": "/r.jsonl", "cache": "/c",
    "targets": {"sm_90": {"warp_size": 32}}, "lanes": ["compile"], "modes": ["bare"], "kernels": ["a*"], "cases": ["*"],
    "emulated": ["sm_90"], "sanitize": True, "sample": 4, "estimate": True, "batch": True,
    "warps": [1, 4], "shard": [1, 2], "jobs": 3,
    "turns": "/t",
    "time_limit": 0.5, "time_limit_alone": 7, "memory_limit_mb": 100, "reused": ["x"], "again": {"compile": ["x"]},
    "planned": {"compile": 1},
}  # fmt: skip
OPS = LibraryOps({"liger-kernel": {"0.5.10": "/w/l"}}, ["*"], 2)


@pytest.fixture
def write(tmp_path):
    def call(told):
        path = tmp_path / "spec.json"
        path.write_text(json.dumps(told))
        return path

    return call


@pytest.mark.parametrize(
    "one",
    [
        Asked(**COMMON),
        AskedSuite(**COMMON, suite="/s", beside=["/b"], libraries=OPS, preload={"/w/l": ["x"]}),
        AskedGuards(**COMMON, guards={"a": ["/a.py", [1, 2]]}, chosen=["a"], answers="/x"),
        AskedCheck(**COMMON, check={"file": "/k.py", "kernels": {"k": {"line": 1}}}),
        AskedInductor(**COMMON, inductor=Programs(programs=["softmax"], compile=True)),
        AskedTests(**COMMON, tests=OwnTests(root="/l", paths=["tests"], env={"A": "b"}, sample=3)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_written_is_read(write, one):
    assert COMMON.keys() | {"in_place"} == asdict(Asked()).keys()
    found = read(write(asdict(one)), type(one))
    # JSON has lists for tuples.
    assert json.dumps(asdict(found)) == json.dumps(asdict(one))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"lanes": "compile"}, "lanes is no list"),
        ({"targets": []}, "targets is no dict"),
        ({"jobs": "2"}, "jobs is no int"),
        ({"jobs": True}, "jobs is no int"),
        ({"sanitize": 1}, "sanitize is no bool"),
        ({"time_limit": "60"}, "time_limit is no float"),
        ({"memory_limit_mb": "1"}, "memory_limit_mb is no int"),
        ({"libraries": []}, "libraries is no dict"),
        ({"libraries": {"releases": 1}}, "releases is no dict"),
        ({"kernel": ["*"]}, "kernel: not known here"),
    ],
)
def test_what_a_class_does_not_know_is_refused(write, told, said):
    with pytest.raises(ValueError, match=said):
        read(write(told), AskedSuite)


def test_what_is_needed_must_be_there(write):
    assert read(write({}), AskedSuite).kernels == ("*",)
    with pytest.raises(ValueError, match="records is not there"):
        read(write({}), AskedSuite, ["records"])


def test_whose_launch_may_ask_for_a_gpu():
    """Torch speaks for the target to what a user wrote. An op of a library maps it for itself."""
    assert AskedSuite(suite="/s").strangers and AskedCheck().strangers
    assert not AskedSuite().strangers and not AskedSuite(suite="/s", libraries=OPS).strangers
