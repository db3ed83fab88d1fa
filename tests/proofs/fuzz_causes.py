"""The smallest program of each cause that generated programs met: docs/evidence/fuzz-causes.md, from fuzz_causes.json.

    python tests/proofs/fuzz_causes.py --here PYTHON..   run each in each, keep what comes of it, write the page
    python tests/proofs/fuzz_causes.py                   write the page again

On the host, in a virtual environment with crosswarp[fuzz]; PYTHON are interpreters with a Triton and crosswarp, as of
`crosswarp fuzz --here`. A program is run in all of them, on both targets, as a generated one is: compiled to PTX, which
the lane emulate executes; what it means in numpy is beside it. `--only GLOB..` runs some, and a release that is not
given keeps what it had. The exit status is 1 where a program is red nowhere any more: then it shows nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.version import Version

from crosswarp.laboratory.fuzzing.meaning import answers, digests
from crosswarp.laboratory.fuzzing.program import Argument, Program
from crosswarp.laboratory.fuzzing.ran import Cell
from crosswarp.laboratory.fuzzing.worker import Lost, Worker
from crosswarp.matrix.facts import targets
from crosswarp.reports.text import escape
from crosswarp.reports.text.markdown import pipes

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_suffix(".json")
PAGE = ROOT / "docs" / "evidence" / "fuzz-causes.md"
TARGETS = ("sm_80", "sm_90")
SECONDS, MEGABYTES = 60.0, 6000
PASS, SILENT = "pass", "mismatch"
# How a cell of the table says it; what is not here is a crash.
WORDS = {
    PASS: "·",
    "mismatch": "**wrong**",
    "compile-error": "refused",
    "api-error": "refused",
    "timeout": "60 s",
}
WORDS["unsupported"] = "?"
# Of a message, in the page.
LONGEST = 160

HEAD = """# What generated programs met, program by program

