"""Run unmodified GPU tests of published libraries with the pytest plugin, on several columns; then make the table.

    unmodified.py fetch SOURCES
    unmodified.py run SOURCES --column 3.6.0=ENV/bin/python … --overlay DIR --work WORK --sample 60
    unmodified.py table WORK --out docs/evidence/ecosystem.md

`run` leaves a file of records for each library, column and mode in WORK, and leaves out those that are there. Each red
test is given a cause by causes.toml, or stays without one. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODES = ("bare", "shimmed")
COLUMNS = ("3.2.0", "3.6.0", "3.9.0")
# Of these five the table is wanted, the others are more.
WANTED = ("Liger-Kernel", "flash-linear-attention", "FlagGems", "flash-attention", "attorch")
CLASSES = ("ours", "library", "Triton", "limit")
PLUGIN = "crosswarp.matrix.cell.pytest_plugin"


@dataclass
class Cell:
    """What one run of a library's tests left behind.

    Attributes:
        records: lines of --crosswarp-records.
        modules: test modules that could not be collected, and the last line of why.
        about: command, date, versions.
    """

    library: str
    column: str
    mode: str
    records: list[dict[str, Any]] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def count(self, *outcomes: str) -> int:
        return sum(record["outcome"] in outcomes for record in self.records)


def fetch(library: str, facts: dict[str, Any], folder: Path) -> None:
    target = folder / library
    if target.exists():
        return
    address = f"https://github.com/{facts['repository']}"
    commands = [
        ["git", "init", "-q", str(target)],
        ["git", "-C", str(target), "fetch", "-q", "--depth", "1", address, facts["revision"]],
        ["git", "-C", str(target), "checkout", "-q", "FETCH_HEAD"],
    ]
    for command in commands:
        subprocess.run(command, check=True)


def command_of(facts: dict[str, Any], python: str, options: argparse.Namespace) -> list[str]:
    """pytest on the library's tests, without the options of one run."""
    command = [python, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", "--no-header"]
    command += ["--virtual-gpu", options.target, "--virtual-gpu-lane", options.way]
    command += ["--crosswarp-sample", str(options.sample)]
    command += ["--crosswarp-time-limit", str(options.time_limit)]
    command += ["--continue-on-collection-errors", "--tb=short", "-o", "log_cli=false"]
    for name in facts.get("stub", ()):
        command += ["--crosswarp-stub", name]
    command += facts.get("options", [])
    command += [f"--ignore-glob={glob}" for glob in facts["ignore"]]
    return [*command, *facts["tests"]]


def run(
    library: str, facts: dict[str, Any], column: str, python: str, mode: str, options: Any
) -> None:
    name = f"{library}-{column}-{mode}"
    records, about = options.work / f"{name}.jsonl", options.work / f"{name}.json"
    if about.exists() and json.loads(about.read_text())["exit"] is not None:
        return
    records.unlink(missing_ok=True)
    checkout = (options.sources / library).resolve()
    links = options.work / "path" / "crosswarp"
    links.mkdir(parents=True, exist_ok=True)
    for part in ("compat", "kernels", "matrix"):
        if not (links / part).exists():
            (links / part).symlink_to(ROOT / part)
    command = command_of(facts, python, options)
    if mode == "shimmed":
        command.append("--crosswarp-shims")
    path = [str(links.parent), str(checkout / facts["source"]), *map(str, options.overlay)]
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join(path),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        TRITON_CACHE_DIR=str(options.work / "triton" / column),
        CROSSWARP_CACHE_DIR=str(options.work / "crosswarp"),
        **facts.get("env", {}),
    )
    print(f"{name} …", flush=True)
    began = datetime.datetime.now()
    told = {
        "command": " ".join(command[1:]),
        "date": began.date().isoformat(),
        "crosswarp": _commit(),
        # Until it has ended: what there is of a run that was stopped is told as such.
        "exit": None,
        "modules": {},
        "sample": options.sample,
        "time_limit": options.time_limit,
        "revision": facts["revision"],
    }
    about.write_text(json.dumps(told, indent=1))
    done = subprocess.run(
        [*command, "--crosswarp-records", str(records)],
        cwd=checkout, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (options.work / f"{name}.log").write_text(done.stdout + done.stderr)
    told["seconds"] = round((datetime.datetime.now() - began).total_seconds())
    told["modules"] = _not_collected(done.stdout) or _never_began(done)
    told["exit"] = done.returncode
    about.write_text(json.dumps(told, indent=1))
    cell = read(about)
    print(f"{name}: exit {done.returncode}, {told['seconds']} s, {dict(Counter(r['outcome'] for r in cell.records))}, "
          f"{len(cell.modules)} modules not imported", flush=True)  # fmt: skip


def _commit() -> str:
    """Of crosswarp, as it runs here; with a mark if the checkout holds more."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=8",
        "--exclude=*",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _not_collected(output: str) -> dict[str, str]:
    """Each module that could not be imported, and the error that it ended in."""
    found = {}
    for part in re.split(r"^_+ ERROR collecting ", output, flags=re.MULTILINE)[1:]:
        errors = re.findall(r"^E +(.*)", re.split(r"^[_=]{10,}", part, flags=re.MULTILINE)[0], re.M)
        found[part.split()[0]] = errors[-1] if errors else "it is not said why"
    return found


def _never_began(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Where pytest came to no test because a conftest cannot be imported: that error, for all modules."""
    errors = re.findall(r"^E +(.*)", done.stdout + done.stderr, re.M)
    return {"conftest (all modules)": errors[-1]} if done.returncode == 4 and errors else {}


def read(about: Path) -> Cell:
    library, column, mode = about.stem.rsplit("-", 2)
    told = json.loads(about.read_text())
    records = about.with_suffix(".jsonl")
    lines = records.read_text().splitlines() if records.exists() else []
    return Cell(library, column, mode, _one_each(map(json.loads, lines)), told["modules"], told)


def _one_each(lines: Any) -> list[dict[str, Any]]:
    """One record a test: a test that is green and breaks while it is torn down is red."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        before = found.get(line["test"])
        if before is None or before["outcome"] != "red":
            found[line["test"]] = line
    return list(found.values())


@dataclass(frozen=True)
class Cause:
    """A record of causes.toml: which reds it explains, and whose they are."""

    library: str
    triton: str
    matches: str
    cause: str
    says: str

    def explains(self, cell: Cell, test: str, why: str) -> bool:
        return (
            fnmatch(cell.library, self.library)
            and fnmatch(cell.column, self.triton)
            and re.search(self.matches, f"{test}\n{why}") is not None
        )


def causes() -> list[Cause]:
    table = tomllib.loads((HERE / "causes.toml").read_text())
    made = [Cause(**{"library": "*", "triton": "*", **one}) for one in table["cause"]]
    for one in made:
        if one.cause not in CLASSES:
            msg = f"causes.toml: {one.cause!r} is none of {', '.join(CLASSES)}"
            raise ValueError(msg)
    return made


def reds(cell: Cell, known: list[Cause]) -> Iterator[tuple[str, str, Cause | None]]:
    """Test or module, why, and its cause."""
    for record in cell.records:
        if record["outcome"] == "red":
            yield record["test"], record["why"], _cause(cell, record["test"], record["why"], known)
    for module, why in cell.modules.items():
        yield module, why, _cause(cell, module, why, known)


def _cause(cell: Cell, test: str, why: str, known: list[Cause]) -> Cause | None:
    return next((one for one in known if one.explains(cell, test, why)), None)


def table(cells: list[Cell], known: list[Cause]) -> str:
    lines = [
        "| library | Triton | mode | tests | compiled (launches) | no launch | skipped | n/a (numbers) | red "
        "| not imported | " + " / ".join((*CLASSES, "unknown")) + " |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    explained: dict[Cause, list[str]] = {}
    unknown: list[str] = []
    ours = total = 0
    for cell in sorted(
        cells, key=lambda one: (one.library.lower(), one.column, MODES.index(one.mode))
    ):
        whose: Counter[str] = Counter()
        for test, why, cause in reds(cell, known):
            whose[cause.cause if cause else "unknown"] += 1
            where = f"{cell.column} {cell.mode}"
            if cause is None:
                unknown.append(
                    f"- {cell.library}, {where}: `{test}`: {why.splitlines()[0][:160] if why else ''}"
                )
            else:
                explained.setdefault(cause, []).append(f"{cell.library} {where}")
        done = [
            record
            for record in cell.records
            if record["outcome"] in ("compiled", "computed", "interpreted")
        ]
        launches = sum(record["launches"] for record in done)
        skipped = cell.count("skipped", "xfailed", "unsupported", "timeout")
        numbers = sum("depends on numbers" in (record["why"] or "") for record in cell.records)
        ours += whose["ours"] + whose["unknown"]
        total += len(cell.records)
        lines.append(
            f"| {cell.library} | {cell.column} | {cell.mode} | {len(cell.records)}{_part(cell)} | "
            f"{len(done)} ({launches}) | "
            f"{cell.count('no launch')} | {skipped} | "
            f"{cell.count('not applicable')} ({numbers}) | {cell.count('red')} | {len(cell.modules)} | "
            + " / ".join(str(whose[name]) for name in (*CLASSES, "unknown")) + " |"
        )  # fmt: skip
    share = 100 * ours / total if total else 0.0
    lines += [
        "",
        f"{total} tests; red by our mapping, or without a known cause: {ours} ({share:.1f} %).",
        "",
    ]
    lines += ["## Causes", ""]
    for cause, places in explained.items():
        counted = ", ".join(f"{place} × {number}" for place, number in Counter(places).items())
        lines.append(f"- **{cause.cause}**: {cause.says} ({counted})")
    if unknown:
        lines += ["", "## Without a known cause", "", *unknown]
    return "\n".join(lines) + "\n"


def _part(cell: Cell) -> str:
    return "" if cell.about["exit"] is not None else f" of {cell.about['sample']}, stopped"


def page(cells: list[Cell]) -> str:
    dates = sorted({cell.about["date"] for cell in cells})
    samples = sorted({cell.about["sample"] for cell in cells})
    told = tomllib.loads((HERE / "libraries.toml").read_text())
    names = sorted({cell.library for cell in cells}, key=str.lower)
    revisions = ", ".join(f"{name} {told[name]['revision'][:8]}" for name in names)
    limits = sorted({_time_limit(cell) for cell in cells})
    between = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return "\n".join([
        "# Other libraries' own GPU tests, unmodified, without a GPU",
        "",
        "Written by `python tests/ecosystem/unmodified.py table`; how to run it: "
        "[tests/ecosystem](../../tests/ecosystem/README.md).",
        f"Run on {between}, lane compile, sm_90, two configurations of each autotuner, samples of at most "
        f"{' and '.join(map(str, samples))} tests a library, spread over its test functions. No number was judged.",
        f"Revisions: {revisions}. crosswarp: {', '.join(_commits(cells))}. "
        f"Time limit of a test: {' and '.join(f'{limit:g}' for limit in limits)} s.",
        _missing(cells, [name for name in told if name in WANTED or name in names]),
        "",
        "n/a is not applicable; in brackets those whose error comes after the library has read a number that no kernel "
        "computed ([what that means](../your-library.md#what-to-know)): neither green nor red.",
        "",
        "Whose a red is: **ours** (the mapping of torch onto the CPU), the **library**'s own (a requirement, or a bug "
        "of its tests), **Triton**'s (that release cannot compile it), a **limit** (time on this machine, downloads).",
        "",
        table(cells, causes()),
    ])  # fmt: skip


def _time_limit(cell: Cell) -> float:
    found = re.search(r"--crosswarp-time-limit (\S+)", cell.about.get("command", ""))
    return float(found[1]) if found else 0.0


def _commits(cells: list[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.about.get("crosswarp", "744ec10") for cell in cells))


def _missing(cells: list[Cell], libraries: list[str]) -> str:
    """What is wanted and was not run: a table of a part is no table of the whole."""
    have = {(cell.library, cell.column, cell.mode) for cell in cells}
    lines = []
    for column in COLUMNS:
        for mode in MODES:
            lacks = [name for name in libraries if (name, column, mode) not in have]
            if lacks:
                which = "all" if len(lacks) == len(libraries) else ", ".join(lacks)
                lines.append(f"{column} {mode}: {which}")
    return f"**Not run yet**: {'; '.join(lines)}." if lines else "All that is wanted was run."


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fetch")
    one.add_argument("sources", type=Path)
    one = commands.add_parser("run")
    one.add_argument("sources", type=Path)
    one.add_argument("--column", action="append", required=True, metavar="TRITON=PYTHON")
    one.add_argument(
        "--overlay",
        action="append",
        default=[],
        type=Path,
        help="folder with what the tests import",
    )
    one.add_argument("--work", type=Path, required=True)
    one.add_argument("--library", action="append")
    one.add_argument("--mode", action="append", choices=MODES)
    one.add_argument("--way", default="compile")
    one.add_argument("--target", default="sm_90")
    one.add_argument("--sample", type=int, default=60)
    one.add_argument("--time-limit", type=float, default=60)
    one = commands.add_parser("table")
    one.add_argument("work", type=Path)
    one.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    libraries = tomllib.loads((HERE / "libraries.toml").read_text())
    if options.command == "table":
        text = page([read(about) for about in sorted(options.work.glob("*.json"))])
        if options.out:
            before = options.out.read_text() if options.out.exists() else ""
            # What releases.py has written there stays.
            found = before.find("<!-- releases")
            options.out.write_text(text + (f"\n{before[found:]}" if found >= 0 else ""))
        else:
            print(text)
        return 0
    if options.command == "run":
        options.work = options.work.resolve()
        options.work.mkdir(parents=True, exist_ok=True)
        options.overlay = [folder.resolve() for folder in options.overlay]
    for name, facts in libraries.items():
        if options.command == "fetch":
            fetch(name, facts, options.sources)
        elif not options.library or name in options.library:
            for column, _, python in (text.partition("=") for text in options.column):
                for mode in options.mode or MODES:
                    run(name, facts, column, python, mode, options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
