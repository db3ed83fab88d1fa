"""Options that several commands share: how they are added, and the files that they name."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosswarp.matrix.checkout import settings_file
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, issues, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results import baseline, owned, packaged
from crosswarp.matrix.results.store import DEFAULT, Store

if TYPE_CHECKING:
    from crosswarp.matrix.environments.here import Here

# Seconds for one configuration of a case.
TIME_LIMIT = 120
FAIL_ON = ("any", "compat")


def add_selection(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Adds the options that select a run; asked.py reads them."""
    group = parser.add_argument_group("what to run (globs, comma-separated)")
    add_triton(
        group,
        "releases such as 3.2.0,3.9.0, globs, all, main, a profile, or a release with another torch, numpy or "
        "Python, such as 3.2.0+torch-2.5.1+numpy-2.0.2+python-3.12 or any part of that (default: founding)",
    )
    add_globs(
        group,
        ("targets", "sm_90, gfx*, H100, ... or a profile (default: founding; all)"),
        (
            "lanes",
            "compile, emulate, interpret, device (default: compile and interpret, and emulate on one NVIDIA target)",
        ),
        ("modes", "bare: without compat, shimmed: with compat (default: both)"),
        ("kernels", "names of kernels (default: all)"),
        (
            "cases",
            "ids of cases of these kernels (default: all; in a run that names no kernels, cases, targets or lanes all "
            "but the repeats)",
        ),
    )
    group.add_argument(
        "--all-cases",
        action="store_true",
        help="of crosswarp's own kernels run the repeats too: cases that show on no release what cheaper ones of the "
        "kernel do not show",
    )
    group.add_argument(
        "--quick",
        action="store_true",
        help="only what shows the three regressions that crosswarp began with; options beside it come first",
    )
    group.add_argument(
        "--sanitize",
        action="store_true",
        help="let the sanitizer look on while the lane emulate executes (docs/sanitizer.md); no other lane runs "
        "unless --lanes names it",
    )
    group.add_argument(
        "--sample",
        type=positive,
        metavar="N",
        help="execute N programs of each launch in the lane emulate, at the real sizes of a case that names them, and "
        "compare no numbers: what it would take is predicted (docs/predicted.md); no other lane runs unless --lanes "
        "names it",
    )
    group.add_argument(
        "--estimate",
        action="store_true",
        help="let the lane emulate estimate how long each launch takes, for `crosswarp diff` to say what is predicted "
        "slower (docs/predicted.md); no other lane runs unless --lanes names it",
    )
    group.add_argument(
        "--batch",
        action="store_true",
        help="let the lane emulate compute a row alone and in a batch of 64, of kernels that name their `batch` size, "
        "for `crosswarp diff` to say where bits come to differ (docs/changed.md); no other lane runs unless --lanes "
        "names it",
    )
    group.add_argument(
        "--warps",
        type=_counts,
        metavar="N,..",
        help="let the lane emulate launch each case again with each of these numbers of warps, such as 1,2,4,8,16, for "
        "`crosswarp report --format consistency` to say how far the numbers agree (docs/emulate.md); no other lane "
        "runs unless --lanes names it",
    )
    group.add_argument(
        "--suite",
        type=Path,
        metavar="DIR",
        help="a folder of kernel modules instead of crosswarp's",
    )
    group.add_argument(
        "--main",
        metavar="PATH_OR_REF",
        default=os.environ.get("CROSSWARP_MAIN") or None,
        help="what the column main is: a wheel, a folder or a git reference of Triton (env CROSSWARP_MAIN)",
    )
    group.add_argument(
        "--nightly-index",
        metavar="URL",
        default=os.environ.get("CROSSWARP_NIGHTLY_INDEX") or None,
        help="else the newest build of this index (env CROSSWARP_NIGHTLY_INDEX)",
    )
    return group


def add_triton(group: argparse._ActionsContainer, meaning: str) -> None:
    """Adds `--triton`, which chooses columns; `--columns` is the same option."""
    group.add_argument(
        "--triton", "--columns", dest="columns", action="append", metavar="VERSION,..", help=meaning
    )


def to_workers(group: argparse._ActionsContainer) -> Callable[..., None]:
    """Adds an option to `group` that whoever runs a shard of a run is given as it was written (`for_workers`)."""

    def add(*names: str, **about: Any) -> None:
        group.add_argument(*names, **about).to_workers = True  # type: ignore[attr-defined]

    return add


