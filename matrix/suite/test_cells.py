"""Collected by pytest inside a column's environment: one test, one item of the plan each time."""

import pytest


def test_cell(item, run_item):
    verdict = run_item(item)
    if verdict.outcome == "unsupported":
        pytest.skip(verdict.message)
    if verdict.outcome != "pass":
        pytest.fail(f"{verdict.outcome}: {verdict.reason}\n{verdict.message}", pytrace=False)
