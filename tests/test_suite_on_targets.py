"""docs/evidence/suite-on-targets.md: what a store adds, what stays, and that no failing cell is left out."""

from __future__ import annotations

import sys

import pytest

from crosswarp.matrix.results.store import Store

INT8 = {"kernel": "typed_matmul", "case": "int8-70x130x200", "target": "sm_75"}
REFUSED = {
    "outcome": "compile-error",
    "fingerprint": "MLIR error: 'arith.extf' op operand #0 must be floating-point-like, but got 'tensor<128x64xi8>'",
}  # fmt: skip


@pytest.fixture(scope="module")
def script(load_script):
    return load_script("proofs/suite_on_targets.py")


@pytest.fixture
def told(script, monkeypatch, tmp_path, make_record, capsys):
    """`told(cells..)`: the exit status, the page and what was printed, of a store with these, in both modes."""
    monkeypatch.setattr(script, "DATA", tmp_path / "data.json")
    monkeypatch.setattr(script, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "suite", lambda: {"softmax", "typed_matmul"})
    stores = []

    def call(*cells):
        both = [
            {**cell, "mode": mode}
            for cell in cells
            for mode in ([cell["mode"]] if "mode" in cell else ("bare", "shimmed"))
        ]
        path = tmp_path / f"{len(stores)}.db"
        stores.append(path)
        at = {"column": "triton-3.5.1", "lane": "compile", "versions": {"triton": "3.5.1"}}
        with Store(path) as store:
            run = store.begin(["run"], {}, "2026-11-22T10:00:00+00:00")
            store.session(run, at["column"], "compile", at["versions"], len(both))
            store.cells(run, [make_record(**{**at, **cell}) for cell in both])
            store.finish(run, "finished", 0)
        monkeypatch.setattr(sys, "argv", ["suite_on_targets.py", str(path)])
        status = script.main()
        return status, (tmp_path / "page.md").read_text("utf-8"), capsys.readouterr().out

    return call


def softmax(target="sm_75", **changes):
    return {"kernel": "softmax", "target": target, **changes}


def test_a_red_cell_is_known_or_told(told):
    status, page, _ = told(softmax(), {**INT8, **REFUSED})
    assert status == 0 and "| `sm_75` | 1 (1) |" in page
    assert "| triton-9349 | 2 | 3.5.1: sm\\_75 |" in page and "## Not known" not in page
    status, page, out = told(softmax(), {**INT8, "outcome": "crash", "fingerprint": "SIGSEGV"})
    assert status == 1 and "| `sm_75` | **1** |" in page and "2 red cells have no record" in page
    assert out.count("SIGSEGV") == 2 and page.count("SIGSEGV") == 2


def test_what_is_not_counted(told):
    known = {"kernel": "fp8_both_ways", "target": "sm_75", "outcome": "crash"}
    lack = {**INT8, "outcome": "unsupported", "reason": "language"}
    status, page, _ = told(softmax(), lack, known)
    assert status == 0 and "| `sm_75` | 1 |" in page and "4 cells" in page


def test_what_a_shim_heals_is_green_behind_the_arrow(told):
    red = {**INT8, "mode": "bare", "outcome": "crash", "fingerprint": "SIGSEGV"}
    status, page, _ = told(softmax(), red, {**INT8, "mode": "shimmed"})
    assert status == 1 and "| `sm_75` | **1 → 2** |" in page


def test_parts_come_one_after_the_other(told):
    assert "| `sm_75` | 2 |" in told(softmax(), INT8)[1]
    status, page, _ = told(softmax("sm_86"), {**INT8, "target": "sm_86"})
    assert status == 0 and "| `sm_75` | 2 |" in page and "| `sm_86` | 2 |" in page
    assert "2 of" in page
    # A part that was cut off, or of some kernels alone, takes nothing away.
    _, page, out = told(softmax(), {**INT8, "outcome": "not-run"})
    assert "3.5.1 sm_75: cut off, or not in both modes; left out" in out and "`sm_75` | 2 |" in page
    _, page, out = told({**INT8, "mode": "bare"})
    assert "cut off, or not in both modes" in out and "| `sm_75` | 2 |" in page
    assert "| `sm_75` | 2 |" in told(softmax())[1]


def test_kernels_come_one_after_the_other_too(told):
    _, page, _ = told(softmax(), softmax(case="other"))
    assert (
        "| `sm_75` | 2\\* |" in page and "\\*: without `typed_matmul`, which were not run" in page
    )
    # The same kernels again replace what was there, and say what is still lacking.
    _, page, out = told(softmax())
    assert "| `sm_75` | 1\\* |" in page
    _, page, out = told({**INT8, **REFUSED})
    assert "| `sm_75` | 1 (1) |" in page and "without" not in page + out


def test_the_committed_page_is_what_its_data_and_the_known_issues_say(script):
    page, wrong = script.page(script.load())
    assert script.PAGE.read_text("utf-8") == page, "python tests/proofs/suite_on_targets.py"
    assert wrong == []
