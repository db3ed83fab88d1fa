"""Shards as Ray tasks, each run once: the death of a worker is reported."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import ray
import ray.exceptions

from crosswarp.matrix.dispatch import part
from crosswarp.matrix.dispatch.part import Died, Ended, Task
from crosswarp.matrix.errors import EnvironmentFailed

# Seconds between two looks at whether the user has had enough.
_POLL = 1.0


def make(name: str, folder: Path, workers: int, cpus: int) -> OnRay:
    if not ray.is_initialized():
        # Without an address: the cluster of RAY_ADDRESS, else one on this machine for as long as this lasts.
        address = name if name.startswith("ray://") else None
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ray.exceptions.RayError, ValueError) as error:
            raise EnvironmentFailed(
                f"--on {name}: no Ray cluster answers ({error}). Start one (ray start --head), or correct the address."
            ) from None
    return OnRay(workers, cpus)


class OnRay:
    def __init__(self, workers: int, cpus: int) -> None:
        self._workers = workers
        self._running: dict[ray.ObjectRef, Task] = {}
        self._work = ray.remote(part.work).options(max_retries=0, num_cpus=cpus)

    def __call__(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ended | Died]]:
        left = list(tasks)
        while left or self._running:
            while left and (not self._workers or len(self._running) < self._workers):
                task = left.pop(0)
                self._running[self._work.remote(task)] = task
            ready, _ = ray.wait(list(self._running), num_returns=1, timeout=_POLL)
            for reference in ready:
                task = self._running.pop(reference)
                try:
                    yield task, ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield task, Died(task.name, _reason(error))

    def cancel(self) -> None:
        for reference in self._running:
            ray.cancel(reference, force=True)
        self._running.clear()


def _reason(error: Exception) -> str:
    """The last line of a traceback is the error; of a worker's death the first says it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    died = isinstance(error, (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError))
    return (lines[0 if died else -1] if lines else type(error).__name__)[:400]
