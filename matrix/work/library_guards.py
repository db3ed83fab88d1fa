"""A run of `crosswarp guards` on one column: the suite's cases as they are, then once for each guard turned round."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosswarp.matrix.cell.asked import AskedGuards
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import CrosswarpError
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.linting.guards import Guard
from crosswarp.matrix.results.record import OUTCOMES, Record
from crosswarp.matrix.results.verdict import classify
from crosswarp.matrix.running import asking
from crosswarp.matrix.running.plan import Plan

_TEXTS = ("target", "lane", "mode", "kernel", "case", "outcome", "reason", "fingerprint", "message")


@dataclass(frozen=True)
class Trial:
    """One case, with the library unchanged or with one version check turned.

    Attributes:
        turned: the version check's id; empty where the library is unchanged.
        reached: the version checks that the case met, with the value of each before it was turned.
        launched: equal for trials that compiled and launched the same; empty where that is not known.
    """

    record: Record
    turned: str = ""
    reached: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    launched: str = ""


MODULE = "crosswarp.matrix.cell.kinds.library_guards"


def argv(python: Path, spec: Path) -> list[str]:
    return [str(python), "-m", MODULE, str(spec)]


def ask(
    environment: Environment,
    column: str,
    plan: Plan,
    folder: Path,
    guards: Sequence[Guard],
    chosen: Sequence[str],
    known: Sequence[Issue],
    *,
    here: bool,
    say: Callable[[str], None],
) -> list[Trial]:
    """Returns the results of the cases of `plan` on a column.

    Args:
        folder: the library's folder; the paths of `guards` are relative to it.
        chosen: ids of the version checks to turn.
        here: whether it is the user's own interpreter.

    Raises:
        CrosswarpError: it ended before its last case, took longer than the plan's limit for a column, or wrote no
            valid answers.
    """
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        answers, log = work / "answers.jsonl", work / "cell.log"
        answers.touch()
        cases = plan.spec(column, environment.expect, work / "records.jsonl", work / "cache")
        spec = AskedGuards(
            **vars(cases),
            guards={guard.id: [str(folder / guard.path), list(guard.span)] for guard in guards},
            chosen=list(chosen),
            answers=str(answers),
        )
        command = argv(environment.python, asking.write(spec, work / "spec.json"))
        # Nothing of a library may be compiled into its folder.
        with asking.Process(command, log, work, here=here, PYTHONDONTWRITEBYTECODE="1") as cell:
            ended = cell.heard(plan.column_limit)
        trials = _trials(answers, column, known)
        if ended.status != 0:
            late = ended.status is None
            why = f"longer than {plan.column_limit} s" if late else f"status {ended.status}"
            raise CrosswarpError(
                f"{column}: it ended ({why}) after {len(trials)} of its cases:\n{ended.log_end()}\n"
                "Choose fewer with --guards and --cases, or give more time with --column-limit."
            )
    say(f"{column}: {len(trials)} runs")
    return trials


def _trials(answers: Path, column: str, known: Sequence[Issue]) -> list[Trial]:
    versions: Mapping[str, Any] = {}
    trials: list[Trial] = []
    for line in answers.read_text("utf-8", errors="replace").splitlines():
        try:
            message = json.loads(line)
            if "versions" in message:
                versions = dict(message["versions"])
            else:
                trials.append(_trial(message, column, versions, known))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # A line that a library prints is no answer.
            continue
    return trials


def _trial(
    message: Mapping[str, Any], column: str, versions: Mapping[str, Any], known: Sequence[Issue]
) -> Trial:
    texts = {name: str(message[name]) for name in _TEXTS}
    if texts["outcome"] not in OUTCOMES:
        raise ValueError(texts["outcome"])
    record = Record(column, **texts, phase=str(message.get("phase", "")), versions=versions)  # type: ignore[arg-type]
    issue = classify(record, known, str(versions.get("triton") or "") or None)
    reached = {
        str(name): tuple(bool(answer) for answer in answers)
        for name, answers in message["reached"].items()
    }
    issue_id = issue.id if issue else ""
    return Trial(
        replace(record, issue=issue_id), str(message["turned"]), reached, str(message.get("launched", ""))
    )  # fmt: skip
