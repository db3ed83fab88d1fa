"""Published libraries, whose ops are run on every column as they come from the package index.

Read from libraries.toml: the releases, and the causes of ops that are still red with the shims installed. The judgement
is a pure function of records: with the shims no op may be worse than without, each op that is red with them has a named
cause, and each cause must explain an op.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from crosswarp import compat
from crosswarp.matrix import versions
from crosswarp.matrix.cell import asked
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import datafile, selection, validators
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import RED, Record
from crosswarp.matrix.running.plan import Coordinate, Plan
from crosswarp.matrix.work.suite import Suite

_CELL = Path(__file__).parents[1] / "cell"
DEFAULT_FILE = Path(__file__).parents[1] / "facts" / "libraries.toml"
SUITE = _CELL / "kinds" / "library_ops"
# How many of the configurations that survive an autotuner's pruning run: the first and the last.
CONFIGURATIONS = 2


class Library(BaseModel):
    """One release."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    release: Annotated[str, AfterValidator(validators.version)]
    # The ops are those of library_ops/<family>_*.py.
    family: Annotated[str, Field(pattern=r"^[a-z0-9]+$")]
    # Installed without their dependencies, so that torch and Triton stay the column's.
    requires: Annotated[
        tuple[Annotated[str, AfterValidator(validators.requirement)], ...], Field(min_length=1)
    ]
    # The requirements of its metadata; columns outside of them are run all the same.
    triton: Annotated[str, AfterValidator(validators.specifier)] = ""
    torch: Annotated[str, AfterValidator(validators.specifier)] = ""
    # For a library published as sources alone: the packages that its setup.py imports, and its environment variables.
    build: tuple[Annotated[str, AfterValidator(validators.requirement)], ...] = ()
    build_environment: tuple[Annotated[str, Field(pattern=r"^[A-Z_]+=")], ...] = ()
    # Modules that it imports, that take seconds and hold none of its kernels: torch's and those of its dependencies.
    preload: tuple[str, ...] = ()
    source: Annotated[tuple[str, ...], Field(min_length=1)]

    @property
    def id(self) -> str:
        return f"{self.name}-{self.release}"


class Cause(BaseModel):
    """Why an op is red although the shims are installed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    title: Annotated[str, Field(min_length=1)]
    # Whose fault it is: a shim could fix one of Triton's, but not one of the library or the target.
    of: Literal["library", "triton", "target", "virtual gpu", "crosswarp"]
    libraries: tuple[str, ...] = ("*",)
    ops: tuple[str, ...] = ("*",)
    triton: Annotated[str, AfterValidator(validators.specifier)] = ""
    targets: tuple[str, ...] = ("*",)
    outcome: tuple[str, ...]
    fingerprint: Annotated[str, AfterValidator(validators.regex), Field(min_length=1)]
    links: tuple[str, ...] = ()
    checked: str

    @field_validator("outcome", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("checked", mode="before")
    @classmethod
    def _date(cls, value: object) -> object:
        return value.isoformat() if hasattr(value, "isoformat") else value

    @model_validator(mode="after")
    def _words(self) -> Cause:
        for outcome in self.outcome:
            if outcome not in RED:
                raise ValueError(f'outcome "{outcome}" is none of {", ".join(RED)}')
        return self

    def covers(self, cell: Cell) -> bool:
        """Whether the cell lies where this cause may be seen."""
        return (
            any(fnmatchcase(cell.library.id, glob) for glob in self.libraries)
            and any(fnmatchcase(cell.op, glob) for glob in self.ops)
            and any(fnmatchcase(cell.target, glob) for glob in self.targets)
            and versions.within(versions.of_column(cell.column), self.triton)
        )

    def explains(self, cell: Cell, record: Record) -> bool:
        return (
            self.covers(cell)
            and record.outcome in self.outcome
            and re.search(self.fingerprint, record.fingerprint) is not None
        )


class LibraryFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    library: Annotated[tuple[Library, ...], Field(min_length=1)]
    cause: tuple[Cause, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> LibraryFile:
        ids = [entry.id for entry in self.library] + [entry.id for entry in self.cause]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the same id stands twice: {', '.join(twice)}")
        return self


def load(path: Path = DEFAULT_FILE) -> LibraryFile:
    return datafile.load(path, LibraryFile)


def choose(file: LibraryFile, wanted: Sequence[str]) -> tuple[Library, ...]:
    ids = [library.id for library in file.library]
    chosen = selection.choose(wanted, ids, "library", f"There are: {', '.join(ids)}.")
    return tuple(library for library in file.library if library.id in chosen)


class Installer:
    """Puts each release into a separate folder, built once for this Python and used beside every column."""

    def __init__(self, folder: Path, uv: Uv, say: Callable[[str], None]) -> None:
        self.folder = folder / f"py{python()}"
        self._uv = uv
        self._say = say

    def __call__(self, library: Library) -> Path:
        home = self.folder / library.id
        stamp = home / "crosswarp-stamp.json"
        wanted = json.dumps(list(library.requires))
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return home
        self._say(f"{library.id}: installing it")
        shutil.rmtree(home, ignore_errors=True)
        done = self._uv(
            [
                *self._built(library), "pip", "install", "--no-deps", "--target", str(home), "--python", python(),
                *library.requires,
            ],
            environ=dict(setting.split("=", 1) for setting in library.build_environment),
        )  # fmt: skip
        if not done.ok:
            raise EnvironmentFailed(
                f"{library.id}: it could not be installed:\n{done.why}\n"
                "Check the network and the package index, then run again; or leave it out with --libraries."
            )
        stamp.write_text(wanted, "utf-8")
        return home

    def _built(self, library: Library) -> list[str]:
        """Returns uv's further arguments for a release that is built: it builds in a separate environment."""
        if not library.build:
            return []
        config = self.folder / f"{library.id}.uv.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        needs = f"{json.dumps(library.name)} = {json.dumps(list(library.build))}"
        config.write_text(f"[extra-build-dependencies]\n{needs}\n", "utf-8")
        return ["--config-file", str(config)]


