"""Asking an environment for which targets its Triton compiles: one process, every kernel anew."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from crosswarp.matrix import versions
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.errors import CrosswarpError
from crosswarp.matrix.facts.probed_targets import ABOUT, Probed, Release
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.running import process


def argv(python: Path, spec: Path) -> list[str]:
    return [str(python), "-m", "crosswarp.matrix.cell.kinds.suite.target_probe", str(spec)]


def ask(
    python: Path, targets: Mapping[str, Target], time_limit: int, *, here: bool
) -> tuple[str, Release]:
    """The version of Triton of `python`, and what it says of each of `targets`.

    Args:
        time_limit: seconds for one kernel; all of them get as much together as they would one after the other.
        here: whether it is an interpreter of the user's, with crosswarp in it, and no environment of ours.

    Raises:
        CrosswarpError: it ended before its last target, took too long, or told no sense.
    """
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "spec.json")
        tables = {name: target.model_dump(mode="json") for name, target in targets.items()}
        spec.write_text(json.dumps(asdict(Asked(targets=tables, time_limit=time_limit))), "utf-8")
        try:
            done = subprocess.run(
                argv(python, spec), capture_output=True, text=True, errors="replace", check=False,
                stdin=subprocess.DEVNULL, timeout=60 + 2 * time_limit * len(targets), cwd=folder,
                env=dict(process.cell_environ(os.environ, here=here)),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CrosswarpError(
                f"{python}: no answer in time. Ask fewer --targets, or give more with --time-limit."
            ) from None
        except OSError as error:
            raise CrosswarpError(f"{python}: {error.strerror or error}. Name another.") from None
    try:
        found, *lines = [json.loads(line) for line in done.stdout.splitlines()]
        return _release(found, {line.pop("target"): line for line in lines}, targets)
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
        said = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise CrosswarpError(
            f"{python}: ended with status {done.returncode} before its last target:\n{said}\n"
            "Make `import torch, triton, crosswarp.matrix` work there."
        ) from None


def _release(
    found: Mapping[str, Any], told: Mapping[str, Any], asked: Mapping[str, Target]
) -> tuple[str, Release]:
    today = datetime.date.today().isoformat()
    about = {name: str({**found, "checked": today}[name]) for name in ABOUT}
    targets = {name: Probed.model_validate(told[name]) for name in asked}
    return versions.public(str(found["triton"])), Release(about=about, targets=targets)
