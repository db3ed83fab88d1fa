"""A run of a library's own tests: their facts in a plan, and the request to the cell side."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosswarp.matrix.cell.asked import AskedTests, OwnTests
from crosswarp.matrix.cell.kinds.library_tests import names
from crosswarp.matrix.checkout.finding import tests_of
from crosswarp.matrix.checkout.metadata import Declared
from crosswarp.matrix.checkout.settings import Settings
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.owned import Owner
from crosswarp.matrix.running.plan import Work

# The ways of the plugin; a device needs none.
LANES = ("compile", "emulate", "interpret")
DEFAULT_LANES = ("compile",)


@dataclass(frozen=True)
class LibraryTests(Work):
    """A library's own tests, in place of a suite.

    Attributes:
        root: the checkout.
        declared: the declarations in its metadata.
        paths: files and folders of tests, from the root.
        beside: by column, the folders in which the library and what it needs are installed; filled as columns are
            prepared. A column that is not among them has the library itself.
        only: files to run instead of `paths`, by which tests are still named.
        owner: the library's expectations of its tests.
    """

    MODULE = "crosswarp.matrix.cell.kinds.library_tests"
    # A target without any answer would pass for one that was not requested.
    BY_PART = True
    NOTHING_RAN = (
        "None of these tests launched a kernel, so they say nothing of Triton. Name others with `tests` in the "
        "settings or with --cases, or take more with --sample."
    )

    root: Path
    declared: Declared
    paths: tuple[str, ...]
    settings: Settings
    sample: int | None = None
    beside: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    owner: Owner = Owner("library")

    @property
    def folders(self) -> list[str]:
        """From which tests are named."""
        return [path for path in self.paths if (self.root / path).is_dir()]

    def asked(self, column: str, common: Mapping[str, Any]) -> AskedTests:
        tests = OwnTests(
            root=str(self.root),
            paths=list(self.only or self.paths),
            folders=self.folders,
            cases=list(self.settings.cases),
            sample=self.sample,
            stub=list(self.settings.stub),
            env=dict(self.settings.env),
            beside=[str(path) for path in self.beside.get(column, ())],
        )
        return AskedTests(**common, tests=tests)

    def about(self) -> Mapping[str, Any]:
        ranges = {name: self.declared.range_alone(name) for name in ("triton", "torch")}
        library = {
            "name": self.declared.name,
            "tests": list(self.paths),
            "declares": {name: specifier for name, specifier in ranges.items() if specifier},
            **({"sample": self.sample} if self.sample else {}),
            **({"cases": list(self.settings.cases)} if self.settings.cases else {}),
        }
        return {"library": library, **self.owner.about()}


def of_one(tests: LibraryTests, kernel: str, case: str = "*") -> LibraryTests:
    """The test `kernel` alone, of its cases those that match the glob `case`.

    Raises:
        UsageError: no file of the tests gives tests that are called so.
    """
    wanted = kernel.partition("::")[0]
    files = {path: names.module(path, tests.folders) for path in _files(tests)}
    only = tuple(path for path, module in files.items() if module == wanted)
    if not only:
        near = difflib.get_close_matches(wanted, files.values(), n=3)
        raise UsageError(
            f'"{kernel}" is no test of {tests.declared.name}: no file in {", ".join(tests.paths)} is called so. '
            + (f"Did you mean {' or '.join(near)}? " if near else "")
            + "Name it as reports do, FILE::FUNCTION, or as pytest does."
        )
    cases = (f"{glob.escape(kernel)}/{case}",)
    settings = tests.settings.model_copy(update={"cases": cases})
    return replace(tests, settings=settings, sample=None, only=only)


def _files(tests: LibraryTests) -> list[str]:
    """Python files of the tests, from the root."""
    paths = []
    for path in tests.paths:
        place = tests.root / path
        inside = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        paths += [path.relative_to(tests.root).as_posix() for path in inside]
    return paths


def paths_of(root: Path, settings: Settings) -> tuple[str, ...]:
    """Where the tests are.

    Raises:
        UsageError: nowhere.
    """
    paths = settings.tests or tuple(tests_of(root))
    if not paths:
        raise UsageError(
            f"{root}: no tests were found there. Name their folder with `tests` in its settings (crosswarp init), or "
            "give the path of a library's checkout."
        )
    lacking = [path for path in paths if not (root / path).exists()]
    if lacking:
        raise UsageError(f"{root / lacking[0]}: there is no such file or folder. Correct `tests`.")
    return paths
