"""A run in the formats of other programs: each is what its reader takes, and nothing a cell wrote gets out of place."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema

from crosswarp.matrix.cell import plain
from crosswarp.reports.findings.fates import fates
from crosswarp.reports.text import comment as comment_module
from crosswarp.reports.text.comment import comment, markdown
from crosswarp.reports.text.export import export
from crosswarp.reports.text.junit import junit
from crosswarp.reports.text.spreadsheet import HEADS, spreadsheet
from crosswarp.reports.text.summary import summary
from crosswarp.reports.text.table import table

ROOT = Path(__file__).parent.parent
FORMATS = [summary, table, markdown, comment, export, junit, spreadsheet]
# Of what a reader sees: no control, no mark of direction, no half a character.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


@pytest.fixture
def mixed(make_record, make_issue, stored):
    """Every fate that a cell can have, in one run that lacks a column."""
    chunk = {
        "kernel": "chunk",
        "config": "num_warps=8",
        "fingerprint": "reshapeOuts",
        "outcome": "crash",
    }
    records = [
        make_record(seconds=1.25, versions={"triton": "3.2.0", "torch": "2.6.0"}),
        make_record(case="odd", outcome="mismatch", fingerprint="wrong", message="got 1\nexpected 2"),
        make_record(case="new", outcome="unsupported", reason="target", message="no"),
        make_record(case="late", outcome="not-run", reason="cancelled"),
        make_record(**chunk), make_record(**{**chunk, "outcome": "pass"}, mode="shimmed", shims=("guard",)),
        make_record(**chunk, case="bad"), make_record(**chunk, case="bad", mode="shimmed"),
        make_record(kernel="chunk", case="gone", config="num_warps=8"),
    ]  # fmt: skip
    return stored(
        records, [make_issue()], code=1, columns=["triton-3.1.0", "triton-3.2.0"], lanes=["compile"]
    )


@pytest.fixture(scope="module")
def xsd():
    return xmlschema.XMLSchema(ROOT / "tests" / "junit.xsd")


# JSON


def test_json_is_what_the_schema_says(mixed, hostile_view):
    published = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(published)
    assert published["$id"] == "urn:crosswarp:report:2"
    validator = jsonschema.Draft202012Validator(published)
    for view in (mixed, hostile_view):
        validator.validate(json.loads(export(view)))
    document = json.loads(export(mixed))
    for broken in ({"format": 1}, {"cells": [{"id": "x"}]}, {"run": None}, {"missing": "much"}):
        assert not validator.is_valid({**document, **broken})
    # A field that came later is passed over.
    assert validator.is_valid({**document, "later": 1})


def test_a_run_of_any_size_is_written_whole(mixed, monkeypatch):
    whole = export(mixed)
    # What one object may hold, and less than the nine cells together.
    monkeypatch.setattr(plain, "MAX_ENTRIES", 200)
    assert export(mixed) == whole


# JUnit


def test_junit_is_what_ci_viewers_read(mixed, hostile_view, xsd):
    for view in (mixed, hostile_view):
        text = junit(view)
        xsd.validate(text)
        assert text.isascii()
    assert not xsd.is_valid(junit(mixed).replace('tests="', 'tests="x', 1))


def test_junit_fails_where_the_run_does(mixed):
    root = ElementTree.fromstring(junit(mixed))
    results = {
        f"{case.get('classname')} {case.get('name')}": [child.tag for child in case]
        for case in root.iter("testcase")
    }
    chunk = "triton-3.2.0.sm_90.compile.{}.chunk fp16-7x33 [num_warps=8]"
    assert results == {
        "triton-3.2.0.sm_90.compile.bare.softmax fp16-7x33": [],
        "triton-3.2.0.sm_90.compile.bare.softmax odd": ["failure"],
        "triton-3.2.0.sm_90.compile.bare.softmax new": ["skipped"],
        "triton-3.2.0.sm_90.compile.bare.softmax late": ["error"],
        chunk.format("bare"): ["skipped"],
        chunk.format("shimmed"): [],
        chunk.format("bare").replace("fp16-7x33", "bad"): ["failure"],
        chunk.format("shimmed").replace("fp16-7x33", "bad"): ["failure"],
        chunk.format("bare").replace("fp16-7x33", "gone"): ["failure"],
        "crosswarp triton-3.1.0: Nothing was recorded.": ["error"],
        "crosswarp triton-3.2.0: 1 cells not run (cancelled).": ["error"],
    }
    for suite in [*root, root]:
        cases = list(suite.iter("testcase"))
        assert int(suite.get("tests")) == len(cases)
        for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(plural)) == sum(case.find(kind) is not None for case in cases)
    assert float(root.get("time")) == 1.25
    (odd,) = (case for case in root.iter("testcase") if case.get("name") == "odd")
    assert "mismatch: wrong" in odd[0].get("message") and "got 1\nexpected 2" in odd[0].text
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert properties == {"triton": "3.2.0", "torch": "2.6.0"}


def test_every_fate(mixed):
    kinds = {one.kind for one in fates(mixed).values()}
    assert kinds == {"known", "unexpectedly red", "not fixed", "unexpectedly green"}


# CSV


def test_csv_has_a_row_for_each_cell_and_for_what_is_missing(mixed):
    rows = list(csv.DictReader(io.StringIO(spreadsheet(mixed))))
    assert [row["column"] for row in rows[-2:]] == ["triton-3.1.0", "triton-3.2.0"]
    assert len(rows) == len(mixed.records) + 2
    assert (rows[0]["triton"], rows[0]["outcome"], rows[0]["seconds"]) == (
        "3.2.0",
        "pass",
        "1.2500",
    )
    assert (rows[1]["verdict"], rows[1]["message"]) == ("unexpectedly red", "got 1 expected 2")
    assert (rows[4]["verdict"], rows[4]["issue"]) == ("known", "triton-1")


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r\n=1", " =1", "\u200f=1", "＝1", "\x00=1"]
)
def test_no_cell_of_a_spreadsheet_is_a_formula(make_record, stored, text):
    record = make_record(kernel=text, case=text, config=text, message=text, fingerprint=text)
    (row,) = csv.DictReader(io.StringIO(spreadsheet(stored([record]))))
    for head in ("kernel", "case", "config", "message", "fingerprint"):
        assert row[head].startswith("'")


# A comment


def test_a_comment_tells_what_is_wrong_first(mixed):
    text = comment(mixed, link="https://example.org/site")
    order = [
        "### ❌ crosswarp: 2 regressed", "[The whole report](https://example.org/site)", "**Regressed: 1 root cause",
        "**Not fixed: 1 issue", "**Good news: 1 known", "**Missing**", "triton-3.1.0: Nothing was recorded.",
        "**Cells**", "Known upstream: 1", "<summary>compile: <code>sm_90</code>",
    ]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_comment_of_a_good_run(stored, make_record):
    text = comment(stored([make_record()]))
    assert text.startswith("### ✅ crosswarp: 1 ok\n") and "Left out" not in text


@pytest.mark.parametrize("limit", [3_000, 10_000, comment_module.LIMIT])
def test_a_comment_is_cut_at_a_row_and_says_what_is_left_out(stored, make_record, limit):
    records = [
        make_record(
            kernel=f"kernel_{number:04}", outcome="crash", fingerprint=f"ö{number} " + "x" * 100
        )
        for number in range(2000)
    ]
    text = comment(stored(records, code=1), "https://example.org/site", limit)
    assert len(text.encode()) < limit
    kept = text.count("\n| `kernel_") if limit < comment_module.LIMIT else text.count("| crash: `ö")
    assert kept > 0
    assert f"{2000 - kept} of 2000 rows of “Regressed: 2000 root causes" in text
    assert (
        "They are in [the whole report](https://example.org/site), or `crosswarp report --run 1`"
        in text
    )
    # No table is cut in the middle of a row.
    assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))


def test_what_a_cell_wrote_mentions_nobody(stored, make_record):
    text = "@someone #1 owner/name#1 https://evil.invalid <b>"
    record = make_record(kernel=text, target=text, outcome="crash", fingerprint=text, message=text)
    shown = comment(stored([record], code=1))
    outside = re.sub(r"(`+)(?!`).*?[^`]\1(?!`)|<code>.*?</code>", "", shown)
    for part in ("@someone", "#1", "evil.invalid", "<b>"):
        assert part in shown.replace("&lt;", "<").replace("&gt;", ">") and part not in outside


# All of them


@pytest.mark.parametrize("render", FORMATS, ids=lambda one: one.__name__)
def test_hostile_text_is_shown_harmlessly(hostile_view, render):
    text = render(hostile_view)
    text.encode("utf-8")
    if render is export:
        # JSON keeps what was written, for programs, and escapes all of it.
        assert text.isascii() and "\x1b" not in text and "\\ud800" not in text
        return
    assert not UNSEEN.search(text)
    assert len(text) < 300_000
    if render is junit:
        tags = {part.tag for part in ElementTree.fromstring(text).iter()}
        assert "script" not in tags
    if render in (comment, markdown):
        assert "<script>" not in re.sub(r"(`+)(?!`).*?[^`]\1(?!`)", "", text)
    if render is spreadsheet:
        rows = list(csv.reader(io.StringIO(text)))
        assert {len(row) for row in rows} == {len(HEADS)}
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("render", FORMATS, ids=lambda one: one.__name__)
def test_what_is_missing_is_said_in_every_format(mixed, render):
    # A table is as narrow as it can be: a minor stands for its column.
    assert ("3.1" if render is table else "triton-3.1.0") in render(mixed)
    assert re.search("othing was recorded|not run|Not run", render(mixed)) or render in (
        table,
        markdown,
    )


@pytest.mark.parametrize("form", ["table", "markdown", "comment", "json", "junit", "csv"])
def test_the_same_store_gives_the_same_bytes(mixed, command, tmp_path, form):
    arguments = ["report", "--store", str(tmp_path / "store.db"), "--format", form]
    first, second = command(*arguments), command(*arguments)
    assert first == second and first[0] == 0 and first[1]