These are the smallest programs of causes that [`crosswarp fuzz`](../fuzz.md) met, beside the cases in
[its table](fuzz-campaigns.md#what-it-found), with the result of each Triton. `python tests/proofs/fuzz_causes.py
--here PYTHON..` runs them again. {silent} of the {all} are silent somewhere. Each was cut down from a generated
program, line by line, as long as the compiler said the same and the program stayed well defined. Values from lines that
were cut are loaded. "·" is right numbers, bit for bit. "?" could not be executed here. A release that lacks
something a program uses refuses it. Reports were searched for on the day that is named, in public issues and pull
requests.

"""


@dataclass
class Cause:
    """A program, and what the releases make of it.

    Attributes:
        name: a heading.
        about: a sentence or two.
        met: seed and number of programs that met it.
        kernel, meaning, arguments, numbers, options: as of `crosswarp.laboratory.fuzzing.program.Program`.
        public: what reports say of it, with their links.
        searched: the day.
        red: release, target, and outcome and fingerprint where it is not right.
        ran: releases that were tried, and the day.
    """

    name: str
    about: str
    met: list[list[int]]
    kernel: str
    meaning: str
    arguments: list[dict[str, Any]]
    numbers: dict[str, int]
    options: dict[str, int]
    public: str = ""
    searched: str = ""
    red: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    ran: dict[str, str] = field(default_factory=dict)

    @property
    def program(self) -> Program:
        arguments = tuple(Argument(**one) for one in self.arguments)
        return Program(self.name, self.kernel, self.meaning, arguments, self.numbers, self.options)

    @property
    def silent(self) -> bool:
        return any(said[0] == SILENT for places in self.red.values() for said in places.values())

    def of(self, release: str, target: str) -> str:
        return self.red.get(release, {}).get(target, [PASS])[0]


def read() -> list[Cause]:
    return [Cause(**one) for one in json.loads(DATA.read_text("utf-8"))]


def write(causes: Iterable[Cause]) -> None:
    DATA.write_text(json.dumps([asdict(one) for one in causes], indent=1) + "\n", "utf-8")


def run(cause: Cause, worker: Worker, day: str) -> None:
    """Keep what this interpreter's Triton makes of it."""
    program, release = cause.program, worker.versions["triton"]
    expected = digests(answers(program))
    found: dict[str, list[str]] = {}
    for target in TARGETS:
        if target not in worker.targets or ("num_ctas" in program.options and target == "sm_80"):
            continue
        cell = Cell.of(release, target, worker.run(program.for_cell(), expected, target))
        if cell.outcome != PASS:
            found[target] = [cell.outcome, cell.fingerprint]
    cause.red.pop(release, None)
    if found:
        cause.red[release] = found
    cause.ran[release] = day
    # As a file: a run of one release changes its lines alone.
    for table in (cause.red, cause.ran):
        for one in sorted(table, key=Version):
            table[one] = table.pop(one)


def page(causes: Sequence[Cause]) -> str:
    releases = sorted({one for cause in causes for one in cause.ran}, key=Version)
    parts = [HEAD.format(silent=sum(one.silent for one in causes), all=len(causes))]
    for cause in sorted(causes, key=lambda one: (not one.silent, -len(one.red), one.name)):
        parts.append(_section(cause, releases))
    return "".join(parts).rstrip() + "\n"


def _section(cause: Cause, releases: Sequence[str]) -> str:
    kernel = cause.kernel[cause.kernel.index("@triton.jit") :].strip()
    arguments = ", ".join(f"`{one['name']}` {one['dtype']}" for one in cause.arguments)
    options = ", ".join(f"`{name}={value}`" for name, value in cause.options.items())
    numbers = "".join(f", `{name}` {value}" for name, value in cause.numbers.items())
    met = ", ".join(f"{number} of seed {seed}" for seed, number in cause.met)
    lines = [
        f"## {cause.name}", "", f"{cause.about} Met by {'program' if len(cause.met) == 1 else 'programs'} {met}. "
        f"{cause.public.rstrip('.')} (searched {cause.searched}).", "", "```python", kernel, "```", "",
        f"{arguments}{numbers}; {options}, two blocks.", "",
        pipes(["", *releases], [[target, *(_said(cause, one, target) for one in releases)] for target in TARGETS]), "",
    ]  # fmt: skip
    texts: dict[str, list[str]] = defaultdict(list)
    for release in releases:
        for outcome, fingerprint in cause.red.get(release, {}).values():
            if outcome not in (SILENT, "unsupported") and release not in texts[fingerprint]:
                texts[fingerprint].append(release)
    for text, those in texts.items():
        lines.append(f"- {', '.join(those)}: {escape.code(escape.line(text, LONGEST))}")
    return "\n".join(lines).rstrip() + "\n\n"


def _said(cause: Cause, release: str, target: str) -> str:
    if release not in cause.ran or ("num_ctas" in cause.options and target == "sm_80"):
        return ""
    return WORDS.get(cause.of(release, target), "crash")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--here", nargs="+", type=Path, default=[], metavar="PYTHON")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="GLOB", help="of their names")
    options = parser.parse_args(arguments)
    causes, day = read(), datetime.date.today().isoformat()
    table = targets.load()
    for python in options.here:
        with Worker(python, {name: table[name] for name in TARGETS}, SECONDS, MEGABYTES) as worker:
            for cause in causes:
                if not any(fnmatchcase(cause.name, glob) for glob in options.only):
                    continue
                try:
                    run(cause, worker, day)
                except Lost as error:
                    print(f"{cause.name}: {python}: {error}", file=sys.stderr)
                    return 1
                print(f"{worker.versions['triton']}: {cause.name}", flush=True)
        write(causes)
    PAGE.write_text(page(causes), "utf-8")
    green = [cause.name for cause in causes if cause.ran and not cause.red]
    for name in green:
        print(f"{name}: red nowhere; take it out of {DATA.name}")
    return 1 if green else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