def python() -> str:
    """The Python for which releases are installed, and which the columns must have: some hold compiled modules."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class LibraryOps(Suite):
    """The ops of published releases, a suite of ours that finds the releases in these folders.

    Attributes:
        folders: those of the releases.
        ops: globs of their names.
        configurations: the most that an autotuned kernel tries; 0: all.
        mark: the store's note on the code that it was run with.
    """

    folder: Path | None = SUITE
    folders: Mapping[Library, Path] = field(default_factory=dict)
    ops: Sequence[str] = ("*",)
    configurations: int = CONFIGURATIONS
    mark: str = ""

    def asked(self, column: str, common: Mapping[str, Any]) -> AskedSuite:
        releases: dict[str, dict[str, str]] = {}
        for library, folder in self.folders.items():
            releases.setdefault(library.name, {})[library.release] = str(folder)
        ops = asked.LibraryOps(releases, list(self.ops), self.configurations)
        preload = {
            str(home): list(library.preload)
            for library, home in self.folders.items()
            if library.preload
        }
        return replace(super().asked(column, common), libraries=ops, preload=preload)

    def about(self) -> Mapping[str, Any]:
        extra = {"identity": self.mark, "configurations": self.configurations}
        return {**super().about(), **extra}

    def keys(self, plan: Plan, column: str, environment: Environment) -> Mapping[Coordinate, str]:
        # A key does not hold the installed files of a release.
        return {}

    def judge(self, records: Sequence[Record], issues: Sequence[Issue]) -> Verdict:
        # A run may hold a part of the table; the whole of it is judged afterwards.
        return Verdict()


def identity() -> str:
    """A digest of all that a cell of the table depends on here: the shims, the virtual GPU, the ops' launchers."""
    digest = hashlib.sha256()
    for folder in (
        Path(compat.__file__).parent,
        _CELL / "standins",
        _CELL / "starting",
        _CELL / "judging",
        _CELL / "kinds" / "suite",
        SUITE,
    ):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True, eq=False)
class Cell:
    """One op of one release on one column and target; equal only to itself."""

    library: Library
    op: str
    column: str
    target: str
    bare: Record | None = None
    shimmed: Record | None = None


@dataclass
class Verdict:
    explained: dict[Cell, Cause] = field(default_factory=dict)
    unexplained: list[Cell] = field(default_factory=list)
    # Green bare and red shimmed.
    broken: list[Cell] = field(default_factory=list)
    not_run: list[Cell] = field(default_factory=list)
    # Causes whose cells were run, and which explain none of them.
    idle: list[Cause] = field(default_factory=list)

    @property
    def as_expected(self) -> bool:
        return not (self.unexplained or self.broken or self.not_run or self.idle)


def cells(records: Iterable[Record], libraries: Sequence[Library]) -> list[Cell]:
    """The records of whole ops (not those of single configurations), both modes of a cell together."""
    by_cell: dict[tuple[str, ...], dict[str, Record]] = {}
    places: dict[tuple[str, ...], tuple[Library, str]] = {}
    for record in records:
        place = located(record, libraries)
        if place is None or record.config not in ("", "worker died"):
            continue
        key = (place[0].id, place[1], record.column, record.target)
        places[key] = place
        modes = by_cell.setdefault(key, {})
        # A process may die after its op has been recorded.
        if record.mode not in modes or record.red:
            modes[record.mode] = record
    return [
        Cell(*places[key], key[2], key[3], modes.get("bare"), modes.get("shimmed"))
        for key, modes in by_cell.items()
    ]


def located(record: Record, libraries: Sequence[Library]) -> tuple[Library, str] | None:
    """The library and the op of a record; `*` for a column whose environment failed before any op was known."""
    for library in libraries:
        if record.kernel.split("_")[0] == library.family:
            if record.case in ("*", "import"):
                return library, record.case
            if record.case.endswith(f"-{library.release}"):
                return library, record.case.removesuffix(f"-{library.release}")
    return None


def judge(all_cells: Sequence[Cell], causes: Sequence[Cause]) -> Verdict:
    verdict = Verdict()
    used: set[str] = set()
    for cell in all_cells:
        both = [record for record in (cell.bare, cell.shimmed) if record is not None]
        if any(record.outcome == "not-run" for record in both):
            verdict.not_run.append(cell)
        if cell.shimmed is None or not cell.shimmed.red:
            continue
        if cell.bare is not None and cell.bare.outcome == "pass":
            verdict.broken.append(cell)
            continue
        cause = next(
            (candidate for candidate in causes if candidate.explains(cell, cell.shimmed)), None
        )
        if cause is None:
            verdict.unexplained.append(cell)
        else:
            verdict.explained[cell] = cause
            used.add(cause.id)
    for cause in causes:
        seen = [
            cell for cell in all_cells if cell.shimmed and cell.shimmed.ran and cause.covers(cell)
        ]
        if seen and cause.id not in used:
            verdict.idle.append(cause)
    return verdict
