"""`crosswarp check`: the kernels of any file, compiled on the installed Triton, with no suite to write."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from crosswarp.matrix.checkout import answers
from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import (
    EXIT_CANCELLED,
    EXIT_ENVIRONMENT,
    EXIT_EXPECTED,
    EXIT_UNEXPECTED,
    EXIT_USAGE,
    Cancelled,
    UsageError,
)
from crosswarp.matrix.facts import columns, selection, targets
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan, check_words, default_jobs
from crosswarp.matrix.running.progress import Progress
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.matrix.signatures import finding, given, infer, kinds, launches, source
from crosswarp.matrix.work import brought, check
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    JOBS,
    add_files,
    add_globs,
    add_here,
    add_numbers,
    add_triton,
    add_work,
    check_out,
    check_work,
    known_issues,
    target_table,
    write_out,
)
from crosswarp.reports.text import check_text, colour, escape
from crosswarp.reports.text.check_text import Checked, Column

DESCRIPTION = (
    "Find the @triton.jit kernels of a file, read with what they are launched, and compile them for each target, "
    "without compat and with it, on the Triton installed here, without a GPU and with nothing to write first. The "
    "file is only read here; it "
    "is imported where its kernels are compiled, in processes of their own. Exit status: 0 all pass, 1 something "
    "fails, a kernel is not checked, or the file is no Python, 2 nothing could be checked, 3 an environment could not "
    "be built."
)
EXAMPLES = (
    "crosswarp check kernels.py",
    "crosswarp check mylib.ops.softmax --targets H100,MI300X --here ../venv/bin/python",
    "crosswarp check kernels.py --signature 'add_kernel:*fp16,*fp16,*fp16,i32' --constexpr 'add_kernel:BLOCK=128'",
    "crosswarp check kernels.py --triton newest",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE_OR_MODULE", help="a Python file, or the dotted name of a module"
    )
    what = parser.add_argument_group("what to compile (globs, comma-separated)")
    add_globs(
        what,
        ("kernels", "(default: all)"),
        ("targets", "sm_90, gfx*, H100, ... or a profile (default: founding; all)"),
    )
    add_globs(what, ("modes", "bare: without compat, shimmed: with compat (both)"), of="MODE")
    add_here(what, "the interpreter whose Triton compiles them (default: crosswarp's own)")
    add_triton(
        what, "build these environments as well, 3 to 5 GB each: newest, all, 3.6.0,3.9.0, ..."
    )
    how = parser.add_argument_group("signatures, where the file does not tell (repeatable)")
    how.add_argument(
        "--signature", action="append", default=[], metavar="KERNEL:TYPES",
        help="'k:*fp32,*fp32,i32', a type for each parameter that is no constexpr, or some by name: 'k:x=*fp16'; "
        "behind a type :16 a multiple of 16 (as pointers and numbers are by default), :any neither that nor 1, :1 one",
    )  # fmt: skip
    how.add_argument(
        "--constexpr", action="append", default=[], metavar="KERNEL:NAME=VALUE,..",
        help="'k:BLOCK=128', and launch options: 'k:num_warps=8'",
    )  # fmt: skip
    how.add_argument(
        "--dtype", choices=kinds.ELEMENTS, default="fp32",
        metavar="DTYPE", help="of tensors of which the file tells none; said wherever it is assumed (fp32)",
    )  # fmt: skip
    how.add_argument(
        "--stub", action="store_true",
        help="let stand-ins be for packages that the file imports and the environment lacks",
    )  # fmt: skip
    how.add_argument(
        "--save", action="store_true",
        help="keep --signature, --constexpr and --stub in [tool.crosswarp.check], where a later check finds them",
    )  # fmt: skip
    how.add_argument(
        "--no-run", dest="runs", action="store_false",
        help="do not run the file (its __main__, tests, benchmarks) for what it launches; by default that happens in a "
        "child, on the virtual GPU, for at most 60 s",
    )  # fmt: skip
    how.add_argument(
        "--configurations", type=int, default=4, metavar="N",
        help="of each autotuned kernel, from its first to its last; 0: all (4)",
    )  # fmt: skip
    limits = parser.add_argument_group("how")
    limits.add_argument(
        "--fresh", action="store_true", help="compile anew what an earlier run compiled"
    )
    add_numbers(
        limits,
        JOBS,
        ("time-limit", 120, "S", "for one configuration (120)"),
        ("memory-limit", 6000, "MB", "for one compilation (6000)"),
        ("kernel-limit", 90, "S", "for one kernel on one target; then the others go on (90)"),
        ("column-limit", 600, "S", "for one environment; its verdicts are kept (600)"),
    )
    parser.add_argument("--format", choices=check_text.FORMATS, default="text", help="(text)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead")
    add_work(parser, "environments, caches and logs (.crosswarp)")
    add_files(parser, "columns", "targets", "issues")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    # Check the input before anything slow starts.
    check_out(options.out)
    signatures = [given.signature(text) for text in options.signature]
    constexprs = [given.constexpr(text) for text in options.constexpr]
    on = targets.choose(
        target_table(options), selection.split(options.targets or [targets.DEFAULT_PROFILE])
    )
    modes = check_words(selection.split(options.modes or ["*"]), MODES, "mode")
    chosen_columns = placing.chosen(options)
    at_hand = _at_hand(options, bool(chosen_columns))
    read = finding.read(source.find(options.file, _search(at_hand)))
    chosen = _chosen(options, read)
    names = [kernel.name for kernel in chosen]
    given.check_names("signature", signatures, names)
    given.check_names("constexpr", constexprs, names)
    saved = answers.saved(read.path, Path())
    # Saved answers apply to all files of the folder; the options come after them, and win.
    signatures = [*(given.signature(text) for text in saved.signature), *signatures]
    constexprs = [*(given.constexpr(text) for text in saved.constexpr), *constexprs]
    if options.save:
        to_save = answers.Answers(
            signature=tuple(dict.fromkeys([*saved.signature, *options.signature])),
            constexpr=tuple(dict.fromkeys([*saved.constexpr, *options.constexpr])),
            stub=saved.stub or options.stub,
        )
        print(f"saved: {answers.save(answers.home(read.path, Path()), to_save)}", file=sys.stderr)
    inferred = [
        kernel
        for kernel in infer.infer(read, signatures, constexprs, options.dtype)
        if kernel.kernel in names
    ]
    checked = Checked(
        read.path, inferred, list(on), modes, options.dtype,
        issues={issue.id: issue for issue in known_issues(options)}, stub=options.stub or saved.stub,
    )  # fmt: skip
    shown = _Lines(checked, quiet=options.format == "json" or options.out is not None)
    shown.begin()
    runs = options.runs and launches.runs(read)
    if any(kernel.signatures or kernel.why and runs for kernel in inferred):
        check_work(options.work)
        work = partial(
            check.Check, read, inferred, configurations=options.configurations, runs=options.runs,
            kernel_limit=options.kernel_limit,
        )  # fmt: skip
        plan = partial(
            Plan, targets=on, lanes=("compile",), modes=modes, jobs=options.jobs or default_jobs(),
            time_limit=options.time_limit, memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit, fresh=options.fresh,
        )  # fmt: skip
        checked = _compiled(options, argv, checked, plan, work, at_hand, chosen_columns, shown)
    checked = replace(checked, exit_code=checked.exit_code or _exit_code(checked))
    if options.format == "json":
        write_out(check_text.as_json(checked), options.out)
        print(escape.terminal(check_text.ending(checked)), file=sys.stderr)
        return checked.exit_code
    ended = "\n\n".join(
        part for part in (check_text.grid(checked), check_text.ending(checked)) if part
    )
    if options.out is None:
        colour.show(f"\n{ended}\n")
    elif write_out(f"{check_text.signatures(checked)}\n\n{ended}\n", options.out):
        print(check_text.ending(checked))
    return checked.exit_code


class _Lines(Progress):
    """Each verdict when it is there, as a line; what else is to be said, on standard error.

    Attributes:
        notes: what was said beside the verdicts.
    """

    def __init__(self, checked: Checked, quiet: bool) -> None:
        self._checked = checked
        self._out = sys.stderr if quiet else sys.stdout
        self._open: dict[tuple[str, str, str, str], list[Record]] = {}
        self.notes: list[str] = []

    def begin(self) -> None:
        print(f"{check_text.signatures(self._checked)}\n", file=self._out, flush=True)

    def say(self, text: str) -> None:
        self.notes.append(text)
        print(escape.terminal(text), file=sys.stderr, flush=True)

    def cell(self, cell: Record) -> None:
        if cell.config:
            return
        cell = _in_time(cell)
        place = (cell.column, cell.target, cell.kernel, cell.case)
        records = self._open.setdefault(place, [])
        records.append(cell)
        if len(records) == len(self._checked.modes):
            self._say(place)

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None:
        # A case that ended with its process has no other mode.
        for place in list(self._open):
            self._say(place)

    def _say(self, place: tuple[str, str, str, str]) -> None:
        print(check_text.line(self._open.pop(place), self._checked), file=self._out, flush=True)


def _compiled(
    options: argparse.Namespace,
    argv: Sequence[str],
    checked: Checked,
    plan: Callable[..., Plan],
    work: Callable[..., check.Check],
    at_hand: here.Here | None,
    built: Sequence[columns.Column],
    shown: _Lines,
) -> Checked:
    """`checked` with the answers of the environments, that of the installed one first."""
    began = time.monotonic()
    records: list[Record] = []
    asked_columns: list[Column] = []
    codes: list[int] = []
    with tempfile.TemporaryDirectory() as scratch:
        links = brought.bring_along(
            Path(scratch) / "path", at_hand.missing if at_hand else ("packaging",)
        )
        # A check is not a run of the matrix: its store is removed, and the last run stays the last.
        with Store(Path(scratch) / "check.db") as store:

            def go(prepare: Prepare, chosen: Sequence[columns.Column], is_here: bool) -> None:
                runner = Runner(
                    plan(work=work(links=links), columns=tuple(chosen)), store, options.work, prepare,
                    shown, known_issues(options), argv, here=is_here,
                )  # fmt: skip
                try:
                    codes.append(runner().exit_code)
                except Cancelled:
                    # Its store is removed too: what there is of the run is shown here.
                    codes.append(EXIT_CANCELLED)
                run = store.run().id
                records.extend(map(_in_time, store.records(run)))
                asked_columns.extend(
                    Column(environment.column, environment.label, environment.versions)
                    for environment in store.environments(run)
                )

            if at_hand is not None:
                shown.say(f"{at_hand.column.id}: {check.label(at_hand)} ({at_hand.python})")
                go(at_hand, [at_hand.column], True)
            if built and EXIT_CANCELLED not in codes:
                go(
                    placing.builder(options, shown.say),
                    built,
                    False,
                )
    # The last is a problem outside the cells, already reported.
    worst = (EXIT_CANCELLED, EXIT_ENVIRONMENT, EXIT_UNEXPECTED)
    code = next((status for status in worst if status in codes), 0)
    return replace(
        checked, columns=asked_columns, records=records, notes=shown.notes, exit_code=code,
        seconds=time.monotonic() - began,
    )  # fmt: skip


def _in_time(cell: Record) -> Record:
    """`cell`, or `not-run` in its place where the environment's time was over: no fault of the kernel."""
    return replace(cell, outcome="not-run") if cell.reason == check_text.COLUMN_LATE else cell


