"""The identity of a user's own interpreter: all that a suite could import there, and the variables that steer it.

An environment of ours is identified by the hashes that its installer recorded. That of `--here` may have been edited,
built from source, or be made of folders on PYTHONPATH. So the path, size and time of each of its files count. Two equal
identities mean that nothing changed, unless somebody set a clock back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Beginnings of environment variables that steer Python, Triton, torch, their libraries and the loader.
_STEERS = (
    "CUDA", "HIP", "LD_", "LLVM", "MKL_", "MLIR", "NVCC", "OMP_", "PTXAS", "PYTHON", "PYTORCH", "ROCM", "TORCH",
    "TRITON",
)  # fmt: skip
# Set anew for the suite, or without effect on it.
_NOT = ("TRITON_CACHE_DIR", "TRITON_INTERPRET", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
# More files than any installation has; reading more would take too long.
MOST = 500_000


@dataclass(frozen=True)
class Interpreter:
    """An interpreter's description of itself.

    Attributes:
        build: its version and whatever else distinguishes it from others.
        path: its `sys.path`.
        stdlib: the folders of its standard library, which `build` identifies.
        packages: the folders that Triton, torch and numpy were imported from, wherever they lie.
    """

    build: Sequence[str]
    path: Sequence[str]
    stdlib: Sequence[str]
    packages: Sequence[str]


class _TooMany(Exception):
    pass


def sources(asked: Interpreter, suite: Path | None, present: Path) -> tuple[Path, ...]:
    """Folders of the path with work in progress: the current one, and that of the suite.

    Files that a kernel imports from there count for that kernel (`work.suite_keys.reach`), and no others do.
    """
    inside = {present.resolve()}
    for folder in _folders(asked):
        installed = folder.name in ("site-packages", "dist-packages")
        mine = suite is not None and suite.resolve().is_relative_to(folder)
        if mine or (folder.is_relative_to(present.resolve()) and not installed):
            inside.add(folder)
    return tuple(sorted(inside))


def of(asked: Interpreter, suite: Path | None, present: Path, environ: Mapping[str, str]) -> str:
    """The identity, or an empty string where there are too many files, or one cannot be looked at."""
    worked_in = sources(asked, suite, present)
    whole = [folder for folder in _folders(asked) if folder not in worked_in]
    digest = hashlib.sha256()
    steering = {
        name: value
        for name, value in environ.items()
        if (name == "PATH" or name.startswith(_STEERS)) and name not in _NOT
    }
    place = [str(present.resolve()), list(map(str, worked_in)), list(asked.path)]
    digest.update(json.dumps([list(asked.build), place, steering], sort_keys=True).encode())
    try:
        for line in _lines(asked, whole, worked_in, suite):
            digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    except (OSError, _TooMany):
        return ""
    return digest.hexdigest()


def _lines(
    asked: Interpreter, whole: Sequence[Path], worked_in: Sequence[Path], suite: Path | None
) -> Iterator[str]:
    seen: set[Path] = set()
    # A suite's files count for the kernels that import them.
    left_out = {suite.resolve()} if suite else set()
    count = 0
    names: set[str] = set()
    for folder in whole:
        names.update(_importable(folder))
    for folder in worked_in:
        mine = sorted(_importable(folder))
        yield f"{folder} {mine}"
        # A module there that comes before one of the same name elsewhere is that one's place.
        hiding = [folder / name for name in mine if name.partition(".")[0] in _stems(names)]
        whole = [*whole, *hiding]
    for root in [*whole, *map(Path, asked.packages)]:
        for path, facts in _walked(root, seen):
            count += 1
            if count > MOST:
                raise _TooMany
            yield f"{path} {facts}"
    for root in (home for folder in (*whole, *worked_in) for home in _editable(folder)):
        for path, facts in _walked(root, seen | left_out, code_only=True):
            count += 1
            if count > MOST:
                raise _TooMany
            yield f"{path} {facts}"


def _stems(names: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _folders(asked: Interpreter) -> list[Path]:
    """The folders of the path that exist, without the interpreter's standard library."""
    own = {Path(folder).resolve() for folder in asked.stdlib}
    places = [Path(entry).resolve() for entry in asked.path if entry]
    own |= {folder / "lib-dynload" for folder in own}
    return [place for place in dict.fromkeys(places) if place.exists() and place not in own]


def _importable(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return [
            entry.name
            for entry in entries
            if not _ours(entry.name)
            and (entry.name.endswith((".py", ".so", ".pth")) or entry.name.isidentifier())
        ]


def _ours(name: str) -> bool:
    """Whether a file is crosswarp's own: the judging code is read elsewhere, and the rest decides on no cell."""
    return name in ("crosswarp", "__pycache__") or name.startswith(
        ("crosswarp-", "crosswarp.", "__editable__.crosswarp", "__editable___crosswarp")
    )


def _editable(folder: Path) -> Iterator[Path]:
    """The checkouts that packages are installed from as they are: a hook finds them, and not the path."""
    for file in sorted(folder.glob("*.dist-info/direct_url.json")) if folder.is_dir() else ():
        if _ours(file.parent.name):
            continue
        try:
            document = json.loads(file.read_bytes())
            url = document["url"] if document.get("dir_info", {}).get("editable") else ""
        except (ValueError, KeyError, AttributeError, TypeError):
            continue
        if isinstance(url, str) and url.startswith("file://"):
            yield Path(unquote(urlsplit(url).path))


def _walked(root: Path, seen: set[Path], *, code_only: bool = False) -> Iterator[tuple[str, str]]:
    """Each file below `root` with its identity; `code_only`: for a checkout, which has many other files."""
    real = root.resolve()
    if real in seen:
        return
    seen.add(real)
    if not real.is_dir():
        yield str(root), _size_and_time(os.stat(real))
        return
    with os.scandir(real) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if _ours(entry.name) or (code_only and entry.name.startswith(".")):
            continue
        try:
            if entry.is_dir():
                yield from _walked(Path(entry.path), seen, code_only=code_only)
            elif not code_only or entry.name.endswith((".py", ".so")):
                yield entry.path, _size_and_time(entry.stat())
        except FileNotFoundError:
            # A link to nothing.
            yield entry.path, "gone"


def _size_and_time(stat: os.stat_result) -> str:
    return f"{stat.st_size} {stat.st_mtime_ns}"
