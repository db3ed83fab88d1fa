"""`crosswarp bisect` and `blame` for a test of a library, with a fake cell process: what runs where, and what is told.

The library is built from its checkout by a backend of its own, into folders beside the columns."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.work.library_tests import LibraryTests
from crosswarp.matrix.work.suite import Suite

TESTS = "import pytest\n\ndef test_one(): pass\n"
A, B = "triton-3.0.0", "triton-2.3.1"
SWAPPED = ("triton-2.3.1+torch-2.4.1", "triton-3.0.0+torch-2.3.1")
IMPORT = {"outcome": "api-error", "fingerprint": "No module named x", "case": "import", "phase": "import"}  # fmt: skip


@pytest.fixture
def checkout(fake_trials, tmp_path, make_buildable):
    """The folder that commands run in: a library's checkout."""
    fake_trials()
    make_buildable(tmp_path, "[tool.crosswarp]\ntime-limit = 7\nsample = 3\n")
    for path in ("tests/test_a.py", "tests/ops/test_b.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(TESTS)
    return tmp_path


@pytest.fixture
def crosswarp(checkout, fake_run, steps, command, monkeypatch):
    """`crosswarp({"triton-3.2.0": {...}}, "bisect", ...)`: the columns that are not named pass."""
    monkeypatch.setattr(LibraryTests, "argv", Suite.argv)

    def call(outcomes, *arguments, kernel="test_a::test_one"):
        script = {}
        for name in (*(one.id for one in columns.load() if one.official), *SWAPPED):
            (column,) = columns.choose(columns.load(), [name])
            ran = {"torch": column.torch, "numpy": "1.26.4", "python": "3.11.7"}
            changes = outcomes.get(name, {})
            test = "test_a" if changes.get("case") == "import" else kernel
            lines = steps(triton=column.triton, versions=ran, **{"kernel": test, "case": "-", **changes})  # fmt: skip
            lines[0]["part"] = "sm_90/bare"
            script[name] = lines
        fake_run.script(script)
        where = ["--store", "store.db", "--work", "work", "--issues-file", "issues.toml"]
        return command(*arguments, *where)

    return call


def plans(folder):
    with Store(folder / "store.db") as store:
        return [run.plan for run in reversed(store.runs())]


def specs(folder):
    return [json.loads(p.read_text()) for p in sorted(folder.glob("work/runs/*/*.spec.json"))]


BAD = {name: {"outcome": "crash"} for name in ("triton-3.1.0", "triton-3.2.0")}
ENDS = ("--good", "2.3.1", "--bad", "3.2.0")


def test_the_first_bad_release_of_a_test(crosswarp, checkout):
    status, out, _ = crosswarp(BAD, "bisect", "test_a::test_one", *ENDS)
    assert status == 0
    told = " ".join(out.split())
    assert "test_a::test_one, sm_90, compile, bare: good on triton-2.3.1, bad on" in told
    assert "First bad: triton-3.1.0. triton-3.0.0 is the last good one." in out
    assert "no: correct it in the library, or list it as expected" in told
    assert [plan["columns"] for plan in plans(checkout)] == [
        ["triton-2.3.1"], ["triton-3.2.0"], ["triton-3.0.0"], ["triton-3.1.0"],
    ]  # fmt: skip
    found = specs(checkout)
    # The one file is collected, the one test runs, all of it: no sample; and the library's limit.
    for spec in found:
        assert spec["tests"]["paths"] == ["tests/test_a.py"] and spec["tests"]["folders"] == [
            "tests"
        ]
        assert spec["tests"]["cases"] == ["test_a::test_one/*"]
        assert spec["tests"]["sample"] is None and spec["time_limit"] == 7
    # Built once, and beside each.
    (beside,) = {tuple(spec["tests"]["beside"]) for spec in found}
    assert (Path(beside[0]) / "made_up" / "__init__.py").read_text() == "VALUE = 1\n"
    assert len(list(checkout.glob("work/libraries-beside/wheel-*"))) == 1


@pytest.mark.parametrize(
    ("named", "chosen"),
    [
        ("tests/test_a.py::test_one[fp16-64]", "test_a::test_one/fp16-64"),
        ("tests/test_a.py::test_one", "test_a::test_one/*"),
        ("test_a::test_one/fp16-64", "test_a::test_one/fp16-64"),
    ],
)
def test_a_test_may_be_named_as_pytest_does(crosswarp, checkout, named, chosen):
    assert crosswarp(BAD, "bisect", named, *ENDS)[0] == 0
    assert {tuple(spec["tests"]["cases"]) for spec in specs(checkout)} == {(chosen,)}


def test_a_file_that_cannot_be_imported_makes_a_release_bad(crosswarp, checkout):
    ends = ("--good", "3.2.0", "--bad", "2.3.1")
    status, out, _ = crosswarp({"triton-2.3.1": IMPORT}, "bisect", "test_a::test_one", *ends)
    assert status == 0 and "First good: triton-3.0.0. triton-2.3.1 is the last bad one." in out


def test_what_carries_it(crosswarp, checkout):
    status, out, _ = crosswarp({B: IMPORT, SWAPPED[0]: IMPORT}, "blame", "test_a::test_one", A, B)
    assert status == 0
    assert "Triton carries it: A with Triton 2.3.1 is bad" in " ".join(out.split())


def test_the_checkout_may_be_elsewhere(crosswarp, checkout, monkeypatch):
    (checkout / "elsewhere").mkdir()
    (checkout / "elsewhere" / "issues.toml").write_text("")
    monkeypatch.chdir(checkout / "elsewhere")
    test = "ops.test_b::test_one"
    assert crosswarp(BAD, "bisect", test, "--library", "..", *ENDS, kernel=test)[0] == 0
    assert plans(checkout / "elsewhere")[0]["library"]["cases"] == ["ops.test_b::test_one/*"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["test_c::test_one"], "no file in tests is called so. Did you mean test_a"),
        (["test_a::test_one", "--suite", "."], "Leave it out"),
        (["test_a::test_one", "--lane", "device"], "There are: compile, emulate, interpret"),
        (["softmax", "--library", "nowhere"], "there is no such folder"),
    ],
)
def test_usage(crosswarp, checkout, arguments, said):
    status, out, err = crosswarp({}, "bisect", *arguments, *ENDS)
    assert (status, out) == (2, "") and said in err


