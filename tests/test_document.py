"""A document's fields are declared once: what `filled` reads for them, and without which package."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from crosswarp.reports.text.document import Part, filled, read


class Inner(Part):
    name: str = read("issue.id")
    links: list[str] = read("issue.links")
    issue: str | None = read("issue.id")
    line: int = read("span.0")


class Outer(Part):
    format: Literal[3]
    count: int = read(lambda source: len(source.parts))
    parts: list[Inner]
    by_name: dict[str, Inner]
    first: Inner | None
    facts: dict[str, Any]
    ending: str


def test_each_field_is_read_from_its_source():
    known = SimpleNamespace(issue=SimpleNamespace(id="a", links=("x",)), span=(7, 8))
    source = SimpleNamespace(
        parts=(known,), by_name={"k": known}, first=None, facts=SimpleNamespace(a=1)
    )
    part = {"name": "a", "links": ["x"], "issue": "a", "line": 7}
    assert filled(Outer, source, ending="done") == {
        "format": 3, "count": 1, "parts": [part], "by_name": {"k": part}, "first": None, "facts": {"a": 1},
        "ending": "done",
    }  # fmt: skip


def test_nothing_is_null_or_empty_as_the_type_says():
    unknown = {"issue": None, "span": (7,)}
    assert filled(Inner, unknown) == {"name": "", "links": [], "issue": None, "line": 7}


def test_a_field_that_the_source_lacks_is_an_error():
    with pytest.raises(AttributeError, match="links"):
        filled(Inner, SimpleNamespace(issue=SimpleNamespace(id="a"), span=(7,)))


def test_documents_are_written_without_pydantic():
    code = (
        "import sys; from crosswarp.reports.text import documents, run_documents; "
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
