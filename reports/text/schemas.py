"""The JSON Schemas of docs/schemas/, one a command that writes JSON, and of docs/report.schema.json."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from crosswarp.reports.text import documents, run_documents

_BISECT = "`crosswarp bisect`; with --here, the verdict on one interpreter"

DOCUMENTS: dict[str, Any] = {
    "bisect": Annotated[run_documents.Searched | run_documents.Judged, Field(description=_BISECT)],
    "check": documents.Checked,
    "diff": run_documents.Diff,
    "doctor": documents.Examined,
    "guards": documents.Guards,
    "issues": run_documents.Issues,
    "lint": documents.Linted,
    "range": run_documents.Measured,
    "why": documents.Explained,
}


def pages() -> dict[str, str]:
    """File name and text of each schema."""
    made = {
        f"schemas/{name}.schema.json": _schema(f"{name}:1", kind)
        for name, kind in DOCUMENTS.items()
    }
    return {"report.schema.json": _schema("report:2", run_documents.Report), **made}


def _schema(name: str, kind: Any) -> str:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:crosswarp:{name}"
    }  # fmt: skip
    return json.dumps({**head, **_plain(TypeAdapter(kind).json_schema())}, indent=1) + "\n"


def _plain(node: Any) -> Any:
    """Removes parts that differ between pydantic versions and that no reader needs, so that each writes the same."""
    if isinstance(node, list):
        return [_plain(part) for part in node]
    if not isinstance(node, dict):
        return node
    properties = {
        name: _plain(value)
        for name, value in node.items()
        if not (name == "title" and isinstance(value, str) or value is True)
    }
    if isinstance(properties.get("const"), int):
        properties.pop("type", None)
        properties.pop("enum", None)
    return properties
