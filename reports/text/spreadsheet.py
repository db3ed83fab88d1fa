"""A run as CSV, one row a cell. A spreadsheet runs text that begins like a formula, so nothing here does."""

from __future__ import annotations

import csv
import io

from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.fates import fates
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape

HEADS = (
    "column", "triton", "torch", "target", "lane", "mode", "kernel", "case", "config", "outcome", "verdict", "issue",
    "reason", "fingerprint", "phase", "seconds", "shims", "message",
)  # fmt: skip
# The last four are read as the first by spreadsheets of East Asian locales.
_FORMULA = tuple("=+-@＝＋－＠")
_LONGEST = 1000


def spreadsheet(view: View) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(HEADS)
    judged = fates(view)
    for record in view.records:
        fate = judged.get(record.id)
        issue = fate.issue.id if fate and fate.issue else record.issue
        rows.writerow(map(_text, _row(record, fate.kind if fate else "", issue)))
    # A row for each missing result: an absent row would go unnoticed.
    for gap in missing(view):
        row = {"column": gap.column, "outcome": "not-run", "message": gap.what}
        rows.writerow(_text(row.get(head, "")) for head in HEADS)
    return out.getvalue()


def _row(record: Record, verdict: str, issue: str) -> list[str]:
    installed = record.versions
    return [
        record.column, str(installed.get("triton") or ""), str(installed.get("torch") or ""), record.target,
        record.lane, record.mode, record.kernel, record.case, record.config, record.outcome, verdict, issue,
        record.reason, record.fingerprint, record.phase, f"{record.seconds:.4f}", " ".join(record.shims),
        record.message,
    ]  # fmt: skip


def _text(text: str) -> str:
    text = escape.line(text, _LONGEST)
    return f"'{text}" if text.startswith(_FORMULA) else text
