"""The tables of docs/evidence/emulate.md on the whole suite and on its cost, from the stores of runs. Run by hand.

python tests/proofs/emulate_table.py STORE..      the results of each column, target and mode
python tests/proofs/emulate_table.py --cost STORE..       their seconds too, beside the lane compile of the same stores

Of a cell that ran more than once the newest run counts, so a later run of some cells completes a column. Cells that are
wrong, unknown or without a reason are listed below the table, and make the exit status 1.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

from packaging.version import Version

from crosswarp.matrix.facts import issues
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.run import unaccounted

LANE = "emulate"


class Row(NamedTuple):
    triton: str
    target: str
    mode: str


# By lane and row, the newest record of each cell: kernel, case and configuration.
Found = Dict[Tuple[str, Row], Dict[Tuple[str, str, str], Record]]


def read(paths: Iterable[Path]) -> Tuple[Found, List[str]]:
    """Return the cells, and the runs that did not end."""
    found: Found = {}
    runs, open_ended = [], []
    for path in paths:
        with Store(path, read_only=True) as store:
            for run in store.runs():
                records = store.records(run.id)
                runs.append((run.started, records))
                lacking = unaccounted(store.planned(run.id), records)
                cut = sum(record.outcome == "not-run" for record in records)
                if lacking or cut or run.status != "finished":
                    cases = sum(lacking.values()) + cut
                    open_ended.append(
                        f"{path.name}, run {run.id}: {run.status}, {cases} cases not run"
                    )
    for _, records in sorted(runs, key=lambda one: one[0]):
        for record in records:
            if record.case == "*" or not record.versions.get("triton"):
                # Stands for what nobody could be asked for.
                continue
            row = Row(record.versions["triton"], record.target, record.mode)
            key = (record.kernel, record.case, record.config)
            there = found.setdefault((record.lane, row), {})
            # What was cut off takes nothing away from what an earlier run found.
            if record.outcome != "not-run" or key not in there:
                there[key] = record
    return found, open_ended


def rows_of(found: Found, lane: str) -> List[Row]:
    return sorted(
        (row for one, row in found if one == lane),
        key=lambda row: (Version(row.triton), row.target, MODES.index(row.mode)),
    )


def suite_table(found: Found) -> Tuple[List[str], List[str]]:
    """The table's lines, and a line for each cell that is neither right nor known nor without a word."""
    known_issues = issues.load(issues.DEFAULT_FILE)
    lines = [
        "| Triton | target | mode | cases | cells | pass | known issue, inside its window | what the column has no "
        "word for, or its autotuner dropped | unknown instruction | else |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    wrong = []
    for row in rows_of(found, LANE):
        cells = list(found[LANE, row].values())
        # Both modes are judged together: what only the shims make red is no known issue.
        both = [
            record
            for mode in MODES
            for record in found.get((LANE, row._replace(mode=mode)), {}).values()
        ]
        judged = verdict.judge(both, known_issues)
        bad = [
            *judged.unexpected_red,
            *(record for record, _ in judged.shim_failed),
            *(green.record for green in judged.unexpectedly_green),
        ]
        bad_ids = {record.id for record in bad}
        count: Counter = Counter()
        for record in cells:
            kind = _kind(record, bad_ids)
            count[kind] += 1
            if kind == "else":
                wrong.append(_told(row, record))
        columns = [len({(r.kernel, r.case) for r in cells}), len(cells)]
        columns += [count[kind] for kind in ("pass", "known", "no word", "opcode", "else")]
        lines.append(f"| {' | '.join([*row, *map(str, columns)])} |")
    return lines, wrong


def _kind(record: Record, bad: set) -> str:
    if record.id in bad:
        return "else"
    if record.outcome == "pass":
        return "pass"
    if record.red:
        return "known"
    if record.outcome == "unsupported":
        return "opcode" if record.reason.startswith(("ptx:", "amdgcn:")) else "no word"
    return "else"


def _told(row: Row, record: Record) -> str:
    config = f" [{record.config}]" if record.config else ""
    said = record.message.strip().splitlines()
    return (
        f"{'/'.join(row)}/{record.kernel}/{record.case}{config}: {record.outcome} {record.reason}: "
        f"{said[0][:200] if said else ''}"
    )


def cost_table(found: Found) -> List[str]:
    lines = [
        "| Triton | target | mode | lane compile | lane emulate | of that the PTX machine | thread-instructions "
        "| a second |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows_of(found, LANE):
        compiled = _whole(found, "compile", row)
        emulated = _whole(found, LANE, row)
        told = _executed(found[LANE, row].values())
        spent = sum(one.get("seconds", 0.0) for one in told)
        count = sum(one.get("instructions", 0) for one in told)
        rate = f"{count / spent / 1e6:.1f} M" if spent else ""
        lines.append(
            f"| {' | '.join(row)} | {_seconds(compiled)} | {_seconds(emulated)} | {spent:.1f} s | {count:,} | {rate} |"
        )
    return lines


def _executed(records: Iterable[Record]) -> List[Dict[str, Any]]:
    """What the machine did, once: the configuration that a tuner chose has the figures of its case."""
    told: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
    for record in sorted(records, key=lambda one: one.config):
        those = told.setdefault((record.kernel, record.case), [])
        one = dict(record.resources.get("emulated") or {})
        if one and one not in those[:1]:
            those.append(one)
    return [one for those in told.values() for one in those]


def _whole(found: Found, lane: str, row: Row) -> List[Record]:
    """Those that ran, whole cases: a case's time is in its own cell and not in those of its configurations."""
    cells = found.get((lane, row), {}).values()
    return [record for record in cells if record.ran and not record.config]


def _seconds(records: List[Record]) -> str:
    return f"{sum(r.seconds for r in records):.1f} s, {len(records)} cases" if records else ""


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args(arguments)
    found, open_ended = read(options.stores)
    lines, wrong = suite_table(found)
    print("\n".join(lines))
    for line in [*wrong, *open_ended]:
        print(f"  {line}")
    if options.cost:
        print("\n" + "\n".join(cost_table(found)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
