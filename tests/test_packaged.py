"""Where nothing was ever run, the baseline that is installed with crosswarp answers, and every command says so."""

from __future__ import annotations

import json
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
        (["diff", "3.8.0", "triton-3.9.0"], 1, "triton-3.8.0 of the baseline of crosswarp"),
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
