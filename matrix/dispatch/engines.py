"""Engines that run tasks somewhere: Ray, Slurm. An engine yields each task's result as it comes, and starts none twice.

Each engine's library is a separate extra, and is imported when the engine is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from crosswarp.matrix.dispatch.part import Died, Ended, Task
from crosswarp.matrix.errors import UsageError

NAMES = "ray, ray://HOST:PORT, slurm"


class Engine(Protocol):
    def __call__(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ended | Died]]:
        """Yields each task with its result, in the order in which they end."""

    def cancel(self) -> None:
        """Ends running tasks, and starts no others."""


def engine(name: str, folder: Path, workers: int, cpus: int) -> Engine:
    """The engine that `--on` names.

    Args:
        folder: for its files; for Slurm, shared by all machines.
        workers: the most tasks at a time; 0: as many as fit.
        cpus: those of each task.

    Raises:
        UsageError: there is none of that name, or its library is not installed.
    """
    kind = "ray" if name == "ray" or name.startswith("ray://") else name
    if kind == "github":
        raise UsageError(
            "--on github: a workflow cuts the run by itself: see examples/github-fan-out.yml, and `crosswarp plan "
            "--format github`."
        )
    if kind not in ("ray", "slurm"):
        raise UsageError(f'--on "{name}": there is no such engine. There are: {NAMES}.')
    try:
        module = import_module(f"crosswarp.matrix.dispatch.on_{kind}")
    except ImportError as error:
        if (error.name or "").startswith("crosswarp"):
            raise
        raise UsageError(
            f'--on {name}: {error}. Install it: pip install "crosswarp[{kind}]", here and where the workers are.'
        ) from None
    made: Engine = module.make(name, folder, workers, cpus)
    return made
