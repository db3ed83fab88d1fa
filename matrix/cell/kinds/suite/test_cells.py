"""Collected by pytest inside a column's environment: one test, one item of the plan each time."""

import pytest


def test_cell(item, run_item):
    verdict = run_item(item)
    # The record holds the message. A stranger's exception may hold invalid text (a lone surrogate), on which
    # pytest-xdist would fail.
    summary = f"{verdict.outcome}: {verdict.reason}".encode("ascii", "backslashreplace").decode()
    if verdict.outcome in ("unsupported", "not-run"):
        pytest.skip(summary)
    if verdict.outcome != "pass":
        pytest.fail(summary, pytrace=False)
