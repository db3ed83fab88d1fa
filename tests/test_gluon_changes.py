"""The changes of a release in Gluon's language, and their section on the release's page."""

from __future__ import annotations

import pytest

from crosswarp.matrix.facts import language_table
from crosswarp.matrix.facts.language_table import Name, Release
from crosswarp.matrix.linting import gluon
from crosswarp.reports.findings import gluon_changes

TABLE = language_table.load()


def between(before: str, version: str) -> gluon_changes.Changes:
    found = gluon_changes.changes(TABLE, before, version)
    assert found is not None
    return found


def test_a_release_without_gluon_has_no_section():
    assert gluon_changes.changes(TABLE, "3.3.1", "3.4.0") is None
    assert gluon_changes.changes(TABLE, "", "3.9.0") is None


def test_what_went_is_named_once_with_the_advice():
    gone = {name: one for one in between("3.6.0", "3.7.1").gone for name in one.names}
    assert gone["thread_barrier"].instead == "3.7 and later have gl.barrier()"
    # A class stands for its fields, and a field of a class that stayed is a parameter.
    assert set(gone) == {"thread_barrier", "nvidia.blackwell.SharedLinearLayout"}
    assert gone["nvidia.blackwell.SharedLinearLayout"].instead == "gl.SharedLinearLayout is there"


def test_names_that_only_raise():
    refused = between("3.8.0", "3.9.0").refused
    assert sum(len(one.names) for one in refused) == 11
    assert any(one.after.endswith("has been removed; call async_store instead") for one in refused)
    assert not between("3.7.1", "3.8.0").refused


def test_calls_that_are_refused():
    calls = {name: one for one in between("3.5.1", "3.6.0").calls for name in one.names}
    assert calls["nvidia.blackwell.TensorMemoryLayout"].instead == "3.6 and later take col_stride"
    # An argument more that can be left out refuses nothing.
    assert "load" not in calls and "tensor.store" not in calls


@pytest.mark.parametrize(
    ("was", "now", "taken"),
    [
        ("(a, b=1)", "(a, b=2, c=3)", True),
        ("(a, b=(1, 2))", "(a, b=(1, 2), *, c=None)", True),
        ("(a, *, b=1)", "(a, c=2, *, b=1)", True),
        ("(a, b)", "(a, b, c)", False),
        ("(a, b)", "(a, c, b)", False),
        ("(a, b)", "(b, a)", False),
        ("(a, b=1)", "(a, *, b=1)", False),
        ("(a, b=1)", "(a)", False),
        ("(a=1)", "(a)", False),
        ("(a)", "", True),
    ],
)
def test_whether_a_call_is_still_taken(was, now, taken):
    name = f"{gluon.LANGUAGE}.f"
    table = {
        version: Release({}, {name: Name("function", signature)}, {})
        for version, signature in (("3.8.0", was), ("3.9.0", now))
    }
    found = gluon_changes.changes(table, "3.8.0", "3.9.0")
    assert found is not None and (not found.calls) is taken