def for_workers(options: argparse.Namespace, declared: Iterable[argparse.Action]) -> list[str]:
    """The words of those of the options that were declared with `to_workers`."""
    words: list[str] = []
    for action in declared:
        value = getattr(options, action.dest, None)
        if not getattr(action, "to_workers", False) or value is None or value is False:
            continue
        name = action.option_strings[-1]
        if value is True:
            words.append(name)
            continue
        for part in value if isinstance(value, list) else [value]:
            words += [name, str(part)]
    return words


def add_limits(group: argparse._ActionsContainer) -> None:
    add_numbers(group, JOBS)
    add = to_workers(group)
    add(
        "--time-limit", type=positive, default=TIME_LIMIT, metavar="S",
        help="for one configuration of a case (120)",
    )  # fmt: skip
    add(
        "--time-limit-alone", type=int, metavar="S",
        help="for what took longer, run again with nothing beside it (three times --time-limit; 0: not again)",
    )  # fmt: skip
    add(
        "--memory-limit",
        type=positive,
        default=6000,
        metavar="MB",
        help="for one compilation (6000)",
    )
    add("--column-limit", type=positive, default=3600, metavar="S", help="for one column (3600)")


# A row of `add_numbers`.
JOBS = ("jobs", None, "N", "cases at a time (default: the CPUs of this machine)")


def add_numbers(group: argparse._ActionsContainer, *rows: tuple[str, int | None, str, str]) -> None:
    """An option for each row: its name without dashes, what it is by default, its metavar and its meaning."""
    for name, default, metavar, meaning in rows:
        group.add_argument(
            f"--{name}", type=positive, default=default, metavar=metavar, help=meaning
        )


def add_globs(group: argparse._ActionsContainer, *rows: tuple[str, str], of: str = "GLOB") -> None:
    """A repeatable option of values with commas for each row: its name without dashes and its meaning."""
    for name, meaning in rows:
        group.add_argument(f"--{name}", action="append", metavar=f"{of},..", help=meaning)


def alone(options: argparse.Namespace) -> int:
    """Seconds of `--time-limit-alone`."""
    given = options.time_limit_alone
    return 3 * options.time_limit if given is None else max(given, 0)


def add_here(group: argparse._ActionsContainer, meaning: str) -> None:
    group.add_argument(
        "--here", nargs="?", type=Path, const=Path(sys.executable), metavar="PYTHON", help=meaning
    )


def one_way(options: argparse.Namespace) -> None:
    """Raises UsageError where both interpreters and columns are named."""
    if options.here and options.columns:
        raise UsageError("--here and --triton exclude each other: name interpreters, or columns.")


def at_hand(
    options: argparse.Namespace, look: Callable[[Path], Here]
) -> Iterator[tuple[str, Here]]:
    """Each interpreter of a repeatable `--here` as `look` finds it, under a separate name.

    Raises:
        UsageError: columns are named as well.
    """
    one_way(options)
    names: list[str] = []
    for python in options.here:
        environment = look(python)
        name = environment.column.id
        if name in names:
            name = f"{name}-{len(names) + 1}"
        names.append(name)
        yield name, environment


def add_shard(group: argparse._ActionsContainer, what: str) -> None:
    group.add_argument(
        "--shard", metavar="K/N",
        help=f"the K-th of N shards of each column's {what}, to be merged: crosswarp merge",
    )  # fmt: skip


def add_work(group: argparse._ActionsContainer, meaning: str | None = None) -> None:
    group.add_argument("--work", type=Path, default=Path(".crosswarp"), metavar="DIR", help=meaning)


def add_files(group: argparse._ActionsContainer, *names: str) -> None:
    """`--columns-file` for "columns": the tables that stand in for crosswarp's own."""
    for name in names:
        group.add_argument(f"--{name}-file", type=Path, metavar="TOML")


