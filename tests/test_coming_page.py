"""docs/releases/coming.md: the suite on a vendor's build, beside the newest release."""

from __future__ import annotations

from pathlib import Path

from crosswarp.laboratory.pages import coming_page
from crosswarp.matrix.facts import coming, issues
from crosswarp.matrix.results.record import Record

ROOT = Path(__file__).parent.parent
COMING = coming.load()
BUILD, RELEASE = f"here-{COMING.build}", f"triton-{COMING.before}"


def cell(column: str, kernel: str, outcome: str, fingerprint: str = "") -> Record:
    return Record(
        column=column, target="sm_90", lane="compile", mode="bare", kernel=kernel, case="one",
        outcome=outcome, fingerprint=fingerprint,
    )  # fmt: skip


def page(released: list[Record], measured: list[Record]) -> str:
    return coming_page.page(COMING, released, measured, issues.load())


def test_each_difference_is_named_with_its_cause_where_it_is_known():
    said = page(
        [
            cell(RELEASE, "softmax", "pass"),
            cell(RELEASE, "thread_locality", "compile-error", "Assertion"),
            cell(RELEASE, "geglu", "compile-error", "X"),
            cell("triton-3.8.0", "rope", "pass"),
        ],
        [
            cell(BUILD, "softmax", "compile-error", "RuntimeError: `new`"),
            cell(BUILD, "thread_locality", "compile-error", "MLIR error"),
            cell(BUILD, "geglu", "pass"),
        ],
    )
    assert "**1 breaking change (1 cell)." in said and "3 cells of the suite" in said
    breaks, otherwise = (
        said.partition("## Breaks")[2].split("\n## ")[0],
        said.partition("## Fails otherwise")[2].split("\n## ")[0],
    )
    assert "softmax" in breaks and "not known" in breaks and "`` RuntimeError: `new` ``" in breaks
    assert COMING.why("thread_locality") in otherwise
    assert "geglu" in said.partition("## Fixed")[2] and "rope" not in said
    assert "main" not in said.split()


def test_the_file_of_the_build_also_has_what_the_baseline_lacks_of_the_release():
    again = cell(f"here-{RELEASE}", "softmax", "pass")
    said = page([], [again, cell(BUILD, "softmax", "pass")])
    assert "Nothing breaks" in said and "1 cell of the suite" in said


def test_the_committed_causes_are_of_kernels_that_differ():
    said = (ROOT / "docs" / coming_page.NAME).read_text("utf-8")
    for one in COMING.cause:
        assert f"`{one.kernel}`" in said, one.kernel
    index = (ROOT / "docs/releases/index.md").read_text("utf-8")
    assert f"[What is coming](coming.md): the suite on {COMING.build}" in index
