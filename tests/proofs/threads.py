"""Which threads of maintainers crosswarp finds, and which it heals: docs/evidence/threads.md. Run by hand, on the host.

    python tests/proofs/threads.py --work FOLDER [--column 3.9.0=PYTHON] [--column 3.8.0=PYTHON:FOLDER ..] [--only TEXT]
    python tests/proofs/threads.py --work FOLDER --write         what FOLDER holds, as the page; nothing is run

threads.toml says of each thread which piece of ours shows it. Each piece is run: cells by `crosswarp run`, a small run
for each Triton, target and lane; commands as they stand. Their records are kept in FOLDER, and every word of the page
about what was found comes from them. Without --column a Triton's environment is built; a column at hand is a Python
with that Triton, or one with another and a folder that goes before it: `uv pip install --no-deps --target FOLDER
triton==3.8.0`.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from crosswarp.matrix.facts import datafile, issues
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import grown
from crosswarp.matrix.results.store import Store
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("threads.toml")
PAGE = ROOT / "docs" / "evidence" / "threads.md"


class Cells(BaseModel):
    """One case of ours, where it is looked at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernel: str
    case: str
    triton: str
    target: str = "sm_90"
    lane: Literal["compile", "emulate", "interpret", "device"] = "compile"
    # the Triton that it is compared with, where it is no failure but more registers, barriers or the like
    beside: str = ""
    # a regular expression: of the fingerprint, or the metric that changes
    seen: str


