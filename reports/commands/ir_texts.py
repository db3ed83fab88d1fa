"""The texts of `crosswarp report --ir`: a few cells compiled anew, in the environments that are there."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.running import ir, plan
from crosswarp.matrix.running.ir import Compiled, Wanted
from crosswarp.matrix.running.progress import Progress, progress
from crosswarp.matrix.work import suite_modules
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.findings.ir_cells import chosen
from crosswarp.reports.findings.view import View
from crosswarp.reports.page import Entry, Model

_SECONDS, _MEGABYTES = 600, 6000


def texts(options: argparse.Namespace, shown: View, known: Sequence[Issue]) -> list[Entry]:
    """Raises UsageError for kernels that nobody has named: what a store names is not imported for it."""
    if shown.run.described.library:
        raise UsageError(
            "--ir compiles kernels of a suite, and this run is of a library's tests. Leave it out."
        )
    if shown.run.described.suite and not options.suite:
        raise UsageError(
            "--ir imports the kernels of this run, which are not crosswarp's own. Name their folder: --suite DIR."
        )
    pythons = dict(map(_python, options.ir_python))
    model = Model(shown, known)
    steps = [
        model.upgrades[before.id, after.id]
        for after in model.columns if (before := model.before(after.id))
    ]  # fmt: skip
    suite = options.suite.resolve() if options.suite else None
    done: dict[Wanted, Compiled] = {}
    entries = []
    with progress() as bar:
        for step in chosen(steps, options.ir_at_most):
            sides = [step.on(column) for column in (step.before, step.after)]
            for wanted in sides:
                if wanted not in done:
                    done[wanted] = _compiled(wanted, options.work, pythons, suite, bar)
            entries.append(Entry(step, *(done[wanted] for wanted in sides)))
    return entries


def _compiled(
    wanted: Wanted, work: Path, pythons: Mapping[str, Path], suite: Path | None, bar: Progress
) -> Compiled:
    table = targets.load()
    if wanted.kernel not in suite_modules.kernel_names(suite) or wanted.target not in table:
        return Compiled(missing="This crosswarp has no such kernel or target.")
    try:
        column = _column(wanted.column)
    except UsageError as error:
        return Compiled(missing=str(error))
    python = pythons.get(wanted.column, work.absolute() / "envs" / column.id / "bin" / "python")
    if not python.exists():
        build = (
            f"crosswarp run --triton {column.id.removeprefix('triton-')} --kernels {wanted.kernel}"
        )
        return Compiled(missing=f"Its environment is not there. Build it: {build}")
    limits = plan.Plan(
        work=Suite(suite),
        columns=(),
        targets=table,
        jobs=1,
        memory_limit_mb=_MEGABYTES,
        column_limit=_SECONDS,
    )
    here = wanted.column in pythons
    return ir.compiled(wanted, limits, column, python, bar, here)


def _column(name: str) -> Column:
    (column,) = columns.choose(columns.load(), [name])
    return column


def _python(text: str) -> tuple[str, Path]:
    column, sign, python = text.partition("=")
    if not sign or not Path(python).exists():
        raise UsageError(
            f'--ir-python "{text}": write COLUMN=PYTHON with an interpreter that is there.'
        )
    return column, here.absolute(Path(python))
