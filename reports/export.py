"""A run as JSON: the records as they are stored, with what they add up to."""

from __future__ import annotations

import json
from dataclasses import asdict

from crosswarp.matrix.record import Record
from crosswarp.reports.view import View

# Raised when a field changes its meaning or goes away; a new field does not.
FORMAT = 1


def export(view: View) -> str:
    verdict = view.verdict
    document = {
        "format": FORMAT,
        "run": asdict(view.run),
        "environments": [asdict(environment) for environment in view.environments],
        "unsupported_targets": [
            {"column": column, "target": target, "message": message}
            for column, target, message in view.unsupported_targets
        ],
        "notes": [asdict(note) for note in view.notes],
        "verdict": {
            "as_expected": verdict.as_expected,
            "known": [{"cell": record.id, "issue": issue.id} for record, issue in verdict.known],
            "healed": [
                {"cell": one.bare.id, "issue": one.issue.id, "shims": list(one.shims)}
                for one in verdict.healed
            ],
            "unexpected_red": [record.id for record in verdict.unexpected_red],
            "shim_failed": [
                {"cell": record.id, "issue": issue.id} for record, issue in verdict.shim_failed
            ],
            "unexpectedly_green": [
                {"cell": green.record.id, "issue": green.issue.id}
                for green in verdict.unexpectedly_green
            ],
        },
        "cells": [_cell(record) for record in view.records],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _cell(record: Record) -> dict[str, object]:
    return {"id": record.id, **asdict(record)}
