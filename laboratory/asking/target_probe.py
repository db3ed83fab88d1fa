"""Asking an environment for which targets its Triton compiles: one process, every kernel anew."""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from crosswarp.laboratory import bringing
from crosswarp.matrix import versions
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.errors import CrosswarpError
from crosswarp.matrix.facts.probed_targets import ABOUT, Probed, Release
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.running import asking


def argv(python: Path, spec: Path) -> list[str]:
    return bringing.argv("target_probe", python, spec)


def ask(
    python: Path, targets: Mapping[str, Target], time_limit: int, *, here: bool
) -> tuple[str, Release]:
    """The version of Triton of `python`, and its answer for each of `targets`.

    Args:
        time_limit: seconds for one kernel; all together get the sum.
        here: whether it is the user's own interpreter, and no environment of ours.

    Raises:
        CrosswarpError: it ended before its last target, took too long, or wrote no valid answers.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        answers = work / "answers.jsonl"
        tables = {name: asdict(target) for name, target in targets.items()}
        asked = Asked(targets=tables, time_limit=time_limit, records=str(answers))
        answers.touch()
        command = argv(python, asking.write(asked, work / "spec.json"))
        with asking.Process(command, work / "log", work, here=here) as cell:
            ended = cell.heard(60 + 2 * time_limit * len(targets))
        text, log = answers.read_text("utf-8", "replace"), ended.log_end(5)
    if ended.out_of_time:
        raise CrosswarpError(
            f"{python}: no answer in time. Ask fewer --targets, or give more with --time-limit."
        )
    try:
        header, *lines = [json.loads(line) for line in text.splitlines()]
        return _release(header, {line.pop("target"): line for line in lines}, targets)
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
        raise CrosswarpError(
            f"{python}: ended with status {ended.status} before its last target:\n{log}\n"
            "Make `import torch, triton, packaging` work there."
        ) from None


def _release(
    header: Mapping[str, Any], answers: Mapping[str, Any], asked: Mapping[str, Target]
) -> tuple[str, Release]:
    today = datetime.date.today().isoformat()
    about = {name: str({**header, "checked": today}[name]) for name in ABOUT}
    targets = {name: Probed.model_validate(answers[name]) for name in asked}
    return versions.public(str(header["triton"])), Release(about=about, targets=targets)
