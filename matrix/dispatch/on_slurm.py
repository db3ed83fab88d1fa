"""Shards as one Slurm array, by submitit: their output and results are in a folder that all machines share."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError

from crosswarp.matrix.dispatch import part
from crosswarp.matrix.dispatch.part import Died, Ended, Task
from crosswarp.matrix.errors import EnvironmentFailed

_POLL = 1.0
# And at the queue.
_QUEUE = 10.0
_LOST = "it left Slurm's queue without a result"
# The least time limit of a shard in minutes; and the factor of the limit over the estimate.
LEAST, FACTOR = 60, 4


def make(name: str, folder: Path, workers: int, cpus: int) -> OnSlurm:
    return OnSlurm(folder / "slurm", workers, cpus)


class OnSlurm:
    def __init__(self, folder: Path, workers: int, cpus: int) -> None:
        self._folder, self._workers, self._cpus = folder, workers, cpus
        self._running: dict[Any, Task] = {}

    def __call__(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ended | Died]]:
        try:
            # Nothing is restarted automatically, neither after a time limit nor after the loss of a node.
            executor = submitit.SlurmExecutor(self._folder, max_num_timeout=0)
            longest = max((task.cost or 0 for task in tasks), default=0)
            executor.update_parameters(
                job_name="crosswarp",
                time=max(LEAST, round(FACTOR * longest / 60)),
                cpus_per_task=self._cpus,
                array_parallelism=self._workers or len(tasks),
                additional_parameters={"no-requeue": True},
            )
            with executor.batch():
                submitted = [executor.submit(part.work, task) for task in tasks]
        except (RuntimeError, FailedJobError) as error:
            raise EnvironmentFailed(
                f"--on slurm: the array could not be submitted ({error}). See that sbatch and srun are there, and "
                "set what your cluster asks for in SBATCH_PARTITION, SBATCH_ACCOUNT, ..."
            ) from None
        self._running = dict(zip(submitted, tasks, strict=True))
        looked = time.monotonic()
        while self._running:
            done = [job for job in self._running if job.done()]
            for job in done:
                task = self._running.pop(job)
                try:
                    yield task, job.result()
                except (UncompletedJobError, FailedJobError) as error:
                    yield task, Died(task.name, _reason(job.state, error))
            if not done:
                time.sleep(_POLL)
            if time.monotonic() - looked > _QUEUE:
                looked = time.monotonic()
                for job in self._left():
                    task = self._running.pop(job)
                    yield task, Died(task.name, _LOST)

    def _left(self) -> list[Any]:
        """The jobs that have left the queue and no result, where Slurm keeps no accounts that submitit could ask."""
        unknown = [job for job in self._running if job.state == "UNKNOWN"]
        if not unknown:
            return []
        arrays = ",".join({job.job_id.partition("_")[0] for job in unknown})
        asked = subprocess.run(
            ["squeue", "--noheader", "--array", "--format=%F_%K %A", "--jobs", arrays],
            capture_output=True, text=True,
        )  # fmt: skip
        # An array that Slurm no longer knows has left as well.
        known = set(asked.stdout.split())
        if asked.returncode and "Invalid job id" not in asked.stderr:
            return []
        # Its result may have come since it was looked for.
        return [job for job in unknown if job.job_id not in known and not job.done()]

    def cancel(self) -> None:
        for job in self._running:
            job.cancel(check=False)
        self._running.clear()


def _reason(state: str, error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{state}: {lines[0] if lines else type(error).__name__}"[:400]
