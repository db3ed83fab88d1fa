"""Run the newest releases of published libraries with `crosswarp test` on several columns; then make the table.

    releases.py --work WORK --columns triton-3.2.0,triton-3.9.0           columns that crosswarp builds
    releases.py --work WORK --columns triton-3.6.0=ENV/bin/python         an environment at hand
    releases.py --work WORK --table-only --out docs/evidence/ecosystem.md

`nox -s ecosystem -- …` is the same, with all that it needs. A library's archive is fetched and unpacked here, and
nothing of it is built or run but in the cell's child processes, under their limits. What WORK holds of a library and a
column is not run again: delete its `.json` to do so. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import releases_table

from crosswarp.matrix.environments import here
from crosswarp.matrix.environments.beside import Beside, Prepare
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import columns
from crosswarp.matrix.facts.columns import Column

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "releases.toml"
# Of an archive, unpacked: what is beyond is refused.
LARGEST = 400 << 20
# Where the tests lie that a release without any is given, and calls of public ops, one file a library.
IMPORTS = "crosswarp_imports"
OPS = HERE / "ops"
# What `crosswarp test` ends with where it has run: as expected, or not.
RAN = (0, 1)
_IMPORTS_TRITON = re.compile(r"^\s*(?:import|from)\s+triton\b", re.M)


@dataclass(frozen=True)
class Library:
    """An entry of releases.toml."""

    name: str
    archive: str
    source: str = "."
    tests: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    stub: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None


def libraries(path: Path = TABLE) -> list[Library]:
    """Raises ValueError where an entry has a key or an archive that there is not."""
    found = []
    for name, facts in tomllib.loads(path.read_text("utf-8")).items():
        try:
            one = Library(name, **{key: _tuple(value) for key, value in facts.items()})
        except TypeError as error:
            raise ValueError(f"{path.name}, {name}: {error}") from None
        if one.archive not in ("sdist", "wheel"):
            raise ValueError(f'{path.name}, {name}: archive is "sdist" or "wheel"')
        found.append(one)
    return found


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# The release


def release(library: Library, work: Path) -> Path:
    """The folder of its newest release, unpacked; fetched where WORK has none.

    Raises:
        EnvironmentFailed: the index has none, or it is none that may be unpacked.
    """
    home = work / "releases" / library.name
    if not home.is_dir():
        fetched = work / "archives" / library.name
        archive = _archive(fetched) or fetch(library, fetched)
        partial = home.with_name(f"{home.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        unpack(archive, partial)
        # What does not change from column to column; the name of the archive says the release.
        (partial / "RELEASE").write_text(archive.name, "utf-8")
        partial.rename(home)
    prepare(library, home)
    return home


def fetch(library: Library, folder: Path) -> Path:
    """By unearth, which downloads and builds nothing: pip and uv run a source distribution to ask for its metadata."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = "--no-binary" if library.archive == "sdist" else "--only-binary"
    command = [sys.executable, "-m", "unearth", kind, library.name, "--download", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = _archive(folder)
    if found is None:
        why = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise EnvironmentFailed(f"{library.name}: its {library.archive} was not fetched: {why}")
    return found


def _archive(folder: Path) -> Path | None:
    found = [*folder.glob("*.whl"), *folder.glob("*.tar.gz"), *folder.glob("*.zip")]
    return found[0] if found else None


def unpack(archive: Path, to: Path) -> None:
    """Its files, and no more: nothing outside of `to`, no links out of it, no gigabytes.

    Raises:
        EnvironmentFailed: it holds what is none of this, or is no archive.
    """
    to.mkdir(parents=True)
    try:
        if archive.name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(archive) as opened:
                _not_too_large(sum(one.file_size for one in opened.infolist()), archive)
                opened.extractall(to)
        else:
            with tarfile.open(archive) as packed:
                _not_too_large(sum(one.size for one in packed), archive)
                packed.extractall(to, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise EnvironmentFailed(f"{archive.name} cannot be unpacked: {error}") from None
    # A source distribution holds one folder, NAME-VERSION.
    inner = list(to.iterdir())
    if archive.name.endswith((".tar.gz", ".zip")) and len(inner) == 1 and inner[0].is_dir():
        for part in inner[0].iterdir():
            part.rename(to / part.name)
        inner[0].rmdir()


def _not_too_large(size: int, archive: Path) -> None:
    if size > LARGEST:
        raise EnvironmentFailed(
            f"{archive.name} unpacks to {size >> 20} MB, more than {LARGEST >> 20}"
        )


def prepare(library: Library, home: Path) -> None:
    """Write the settings that `crosswarp test` reads, and tests for a release that has none: imports and ops."""
    tests = list(library.tests)
    if not tests:
        folder = home / IMPORTS
        folder.mkdir(exist_ok=True)
        shutil.copy(HERE / "releases_imports.py", folder / "test_imports.py")
        (folder / "modules.json").write_text(json.dumps(modules(library, home)), "utf-8")
        ops = OPS / f"{library.name.replace('-', '_')}.py"
        if ops.exists():
            shutil.copy(ops, folder / "test_ops.py")
        tests = [IMPORTS]
    said = {"tests": tests, "stub": list(library.stub)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
    if library.tests and library.ignore:
        lines.append(f"cases = {json.dumps(['!' + glob for glob in library.ignore])}")
    lines += [
        "[env]",
        *(f"{key} = {json.dumps(value)}" for key, value in (library.env or {}).items()),
    ]
    (home / "crosswarp.toml").write_text("\n".join(lines) + "\n", "utf-8")


def modules(library: Library, home: Path) -> list[str]:
    """Names of the modules whose text imports Triton, without those that are ignored, and without tests."""
    found = []
    root = home / library.source
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        # A package's modules alone: a script beside it (setup.py, benchmarks) is nothing that one imports.
        if len(parts) < 2 or not (root / parts[0] / "__init__.py").exists():
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8", errors="replace")
        wanted = not any(fnmatchcase(name, glob) for glob in library.ignore)
        tested = re.search(r"(?:^|\.)(?:tests?|test_\w+|\w+_test)(?:\.|$)", name)
        if wanted and not tested and _IMPORTS_TRITON.search(text):
            found.append(name)
    return found


# The run


def column_of(text: str, work: Path, uv: Uv) -> tuple[Prepare, Column]:
    """``triton-3.6.0``, which crosswarp builds, or ``triton-3.6.0=PYTHON`` at hand."""
    name, _, python = text.partition("=")
    if python:
        found = here.look(Path(python))
        return found, found.column
    table = columns.load()
    return Builder(work / "envs", table, uv, say=print), columns.choose(table, [name])[0]


def run(library: Library, text: str, options: argparse.Namespace) -> None:
    """Run one library on one column, and leave what became of it in WORK. A run that WORK holds is not run again."""
    work = options.work
    name = text.partition("=")[0]
    about = work / "runs" / f"{library.name}@{name}.json"
    if about.exists():
        return
    about.parent.mkdir(parents=True, exist_ok=True)
    store = about.with_suffix(".db")
    store.unlink(missing_ok=True)
    began = datetime.datetime.now()
    told: dict[str, Any] = {
        "library": library.name,
        "column": name,
        "date": began.date().isoformat(),
        "error": "",
    }
    print(f"{library.name} on {name} …", flush=True)
    try:
        home = release(library, work)
        told["release"] = (home / "RELEASE").read_text("utf-8")
        told["tests"] = bool(library.tests)
        told |= _test(library, home, text, store, options)
    except EnvironmentFailed as error:
        told["error"] = str(error)
    told["seconds"] = round((datetime.datetime.now() - began).total_seconds())
    about.write_text(json.dumps(told, indent=1), "utf-8")
    print(
        f"{library.name} on {name}: exit {told.get('exit')}, {told['seconds']} s {told['error'][:200]}",
        flush=True,
    )


def _test(
    library: Library, home: Path, text: str, store: Path, options: argparse.Namespace
) -> dict[str, Any]:
    uv = Uv()
    prepared, column = column_of(text, options.work, uv)
    beside = Beside(prepared, None, library.requires, {}, options.work / "beside", uv, print)
    environment = beside(column)
    try:
        path = [home / library.source, *beside.folders[column.id]]
        command = [
            sys.executable, "-m", "crosswarp.reports.cli", "test", str(home), "--here", str(environment.python),
            "--targets", options.targets, "--modes", options.modes, "--sample", str(options.sample),
            "--time-limit", str(options.time_limit), "--column-limit", str(options.column_limit),
            "--jobs", str(options.jobs), "--work", str(options.work / "test"), "--store", str(store),
        ]  # fmt: skip
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*map(str, path), links(options.work)]),
        }
        with store.with_suffix(".log").open("w", encoding="utf-8") as log:
            # Not from crosswarp's checkout, whose metadata would look like an installed crosswarp.
            done = subprocess.run(
                command, env=environ, cwd=home, stdout=log, stderr=subprocess.STDOUT, check=False
            )
    finally:
        environment.release()
    said = {"exit": done.returncode, "command": " ".join(command[3:4] + command[7:15])}
    if done.returncode not in RAN:
        lines = store.with_suffix(".log").read_text("utf-8", errors="replace").strip().splitlines()
        said["error"] = f"crosswarp test ended with {done.returncode}: {' '.join(lines[-3:])}"
    return said


