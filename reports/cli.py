"""The command line.

    crosswarp run       the matrix: build what is missing, run, record, sum up
    crosswarp report    a stored run as a table, web pages, Markdown, JSON, JUnit XML or CSV
    crosswarp diff      what regressed between two columns, runs or baselines
    crosswarp baseline  write a run as a small file, to be committed and compared with
    crosswarp range     the releases that a suite was measured green on, as a version specifier
    crosswarp bisect    the first bad release for one kernel, or the verdict on this interpreter
    crosswarp reproduce a red cell as one script that needs torch and triton alone, to attach to a report
    crosswarp issues    the known issues and whether a run shows them; --new: records for what is not known
    crosswarp blame     which of Triton, torch, numpy and Python carries a regression between two columns
    crosswarp plan      the jobs of a run, columns × shards, for CI
    crosswarp merge     the runs of several machines as the one run that they are the parts of
    crosswarp github    the comment on a pull request, and an issue for each new root cause
    crosswarp badge     badges of a stored run, as SVG and for shields.io, and its grid as a picture
    crosswarp doctor    what is installed here, what the shims heal of it, and what is left
    crosswarp docs      the pages that are made from the records
    crosswarp libraries the ops of published libraries on every column, and the page that shows them
    crosswarp language  what triton.language holds in each release: names, options, what compiles
    crosswarp update    the releases of Triton that the table of columns lacks, as columns to paste
    crosswarp columns / targets / runs    what there is to choose from

Exit status: 0 as expected: what is red is known, and green shimmed wherever its record names a shim; 1 something
unexpectedly red or green (diff: something regressed; doctor: something known is left unhealed; issues: a record is
contradicted; docs --check: a page is old, or a record cannot be right; blame: it could not be told; bisect --here: bad,
and 125 when it cannot say); 2 usage (doctor: or there is no Triton; bisect, blame: or an end is not what it was said to
be); 3 an environment could not be built; 4 the store failed; 130 cancelled.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from crosswarp.reports.commands import ci_options, options, triage_options


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    # To `git bisect run` a 2 is a verdict, and a mistyped option is none.
    judging = arguments[:1] == ["bisect"] and any(one.startswith("--here") for one in arguments)
    try:
        from crosswarp.reports.commands import commands
    except ImportError as error:
        if (error.name or "").startswith("crosswarp"):
            raise
        print(
            f'crosswarp: {error}. Install the host side: pip install "crosswarp[matrix]" on Python 3.11 or newer. '
            "For the doctor alone, nothing but Python 3.9 is needed: python -m crosswarp.compat doctor",
            file=sys.stderr,
        )
        return 125 if judging else 2
    from crosswarp.matrix.errors import CrosswarpError

    try:
        chosen = _parser().parse_args(arguments)
    except SystemExit as stopped:
        if judging and stopped.code:
            return 125
        raise
    try:
        return getattr(commands, chosen.command)(chosen, arguments)
    except CrosswarpError as error:
        sys.stdout.flush()
        print(f"crosswarp: {commands.printable(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("crosswarp: cancelled", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `crosswarp report | head`: nobody reads any more, which is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 125 if judging else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crosswarp",
        description="Runs a Triton kernel suite on every Triton x torch pair and says what regressed.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the matrix", description="Run the matrix.")
    what = options.what(run)
    what.add_argument(
        "--shard", metavar="K/N",
        help="the K-th of N shares of each column's cases, to be merged: crosswarp merge",
    )  # fmt: skip
    what.add_argument(
        "--here",
        nargs="?",
        type=Path,
        const=Path(sys.executable),
        metavar="PYTHON",
        help="run in the interpreter at hand (or the one named) with whatever Triton it imports; nothing is built",
    )
    how = run.add_argument_group("how")
    how.add_argument(
        "--fresh",
        action="store_true",
        help="compile everything again, rather than take from Triton's cache what an earlier run compiled",
    )
    options.limits(how)
    where = run.add_argument_group("where")
    where.add_argument(
        "--work", type=Path, default=Path(".crosswarp"), metavar="DIR",
        help="environments, caches and logs (.crosswarp)",
    )  # fmt: skip
    for name in ("columns", "targets", "issues"):
        where.add_argument(
            f"--{name}-file", type=Path, metavar="TOML", help=f"instead of crosswarp's {name}.toml"
        )
    options.store(where)

    report = commands.add_parser(
        "report", help="show a stored run", description="Show a stored run."
    )
    report.add_argument(
        "--format", choices=("table", "html", "markdown", "comment", "json", "junit", "csv"), default="table",
        help="comment: Markdown for a pull request or a job summary, what is wrong first, under 60,000 bytes",
    )  # fmt: skip
    report.add_argument(
        "--out", type=Path, metavar="DIR", help="where html goes, a folder of pages to open or to publish"
    )  # fmt: skip
    report.add_argument(
        "--link", default="", metavar="URL", help="where a comment says the whole is"
    )
    report.add_argument("--run", type=options.positive, metavar="ID", help="default: the latest")
    report.add_argument("--issues-file", type=Path, metavar="TOML")
    options.store(report)

    _diff(commands.add_parser(
        "diff", help="compare columns, runs or baselines",
        description="Say what regressed from A to B, one group for each root cause. A and B are each a column "
        "(triton-3.2.0, of the latest run), a run (its number, or `run` for the latest), a column of a run "
        "(3:triton-3.2.0), or a baseline file. Exit status: 0 nothing regressed, 1 something did, 2 usage.",
    ))  # fmt: skip
    _baseline(commands.add_parser(
        "baseline", help="write a run as a file to compare with",
        description="Write a run as a small, sorted text file, to be committed and given to `crosswarp diff`.",
    ))  # fmt: skip
    _range(commands.add_parser(
        "range", help="the releases a suite is green on",
        description="Print the measured floor, ceiling and holes of a suite as version specifiers of Triton and torch, "
        "bare and with the shims, and of each kernel. Only what a run measured counts: what it did not run is named.",
    ))  # fmt: skip
    _bisect(commands.add_parser(
        "bisect", help="the first bad release for one kernel",
        description="Find the first bad release between a good and a bad one, with a small run for each step. With "
        "--here, judge the interpreter at hand for `git bisect run`: exit status 0 good, 1 bad, 125 cannot say.",
    ))  # fmt: skip
    _blame(commands.add_parser(
        "blame", help="what carries a regression between two columns",
        description="Swap Triton, torch, numpy and Python one at a time and both ways between a column where a kernel "
        "is green and one where it is red, and name what carries it. Exit status: 0 told, also that only the "
        "combination does; 1 it could not be told (3 where a combination could not be installed); 2 usage, or the "
        "columns do not differ.",
    ))  # fmt: skip
    triage_options.add(commands)
    ci_options.add(commands)
    columns = commands.add_parser(
        "columns", help="list the columns", description="List the columns."
    )
    columns.add_argument(
        "names", nargs="*", metavar="GLOB",
        help="only these, as `crosswarp run --columns` takes them: also off the table, triton-3.2.0+torch-2.5.1",
    )  # fmt: skip
    columns.add_argument("--columns-file", type=Path, metavar="TOML")
    # For nox and other programs: one id a line and nothing else.
    columns.add_argument("--ids", action="store_true", help="ids only, one a line")
    update = commands.add_parser(
        "update", help="propose columns for new releases",
        description="Ask the package index (as uv and pip are set up) which releases of Triton the table of columns "
        "lacks and which torch pins them, and print each as a column to paste.",
    )  # fmt: skip
    update.add_argument("--write", action="store_true", help="put them into the table")
    update.add_argument("--columns-file", type=Path, metavar="TOML")
    targets = commands.add_parser(
        "targets", help="list the targets", description="List the targets."
    )
    targets.add_argument("--targets-file", type=Path, metavar="TOML")
    runs = commands.add_parser(
        "runs", help="list the stored runs", description="List the stored runs."
    )
    options.store(runs)
    _doctor(commands.add_parser(
        "doctor", help="what is here, what is healed, what is left",
        description="Say which Triton, torch and devices are here, which shims are active on them and why, and which "
        "known issues are left. Exit status: 0 nothing known is left unhealed, 1 something is, 2 usage or no Triton.",
    ))  # fmt: skip
    docs = commands.add_parser(
        "docs", help="make docs/ from the records",
        description="Write what is made from the records: shims.md, api.md, language.md and report.schema.json, and "
        "issues.md of a baseline.",
    )  # fmt: skip
    docs.add_argument("--out", type=Path, default=Path("docs"), metavar="DIR", help="(docs)")
    docs.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit 1 if a page is out of date or a record of issues.toml cannot be right",
    )
    docs.add_argument(
        "--baseline", type=Path, metavar="FILE", help="(baseline/all.json, where there is one)"
    )
    docs.add_argument("--issues-file", type=Path, metavar="TOML")
    _language(commands.add_parser(
        "language", help="what triton.language holds in each release",
        description="Find every public name of triton.language in each published column, probe it and its options "
        "(does it compile, is the interpreter right), and compare with the table, which docs/language.md shows. Exit "
        "status: 0 as the table says, or written; 1 it differs, or a column could not be asked.",
    ))  # fmt: skip
    _libraries(commands.add_parser(
        "libraries", help="run the ops of published libraries",
        description="Import and launch, forward and backward, the main ops of published libraries on every column, and "
        "write libraries.md from all that was stored. Exit status: 1 when an op is green bare and red shimmed, or red "
        "shimmed without a cause in libraries.toml, or a cause there explains nothing any more.",
    ))  # fmt: skip
    return parser


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="what it was")
    parser.add_argument("b", metavar="B", help="what it is now")
    parser.add_argument("--format", choices=("table", "markdown", "json"), default="table")
    parser.add_argument("--issues-file", type=Path, metavar="TOML")
    options.store(parser)


def _baseline(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    write = actions.add_parser("write", help="write it", description=parser.description)
    write.add_argument("file", type=Path, metavar="FILE")
    write.add_argument("--run", type=options.positive, metavar="ID", help="default: the latest")
    options.store(write)


def _range(parser: argparse.ArgumentParser) -> None:
    for name in ("kernels", "targets", "lanes"):
        parser.add_argument(
            f"--{name}",
            action="append",
            metavar="GLOB,..",
            help="(default: all that the run holds)",
        )
    parser.add_argument("--format", choices=("table", "markdown", "json"), default="table")
    parser.add_argument("--run", type=options.positive, metavar="ID", help="default: the latest")
    parser.add_argument("--columns-file", type=Path, metavar="TOML")
    options.store(parser)


def _bisect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL")
    for name, meaning in (
        ("good", "a release where it is green, such as 3.1.0 or triton-3.1.0"),
        ("bad", "a release where it is red; older than the good one, to find what mended it"),
    ):
        parser.add_argument(f"--{name}", metavar=name.upper(), help=meaning)
    among = parser.add_mutually_exclusive_group()
    among.add_argument(
        "--wheels", type=Path, metavar="DIR", help="search among the Triton wheels of a folder"
    )
    among.add_argument(
        "--index", metavar="URL", help="search among the builds of a package index, such as a nightly one"
    )  # fmt: skip
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--here", nargs="?", type=Path, const=Path(sys.executable), metavar="PYTHON",
        help="judge the interpreter at hand (or the one named) and search nothing",
    )  # fmt: skip
    _trial(parser)


def _blame(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL")
    parser.add_argument(
        "a", metavar="A", help="a column where it is green, such as triton-3.1.0 or 3.1.0"
    )
    parser.add_argument(
        "b", metavar="B", help="one where it is red, such as triton-3.1.0+numpy-2.0.2"
    )
    _trial(parser)


def _trial(parser: argparse.ArgumentParser) -> None:
    """How one kernel is tried on one column at a time."""
    for name, default, meaning in (
        ("target", "sm_90", "(sm_90)"),
        ("lane", "compile", "compile, emulate, interpret, device (compile)"),
        ("mode", "bare", "bare, shimmed (bare)"),
    ):
        parser.add_argument(f"--{name}", default=default, metavar=name.upper(), help=meaning)
    parser.add_argument(
        "--case", default="*", metavar="GLOB", help="only these cases count (default: all)"
    )
    parser.add_argument(
        "--suite", type=Path, metavar="DIR", help="a folder of kernel modules instead of ours"
    )
    options.limits(parser)
    parser.add_argument("--work", type=Path, default=Path(".crosswarp"), metavar="DIR")
    for name in ("columns", "targets", "issues"):
        parser.add_argument(f"--{name}-file", type=Path, metavar="TOML")
    options.store(parser)


def _language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="only these, such as tl.load or 'tl.atomic_*', tensor.sum, libdevice.tanh, launch.num_warps",
    )  # fmt: skip
    parser.add_argument(
        "--columns", action="append", metavar="GLOB,..", help="(default: every published pair)"
    )
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--write", action="store_true", help="put what was found into the table")
    does.add_argument("--no-run", action="store_true", help="run nothing: show what the table says")
    does.add_argument(
        "--here", nargs="?", type=Path, const=Path(sys.executable), metavar="PYTHON",
        help="ask the interpreter at hand (or the one named), and show it beside the table",
    )  # fmt: skip
    for name, default, metavar, meaning in (
        ("time-limit", 60, "S", "for one probe (60)"),
        ("memory-limit", 6000, "MB", "for one probe (6000)"),
        ("column-limit", 3600, "S", "for one lane of a column (3600)"),
        ("jobs", None, "N", "lanes of columns at a time (default: the CPUs at hand)"),
    ):
        parser.add_argument(
            f"--{name}", type=options.positive, default=default, metavar=metavar, help=meaning
        )
    parser.add_argument("--work", type=Path, default=Path(".crosswarp"), metavar="DIR")
    parser.add_argument("--columns-file", type=Path, metavar="TOML")
    parser.add_argument(
        "--language-file", type=Path, metavar="JSON", help="instead of crosswarp's language.json"
    )


def _libraries(parser: argparse.ArgumentParser) -> None:
    for name, meaning in (
        ("libraries", "releases, such as liger-kernel-0.5.10 (default: all)"),
        ("columns", "ids or globs (default: every published pair)"),
        ("targets", "(default: sm_90,gfx942)"),
        ("modes", "bare, shimmed (default: both)"),
        ("ops", "names of ops (default: all)"),
    ):
        parser.add_argument(f"--{name}", action="append", metavar="GLOB,..", help=meaning)
    for name, default, metavar, meaning in (
        ("configurations", 2, "N", "to which an autotuned kernel is limited; 0 for all (2)"),
        ("time-limit", 300, "S", "for one op (300)"),
        ("memory-limit", 6000, "MB", "for one compilation (6000)"),
        ("column-limit", 7200, "S", "for one column (7200)"),
    ):
        kind = int if name == "configurations" else options.positive
        parser.add_argument(f"--{name}", type=kind, default=default, metavar=metavar, help=meaning)
    parser.add_argument("--jobs", type=options.positive, metavar="N", help="ops at a time")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="leave out the columns that were run whole since the last change",
    )
    parser.add_argument(
        "--no-run", action="store_true", help="run nothing: judge and write what is stored"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("docs"), metavar="DIR", help="where libraries.md goes (docs)"
    )  # fmt: skip
    parser.add_argument("--work", type=Path, default=Path(".crosswarp"), metavar="DIR")
    for name in ("columns", "libraries"):
        parser.add_argument(f"--{name}-file", type=Path, metavar="TOML")
    parser.add_argument(
        "--store", type=Path, default=Path(".crosswarp/libraries.db"), metavar="PATH",
        help="its own SQLite file (.crosswarp/libraries.db)",
    )  # fmt: skip


def _doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument("--json", action="store_true", help="for programs")
    doctor.add_argument(
        "--python",
        type=Path,
        metavar="PYTHON",
        help="look at this interpreter's environment instead of our own",
    )
    doctor.add_argument(
        "--targets", action="append", metavar="NAME,..",
        help="sm_90, gfx*, H100, ... to judge issues for (default: the devices here, or all when there is none)",
    )  # fmt: skip
    doctor.add_argument(
        "--guard",
        choices=("auto", "always", "off"),
        default="auto",
        help="as for compat.install (auto)",
    )
    doctor.add_argument(
        "--timeout",
        type=options.positive,
        default=120,
        metavar="S",
        help="for asking torch and the devices (120)",
    )
    doctor.add_argument("--issues-file", type=Path, metavar="TOML")


if __name__ == "__main__":
    sys.exit(main())