def _exit_code(checked: Checked) -> int:
    if checked.absent:
        return EXIT_UNEXPECTED
    if not any(item.ran for item in checked.items):
        return EXIT_USAGE
    return EXIT_UNEXPECTED if checked.red or checked.unchecked else EXIT_EXPECTED


def _at_hand(options: argparse.Namespace, others: bool) -> here.Here | None:
    """The environment in use, with its Triton; None where there is none and `others` are to be built."""
    python = options.here or here.python_at_hand(os.environ)
    if python is not None:
        return here.glance(python)
    if others:
        return None
    raise UsageError(
        f"there is no Triton here: {sys.executable} has none, and no environment with one is active. Name an "
        "interpreter that has one (--here PYTHON), install it here (pip install torch triton), or have an environment "
        f"built (--triton {columns.NEWEST}; 3 to 5 GB)."
    )


def _search(at_hand: here.Here | None) -> list[str]:
    """Where a module is looked for: here, and where the interpreter in use looks."""
    own = [os.getcwd(), *filter(None, sys.path)]
    if at_hand is None:
        return own
    root = at_hand.python.parent.parent
    return [os.getcwd(), *map(str, sorted(root.glob("lib/python3*/site-packages"))), *own]


def _chosen(options: argparse.Namespace, read: source.Source) -> list[source.Kernel]:
    if not read.kernels:
        raise UsageError(
            f"{read.path}: there is no function below @triton.jit in it. Name a file that has some."
        )
    if not options.kernels:
        return read.kernels
    names = [kernel.name for kernel in read.kernels]
    listing = f"There are: {', '.join(names)}."
    wanted = selection.choose(selection.split(options.kernels), names, "kernel", listing)
    return [kernel for kernel in read.kernels if kernel.name in wanted]
