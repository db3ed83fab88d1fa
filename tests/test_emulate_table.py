"""The table of docs/evidence/emulate.md: which cell is which, and that nothing unplaced or cut off goes unsaid."""

from __future__ import annotations

import pytest

from crosswarp.matrix.results.store import Store

WRONG = {"outcome": "mismatch", "reason": "wrong", "fingerprint": "mismatch: y wrong"}


@pytest.fixture
def table(load_script, capsys):
    module = load_script("proofs/emulate_table.py")

    def call(*arguments):
        status = module.main([str(one) for one in arguments])
        lines = capsys.readouterr().out.splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| 3.")]
        return status, rows, [line.strip() for line in lines if line.startswith("  ")]

    return call


@pytest.fixture
def stored(tmp_path, make_record):
    def make(name, cells, planned, status="finished", started="2026-11-22T10:00:00+00:00"):
        path = tmp_path / name
        with Store(path) as store:
            run = store.begin(["run"], {}, started)
            column = "here-triton-3.6.0"
            for lane in {"emulate", *(cell.get("lane", "emulate") for cell in cells)}:
                store.session(run, column, lane, {"triton": "3.6.0"}, planned)
            at = {"column": column, "target": "sm_80", "lane": "emulate"}
            store.cells(run, [make_record(**{**at, **cell}) for cell in cells])
            store.finish(run, status, 0)
        return path

    return make


def test_each_cell_is_placed(table, stored):
    path = stored(
        "a.db",
        [
            {"case": "1"},
            {"case": "1", "config": "num_warps=4"},
            {"kernel": "thread_locality", "case": "read", **WRONG},
            {"kernel": "thread_locality", "case": "read", "mode": "shimmed"},
            {"case": "2", "outcome": "unsupported", "reason": "language"},
            {"case": "3", "outcome": "unsupported", "reason": "ptx: vmax4"},
            {"case": "4", **WRONG, "message": "y: relative error 1\nmore"},
        ],
        6,
    )
    status, rows, said = table(path)
    assert status == 1
    assert rows[0] == ["3.6.0", "sm_80", "bare", "5", "6", "2", "1", "1", "1", "1"]
    assert rows[1] == ["3.6.0", "sm_80", "shimmed", "1", "1", "1", "0", "0", "0", "0"]
    assert said == ["3.6.0/sm_80/bare/softmax/4: mismatch wrong: y: relative error 1"]


def test_the_newest_run_of_a_cell_counts_and_one_that_was_cut_off_says_so(table, stored):
    wrong = stored("a.db", [{"case": "1", **WRONG}, {"case": "2"}], 2)
    mended = stored("b.db", [{"case": "1"}], 1, started="2026-11-22T11:00:00+00:00")
    cut = stored(
        "c.db", [{"case": "2", "outcome": "not-run"}], 3, "cancelled", "2026-11-22T12:00:00+00:00"
    )
    assert table(wrong)[0] == 1
    # In whatever order they are named.
    for stores in ((wrong, mended), (mended, wrong)):
        status, rows, said = table(*stores)
        assert (status, rows[0][3:6], said) == (0, ["2", "2", "2"], [])
    status, rows, said = table(wrong, mended, cut)
    assert (status, rows[0][3:6]) == (0, ["2", "2", "2"])
    assert said == ["c.db, run 1: cancelled, 3 cases not run"]


def test_what_it_cost_is_that_of_whole_cases(table, stored):
    emulated = {"emulated": {"launches": 1, "instructions": 3_000_000, "seconds": 0.5}}
    others = {"emulated": {"launches": 1, "instructions": 1_000_000, "seconds": 0.3}}
    path = stored(
        "a.db",
        [
            {"case": "1", "seconds": 2.0, "resources": emulated},
            # What the tuner chose has the figures of the whole.
            {"case": "1", "config": "num_warps=4", "seconds": 1.5, "resources": emulated},
            {"case": "1", "config": "num_warps=8", "seconds": 1.5, "resources": others},
            {"case": "1", "lane": "compile", "seconds": 3.0},
            {"case": "2", "outcome": "unsupported", "reason": "language", "seconds": 9.0},
        ],
        2,
    )
    _, rows, _ = table("--cost", path)
    assert rows[1][3:] == ["3.0 s, 1 cases", "2.0 s, 1 cases", "0.8 s", "4,000,000", "5.0 M"]
