"""A release's page, `crosswarp diff` and "What breaks if I upgrade?" name the same breaking changes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from crosswarp.laboratory.pages import release_pages
from crosswarp.matrix.facts import issues, language_table, probed_targets
from crosswarp.matrix.facts.language_table import Name
from crosswarp.matrix.facts.language_table import Release as Language
from crosswarp.matrix.results import packaged
from crosswarp.reports.findings import diff
from crosswarp.reports.findings.releases import releases
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import pages
from crosswarp.reports.page.model import Model
from crosswarp.reports.text import diff_text

BREAKS_OF_3_9 = [
    "triton-10833", "cluster-square", "triton-11053", "triton-11602", "interpreter-scalar-mask",
]  # fmt: skip


def ids(groups):
    return [group.issue.id if group.issue else sorted(group.kernels) for group in groups]


@pytest.fixture(scope="module")
def known():
    return issues.load()


@pytest.fixture(scope="module")
def model(known):
    with packaged.as_store() as store:
        return Model(view(store, known), known)


def test_the_three_agree_for_every_release(model, known):
    records = model.view.records
    found = releases(records, known, language_table.load(), probed_targets.load())
    columns = [f"triton-{one.version}" for one in found]
    assert len(found) == 11 and columns == [column.id for column in model.columns]
    table = {
        (before.id, after.id): cell
        for before, row in pages.upgrade_table(model)
        for after, cell in row
    }
    for (before, after), one in zip(pairwise(columns), found[1:], strict=True):
        sides = [
            diff.Side("", model.view.by_column[c], c, reproducers=model.view.reproducers)
            for c in (before, after)
        ]
        asked = diff.diff(*sides, known)
        assert ids(asked.breaks) == ids(one.diff.breaks), after
        assert ids(model.upgrades[before, after].breaks) == ids(one.diff.breaks), after
        assert table[before, after]["modes"]["both"][0] == len(one.diff.breaks), after
        text = release_pages.page(one)
        rows = re.findall(r"^\| .* \|$", text.partition("## Breaks")[2].partition("\n## ")[0], re.M)
        assert len(rows[2:]) == len(one.diff.breaks), after
        listed = re.findall(r"(?m)^- ", text.partition("`crosswarp lint")[0])
        assert len(listed) == (len(one.diff.breaks) if len(one.diff.breaks) > 1 else 0), after
    assert ids(found[-1].diff.breaks) == BREAKS_OF_3_9
    # All of them, before the details of any.
    listed = diff_text.terminal(found[-1].diff).partition("\n\nBreaks (")[0]
    assert re.findall(r"(?m)^- [^[]*\[([^]]+)\]$", listed) == BREAKS_OF_3_9


@pytest.fixture
def two(make_record, make_issue):
    """3.2.0 fails where 3.1.0 passed, unless with compat; both have silent wrong numbers."""
    records = []
    for version in ("3.1.0", "3.2.0"):
        for mode in ("bare", "shimmed"):
            at = {"column": f"triton-{version}", "mode": mode}
            fails = {"outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts"}
            wrong = {"outcome": "mismatch", "fingerprint": "mismatch: y wrong", "lane": "emulate"}
            bare = mode == "bare"
            shims = () if bare or version == "3.1.0" else ("guarded_autotune",)
            records += [
                make_record(
                    **at,
                    kernel="chunk",
                    shims=shims,
                    **(fails if bare and version == "3.2.0" else {}),
                ),
                make_record(**at, kernel="sorted", **(wrong if bare else {"lane": "emulate"})),
            ]
    silent = make_issue(
        id="silent-1", title="A | sort is `wrong`", triton=">=3.0", outcome=("mismatch",),
        fingerprint="mismatch: y wrong", kernels=("sorted",), lanes=("emulate",), configs=["*"], shim=None,
    )  # fmt: skip
    return records, [make_issue(code="tl.dot(a, b)", configs=["*"]), silent]


def language(*names):
    return Language({}, {name: Name("function", "()") for name in names}, {})


def test_a_page_has_the_code_the_message_the_fix_and_what_is_still_wrong(two):
    table = {"3.1.0": language("tl.old", "tl.dot"), "3.2.0": language("tl.dot", "tl.new")}
    first, second = releases(*two, table, {})
    assert (first.before, first.diff, second.before) == ("", None, "3.1.0")
    text = release_pages.page(second)
    for said in (
        "# Triton 3.2.0", "1 breaking change (1 cell), fixed with compat", "`tl.dot(a, b)`",
        "`SIGABRT: reshapeOuts`", "[`guarded_autotune`](../shims.md#guarded_autotune)",
        "A \\| sort is \\`wrong\\` `silent-1` | `>=3.0` | none |", "- new: `tl.new`", "- gone: `tl.old`",
    ):  # fmt: skip
        assert said in text, said
    assert "Breaks" not in release_pages.page(first)
    assert "[3.2.0](3.2.0.md) | 1 | 0 | 0 | 1 | 0 |" in release_pages.index([first, second])