def test_the_library_of_crosswarp_test_is_beside_its_columns(
    crosswarp, checkout, monkeypatch, fake_prepare
):
    """The folders are known when a column is prepared, and not before."""
    from crosswarp.reports.commands import test as test_command

    monkeypatch.setattr(test_command, "Builder", lambda *a, **k: fake_prepare())
    status, out, _ = crosswarp({}, "test", "--columns", "triton-3.2.0", "--modes", "bare")
    assert status == 0, out
    (spec,) = specs(checkout)
    (folder,) = spec["tests"]["beside"]
    assert (Path(folder) / "made_up" / "__init__.py").exists()
    assert spec["tests"]["sample"] == 3 and spec["shard"] is None and spec["time_limit"] == 7


def test_what_the_named_interpreter_lacks_is_said_before_anything_runs(
    crosswarp, checkout, monkeypatch
):
    from crosswarp.reports.commands import test as test_command

    class Named(Here):
        # The column that the fake cell process answers for.
        column = columns.choose(columns.load(), ["triton-3.2.0"])[0]

    (checkout / "tests" / "test_a.py").write_text("import nobody_has_this\n" + TESTS)
    named = Named(Path(sys.executable), {"triton": "3.2.0", "torch": "2.6.0"})
    monkeypatch.setattr(test_command.asked, "at_hand", lambda options, *, tests: named)
    _, _, err = crosswarp({}, "test", "--here", "--modes", "bare")
    assert "a sample of 3 tests, 1 time (targets, lanes, modes) on 1 column; " in err
    before, said, _ = err.partition(
        "triton-3.2.0: not installed, and imported: nobody_has_this (tests/test_a.py:1). "
        "Install it: pip install nobody_has_this."
    )
    assert said and "running" not in before
