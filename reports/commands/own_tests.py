"""A library's own tests, as `crosswarp test`, `plan`, `bisect` and `blame` are asked for them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix.checkout import finding, metadata, settings
from crosswarp.matrix.checkout.imports import Imports
from crosswarp.matrix.checkout.metadata import Declared
from crosswarp.matrix.checkout.settings import Settings
from crosswarp.matrix.environments.beside import Beside, Prepare
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import MODES
from crosswarp.matrix.running import plan
from crosswarp.matrix.work import library_tests
from crosswarp.matrix.work.library_tests import LibraryTests
from crosswarp.reports.commands.options import positive, target_table


def add_library(group: argparse._ActionsContainer, meaning: str) -> None:
    group.add_argument(
        "--library", nargs="?", type=Path, const=Path("."), metavar="PATH", help=meaning
    )


def add_sample(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--sample", type=positive, metavar="N",
        help="of a library's tests so many, spread over the functions, the same ones each time",
    )  # fmt: skip


def checkout(path: Path) -> Path:
    """Raises UsageError where `path` is no folder."""
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such folder. Name a library's checkout.")
    return path


@dataclass(frozen=True)
class Library:
    root: Path
    settings: Settings
    declared: Declared

    def columns(self, wanted: Sequence[str], table: Sequence[Column]) -> list[Column]:
        """Those of the options, else of the settings, else what the metadata allows."""
        wanted = wanted or list(self.settings.columns)
        if wanted:
            return columns.choose(table, selection.split(wanted))
        allowed = self.declared.columns(table)
        if not allowed:
            declared = (self.declared.range_of(name) for name in ("triton", "torch"))
            ranges = "; ".join(filter(None, declared))
            raise UsageError(
                f"{self.declared.name}: its metadata allows none of the columns ({ranges}). Name some with `columns` "
                "in its settings or with --triton."
            )
        return allowed

    def tests(
        self, sample: int | None = None, beside: Mapping[str, Sequence[Path]] | None = None
    ) -> LibraryTests:
        """`beside` is filled as columns are prepared, and so is looked into later."""
        paths = library_tests.paths_of(self.root, self.settings)
        folders = {} if beside is None else beside
        return LibraryTests(self.root, self.declared, paths, self.settings, sample, folders)

    def beside(
        self, prepare: Prepare, work: Path, uv: Uv, say: Callable[[str], None] = lambda text: None
    ) -> Beside:
        """Returns a function that prepares a column with the library installed."""
        return Beside(
            prepare, self.root, self.settings.requires, self.settings.env,
            work.absolute() / "libraries-beside", uv, say, self.imports,
        )  # fmt: skip

    @property
    def imports(self) -> Mapping[str, str]:
        """Returns the imports of its tests, and of the library for them, each with a place; stubs are left out."""
        paths = library_tests.paths_of(self.root, self.settings)
        others = Imports(self.root, finding.files_of(self.root, paths)).of_others
        stubbed = {name.partition(".")[0] for name in self.settings.stub}
        return {name: place for name, place in others.items() if name not in stubbed}

    @property
    def functions(self) -> int:
        """How many test functions there are."""
        return finding.test_functions(self.root, library_tests.paths_of(self.root, self.settings))


def library(path: Path, cases: Sequence[str] = ()) -> Library:
    """The library in the checkout `path`; `cases` are globs of its tests in place of those of its settings.

    Raises:
        UsageError, ConfigError: there is no such folder, or its settings are none.
    """
    root = checkout(path).resolve()
    loaded = settings.load(root)
    chosen = loaded.settings
    if loaded.path is None:
        # As `crosswarp init` would write it: without it, the library's requirements are not installed.
        requires = finding.find(root, ()).values["requires"]
        chosen = chosen.model_copy(update={"requires": tuple(requires)})
    if cases:
        chosen = chosen.model_copy(update={"cases": tuple(cases)})
    return Library(root, chosen, metadata.with_mentions(root))


@dataclass(frozen=True)
class Asked:
    library: Library
    targets: Mapping[str, Target]
    lanes: tuple[str, ...]
    modes: tuple[str, ...]


def asked(options: argparse.Namespace, path: Path) -> Asked:
    """Returns the selection of --targets, --lanes, --modes and --cases among the tests of the checkout `path`."""
    chosen = library(path, selection.split(options.cases) if options.cases else ())
    named = selection.split(options.targets or list(chosen.settings.targets))
    lanes = selection.split(options.lanes or list(library_tests.DEFAULT_LANES))
    return Asked(
        chosen,
        targets.choose(target_table(options), named),
        plan.check_words(lanes, library_tests.LANES, "lane"),
        plan.check_words(selection.split(options.modes or ["*"]), MODES, "mode"),
    )


def words(options: argparse.Namespace, path: Path) -> list[str]:
    """The same selection without its columns, as options of `crosswarp test` with every glob resolved.

    What the settings say they say on another machine as well.
    """
    wanted = asked(options, path)
    chosen = {
        "targets": (options.targets, wanted.targets),
        "lanes": (options.lanes, wanted.lanes),
        "modes": (options.modes, wanted.modes),
        "cases": (options.cases, wanted.library.settings.cases),
        "sample": (options.sample, (str(options.sample),)),
    }
    texts = {name: ",".join(names) for name, (given, names) in chosen.items() if given}
    for name in ("columns_file", "targets_file", "issues_file"):
        if getattr(options, name):
            texts[name.replace("_", "-")] = str(getattr(options, name))
    here = [] if path == Path(".") else [str(path)]
    return [*(word for name, text in texts.items() for word in (f"--{name}", text)), *here]
