"""A run as JSON: the records as stored, with their totals."""

from __future__ import annotations

from crosswarp.matrix.results.record import clean
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled


def export(view: View) -> str:
    from crosswarp.reports.text.run_documents import Cell, Report

    document = clean(filled(Report, view, cells=()))
    # Separately: `clean` limits the size of one object, not of a run.
    cells = [clean(filled(Cell, record)) for record in view.records]
    return escape.document({**document, "cells": cells})