def links(work: Path) -> str:
    """A folder that holds the package crosswarp, for interpreters that have it not."""
    folder = work.resolve() / "path" / "crosswarp"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("compat", "kernels", "matrix", "reports"):
        link = folder / part
        if link.is_symlink() and link.readlink() != ROOT / part:
            # Of another checkout, with the same WORK.
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(ROOT / part)
    return str(folder.parent)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=Path(".crosswarp/ecosystem"))
    parser.add_argument(
        "--columns",
        action="append",
        metavar="ID[=PYTHON],..",
        help="(default: every published pair)",
    )
    parser.add_argument(
        "--libraries", action="append", metavar="GLOB,..", help="(default: all of releases.toml)"
    )
    parser.add_argument("--targets", default="sm_90,gfx942")
    parser.add_argument("--modes", default="bare,shimmed")
    parser.add_argument(
        "--sample", type=int, default=60, metavar="N", help="tests of a library (60)"
    )
    parser.add_argument("--time-limit", type=int, default=60, metavar="S", help="for one test (60)")
    parser.add_argument(
        "--column-limit",
        type=int,
        default=3600,
        metavar="S",
        help="for a library on a column (3600)",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="page whose section is written anew; else it is printed",
    )
    parser.add_argument("--table-only", action="store_true", help="run nothing")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    options.work = options.work.resolve()
    os.environ["PYTHONPATH"] = links(options.work)
    if not options.table_only:
        wanted = _split(options.libraries) or ["*"]
        table = [column.id for column in columns.load() if column.triton and column.official]
        for text in _split(options.columns) or table:
            for library in libraries():
                if any(fnmatchcase(library.name, glob) for glob in wanted):
                    run(library, text, options)
    new = releases_table.section(options.work, [one.name for one in libraries()])
    if options.out:
        before = options.out.read_text("utf-8") if options.out.exists() else ""
        options.out.write_text(releases_table.insert(before, new), "utf-8")
    else:
        print(new)
    return 0


def _split(words: Sequence[str] | None) -> list[str]:
    return [part for word in words or () for part in word.split(",") if part]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
