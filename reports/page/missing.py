"""What a run lacks of what it set out to do, in sentences: a page that hides this looks green."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from crosswarp.reports.page.model import Model


def missing(model: Model) -> list[str]:
    view = model.view
    said = []
    if view.run.status != "finished":
        said.append(f"This run is not whole: {view.run.status}. What had finished is shown.")
    # Each sentence once, with the columns that it holds of.
    by_sentence: dict[str, list[str]] = defaultdict(list)
    for column in model.columns:
        for sentence in of_column(model, column.id):
            by_sentence[sentence].append(column.id)
    said += [f"{_some(columns)}: {sentence}" for sentence, columns in by_sentence.items()]
    return said + list(dict.fromkeys(n.text for n in view.notes if n.kind == "problem"))


def of_column(model: Model, column: str) -> list[str]:
    view, records = model.view, model.records[column]
    if not records:
        return ["nothing was recorded."]
    said = []
    for environment in view.environments:
        if environment.column == column and environment.state != "ready":
            said.append(f"its environment is {environment.state}: {environment.message}")
    skipped = Counter(
        (record.reason, record.message) for record in records if record.outcome == "not-run"
    )
    whole = all(record.outcome == "not-run" for record in records)
    for (reason, message), cells in skipped.items():
        how_many = "nothing ran" if whole else f"{cells} cells did not run"
        why = ": ".join(part for part in (reason, message.rstrip(".")) if part)
        said.append(f"{how_many} ({why or 'no reason is known'}).")
    for (of, lane), planned in view.planned.items():
        ended = len({record.item for record in records if record.lane == lane})
        if of == column and ended < planned:
            said.append(
                f"of {planned} planned cases of the lane {lane}, {planned - ended} are missing."
            )
    return said + _absent(model, column)


def _absent(model: Model, column: str) -> list[str]:
    """Planned targets and lanes of which there is no record at all."""
    plan = model.view.run.plan
    lanes = {record.lane for record in model.records[column]}
    targets = {record.target for record in model.records[column] if record.lane == "compile"}
    said = [
        f"the lane {lane} has no record." for lane in plan.get("lanes", ()) if lane not in lanes
    ]
    if "compile" in lanes:
        gone = [target for target in plan.get("targets", ()) if target not in targets]
        said += [f"the target {target} has no record." for target in gone]
    return said


def unsupported(model: Model) -> list[str]:
    """Targets that a column has no backend for, which is no fault of the run."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for column, target, message in model.view.unsupported_targets:
        by_reason[target, message].append(column)
    return [
        f"{_some(columns)}: no {target}. {message.replace('<target>', target)}"
        for (target, message), columns in by_reason.items()
    ]


def _some(columns: Sequence[str]) -> str:
    return ", ".join(columns)
