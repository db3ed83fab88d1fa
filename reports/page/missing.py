"""Sentences about planned results that a run lacks: a page without them would look as if all had passed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from crosswarp.reports.page.model import Model


def missing(model: Model) -> list[str]:
    view = model.view
    sentences = []
    if view.run.status != "finished":
        sentences.append(f"This run is not whole: {view.run.status}. What had finished is shown.")
    # Each sentence once, with its columns.
    by_sentence: dict[str, list[str]] = defaultdict(list)
    for column in model.columns:
        for sentence in of_column(model, column.id):
            by_sentence[sentence].append(column.id)
    sentences += [f"{_some(columns)}: {sentence}" for sentence, columns in by_sentence.items()]
    return sentences + list(dict.fromkeys(n.text for n in view.notes if n.kind == "problem"))


def of_column(model: Model, column: str) -> list[str]:
    """Returns the sentences of every report about missing results, and why the environment is not there."""
    sentences = [
        f"Its environment is {environment.state}: {environment.message}"
        for environment in model.view.environments
        if environment.column == column and environment.state != "ready"
    ]
    return sentences + model.view.missing[column]


def unsupported(model: Model) -> list[str]:
    """Targets for which a column has no backend, which is not the run's fault."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for column, target, message in model.view.unsupported_targets:
        by_reason[target, message].append(column)
    return [
        f"{_some(columns)}: no {target}. {message.replace('<target>', target)}"
        for (target, message), columns in by_reason.items()
    ]


def _some(columns: Sequence[str]) -> str:
    return ", ".join(columns)
