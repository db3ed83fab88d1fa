"""Where nothing was ever run, the baseline that is installed with crosswarp answers, and every command says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.matrix.results import baseline, packaged
from crosswarp.matrix.results.store import DEFAULT, Store

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_it_is_the_file_of_the_repository_and_holds_each_of_its_cells():
    assert packaged.path() is not None
    assert packaged.path().read_bytes() == (ROOT / "baseline" / "all.json").read_bytes()
    with packaged.opened(DEFAULT) as store:
        run = store.run()
        held = store.records(run.id)
    written = baseline.read(ROOT / "baseline" / "all.json")
    assert {one.id: one.outcome for one in held} == {one.id: one.outcome for one in written}
    assert [one.versions for one in held[:50]] == [one.versions for one in written[:50]]
    assert run.name == packaged.NAME


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        (
            ["diff", "3.8.0", "triton-3.9.0"],
            1,
            "triton-3.8.0 → triton-3.9.0, of the baseline of crosswarp",
        ),
        (["report"], 0, "triton-3.9.0"),
        (["range", "--kernels", "softmax"], 0, "triton>="),
        (["issues"], 0, "liger-215"),
        (["report", "--format", "html", "--out", "site"], 0, "index.html"),
        (["language", "tl.dot_scaled"], 0, "tl.dot_scaled"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_each_answers_and_says_of_what_in_one_line(command, arguments, status, shown):
    got, out, err = command(*arguments)
    assert got == status and shown in out
    assert err.count("\n") == 1 and "of crosswarp 0." in err
    # Looking makes nothing.
    assert not Path(".crosswarp").exists()


def test_programs_get_what_they_can_read(command):
    _, out, err = command("diff", "3.8.0", "3.9.0", "--json")
    found = json.loads(out)
    assert found["before"]["column"] == "triton-3.8.0" and "crosswarp run" in err


@pytest.mark.parametrize(
    "words", ["issues", "language", "targets", "columns", "diff 3.8.0 3.9.0", "range"]
)
def test_what_is_printed_fits_80_columns(command, words):
    _, out, _ = command(*words.split())
    # A link is one word, and would be none if it were cut.
    assert not [line for line in out.splitlines() if len(line) > 80 and "https://" not in line]


@pytest.mark.parametrize("words", ["range", "diff 3.8.0 3.9.0", "report", "issues"])
def test_a_check_leaves_the_baseline_in_its_place(command, words):
    """`check` makes the folder of the store, and no store."""
    Path("kernels.py").write_text("x = 1\n")
    assert command("check", "kernels.py")[0] == 2
    Path(".crosswarp", "check").mkdir(parents=True)
    status, out, err = command(*words.split())
    assert status in (0, 1) and out and "Nothing was run here yet" in err


def test_a_run_that_failed_does_not_look_like_the_baseline(command):
    """A run begins with its store, before an environment is built."""
    Store(Path(".crosswarp", "store.db")).close()
    status, out, err = command("report")
    assert status == 4 and not out and "holds no run yet" in err


def test_a_store_of_ones_own_is_taken_and_one_that_was_named_must_be_there(command, tmp_path):
    assert command("report", "--store", "mine.db")[0] == 4
    Store(tmp_path / ".crosswarp" / "store.db").close()
    status, _, err = command("report")
    assert status == 4 and "holds no run yet" in err


def test_what_a_ci_reads_is_of_a_run_or_nothing(command):
    for form in ("comment", "junit"):
        assert command("report", "--format", form)[0] == 4


def test_badges_are_of_it_where_they_are_asked_to_be(command, monkeypatch):
    """A badge in somebody's README speaks of their run, or is red."""
    assert command("badge")[0] == 4
    assert command("badge", "--baseline")[0] == 0
    assert json.loads(Path("badges/all.json").read_text("utf-8")) == json.loads(
        (ROOT / "docs" / "badges" / "all.json").read_text("utf-8")
    )
    status, _, err = command("badge", "--baseline", "--run", "1")
    assert status == 2 and err.rstrip().endswith("leave --run and --store out.")
    monkeypatch.setattr(packaged, "path", lambda: None)
    packaged.as_store.cache_clear()
    status, _, err = command("badge", "--baseline")
    assert status == 4 and err.rstrip().endswith("pip install -e .")
    packaged.as_store.cache_clear()


def test_two_baselines_need_no_store_and_nothing_is_said_of_one(command):
    file = str(ROOT / "baseline" / "all.json")
    status, _, err = command("diff", f"{file}:3.8.0", f"{file}:triton-3.8.0")
    assert (status, err) == (0, "")


def test_a_run_that_is_not_there_is_said_to_be_none(command):
    status, _, err = command("report", "--run", "7")
    assert status == 2 and "has no run 7" in err
    status, _, err = command("diff", "3.8.0", "3.8.9")
    assert status == 2 and "it holds triton-3.8.0, " in err


def test_what_is_read_in_part_is_what_the_whole_has():
    store = packaged.as_store()
    whole = store.records(1)
    column = "triton-3.8.0"
    assert store.records(1, column) == [one for one in whole if one.column == column]
    assert store.columns(1) == list(dict.fromkeys(one.column for one in whole))
    assert set(store.kernels(1)) == {one.kernel for one in whole}
    assert store.run().cells == len(whole)
    of_column = [one for one in whole if one.column == column]
    brief = store.records(1, column, brief=True)
    assert brief == [replace(one, resources={}) for one in of_column]
    items = {(one.lane, one.item) for one in of_column if one.case != "*"}
    assert {lane: count for (name, lane), count in store.planned(1).items() if name == column} == {
        lane: sum(one == lane for one, _ in items) for lane in {one for one, _ in items}
    }


def test_a_store_gives_parts_and_counts_as_the_baseline_does(tmp_path):
    """The same records, written into a store: both answer alike."""
    shipped = packaged.as_store()
    records = [one for one in shipped.records(1, "triton-3.9.0") if one.kernel == "softmax"]
    with Store(tmp_path / "store.db") as store:
        run = store.begin(["run"], {})
        store.cells(run, [replace(one, message="long") for one in records])
        assert store.columns(run) == ["triton-3.9.0"] and store.kernels(run) == ["softmax"]
        brief = store.records(run, brief=True)
        assert {one.message for one in brief} == {""}
        assert not any(one.resources for one in brief)
        assert [one.outcome for one in brief] == [one.outcome for one in records]
        expected = {
            k: n
            for k, n in shipped.counts(1).items()
            if k[0] == "triton-3.9.0" and k[4] == "softmax"
        }
        assert store.counts(run) == expected
