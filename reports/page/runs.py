"""The page of a store's runs: the results of each, one kernel over all of them, and two runs compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswarp.reports.findings.history import Past
from crosswarp.reports.page.model import Model
from crosswarp.reports.page.text import line


def rows(past: Sequence[Past]) -> list[dict[str, Any]]:
    return [
        {
            "id": entry.run.id,
            "started": entry.run.started,
            "status": entry.run.status,
            "commit": entry.run.described.commit,
            "cells": entry.run.cells,
            "bare": entry.red.get("bare", 0),
            "shimmed": entry.red.get("shimmed", 0),
            "newly_red": entry.newly_red,
            "newly_green": entry.newly_green,
        }
        for entry in past
    ]


def data(model: Model, past: Sequence[Past]) -> dict[str, Any]:
    """Data for the page's script: a place is its indices among the names, an outcome its number, -1 for none."""
    places = sorted({place for entry in past for place in entry.worst})
    lanes, targets, kernels, columns = (
        {name: number for number, name in enumerate(dict.fromkeys(names))}
        for names in (list(zip(*places)) or [(), (), (), ()])
    )
    slugs = {kernel.name: kernel.slug for kernel in model.kernels}
    return {
        "lanes": list(map(line, lanes)),
        "targets": list(map(line, targets)),
        "kernels": [[line(name), slugs.get(name, "")] for name in kernels],
        "columns": list(map(line, columns)),
        "runs": [
            {
                "id": entry.run.id,
                "started": line(entry.run.started),
                "cells": [
                    [
                        lanes[place[0]], targets[place[1]], kernels[place[2]], columns[place[3]],
                        *(-1 if rank is None else rank for rank in entry.worst[place]),
                    ]
                    for place in places if place in entry.worst
                ],
            }
            for entry in past
        ],
    }  # fmt: skip
