"""A run on many machines: missing shards are handed out, parts are saved as they come, and all are merged.

The folder of the parts is named for their run, so the same command, given again, continues the last one. No shard is
handed out twice by one command: a worker that died is a result, and the user decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crosswarp.matrix.dispatch.engines import Engine
from crosswarp.matrix.dispatch.part import Died, Ended, Task
from crosswarp.matrix.dispatch.shares import Share
from crosswarp.matrix.environments import lockkey
from crosswarp.matrix.errors import Cancelled, EnvironmentFailed, StoreError
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.seed import seed
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.merge import Merged, merge
from crosswarp.matrix.running.signals import terminated_as_interrupted


@dataclass(frozen=True)
class Dispatched:
    """Attributes:
    merged: the run made of the parts.
    died: by the name of the shard, why it has no part.
    """

    merged: Merged
    died: dict[str, str]


def folder_of(work: Path, shares: Sequence[Share], suite: Path | None, commit: str) -> Path:
    """Where the parts lie: another folder for another selection, cut, commit, and other files of suite or crosswarp."""
    identity = [
        [share.job.name, share.job.run] for share in sorted(shares, key=lambda s: s.job.name)
    ]
    digest = hashlib.sha256(
        json.dumps([identity, lockkey.code(suite), commit]).encode()
    ).hexdigest()[:12]
    return work / "dispatched" / digest


def dispatch(
    shares: Sequence[Share],
    task: Task,
    engine: Callable[[], Engine],
    folder: Path,
    into: Path,
    issues: Sequence[Issue],
    argv: Sequence[str],
    say: Callable[[str], None],
    *,
    fresh: bool = False,
) -> Dispatched:
    """Runs the shards that have no part in `folder` yet and merges all parts into the store `into`.

    Args:
        task: the common fields of the tasks.
        engine: called only if there is something to run.
        fresh: whether to ignore earlier results, both parts and the store's verdicts.

    Raises:
        EnvironmentFailed: not one part came. Cancelled: the parts that came are stored.
    """
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    left = [share for share in shares if not _whole(_path(folder, share))]
    reused = len(shares) - len(left)
    if reused:
        say(
            f"{reused} of {len(shares)} shards are there from a run that was not finished; --fresh runs them again"
        )
    died: dict[str, str] = {}
    if left:
        seeds = {} if fresh else _seeds(into, {share.job.column for share in left})
        tasks = [_task(task, share, seeds) for share in left]
        _gather(tasks, engine(), folder, len(shares), reused, say, died)
    parts = [path for share in shares if (path := _path(folder, share)).is_file()]
    if not parts:
        reasons = "\n".join(f"{name}: {why}" for name, why in died.items())
        raise EnvironmentFailed(f"No shard gave a result:\n{reasons}\nCorrect that, and run again.")
    order = sorted((share.job for share in shares), key=lambda job: job.name)
    merged = merge(parts, into, issues, argv, order)
    with Store(into) as store:
        for name, why in died.items():
            store.note(merged.run, "", f"{name}: {why}", kind="problem")
    if not died and not merged.missing and all(_whole(path) for path in parts):
        # They are in the store now, and their results are reused from there.
        shutil.rmtree(folder, ignore_errors=True)
    return Dispatched(merged, died)


def _gather(
    tasks: Sequence[Task],
    engine: Engine,
    folder: Path,
    of: int,
    done: int,
    say: Callable[[str], None],
    died: dict[str, str],
) -> None:
    try:
        with terminated_as_interrupted():
            for task, ended in engine(tasks):
                why = _kept(folder, ended)
                done += not why
                if why:
                    died[task.name] = why
                    say(f"{task.name}: {why}")
                elif isinstance(ended, Ended):
                    say(
                        f"{task.name}: done in {ended.seconds:.0f} s on {ended.host} ({done} of {of} shards)"
                    )
    except KeyboardInterrupt:
        engine.cancel()
        raise Cancelled(
            f"Cancelled. {done} of {of} shards are kept; the same command goes on with the others."
        ) from None
    except BaseException:
        engine.cancel()
        raise


def _kept(folder: Path, ended: Ended | Died) -> str:
    """Keeps the part; or why there is none."""
    if isinstance(ended, Died):
        return f"its worker died: {ended.why}. The same command runs it again."
    if not ended.store:
        status = f"exit status {ended.status}" if ended.status >= 0 else f"signal {-ended.status}"
        return f"it made no run ({status}):\n{ended.printed}"
    path = folder / f"{ended.name}.db"
    handle, partial = tempfile.mkstemp(dir=folder, suffix=".partial")
    with os.fdopen(handle, "wb") as file:
        file.write(ended.store)
    os.replace(partial, path)
    if _whole(path):
        return ""
    return f"it was not finished (exit status {ended.status}):\n{ended.printed}"


def _whole(path: Path) -> bool:
    """Whether a part is there whose run came to its end. An unfinished one is merged as it is, and run again."""
    if not path.is_file():
        return False
    try:
        with Store(path) as store:
            return store.run().status == "finished"
    except StoreError:
        return False


def _path(folder: Path, share: Share) -> Path:
    return folder / f"{share.job.name}.db"


def _task(task: Task, share: Share, seeds: dict[str, tuple[bytes, int]]) -> Task:
    content, begun = seeds.get(share.job.column, (b"", 0))
    words = (*share.job.run.split(), *task.words)
    return replace(
        task, name=share.job.name, words=words, seed=content, begun=begun, cost=share.cost
    )


def _seeds(store: Path, columns: set[str]) -> dict[str, tuple[bytes, int]]:
    stores = {}
    with tempfile.TemporaryDirectory(prefix="crosswarp-") as folder:
        for number, column in enumerate(sorted(columns)):
            path = Path(folder, f"{number}.db")
            if newest := seed(store, column, path):
                stores[column] = path.read_bytes(), newest
    return stores
