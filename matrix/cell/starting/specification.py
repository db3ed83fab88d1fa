"""Read the host's request to a cell process, SPEC.json, and check that the installed versions are the planned ones."""

import contextlib
import functools
import hashlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Dict, Mapping, MutableMapping, Sequence, Set, Type, TypeVar, Union

from crosswarp.compat import facts
from crosswarp.compat.versions import as_planned
from crosswarp.matrix.cell import asked
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.protocol import Note
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.errors import SUITE_SPEC, SUITE_WRONG_VERSIONS

# The environment variable with the path of the specification, for what runs in a child.
SPEC_ENV = "CROSSWARP_SPEC"

A = TypeVar("A", bound=Asked)


def of_arguments(
    arguments: Sequence[str], kind: Type[A], needed: Sequence[str] = ()
) -> Union[A, int]:
    """The specification that the first argument names, or the exit status where there is nothing to run by.

    `needed` are the entries that it must have besides records and versions. Why there is none is on standard error;
    that versions are others than planned, in the stream as well.
    """
    try:
        spec = asked.read(Path(arguments[0]).resolve(), kind, ("records", "expect", *needed))
    except (IndexError, OSError, ValueError, RecursionError) as error:
        print(
            f"the specification cannot be read: {error}; give the path of a SPEC.json",
            file=sys.stderr,
        )
        return SUITE_SPEC
    wrong = wrong_versions(spec.expect)
    if wrong:
        Stream(spec.records).write(Note(f"wrong versions: {wrong}"))
        print(f"wrong versions: {wrong}", file=sys.stderr)
        return SUITE_WRONG_VERSIONS
    return spec


def launches(spec: Asked) -> Path:
    """Where the lane emulate keeps launches as long as it runs: beside the records."""
    return Path(f"{spec.records}.launches")


def turns(spec: Asked) -> str:
    """Where the locks are by which items take turns, with those of other columns too that run side by side."""
    return spec.turns or spec.records


def plan_of(spec: Asked, lane: str) -> Path:
    """Where the plan of a lane is, as soon as one of its workers has made it."""
    return Path(spec.records).with_suffix(f".plan-{lane}.json")


def begin(spec: Asked, lane: str, place: int) -> None:
    """Called before the item at that place of the lane's plan is run."""
    with contextlib.suppress(OSError):
        file = os.open(_begun(spec, lane), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(file, b".", place)
        finally:
            os.close(file)


def begun(spec: Asked, lane: str) -> Set[int]:
    """The places of the items of the lane that were begun."""
    try:
        content = _begun(spec, lane).read_bytes()
    except OSError:
        return set()
    return {place for place, byte in enumerate(content) if byte}


def few_left(spec: Asked, lane: str) -> bool:
    """Whether so few items of the lane are left that the next lane may make itself ready."""
    try:
        planned = _planned(plan_of(spec, lane))
    except OSError:
        return False
    return planned - len(begun(spec, lane)) <= max(2 * spec.jobs, planned // 10)


@functools.lru_cache(maxsize=None)
def _planned(plan: Path) -> int:
    """How many items a plan has. It is asked for over and over, and does not change once it is there."""
    return len(json.loads(plan.read_text("utf-8"))["items"])


def _begun(spec: Asked, lane: str) -> Path:
    return Path(spec.records).with_suffix(f".begun-{lane}")


def launches_of(spec: Asked, target: str, kernel: str, case: str) -> Path:
    """The folder in which the modes of a case find each other's launches."""
    name = "/".join((target, kernel, case))
    return launches(spec) / hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def wrong_versions(expect: Mapping[str, str]) -> str:
    """How the installed distributions differ from those planned, or an empty string."""
    wrong = []
    for name, planned in expect.items():
        installed = platform.python_version() if name == "python" else facts.version_of(name)
        if installed is None:
            wrong.append(f"{name} not installed, planned {planned}")
        elif not as_planned(name, installed, planned):
            wrong.append(f"{name} {installed}, planned {planned}")
    return "; ".join(wrong)


def limits(spec: Asked) -> Dict[str, str]:
    """The environment variables of a pytest by which its compilations are cached and limited."""
    return {
        "TRITON_CACHE_DIR": spec.cache,
        "CROSSWARP_CACHE_DIR": str(Path(spec.records).parent / "crosswarp-cache"),
        "CROSSWARP_COMPILE_SECONDS": str(spec.time_limit),
        "CROSSWARP_COMPILE_MB": str(spec.memory_limit_mb or ""),
        # One process a core.
        "OMP_NUM_THREADS": "1",
    }


def prepare(environ: MutableMapping[str, str], spec: Asked) -> None:
    """Set the variables of a process that compiles cells, which interprets only where its lane does."""
    environ.update(limits(spec))
    # Triton 3.9 warns until this is chosen; 1 is the behaviour of every earlier version.
    environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    environ.pop("TRITON_INTERPRET", None)
