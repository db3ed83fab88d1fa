"""Kills the host, a worker or a child of a run at random moments, and counts cells that the next command does not find.

    python tests/proofs/kills.py --kills 200

Each round begins a run of 30 fake cases in a column of its own folder and sends SIGKILL once: to the host, to a process
of the column, or to the child of a case. A cell is finished when its line is whole in the column's file of records.
Then `crosswarp runs` is called, and each finished cell must be in the store. Where the host lived, each case must be
there, or named as not run, and no process may be left. Exit status: 0 every round holds, 1 one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).absolute()
TESTS = HERE.parent.parent
CASES = 30
SUITE = f"""
import time
from crosswarp.kernels.case import Case, Kernel

def inputs(case, device, generator):
    time.sleep(0.01)
    return {{"x": 1}}

KERNEL = Kernel(
    "quick", tuple(Case(f"case-{{n}}", "fp32", {{}}, lanes=("interpret",)) for n in range({CASES})),
    inputs, lambda x: {{}}, lambda x: {{}}, {{"fp32": 0.0}},
)
"""


def host(folder: Path) -> int:
    """The run itself, in a process of its own."""
    from crosswarp.matrix.environments.environment import Environment
    from crosswarp.matrix.facts import columns
    from crosswarp.matrix.results.store import Store
    from crosswarp.matrix.running.plan import Plan
    from crosswarp.matrix.running.progress import PlainProgress
    from crosswarp.matrix.running.run import Runner
    from crosswarp.matrix.work.suite import Suite

    class Prepare:
        def __call__(self, column: columns.Column) -> Environment:
            return Environment(Path(sys.executable), column.id, {}, {}, ())

        def cancel(self) -> None:
            pass

    work = Suite(folder / "suite")
    chosen = tuple(columns.choose(columns.load(), ["triton-3.2.0"]))
    plan = Plan(
        work=work, columns=chosen, lanes=("interpret",), modes=("bare",), targets={}, jobs=2, time_limit=60
    )  # fmt: skip
    fake = ["/usr/bin/env", f"PYTHONPATH={TESTS / 'fake_column'}"]
    with Store(folder / "store.db") as store:
        return Runner(
            plan, store, folder / "work", Prepare(), PlainProgress(sys.stdout),
            command=lambda python, spec: [*fake, *work.argv(python, spec)],
        )().exit_code  # fmt: skip


def tree(pid: int) -> list[int]:
    """The processes below one, the nearest first."""
    found = [pid]
    for parent in found:
        for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, tasks.read_text().split())
            except OSError:
                continue
    return found[1:]


def finished(folder: Path) -> set[str]:
    """The cases whose cell is a whole line of a file of records."""
    cases = set()
    for records in folder.glob("work/runs/*/*.jsonl"):
        for line in records.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n") and (event := json.loads(line)).get("event") == "cell":
                cases.add(event["case"])
    return cases


def stored(folder: Path) -> set[str]:
    """The cases that the store has, once another command has looked."""
    from crosswarp.matrix.results.store import Store

    command = [
        sys.executable,
        "-m",
        "crosswarp.reports.cli",
        "runs",
        "--store",
        str(folder / "store.db"),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
    with Store(folder / "store.db", read_only=True) as store:
        return {record.case for record in store.records(store.run().id)}


def round_of(dice: random.Random, whom: str) -> tuple[str, int, float]:
    """Returns the fault ("" if there is none), the number of finished cells, and the seconds that the run took."""
    with tempfile.TemporaryDirectory(prefix="crosswarp-kills-") as name:
        folder = Path(name)
        (folder / "suite").mkdir()
        (folder / "suite" / "quick.py").write_text(SUITE)
        begun = time.monotonic()
        with open(folder / "log", "wb") as log:
            run = subprocess.Popen(
                [sys.executable, str(HERE), "--host", name], stdout=log, stderr=log, start_new_session=True
            )  # fmt: skip
        known: set[int] = set()
        if whom != "nobody":
            # At any number of finished cells, the beginning and the end among them; a few milliseconds later.
            count = dice.randrange(CASES + 1)
            while run.poll() is None and len(finished(folder)) < count:
                time.sleep(0.01)
            time.sleep(dice.uniform(0, 1.5 if count == 0 else 0.05))
            known.update(tree(run.pid))
            below = tree(run.pid)
            # The leader and its workers stand above the children of cases, which have none.
            leaves = [pid for pid in below if not tree(pid)]
            chosen = {
                "host": [run.pid],
                "child": leaves,
                "worker": [p for p in below if p not in leaves],
            }[whom]
            if run.poll() is None and chosen:
                try:
                    os.kill(dice.choice(chosen), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            else:
                whom = "nobody, it had ended"
        status = run.wait(timeout=300)
        took = time.monotonic() - begun
        ends = time.monotonic() + 20
        while (left := [pid for pid in known if alive(pid)]) and time.monotonic() < ends:
            time.sleep(0.1)
        done = finished(folder)
        if not (folder / "store.db").exists():
            return ("cells without a store" if done else ""), 0, took
        lost = done - stored(folder)
        if lost:
            return f"{whom}: {len(lost)} of {len(done)} finished cells lost", len(done), took
        if left:
            return f"{whom}: processes left: {left}", len(done), took
        tail = (folder / "log").read_text("utf-8", "replace")[-600:]
        # The host names the cases that a dead column did not run: no failure of the store.
        named = "did not run in the" in tail or "did not start" in tail
        if whom != "host" and status not in (0, 1, 3):
            return f"{whom}: exit {status}: {tail}", len(done), took
        if whom != "host" and not named and len(stored(folder)) < CASES:
            return f"{whom}: cases that are neither stored nor named: {tail}", len(done), took
        return "", len(done), took


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--host", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host:
        return host(options.host)
    dice = random.Random(options.seed)
    wrong, done, seconds = round_of(dice, "nobody")
    if done < CASES:
        wrong = (
            wrong
            or f"{done} of {CASES} cells finished: does this interpreter have pytest and xdist?"
        )
    print(f"without a kill: {seconds:.1f} s {wrong}", flush=True)
    amiss, rounds, cells = ([wrong] if wrong else []), Counter(), 0
    for _ in range(options.kills):
        whom = dice.choice(("host", "worker", "child"))
        wrong, done, _ = round_of(dice, whom)
        rounds[whom] += 1
        cells += done
        if wrong:
            amiss.append(wrong)
            print(wrong, flush=True)
    print(f"{dict(rounds)}: {cells} finished cells, {len(amiss)} rounds amiss")
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main())
