"""The releases of Triton that the package index has and the table of columns lacks, with the column for each.

uv is asked, so that its and pip's indexes, folders of wheels, certificates and caches count as they do when
environments are built. It names only the newest version that a requirement allows. So the releases are listed one by
one, downwards, and the torch that pins one is found by leaving out those that do not.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix import versions
from crosswarp.matrix.environments import resolver
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import ConfigError, EnvironmentFailed, UsageError
from crosswarp.matrix.facts import columns as columns_module
from crosswarp.matrix.facts import datafile
from crosswarp.matrix.facts.columns import Column, published
from crosswarp.matrix.versions import Version

# A release need not be for the Python that crosswarp runs on: so many minors beyond it are asked about too.
_OLDEST_PYTHON = 9
_NEWER_PYTHONS = 4
# uv's exit status where nothing fits; where an index did not answer it is another.
_NO_SOLUTION = 1


@dataclass(frozen=True)
class Release:
    """A release that the table lacks."""

    triton: Version
    # The newest torch that pins it, and the Pythons that have wheels of both; None as long as there is no such torch.
    torch: Version | None = None
    python: str = ""
    # The column of its minor, of which it is a later patch.
    replaces: str = ""
    # The column of its minor or, in the index, of a later patch: a minor has one column, its last patch.
    older_than: str = ""


def lacking(table: Sequence[Column], uv: Uv) -> list[Release]:
    """The releases from the oldest of the table on that it lacks, oldest first. Raises EnvironmentFailed."""
    pairs = published(table)
    if not pairs:
        raise ConfigError("the column table holds no published pair to begin from. Add one.")
    known = {_triton(column): column.id for column in pairs}
    oldest = pairs[0]
    tritons = _tritons(_triton(oldest), uv)
    last = {release.release[:2]: release for release in sorted(tritons.keys() | known.keys())}
    releases = []
    for triton in sorted(tritons.keys() - known.keys()):
        newest = last[triton.release[:2]]
        if newest != triton:
            releases.append(Release(triton, older_than=known.get(newest, f"triton-{newest}")))
            continue
        torch = _torch(triton, versions.exact(oldest.torch), uv, tritons[triton])
        replaced = [
            name for version, name in known.items() if version.release[:2] == triton.release[:2]
        ]
        python = _pythons(triton, torch, uv) if torch else ""
        releases.append(Release(triton, torch, python, "".join(replaced[-1:])))
    return releases


def unpacked(release: Release, uv: Uv, folder: Path) -> Path:
    """The release's package, put into `folder` without running anything of it. Raises EnvironmentFailed."""
    oldest = re.match(r">=(3\.\d+)", release.python)
    python = oldest[1] if oldest else f"3.{sys.version_info.minor}"
    answer = uv([
        "pip", "install", "--python", sys.executable, "--python-version", python, "--target", str(folder), "--no-deps",
        "--only-binary", ":all:", f"triton=={release.triton}",
    ])  # fmt: skip
    if not answer.ok:
        raise EnvironmentFailed(f"triton {release.triton} was not fetched:\n{answer.why}")
    package = folder / "triton"
    if not (package / "language" / "core.py").is_file():
        raise EnvironmentFailed(
            f"the wheel of triton {release.triton} holds no package of Triton's."
        )
    return package


def toml(release: Release, table: Sequence[Column]) -> str:
    """The column that it would be, with the requirements of the release before it."""
    pairs = published(table)
    before = next((pair for pair in reversed(pairs) if _triton(pair) < release.triton), pairs[0])
    requirements = ", ".join(f'"{text}"' for text in before.requirements)
    return (
        "[[column]]\n"
        f'id = "triton-{release.triton}"\ntriton = "{release.triton}"\ntorch = "{release.torch}"\n'
        f'python = "{release.python}"\n# As {before.id} needs them; not tried.\nrequirements = [{requirements}]\n'
        f'profile = ["all"]\nsource = ["METADATA of torch {release.torch}: Requires-Dist triton"]\n'
    )


