"""The tables of docs/evidence/inductor.md, from what was recorded. Run by hand.

    python tests/proofs/inductor_table.py RECORDS.jsonl.. [--store STORE]

RECORDS.jsonl are streams of `python -m crosswarp.matrix.cell.kinds.inductor` (WORK/runs/*/ of `crosswarp inductor`):
what was written and which pairs of torch and Triton were tried. STORE is that of `crosswarp inductor`, with its
replays.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from crosswarp.matrix import versions
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.protocol import Cell, Session
from crosswarp.matrix.results.store import Store


def read(paths):
    """By torch, Triton, case and mode: the cells of streams, of each program on each target the last."""
    found = defaultdict(dict)
    for path in paths:
        session = None
        for line in Path(path).read_bytes().splitlines():
            event = protocol.read(line)
            if isinstance(event, Session):
                session = event
            elif isinstance(event, Cell) and session is not None:
                pair = (public(session.versions["torch"]), public(session.versions["triton"]))
                found[(*pair, event.case, event.mode)][event.target, event.kernel] = event
    return {key: list(cells.values()) for key, cells in found.items()}


def public(text):
    return str(versions.base(text))


def tell(cells):
    ran = [one for one in cells if one.outcome != "unsupported"]
    green = sum(one.outcome == "pass" for one in ran)
    causes = Counter(one.fingerprint[:80] for one in ran if one.outcome != "pass")
    return f"{green} of {len(ran)}", "; ".join(f"`{cause}`" for cause, _ in causes.most_common(2))


def replayed(store):
    """By torch that wrote, Triton that compiled, lane and mode: outcomes."""
    found = defaultdict(Counter)
    for run in store.runs():
        for record in store.records(run.id):
            if record.kernel.startswith("inductor_") and not record.config and record.case != "*":
                wrote = record.case.partition("-")[0]
                triton = versions.of_column(record.column) or record.column.rpartition("-")[2]
                found[wrote, triton, record.lane, record.mode][record.outcome] += 1
    return found


def order(key):
    return [versions.base(key[0]), versions.base(key[1]), *key[2:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("records", nargs="*", type=Path)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    found = read(options.records)
    print(
        "| torch | Triton beside it | written, for each target | kernels |\n| --- | --- | --- | --- |"
    )
    for torch, triton, case, mode in sorted(found, key=order):
        if case == "written":
            targets = defaultdict(list)
            for one in found[torch, triton, case, mode]:
                targets[one.target].append(one)
            told = ", ".join(f"{name} {tell(cells)[0]}" for name, cells in sorted(targets.items()))
            kernels = sum(
                int(one.message.split()[0])
                for one in found[torch, triton, case, mode]
                if one.outcome == "pass"
            )
            print(f"| {torch} | {triton} | {told} | {kernels} |")
    print(
        "\n| torch | Triton | mode | programs green | in the way |\n| --- | --- | --- | --- | --- |"
    )
    for torch, triton, case, mode in sorted(found, key=order):
        if case == "pair":
            green, why = tell(found[torch, triton, case, mode])
            print(f"| {torch} | {triton} | {mode} | {green} | {why} |")
    if options.store:
        print(
            "\n| written by torch | compiled by Triton | lane | mode | cells |\n| --- | --- | --- | --- | --- |"
        )
        outcomes = replayed(Store(options.store, read_only=True))
        for key in sorted(outcomes, key=order):
            told = ", ".join(f"{count} {name}" for name, count in sorted(outcomes[key].items()))
            print(f"| {' | '.join(key)} | {told} |")


if __name__ == "__main__":
    main()