def add_run(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--run", type=positive, metavar="ID", help="default: the latest")


def add_store(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--store", type=Path, default=DEFAULT, metavar="PATH",
        help="the SQLite file of all runs (.crosswarp/store.db)",
    )  # fmt: skip


def opened_store(options: argparse.Namespace) -> Store:
    """To be read: the one that is named, or where nothing was ever run, what crosswarp brings along, and says so."""
    say_what_stands_in(options)
    return packaged.opened(options.store)


def say_what_stands_in(options: argparse.Namespace) -> None:
    if packaged.stands_in(options.store):
        print(packaged.line(), file=sys.stderr)


def add_verbose(parser: argparse._ActionsContainer, meaning: str) -> None:
    parser.add_argument("-v", "--verbose", action="store_true", help=meaning)


def add_environments(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--environments", choices=("keep", "remove"), default="keep",
        help="remove: one column after another, each environment gone when its column has run, for a small disk (keep)",
    )  # fmt: skip


def add_since(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--since", default="", metavar="A",
        help="begin a comment with what is new since A, which is what `crosswarp diff` takes: a baseline file, a run",
    )  # fmt: skip


def add_reproducers(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--reproducers",
        action="store_true",
        help="include crosswarp's reproducers, which only show a known issue and are left out otherwise",
    )


def _counts(text: str) -> list[int]:
    """The numbers of warps that a launch can have: powers of two up to 32."""
    numbers = sorted({int(part) for part in text.split(",") if part.strip()})
    if not numbers or any(number not in (1, 2, 4, 8, 16, 32) for number in numbers):
        raise argparse.ArgumentTypeError("name some of 1, 2, 4, 8, 16, 32")
    return numbers


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def add_expectations(group: argparse._ActionsContainer) -> None:
    """Adds the options of an owner's expectations: for a user's suite, or a library's tests."""
    add = to_workers(group)
    add(
        "--xfail", action="append", default=[], metavar="GLOB",
        help="KERNEL or KERNEL/CASE of yours that is expected to fail; strict: a pass fails the run (repeatable)",
    )  # fmt: skip
    add(
        "--baseline", type=Path, metavar="FILE",
        help="failures of yours that are in this file (crosswarp baseline write) are expected",
    )  # fmt: skip
    add(
        "--fail-on", choices=FAIL_ON, default=None,
        help="of your kernels: any failure, or only what fails with compat as well (default: any, unless your settings "
        "say compat = true)",
    )  # fmt: skip


def owner(options: argparse.Namespace, whose: str, checkout: Path) -> owned.Owner:
    """Returns the expectations of a suite's or library's owner, from settings and options."""
    from crosswarp.matrix.checkout import settings

    places = [folder for folder in (checkout, Path()) if settings.load(folder).path is not None]
    declared = settings.load(places[0] if places else checkout).settings
    xfail = [
        owned.Expected(wish) if isinstance(wish, str)
        else owned.Expected(wish.cells, wish.triton, wish.targets, wish.reason)
        for wish in (*declared.xfail, *options.xfail)
    ]  # fmt: skip
    own = _own_issues(checkout)
    files = [file for file in (options.issues_file, own) if file]
    return owned.Owner(
        whose,
        options.fail_on == "compat" or declared.compat and options.fail_on is None,
        tuple(xfail),
        frozenset(issue.id for file in files for issue in issues.load(file)),
        owned.accepted(baseline.read(options.baseline)) if options.baseline else frozenset(),
    )


def known_issues(options: argparse.Namespace, checkout: Path = Path()) -> tuple[Issue, ...]:
    """Those of `--issues-file`, else crosswarp's; and those of the library in whose `checkout` we stand."""
    own = _own_issues(checkout)
    return (
        *issues.load(options.issues_file or issues.DEFAULT_FILE),
        *(issues.load(own) if own else ()),
    )


def _own_issues(checkout: Path) -> Path | None:
    """The known issues of the library itself, in a file beside its settings."""
    path = checkout / "issues.toml"
    if not path.is_file():
        return None
    return path if settings_file.of(checkout) is not None else None


def column_table(options: argparse.Namespace) -> tuple[Column, ...]:
    return columns.load(options.columns_file or columns.DEFAULT_FILE)


def target_table(options: argparse.Namespace) -> dict[str, Target]:
    return targets.load(options.targets_file or targets.DEFAULT_FILE)


def check_work(folder: Path) -> None:
    """Raises UsageError where `--work` names what cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"--work {folder}: {error.strerror or error}. Name a folder that can be written."
        ) from None


def check_out(out: Path | None) -> None:
    """Raises UsageError where `--out` names no file that can be written, before anything slow begins."""
    if out is None or out.parent.is_dir() and not out.is_dir() and os.access(out.parent, os.W_OK):
        return
    why = f"{out} is a folder" if out.is_dir() else f"{out.parent} is no folder that can be written"
    raise UsageError(f"--out {out}: {why}. Name a file that can be written.")


def write_out(text: str, out: Path | None) -> bool:
    """Write what a command makes into the file of --out, or to standard output. Returns whether it is a file."""
    if out is None:
        sys.stdout.write(text)
        return False
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--out {out}: {error.strerror or error}. Name a file that can be written."
        ) from None
    return True