def write(path: Path, releases: Sequence[Release], table: Sequence[Column]) -> None:
    """Put the columns into the file, each before the first that is newer. Whole, or not at all."""
    try:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        for release in releases:
            lines = _with(lines, release.triton, toml(release, table).splitlines(keepends=True))
        mode = path.stat().st_mode & 0o777
        datafile.replace(path, "".join(lines), mode, check=columns_module.load)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be written with --columns-file, or paste it."
        ) from None


def _with(lines: list[str], triton: Version, added: list[str]) -> list[str]:
    """The lines of a table with a column before the first that is newer, or is no release, and its comment."""
    heads = [at for at, line in enumerate(lines) if re.match(r"\[\[ *column *\]\]", line)]
    for at, column in zip(heads, tomllib.loads("".join(lines))["column"]):
        if "triton" not in column or versions.exact(column["triton"]) > triton:
            while at and lines[at - 1].startswith("#"):
                at -= 1
            return [*lines[:at], *added, "\n", *lines[at:]]
    return [*lines, "\n", *added]


def _tritons(oldest: Version, uv: Uv) -> dict[Version, str]:
    """The releases of Triton that the index has, from `oldest` on, each with a Python that it is for."""
    here = sys.version_info.minor
    pythons: dict[Version, str] = {}
    below = ""
    while version := _newest([f"triton>={oldest}{below}"], uv, f"3.{here}").get("triton"):
        pythons[version] = f"3.{here}"
        below = f",<{version}"
    # One that is for no Python as old as this is newer than all of those.
    for minor in range(here + 1, here + _NEWER_PYTHONS + 1):
        if version := _newest([f"triton>={oldest}"], uv, f"3.{minor}").get("triton"):
            pythons.setdefault(version, f"3.{minor}")
    if not pythons:
        raise EnvironmentFailed(
            f"the package index has no triton>={oldest}. Check the network and the package index (pip's and uv's "
            "settings are used), then run again."
        )
    return pythons


def _torch(triton: Version, oldest: Version, uv: Uv, python: str) -> Version | None:
    """The newest torch that pins this Triton, by its metadata."""
    left_out = ""
    while True:
        wanted = [f"torch>={oldest}{left_out}", f"triton=={triton}"]
        torch = _newest(wanted, uv, python, deps=True).get("torch")
        if torch is None:
            return None
        # Only a pin forbids every other Triton; a CPU build, which 2.6.0 means as well as 2.6.0+cpu, asks for none.
        this = f"torch=={torch}{left_out}"
        if not _newest([this], uv, python, deps=True, constraints=[f"triton!={triton}"]):
            return versions.parse(torch.public)
        left_out += f",!={torch}"


def _pythons(triton: Version, torch: Version, uv: Uv) -> str:
    """The Pythons that both have wheels for, as a range."""
    minors = [
        minor
        for minor in range(_OLDEST_PYTHON, sys.version_info.minor + _NEWER_PYTHONS + 1)
        if _newest([f"triton=={triton}", f"torch=={torch}"], uv, f"3.{minor}")
    ]
    return f">=3.{minors[0]},<3.{minors[-1] + 1}"


def _newest(
    requirements: Sequence[str],
    uv: Uv,
    python: str,
    deps: bool = False,
    constraints: Sequence[str] = (),
) -> dict[str, Version]:
    """The versions that uv chooses for the requirements; empty where there are none."""
    released = ["--prerelease", "disallow"]
    answer = resolver.ask(requirements, released, uv, python, deps=deps, constraints=constraints)
    if answer.status not in (0, _NO_SOLUTION):
        raise EnvironmentFailed(
            f"the package index did not say what it has of {' '.join(requirements)}:\n{answer.why}\n"
            "Check the network and the package index (pip's and uv's settings are used), then run again."
        )
    pins = resolver.pinned(answer)
    return {name: versions.exact(pins[name]) for name in ("triton", "torch") if name in pins}


def _triton(column: Column) -> Version:
    return versions.exact(column.triton)
