"""`crosswarp plan`: a run cut into jobs, columns × shards, for a CI that runs them side by side."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix import reading
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import datafile
from crosswarp.matrix.running.plan import check_shard

# A job matrix of GitHub Actions holds no more.
MAX_JOBS = 256
_AGAIN = "Make it anew: crosswarp plan --format github."


class Job(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    column: str
    shard: Annotated[str, Field(pattern=r"^[0-9]{1,4}/[0-9]{1,4}$")]
    # Fit for a file, a folder or an artifact.
    name: str
    # The arguments of `crosswarp run` (or test): words between spaces, none of which needs a quote.
    run: str
    command: Literal["run", "test"] = "run"

    @property
    def share(self) -> tuple[int, int]:
        return check_shard(self.shard) or (1, 1)


class JobMatrix(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    include: Annotated[tuple[Job, ...], Field(min_length=1)]


def jobs(
    columns: Sequence[str],
    shards: int,
    words: Sequence[str],
    command: Literal["run", "test"] = "run",
) -> list[Job]:
    """As `cut`, and no more than a job matrix of GitHub Actions holds."""
    if len(columns) * shards > MAX_JOBS:
        raise UsageError(
            f"{len(columns)} columns in {shards} shards are {len(columns) * shards} jobs, and a matrix of GitHub "
            f"Actions holds {MAX_JOBS}. Take fewer --shards, or fewer releases with --triton."
        )
    return cut(columns, shards, words, command)


def cut(
    columns: Sequence[str],
    shards: int,
    words: Sequence[str],
    command: Literal["run", "test"] = "run",
) -> list[Job]:
    """Returns the jobs of a run. `words`: the options of every job."""
    for word in words:
        if re.search(r"\s", word) or shlex.quote(word) != word:
            raise UsageError(
                f'"{word}" does not pass through a CI matrix without quotes. Use a path without spaces and signs; '
                "globs of a library's tests go into its settings."
            )
    return [
        Job(
            column=column,
            shard=f"{number}/{shards}",
            name=f"{column}-{number}-of-{shards}",
            run=" ".join(
                ["--triton", column.removeprefix("triton-"), *_shard(number, shards), *words]
            ),
            command=command,
        )
        for column in columns
        for number in range(1, shards + 1)
    ]


def _shard(number: int, of: int) -> list[str]:
    return ["--shard", f"{number}/{of}"] if of > 1 else []


def github(planned: Sequence[Job]) -> str:
    """The value of `strategy.matrix`, on one line, as `$GITHUB_OUTPUT` wants it."""
    return json.dumps({"include": [job.model_dump() for job in planned]}) + "\n"


def read(path: Path) -> tuple[Job, ...]:
    try:
        document = json.loads(reading.text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a plan ({error}). {_AGAIN}") from None
    return datafile.validated(path, document, JobMatrix, _AGAIN).include
