"""A vendored copy: the files to write, those already there, and those that somebody has edited.

Each file says at its top where it is from, with a checksum of the rest. A file that still matches its checksum may be
replaced or removed; everything else is somebody's work. `VENDORED` records the choice and the checksum of the licence,
which is copied unchanged.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswarp import compat
from crosswarp.compat.copies import VERSION
from crosswarp.matrix import reading
from crosswarp.matrix.errors import UsageError
from crosswarp.reports.vendoring import needs

RECORD, LICENSE = "VENDORED", "LICENSE"
RELEASE = ".".join(map(str, VERSION))
EVERYTHING = "all"
_SUM = "# sha256 of what follows: "
_FROM = "# From crosswarp "
_LICENCE_SUM = "LICENSE: sha256 "


@dataclass(frozen=True)
class Found:
    """The files of a folder, compared with those that would be written; paths relative to it, sorted.

    Attributes:
        same: as it would be written.
        old: written by `crosswarp vendor`, and not what it would write now.
        missing: not there.
        surplus: written by it and no longer needed.
        edited: written by it and changed since, or never written by it.
    """

    same: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    surplus: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def content(chosen: Sequence[str]) -> dict[str, str]:
    """The files of a copy by their path: of the shims `chosen`, or of `EVERYTHING` in their place."""
    everything = EVERYTHING in chosen
    names = [shim.name for shim in compat.all_shims()] if everything else list(chosen)
    header = (
        f"{_FROM}{RELEASE} (Apache-2.0, see {LICENSE}) by `crosswarp vendor`: change it there, not here.\n",
    )
    made = {
        path: _with_sum((needs.SOURCE / path).read_text("utf-8"), *header)
        for path in needs.files(names, everything)
    }
    made[LICENSE] = _licence()
    made[RECORD] = _with_sum(
        f"shims: {EVERYTHING if everything else ', '.join(sorted(names))}\n{_LICENCE_SUM}{_sum(made[LICENSE])}\n"
        "\nRenew, after an upgrade of crosswarp:   crosswarp vendor --into THIS_FOLDER\n"
        "Compare, in CI:                          crosswarp vendor --check --into THIS_FOLDER\n",
        *header,
    )
    return made


def chosen_before(folder: Path) -> list[str]:
    """Returns the shims named by the record in `folder`, or none. Raises UsageError for a broken record."""
    text = _read(folder / RECORD)
    if text is None:
        return []
    line = re.search(r"^shims: *(\S.*)$", text, re.M)
    if not line:
        raise UsageError(f"{folder / RECORD} does not say which shims are there. Name them.")
    return [name.strip() for name in line[1].split(",")]


def look(folder: Path, wanted: Mapping[str, str]) -> Found:
    """Compares `folder` with `wanted` and changes nothing."""
    sums = re.findall(
        rf"^{re.escape(_LICENCE_SUM)}([0-9a-f]{{64}})$", _read(folder / RECORD) or "", re.M
    )
    kinds: dict[str, list[str]] = {name: [] for name in Found.__dataclass_fields__}
    for path in sorted({*wanted, *_there(folder)}):
        text = _read(folder / path)
        if text is None:
            kind = "missing"
        elif text == wanted.get(path):
            kind = "same"
        elif path not in wanted and path not in (RECORD, LICENSE) and not text.startswith(_FROM):
            # A file of the host package, not in the way.
            continue
        elif not (_sum(text) in sums if path == LICENSE else _untouched(text)):
            kind = "edited"
        else:
            kind = "old" if path in wanted else "surplus"
        kinds[kind].append(path)
    return Found(**{name: tuple(paths) for name, paths in kinds.items()})


def write(folder: Path, wanted: Mapping[str, str]) -> Found:
    """Makes `folder` contain `wanted`: all of it, or nothing where any file is somebody's work (UsageError)."""
    copied = look(folder, wanted)
    if copied.edited:
        raise UsageError(
            f"{folder}: {', '.join(copied.edited)} {'was' if len(copied.edited) == 1 else 'were'} not written by "
            "`crosswarp vendor`, or edited since. Nothing was changed. Take the change to where it belongs, and delete "
            "what is to be written anew; a formatter is to leave the folder alone."
        )
    for path in (*copied.old, *copied.missing, *copied.surplus):
        links = [
            parent
            for parent in Path(path).parents
            if parent.name and (folder / parent).is_symlink()
        ]
        if links:
            raise UsageError(
                f"{folder / links[0]}: it is a link, and what lies behind it is not this folder's. Nothing was changed."
                " Make it a folder."
            )
    try:
        for path in (*copied.old, *copied.missing):
            whole = folder / path
            whole.parent.mkdir(parents=True, exist_ok=True)
            part = whole.with_name(f".{whole.name}.{os.getpid()}")
            # A file of that name is somebody else's, or a link to one.
            with part.open("x", encoding="utf-8", newline="\n") as file:
                file.write(wanted[path])
            part.replace(whole)
        for path in copied.surplus:
            (folder / path).unlink()
    except OSError as error:
        raise UsageError(
            f"--into {folder}: {error.strerror or error}. Name a folder that can be written."
        ) from None
    return copied


def releases(folder: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Returns the releases of crosswarp that these files name as their origin."""
    texts = (_read(folder / path) or "" for path in paths)
    return tuple(sorted({m[1] for t in texts if (m := re.search(rf"^{_FROM}(\S+) ", t, re.M))}))


def _licence() -> str:
    """Returns the licence of the installed distribution, or of the checkout."""
    distribution = importlib.metadata.distribution("crosswarp")
    text = distribution.read_text("licenses/LICENSE") or distribution.read_text("LICENSE")
    return text or (needs.SOURCE.parent / "LICENSE").read_text("utf-8")


def _there(folder: Path) -> list[str]:
    """Returns the files that may be ours: Python files, those of shims and seams, the record and the licence."""
    paths = [*folder.glob("*.py"), *folder.glob("shims/*.py"), *folder.glob("seams/*.py")]
    named = [path.relative_to(folder).as_posix() for path in paths]
    return [*named, *(name for name in (RECORD, LICENSE) if (folder / name).exists())]


def _read(path: Path) -> str | None:
    try:
        # With any line endings that a checkout has made.
        return reading.text(path)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Name another folder.") from None


def _with_sum(text: str, *header: str) -> str:
    return f"{''.join(header)}{_SUM}{_sum(text)}\n{text}"


def _untouched(text: str) -> bool:
    head, mark, rest = text.partition(f"\n{_SUM}")
    given, _, body = rest.partition("\n")
    return bool(mark) and head.startswith(_FROM) and "\n" not in head and given == _sum(body)


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