class Command(BaseModel):
    """A command of ours, and what it has to say: `{PYTHON}` stands for the Python of `triton`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    argv: tuple[str, ...]
    triton: str
    seen: str


class Thread(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    # owner/name#number, or a page's address
    threads: tuple[str, ...]
    # in our words
    what: str
    cells: Cells | None = None
    command: Command | None = None
    # why it is not looked for, or why it may be green
    why: str = ""


class File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    thread: tuple[Thread, ...]


@dataclass(frozen=True)
class Found:
    """What the records say of a thread."""

    how: str = ""
    # the fingerprint, or what the command said
    seen: str = ""
    shims: tuple[str, ...] = ()
    command: str = ""
    # why not, where it was not found
    why: str = ""


def load(path: Path = DATA) -> tuple[Thread, ...]:
    return datafile.load(path, File).thread


def found(
    thread: Thread, records: Mapping[str, Sequence[Record]], said: Mapping[str, str]
) -> Found:
    """`records`: of each Triton; `said`: by a Triton and a command, what it said, as one line."""
    if thread.cells is not None:
        return _of_cells(thread.cells, records, thread.why)
    if thread.command is not None:
        line = told(thread.command)
        output = said.get(f"{thread.command.triton} {line}")
        if output is None:
            return Found(command=line, why="not run")
        match = re.search(thread.command.seen, output)
        if match is None:
            return Found(command=line, why=thread.why or "the command does not say it")
        return Found(how=f"`crosswarp {thread.command.argv[0]}`", seen=match[0], command=line)
    return Found(why=thread.why)


def _of_cells(cells: Cells, records: Mapping[str, Sequence[Record]], why: str) -> Found:
    command = f"crosswarp run --columns {','.join(filter(None, (cells.beside, cells.triton)))} {_asked([cells])}"
    bare, shimmed = (
        _of_mode(cells, records.get(cells.triton, ()), mode) for mode in ("bare", "shimmed")
    )
    if not bare:
        return Found(command=command, why="not run")
    if cells.beside:
        before = _of_mode(cells, records.get(cells.beside, ()), "bare")
        changes = [
            change
            for one in bare
            for then in before
            if then.config == one.config
            for change in grown(then, one)
            if re.search(cells.seen, change.metric)
        ]
        if not changes:
            return Found(command=command, why=why or "its resources are the same")
        first = changes[0]
        how = f"{first.metric}, {'with a remark' if first.remark else 'worse'}"
        seen = f"{first.metric} {first.before:,} → {first.after:,} ({first.what})"
        return Found(how, seen, command=command)
    red = [one for one in bare if one.red and re.search(cells.seen, one.fingerprint)]
    if not red:
        other = next((one.fingerprint or one.outcome for one in bare), "")
        return Found(command=command, why=why or f"not seen: {other}")
    # Fixed is what is green with the shims and was red without, of every configuration that was.
    fixed = bool(shimmed) and not any(one.red for one in shimmed)
    fixed = fixed and any(one.outcome == "pass" for one in shimmed)
    # The record that explains the red names its shim; others may act on the same launch, or none while it is decorated.
    acted = {name for one in shimmed for name in one.shims}
    fixing = set(filter(None, (_shim_of(one.issue) for one in red))) or acted
    shims = tuple(sorted(fixing)) if fixed else ()
    return Found(f"red bare: {red[0].outcome}", red[0].fingerprint, shims, command)


def _shim_of(issue: str) -> str:
    return next((one.shim or "" for one in issues.load() if one.id == issue), "")


def _of_mode(cells: Cells, records: Iterable[Record], mode: str) -> list[Record]:
    return [
        one
        for one in records
        if (one.kernel, one.case, one.lane, one.mode)
        == (cells.kernel, cells.case, cells.lane, mode)
        and one.target in (cells.target, "")
        and one.ran
    ]


def _asked(several: Sequence[Cells]) -> str:
    """The options that ask `crosswarp run` for these cells, all of one target and lane."""
    kernels, cases = (
        ",".join(sorted({getattr(one, name) for one in several})) for name in ("kernel", "case")
    )
    one = several[0]
    return f"--targets {one.target} --lanes {one.lane} --kernels {kernels} --cases {cases}"


def told(command: Command) -> str:
    return f"crosswarp {' '.join(command.argv)}"


def page(threads: Sequence[Thread], all_found: Sequence[Found], when: str, trials: str) -> str:
    hits = [one for one in all_found if one.how]
    fixed = [one for one in hits if one.shims]
    links, rows = [0, 0], []
    for thread, one in zip(threads, all_found):
        names = " ".join(escape.link(name, _url(name)) for name in thread.threads)
        links[0] += len(thread.threads) * bool(one.how)
        links[1] += len(thread.threads) * bool(one.shims)
        rows.append([
            names, escape.markdown(thread.what),
            escape.markdown(one.how) if "`" not in one.how else one.how,
            escape.code(one.seen) if one.how else escape.markdown(f"not found: {one.why}"),
            ", ".join(f"[`{name}`](../shims.md#{name})" for name in one.shims),
            escape.code(one.command) if one.command else "",
        ])  # fmt: skip
    total = sum(len(one.threads) for one in threads)
    counted = (
        f"{links[0]} of {total} found, {links[1]} fixed; of {len(threads)} faults, since some were reported twice, "
        f"{len(hits)} and {len(fixed)}."
    )
    parts = [
        "# What maintainers reported, and what crosswarp says of it",
        f"Threads of 2024 to 2026 that maintainers of kernels opened. {counted} Made by "
        f"`python tests/proofs/threads.py`, which runs the command of each row; of {when}, on {trials}. No GPU was "
        "used.",
        "Found: our case is red bare, with that fingerprint; or what it costs is other than on the release before; "
        "or a command of ours says it. Fixed: the same case is green with the shims, and these acted. What was not "
        "found says why.",
        pipes(("thread", "what", "found", "seen", "fixed by", "command"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def _url(name: str) -> str:
    repository, _, number = name.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


# Running


@dataclass(frozen=True)
class Column:
    python: str = ""
    folder: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--column", action="append", default=[], metavar="TRITON=PYTHON[:FOLDER]")
    parser.add_argument("--only", default="", metavar="TEXT", help="threads and kernels with it")
    parser.add_argument(
        "--write", action="store_true", help="write docs/evidence/threads.md; run nothing"
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    threads = load()
    if not options.write:
        columns = {}
        for text in options.column:
            triton, _, where = text.partition("=")
            columns[triton] = Column(*where.split(":", 1))
        asked = [
            one for one in threads if options.only in f"{one.threads} {one.cells} {one.command}"
        ]
        run_cells([one.cells for one in asked if one.cells], columns, options.work)
        commands = {
            (one.command.triton, told(one.command)): one.command for one in asked if one.command
        }
        for command in commands.values():
            run_command(command, columns, options.work)
    records, days, versions = kept(options.work)
    said = (
        json.loads(_said(options.work).read_text("utf-8")) if _said(options.work).exists() else {}
    )
    all_found = [found(one, records, said) for one in threads]
    for thread, one in zip(threads, all_found):
        print(
            f"{thread.threads[0]:40} {one.how or 'NOT FOUND: ' + one.why:60.60} {','.join(one.shims)}"
        )
    print(f"{sum(bool(one.how) for one in all_found)} of {len(threads)} found, "
          f"{sum(bool(one.shims) for one in all_found)} fixed")  # fmt: skip
    if options.write:
        trials = "Triton " + ", ".join(versions)
        PAGE.write_text(page(threads, all_found, " to ".join(days), trials), encoding="utf-8")
    return 0


def run_cells(wanted: Sequence[Cells], columns: Mapping[str, Column], work: Path) -> None:
    groups: dict[tuple[str, str, str], list[Cells]] = collections.defaultdict(list)
    for one in wanted:
        for triton in filter(None, (one.triton, one.beside)):
            groups[triton, one.target, one.lane].append(one)
    for (triton, _, _), several in sorted(groups.items()):
        column = columns.get(triton)
        where = ["--here", column.python] if column else ["--columns", triton]
        print(f"{triton}: {_asked(several)}", flush=True)
        # A cell that is red ends it with 1; what it found is in its store.
        crosswarp(
            [
                *("run", *where, *_asked(several).split()),
                *("--work", str(work / triton), "--store", str(work / f"{triton}.db")),
            ],
            column,
        )


def run_command(command: Command, columns: Mapping[str, Column], work: Path) -> None:
    column = columns.get(command.triton)
    python = column.python if column else sys.executable
    argv = [word.replace("{PYTHON}", python) for word in command.argv]
    print(told(command), flush=True)
    said = json.loads(_said(work).read_text("utf-8")) if _said(work).exists() else {}
    # Of a terminal's lines, one text.
    said[f"{command.triton} {told(command)}"] = " ".join(crosswarp(argv, column, work).split())
    _said(work).write_text(json.dumps(said, indent=1), encoding="utf-8")


def crosswarp(argv: Sequence[str], column: Column | None, cwd: Path | None = None) -> str:
    environ = dict(os.environ)
    if column and column.folder:
        before = [column.folder, *filter(None, [environ.get("PYTHONPATH")])]
        environ["PYTHONPATH"] = os.pathsep.join(before)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("crosswarp")), *argv], env=environ, cwd=cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
    )  # fmt: skip
    if done.returncode not in (0, 1):
        print(done.stdout[-2000:], flush=True)
    return done.stdout


def _said(work: Path) -> Path:
    return work / "said.json"


def kept(work: Path) -> tuple[dict[str, list[Record]], list[str], list[str]]:
    """The records of each Triton, the first and the last day of their runs, and the versions. Of a cell, the latest."""
    records: dict[str, list[Record]] = {}
    days = set()
    for path in sorted(work.glob("*.db")):
        cells: dict[str, Record] = {}
        with Store(path, read_only=True) as store:
            for run in reversed(store.runs()):
                days.add(run.started[:10])
                asked = {one.item: one for one in store.records(run.id)}
                gone = [key for key, one in cells.items() if one.item in asked]
                for key in gone:
                    del cells[key]
                cells.update((one.id, one) for one in store.records(run.id))
        records[path.stem] = list(cells.values())
    ends = sorted(days)
    versions = sorted(records, key=lambda text: [int(part) for part in text.split(".")])
    return records, ends[:1] + ends[1:][-1:], versions


if __name__ == "__main__":
    sys.exit(main())
