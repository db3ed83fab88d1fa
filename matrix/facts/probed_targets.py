"""Which release compiles for which target, as measured, in probed_targets.json: `crosswarp targets --probe --write`.

For each release and target two texts: why an addition of vectors, and why a dot product, cannot be compiled; empty
where it can. A line for a target, so that a change shows as one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix import versions
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("probed_targets.json")
# Raised when a field changes its meaning or goes away.
FORMAT = 1
# The fields that describe the environment; its torch may not be the one that pins this Triton, and compiles nothing.
ABOUT = ("triton_build", "ptxas", "torch", "python", "checked")
_AGAIN = "Take the committed file again, or make it anew: crosswarp targets --probe --write."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Probed(_Strict):
    """Why each of the two kernels cannot be compiled; empty where it can."""

    add: str
    dot: str

    @property
    def works(self) -> bool:
        return not (self.add or self.dot)


class Release(_Strict):
    about: dict[str, str]
    targets: Annotated[dict[str, Probed], Field(min_length=1)]


class _File(_Strict):
    crosswarp_targets: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    releases: dict[str, Release]


# By version of Triton, oldest first.
Table = Mapping[str, Release]


def load(path: Path = DEFAULT_FILE) -> dict[str, Release]:
    """Raises ConfigError for a file that cannot be read or is none of these."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read ({str(error)[:100]}). {_AGAIN}") from None
    file = datafile.validated(path, document, _File, _AGAIN)
    return dict(sorted(file.releases.items(), key=lambda item: versions.sort_key(item[0])))


def merged(table: Table, version: str, release: Release) -> dict[str, Release]:
    """`table` with the measurements of `version`: targets that were not measured now keep their old ones."""
    before = table[version].targets if version in table else {}
    now = Release(about=release.about, targets={**before, **release.targets})
    return dict(
        sorted({**table, version: now}.items(), key=lambda item: versions.sort_key(item[0]))
    )


def dumped(table: Table) -> str:
    parts = []
    for version, release in table.items():
        targets = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(probed.model_dump())}"
            for name, probed in release.targets.items()
        )
        about = json.dumps(release.about)
        parts.append(f'{json.dumps(version)}: {{"about": {about}, "targets": {{\n{targets}}}}}')
    inner = ",\n".join(parts)
    return f'{{"crosswarp_targets": {FORMAT}, "releases": {{\n{inner}}}}}\n'


def write(path: Path, table: Table) -> None:
    try:
        datafile.replace(path, dumped(table), 0o644, load)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be written."
        ) from None
