"""Every kernel of every torch in every Triton, standing alone: run, and told as a table. By hand, on a large machine.

    python tests/proofs/inductor_replay.py --written WORK --out OUT --columns 3.6.0=/overlays/3.6.0 \
        3.9.0=/overlays/3.9.0 --jobs 16 --seconds 500
    python tests/proofs/inductor_replay.py --written WORK --out OUT --table

WORK is a work folder of `crosswarp inductor`: what the torches wrote lies in WORK/inductor. A column is a Triton and
what comes before everything else on PYTHONPATH for it (nothing, `native=`, is the Triton that is installed). Each runs
through `crosswarp run --suite --here`: bare, and shimmed what is red there; the lane compile on all targets and the
lane emulate on one. Its store is OUT/TRITON.db. Called again it goes on with what has no verdict yet, so that a
deadline cuts off nothing but time. One run at a time for a WORK: each makes WORK/inductor/suite anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from crosswarp.matrix import versions
from crosswarp.matrix.cell.kinds.inductor.replay.names import PREFIX
from crosswarp.matrix.facts import issues
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.verdict import classify
from crosswarp.matrix.work import inductor

# Less than this is not worth a run: its interpreter has not even imported torch.
_SHORTEST = 25
# Of one run's command line.
_MOST_CASES = 1500


class Cell(NamedTuple):
    target: str
    lane: str
    mode: str
    kernel: str
    case: str


class Column(NamedTuple):
    name: str
    path: str


def main() -> int:
    options = _options()
    root = (options.written / "inductor").absolute()
    wanted = sorted(_planned(root, options))
    if not wanted:
        print(f"{root} holds no kernels of these. Write some first: crosswarp inductor", file=sys.stderr)  # fmt: skip
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + options.seconds
    if not options.table:
        asked = inductor.asked(None, options.programs.split(","))
        suite = inductor.write_suite(root, options.configurations, asked)
        for column in options.columns:
            for lane in options.lanes.split(","):
                cells = [one for one in wanted if one.lane == lane]
                _replay(options, suite, column, lane, cells, ends)
    text = table(options.out, wanted, issues.load())
    (options.out / "table.md").write_text(text, "utf-8")
    (options.out / "grid.md").write_text(grid(options.out, wanted), "utf-8")
    print(text)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--written", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--columns", type=_column, nargs="*", default=[], metavar="TRITON=PATH")
    parser.add_argument("--python", default=sys.executable, help="whose torch it is (this one)")
    parser.add_argument("--work", type=Path, help="caches and logs (OUT/work)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seconds", type=float, default=500, help="until nothing more begins (500)"
    )
    parser.add_argument("--targets", default="sm_80,sm_90,gfx942")
    parser.add_argument("--emulated", default="sm_80", help="targets of the lane emulate (sm_80)")
    parser.add_argument("--lanes", default="compile,emulate")
    parser.add_argument("--programs", default="*", help="globs, comma-separated")
    parser.add_argument("--configurations", type=int, default=1, help="of each kernel; 0: all (1)")
    parser.add_argument("--time-limit", type=int, default=90, help="seconds for one cell (90)")
    parser.add_argument("--table", action="store_true", help="run nothing: tell what the stores hold")  # fmt: skip
    return parser.parse_args()


def _column(text: str) -> Column:
    name, equals, path = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: write TRITON=PATH, or TRITON= for what is there")
    return Column(name, path)


def _planned(root: Path, options: argparse.Namespace) -> Iterator[Cell]:
    """What was written, as cells; named as `matrix/cell/kinds/inductor/replay` names them."""
    programs = inductor.check_programs(inductor.asked(None, options.programs.split(",")))
    on = {
        "compile": options.targets.split(","),
        "emulate": options.emulated.split(","),
    }
    for harvest in sorted(root.glob(f"*/{inductor.HARVEST}")):
        torch = json.loads(harvest.read_text("utf-8"))["torch"].partition("+")[0]
        for path in sorted(harvest.parent.glob("*/*/record.json")):
            record = json.loads(path.read_text("utf-8"))
            if record["program"] not in programs:
                continue
            for lane, case in _cases(record, options.configurations):
                if record["target"] in on[lane]:
                    kernel = PREFIX + record["program"]
                    yield Cell(record["target"], lane, "bare", kernel, f"{torch}-{case}")


def _cases(record: Mapping, most: int) -> Iterator[tuple[str, str]]:
    for kernel in record["kernels"]:
        for place, _ in enumerate(kernel["configurations"][: most or None]):
            yield "compile", f"{kernel['id']}-c{place}"
    for number, graph in enumerate(record["graphs"]):
        if not graph["lack"]:
            yield "emulate", f"graph{number}"


def _replay(
    options: argparse.Namespace,
    suite: Path,
    column: Column,
    lane: str,
    cells: Sequence[Cell],
    ends: float,
) -> None:
    """Bare, and shimmed what is red there: what has no verdict yet."""
    store = options.out / f"{column.name}.db"
    bare = [one for one in cells if one not in verdicts(store)]
    _run(options, suite, column, lane, "bare", bare, ends)
    found = verdicts(store)
    red = [one._replace(mode="shimmed") for one in cells if one in found and found[one].red]
    _run(options, suite, column, lane, "shimmed", [one for one in red if one not in found], ends)


def _run(
    options: argparse.Namespace,
    suite: Path,
    column: Column,
    lane: str,
    mode: str,
    cells: Sequence[Cell],
    ends: float,
) -> None:
    left = int(ends - time.monotonic())
    if not cells or left < _SHORTEST:
        return
    cases = sorted({one.case for one in cells})
    command = [
        sys.executable, "-m", "crosswarp.reports.cli", "run", "--suite", str(suite), "--here", options.python,
        "--work", str((options.work or options.out / "work") / column.name),
        "--store", str(options.out / f"{column.name}.db"),
        "--lanes", lane, "--modes", mode, "--targets", ",".join(sorted({one.target for one in cells})),
        "--kernels", ",".join(sorted({one.kernel for one in cells})),
        "--jobs", str(options.jobs), "--time-limit", str(options.time_limit), "--time-limit-alone", "0",
        "--column-limit", str(left),
    ]  # fmt: skip
    if len(cases) <= _MOST_CASES:
        command += ["--cases", ",".join(cases)]
    before = [column.path, *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, before))}
    began = time.monotonic()
    with (options.out / f"{column.name}.log").open("ab") as log:
        code = subprocess.run(
            command, env=environ, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        ).returncode
    told = f"{len(cells)} cells in {time.monotonic() - began:.0f} s, status {code}"
    print(f"{column.name} {lane} {mode}: {told}", flush=True)


def verdicts(path: Path) -> dict[Cell, Record]:
    """The newest verdict of each cell in a store: the worst of its configurations, and none of what was cut off."""
    found: dict[Cell, Record] = {}
    if not path.is_file():
        return found
    with Store(path) as store:
        for run in store.runs():
            of_run: dict[Cell, Record] = {}
            for one in store.records(run.id):
                if one.outcome == "not-run" or one.reason == "column limit" or one.case == "*":
                    continue
                cell = Cell(one.target, one.lane, one.mode, one.kernel, one.case)
                if cell not in of_run or one.red:
                    of_run[cell] = one
            found.update(of_run)
    return found


def fate(record: Record | None, known: Sequence[Issue]) -> str:
    """What is said of a cell: right, an issue that is known, a lack with its name, or what is in the way."""
    if record is None:
        return "not run"
    if record.outcome == "pass":
        return "pass"
    if record.outcome == "unsupported":
        return f"lack: {record.reason or record.message[:60]}"
    issue = classify(record, known, versions.of_column(record.column))
    if issue is not None:
        return f"issue: {issue.id}"
    if record.outcome == "limit":
        return f"lack: limit, {record.reason or record.fingerprint[:50]}"
    return f"RED: {record.outcome}, {record.fingerprint[:90]}"


def table(out: Path, wanted: Iterable[Cell], known: Sequence[Issue]) -> str:
    """Torch by Triton by target, of all stores in a folder; below it what else than passing was found, each counted."""
    rows: dict[tuple[str, str, str], dict[str, Counter[str]]] = {}
    told: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    wanted = list(wanted)
    for path in sorted(out.glob("*.db")):
        found = verdicts(path)
        said = (one.versions.get("triton") for one in found.values())
        triton = next(filter(None, said), path.stem)
        for cell in wanted:
            torch = cell.case.partition("-")[0]
            bare = fate(found.get(cell), known)
            counts = rows.setdefault(
                (torch, triton, cell.target), {"compile": Counter(), "emulate": Counter()}
            )[cell.lane]
            shimmed = found.get(cell._replace(mode="shimmed"))
            counts["all"] += 1
            counts[bare.partition(":")[0]] += 1
            if shimmed is not None and shimmed.outcome == "pass":
                counts["fixed"] += 1
            if bare not in ("pass", "not run"):
                fixed = fate(shimmed, known) if shimmed is not None else ""
                by = ", ".join(shimmed.shims) if shimmed is not None and fixed == "pass" else ""
                after = f" → shimmed: {fixed}{f' ({by})' if by else ''}" if fixed else ""
                told[triton, torch][f"{cell.lane} {cell.target}: {bare}{after}"] += 1
    lines = [
        "| written by torch | compiled by Triton | target | kernels | compile | known issue | lack | unexplained "
        "| fixed | not run | graphs right (emulated) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in sorted(rows, key=_order):
        one, graphs = rows[key]["compile"], rows[key]["emulate"]
        numbers = [
            one[name] for name in ("all", "pass", "issue", "lack", "RED", "fixed", "not run")
        ]
        right = f"{graphs['pass']} of {graphs['all']}" if graphs["all"] else ""
        if graphs["fixed"]:
            right += f" (+{graphs['fixed']} shimmed)"
        if graphs["not run"]:
            right += f" ({graphs['not run']} not run)"
        lines.append(f"| {' | '.join([*key, *map(str, numbers), right])} |")
    lines.append("")
    for (triton, torch), counts in sorted(told.items(), key=lambda one: _order(one[0])):
        for text, count in counts.most_common():
            lines.append(f"- Triton {triton}, torch {torch}: {count} × {text}")
    return "\n".join(lines) + "\n"


def grid(out: Path, wanted: Iterable[Cell]) -> str:
    """The same, shorter: by lane a row for a torch and a target, a column for a Triton. `92+3/102`: of 102 cells 92 are
    green bare and 3 more shimmed; `-`: that Triton has no such target; what has not run is not counted."""
    wanted = list(wanted)
    stores = sorted(out.glob("*.db"), key=lambda path: versions.base(path.stem) or path.stem)
    found = {path.stem: verdicts(path) for path in stores}
    lines = []
    for lane in ("compile", "emulate"):
        lines += [f"{lane}:", "", f"| torch | target | {' | '.join(found)} |"]
        lines.append(f"| --- | --- |{' --- |' * len(found)}")
        rows: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        for cell in wanted:
            if cell.lane == lane:
                rows[cell.case.partition("-")[0], cell.target].append(cell)
        for (torch, target), cells in sorted(rows.items(), key=lambda row: _order((row[0][0], *row[0]))):  # fmt: skip
            counts = [_count(cells, records) for records in found.values()]
            lines.append(f"| {torch} | {target} | {' | '.join(counts)} |")
        lines.append("")
    return "\n".join(lines)


def _count(cells: Iterable[Cell], found: Mapping[Cell, Record]) -> str:
    ran = [cell for cell in cells if cell in found]
    if not ran:
        return ""
    if all(found[cell].outcome == "unsupported" for cell in ran):
        return "-"
    bare = sum(found[cell].outcome == "pass" for cell in ran)
    red = [cell for cell in ran if found[cell].red]
    shimmed = [found.get(cell._replace(mode="shimmed")) for cell in red]
    fixed = sum(one is not None and one.outcome == "pass" for one in shimmed)
    return f"{bare}{f'+{fixed}' if fixed else ''}/{len(ran)}"


def _order(key: Sequence[str]) -> list:
    return [versions.base(key[0]), versions.base(key[1]), *key[2:]]


if __name__ == "__main__":
    sys.exit(main())
