"""A run as JSON: the records as stored, with their totals. docs/report.schema.json is made from this."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix.results.record import Record, clean
from crosswarp.matrix.results.vocabulary import Outcome
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape

# Raised when a field changes its meaning or goes away; a new field does not.
FORMAT: Literal[2] = 2
SCHEMA = f"urn:crosswarp:report:{FORMAT}"


class _Part(BaseModel):
    # A reader of this format meets fields that came later, and passes them over.
    model_config = ConfigDict(extra="ignore", frozen=True)


class RunPart(_Part):
    id: int
    started: str = Field(description="ISO 8601, UTC; of the installed baseline, its name")
    finished: str | None
    status: str = Field(description="finished, or why the run is not whole")
    exit_code: int | None
    argv: list[str]
    plan: dict[str, Any]
    cells: int


class TakenPart(_Part):
    """Cells that did not run, because nothing that decides on them had changed since they last did."""

    cells: int
    of: int
    runs: dict[int, int] = Field(
        description="how many are from each run; 0 is a run that another store holds"
    )


class EnvironmentPart(_Part):
    column: str
    label: str = Field(description="the column, and what a moving one such as main stands for")
    state: str = Field(description="ready or failed")
    message: str
    versions: dict[str, Any]
    requirements: list[str]
    seconds: float
    overrides: list[str] = Field(
        default=[], description="what was installed although another package forbids it"
    )


class UnsupportedTarget(_Part):
    column: str
    target: str
    message: str


class NotePart(_Part):
    column: str
    kind: str = Field(description="note, or problem: the run is not what was planned")
    text: str


class Known(_Part):
    cell: str
    issue: str


class FixedPart(_Part):
    cell: str = Field(description="the cell without compat")
    issue: str
    shims: list[str]


class WrongWindow(_Part):
    issue: str
    text: str = Field(
        description="which edge of its affected releases is wrong, and the measured one"
    )
    cells: list[str]


class VerdictPart(_Part):
    as_expected: bool
    known: list[Known]
    fixed: list[FixedPart]
    not_fixed: list[Known] = Field(
        default=[], description="of the known, what fails with compat too: no shim fixes it"
    )
    unexpected_red: list[str]
    shim_failed: list[Known]
    unexpectedly_green: list[Known]
    wrong_windows: list[WrongWindow] = Field(
        default=[], description="issues whose affected releases the cells contradict"
    )


class Cell(_Part):
    id: str = Field(description="column/target/lane/mode/kernel/case/config")
    column: str
    target: str
    lane: Literal["compile", "emulate", "interpret", "device"]
    mode: Literal["bare", "shimmed"]
    kernel: str
    case: str = Field(description="* stands for all cases of a kernel that never came to them")
    config: str
    outcome: Outcome
    reason: str
    fingerprint: str
    message: str
    phase: str
    seconds: float
    resources: dict[str, Any]
    shims: list[str]
    issue: str = Field(description="the known issue that explained it when it ran")
    versions: dict[str, Any]


class Report(_Part):
    """A run of crosswarp."""

    format: Literal[2]
    run: RunPart
    missing: list[str] = Field(
        default=[], description="what the run was to hold and does not, a sentence each"
    )
    taken_over: TakenPart | None = None
    environments: list[EnvironmentPart]
    unsupported_targets: list[UnsupportedTarget]
    notes: list[NotePart]
    verdict: VerdictPart
    cells: list[Cell]


def export(view: View) -> str:
    verdict = view.verdict
    document = {
        "format": FORMAT,
        "run": asdict(view.run),
        "missing": [str(gap) for gap in missing(view)],
        "taken_over": {
            "cells": view.reused.cells,
            "of": view.reused.of,
            "runs": dict(view.reused.runs),
        },
        "environments": [asdict(environment) for environment in view.environments],
        "unsupported_targets": [
            {"column": column, "target": target, "message": message}
            for column, target, message in view.unsupported_targets
        ],
        "notes": [asdict(note) for note in view.notes],
        "verdict": {
            "as_expected": verdict.as_expected,
            "known": [{"cell": record.id, "issue": issue.id} for record, issue in verdict.known],
            "fixed": [
                {"cell": pair.bare.id, "issue": pair.issue.id, "shims": list(pair.shims)}
                for pair in verdict.fixes
            ],
            "not_fixed": [
                {"cell": record.id, "issue": issue.id} for record, issue in verdict.not_fixed
            ],
            "unexpected_red": [record.id for record in verdict.unexpected_red],
            "shim_failed": [
                {"cell": record.id, "issue": issue.id} for record, issue in verdict.shim_failed
            ],
            "unexpectedly_green": [
                {"cell": green.record.id, "issue": green.issue.id}
                for green in verdict.unexpectedly_green
            ],
            "wrong_windows": [
                {
                    "issue": wrong.issue.id,
                    "text": wrong.text,
                    "cells": [r.id for r in wrong.records],
                }
                for wrong in view.wrong_windows
            ],
        },
    }
    # Separately: `clean` limits the size of one object, not of a run.
    cells = [clean(_cell(record)) for record in view.records]
    # Through the model, so that the output matches the published schema.
    report = Report.model_validate({**clean(document), "cells": cells})
    return escape.document(report.model_dump())


def schema() -> str:
    """JSON Schema of `export`."""
    made = plain(Report.model_json_schema())
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA}
    return json.dumps({**head, **made}, indent=1) + "\n"


def plain(node: Any) -> Any:
    """Removes parts that differ between pydantic versions and that no reader needs, so that each writes the same."""
    if isinstance(node, list):
        return [plain(part) for part in node]
    if not isinstance(node, dict):
        return node
    properties = {
        name: plain(value)
        for name, value in node.items()
        if not (name == "title" and isinstance(value, str) or value is True)
    }
    if isinstance(properties.get("const"), int):
        properties.pop("type", None)
        properties.pop("enum", None)
    return properties


def _cell(record: Record) -> dict[str, object]:
    # Not asdict, which copies all that is in it.
    return {"id": record.id, **vars(record)}
