"""A key for a CI's cache of environments: equal where nothing that they are built from has changed."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from crosswarp import compat, kernels, matrix
from crosswarp.matrix.environments.environment import SUITE_REQUIREMENTS, python_for
from crosswarp.matrix.facts.columns import Column

# The packages that an environment's cell side is a copy of.
_ROOMS = (compat, kernels, matrix)


def key(table: Sequence[Column], words: str = "") -> str:
    """The cache key of the table's columns, this interpreter, crosswarp itself, and `words` that choose columns.

    A cache has the environments that one job built: with other words it would have other columns. The interpreter
    counts with its patch release and path, because an environment is made of links to it.
    """
    built = [[c.id, c.triton, c.torch, python_for(c), *c.requirements, *c.overrides] for c in table]
    parts = [
        built, list(SUITE_REQUIREMENTS), sys.version, sys.executable, platform.machine(),
        platform.libc_ver(), words.split(),
        [_digest(Path(str(room.__file__)).parent) for room in _ROOMS],
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def code(suite: Path | None) -> str:
    """The digest of the code that made a run: crosswarp's own files, and those of a suite."""
    rooms = [Path(str(room.__file__)).parent for room in _ROOMS]
    digests = [_digest(folder) for folder in (*rooms, *([suite] if suite else []))]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
