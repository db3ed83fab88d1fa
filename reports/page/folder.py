"""Writes the site: all of it or nothing, and never over files that are not crosswarp's.

The files are written beside the folder and replace it when they are complete. A list of them, `MARK`, marks the folder
as crosswarp's; other files in it (badges, a CNAME) are carried over.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from crosswarp.matrix.errors import UsageError

MARK = ".crosswarp-site"


def write(out: Path, files: Mapping[str, str]) -> None:
    try:
        # Through a link the folder is written that it points to.
        _swap(out.resolve(), files, out)
    except OSError as error:
        what = error.strerror or error
        raise UsageError(
            f"--out {out}: the page could not be written ({what}). What was there is left as it was. "
            "Free space, change the rights of the folder that holds it, or name another."
        ) from error


def _swap(out: Path, files: Mapping[str, str], named: Path) -> None:
    strangers = _strangers(out, files, named)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as beside:
        new = Path(beside, "new")
        for name, text in {**files, MARK: "".join(f"{name}\n" for name in sorted(files))}.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        for stranger in strangers:
            (new / stranger).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(out / stranger, new / stranger, follow_symlinks=False)
        if not out.exists():
            new.rename(out)
            return
        shutil.copymode(out, new)
        # Not cleaned up automatically: until the new one is in place, this is the only one.
        old = Path(f"{beside}-old")
        out.rename(old)
        try:
            new.rename(out)
        except BaseException:
            old.rename(out)
            raise
        # The site is in place: failing to remove the old one is harmless.
        shutil.rmtree(old, ignore_errors=True)


def _strangers(out: Path, files: Mapping[str, str], named: Path) -> list[PurePosixPath]:
    """Returns the files of the folder that are not ours and stay; raises an error when the folder is not ours."""
    if not out.exists():
        return []
    if not out.is_dir():
        raise UsageError(f"--out {named}: this is a file. Name a folder, which may be a new one.")
    there = [
        PurePosixPath(Path(folder, name).relative_to(out).as_posix())
        for folder, folders, names in os.walk(out)
        for name in [*names, *(link for link in folders if Path(folder, link).is_symlink())]
    ]
    mark = out / MARK
    if not there:
        return []
    if not mark.is_file():
        raise UsageError(
            f"--out {named}: this folder is not empty and crosswarp did not make it. Empty it, or name another."
        )
    ours = {*mark.read_text("utf-8").splitlines(), MARK}
    strangers = sorted(path for path in there if str(path) not in ours)
    in_the_way = [path for path in strangers if str(path) in files]
    if in_the_way:
        raise UsageError(
            f"--out {named}: {in_the_way[0]} was not written by crosswarp and stands where the page needs it. "
            "Move it away, or name another folder."
        )
    return strangers
