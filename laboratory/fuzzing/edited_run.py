"""A suite and its edits, written as one suite and run by the engine of `crosswarp run`, a few kernels at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp import kernels as own
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.running.progress import Progress
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.matrix.work import suite_modules
from crosswarp.matrix.work.suite import Suite

from . import metamorphic, ring
from .editing import BETWEEN, Edited, edited
from .metamorphic import Comparison

# Kernels in one batch: after each, its results are reported and the time is checked.
BATCH = 4


@dataclass(frozen=True)
class EditPlace:
    """A column that edited kernels run in.

    Attributes:
        column: only its name counts for an interpreter of `--here`.
        release: its Triton.
        prepare: returns a builder of its environment; a new one for each run, which cancels its builder at the end.
        here: whether it is an interpreter of `--here`.
    """

    column: Column
    release: str
    prepare: Callable[[], Prepare]
    here: bool


def written(
    suite: Path | None, names: Sequence[str], seed: int, folder: Path, exact: bool = False
) -> list[Edited]:
    """The modules and their edits in `folder`, as one suite; the edits.

    Args:
        suite: a folder of modules; None: crosswarp's own.
        names: of the modules.
        exact: each edit in Triton's FPSan as well.

    Raises:
        UsageError: a module is named as an edited one is, or `folder` cannot be written.
    """
    found: list[Edited] = []
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in names:
            if BETWEEN in name:
                raise UsageError(
                    f"{name}.py: two underscores stand between a kernel and its edit. Rename it, or name others with "
                    "--kernels."
                )
            path = source(suite, name)
            (folder / path.name).write_bytes(path.read_bytes())
            made = list(edited(name, path.read_text("utf-8"), seed))
            found += made
            if exact and made:
                found += map(ring.in_ring, made)
                twice = ring.unedited(name)
                (folder / f"{twice.name}.py").write_text(twice.text, "utf-8")
        for edit in found:
            (folder / f"{edit.name}.py").write_text(edit.text, "utf-8")
        for entry in suite.iterdir() if suite is not None else ():
            # Files that the modules import from their folder, including modules that were not chosen.
            if not (folder / entry.name).exists() and not entry.name.startswith((".", "__pycache__")):  # fmt: skip
                (folder / entry.name).symlink_to(entry.resolve())
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        todo = "Name a --suite that can be read, and a --work that can be written."
        raise UsageError(f"{error}. {todo}") from None
    return found


def source(suite: Path | None, name: str) -> Path:
    """The file of a kernel's module."""
    if suite is not None:
        return suite / f"{name}.py"
    folder = Path(own.__file__).parent
    return folder / "known_issues" / f"{name}.py" if name in own.KNOWN_ISSUES else folder / f"{name}.py"  # fmt: skip


@dataclass
class EditedRun:
    """Runs edited kernels beside the unedited ones in every place.

    Attributes:
        plan: the plan of the run, without columns, kernels and suite.
        suite: a folder of modules; None: crosswarp's own.
        seed: selects the place of a kernel for each edit.
        folder: for the edited suite and its results.
        records, edits: so far.
    """

    places: Sequence[EditPlace]
    plan: Plan
    suite: Path | None
    seed: int
    folder: Path
    work: Path
    issues: Sequence[Issue]
    progress: Progress
    argv: Sequence[str]
    records: list[Record] = field(default_factory=list)
    edits: list[Edited] = field(default_factory=list)

    def until(self, ends: float, names: Sequence[str]) -> Iterator[Comparison]:
        """Runs until `ends` of `time.monotonic`, a few kernels at a time; yields the results so far after each batch.

        Kernels that have begun run to their end in every column, else there is nothing to compare.
        """
        with Store(self.folder / "edited.sqlite") as store:
            for first in range(0, len(names), BATCH):
                if time.monotonic() >= ends:
                    return
                batch = names[first : first + BATCH]
                exact = any(ring.has(place.release) for place in self.places)
                edits = written(self.suite, batch, self.seed, self.suite_folder, exact)
                self.edits += edits
                for place in self.places:
                    chosen = [*batch, *(one.name for one in edits if not one.exact)]
                    if ring.has(place.release):
                        chosen += dict.fromkeys(
                            name for one in edits if one.exact for name in (one.kernel, one.name)
                        )
                    self.records += self._ran(store, place, chosen)
                yield self.compared()

    @property
    def suite_folder(self) -> Path:
        return (self.folder / "suite").absolute()

    def compared(self) -> Comparison:
        return metamorphic.compare(
            self.records, self.edits, [place.column.id for place in self.places],
            {place.column.id: place.release for place in self.places}, self.issues,
        )  # fmt: skip

    def _ran(self, store: Store, place: EditPlace, chosen: Sequence[str]) -> list[Record]:
        planned = replace(
            self.plan, work=Suite(self.suite_folder), columns=(place.column,), kernels=tuple(chosen)
        )
        prepare = place.prepare()
        runner = Runner(
            planned, store, self.work, prepare, self.progress, self.issues, self.argv, here=place.here
        )  # fmt: skip
        return store.records(runner().run)


def names(suite: Path | None, globs: Sequence[str]) -> list[str]:
    """Returns the matching kernels of a suite; of crosswarp's, reproducers only if one is named.

    Raises:
        UsageError: none fits.
    """
    chosen = suite_modules.check_kernels(list(globs), suite)
    found = [
        name
        for name in suite_modules.kernel_names(suite)
        if any(fnmatchcase(name, one) for one in chosen)
    ]
    if suite is None:
        found = [name for name in found if name in own.SUITE or name in globs]
    return found
