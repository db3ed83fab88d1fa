"""How many changes of speed that users reported are predicted, with direction and cause. Run by hand, on the host.

    python tests/proofs/reported.py FOLDER --column 3.6.0=PYTHON --column 3.7.1=PYTHON ..   # runs, then the table
    python tests/proofs/reported.py FOLDER                                                  # the table alone

reported.toml names each thread, the two releases and the kernel of reported/ that restates it. A release's cells are
kept in FOLDER; one whose store is there is not run again. Of a launch 4 programs are executed, at the size of the
thread.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from crosswarp.matrix.results import predicted
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store

DATA = Path(__file__).with_name("reported.toml")
SUITE = Path(__file__).with_name("reported")
HEAD = ("thread", "what", "releases, target", "reported", "predicted", "agrees", "cause")


class Case(NamedTuple):
    """`ratio`: how many times as long it is predicted to take; none where one side has no estimate, for `why`."""

    name: str
    ratio: float | None
    causes: tuple[str, ...] = ()
    why: str = ""


def load() -> list[dict[str, Any]]:
    return tomllib.loads(DATA.read_text("utf-8"))["report"]


def agrees(report: Mapping[str, Any], cases: Sequence[Case]) -> bool:
    """Slower: some case is reported as slower, and none as faster. Same: none is reported."""
    ratios = [one.ratio for one in cases if one.ratio is not None]
    slower = any(one >= predicted.FACTOR for one in ratios)
    faster = any(one <= 1 / predicted.FACTOR for one in ratios)
    return bool(ratios) and not faster and slower == (report["says"] == "slower")


def judged(
    report: Mapping[str, Any], before: Sequence[Record], after: Sequence[Record]
) -> Iterator[Case]:
    """Each case of the report that ran on both releases, as `crosswarp diff` judges it."""
    old = {one.case: one for one in before if _of(report, one)}
    for new in after:
        if not _of(report, new) or new.case not in old:
            continue
        was = old[new.case]
        found = predicted.prediction(was, new)
        if found is None:
            whys = (
                str(one.resources.get("not_estimated") or one.fingerprint) for one in (was, new)
            )
            yield Case(new.case, None, why=next(filter(None, whys), ""))
        else:
            yield Case(new.case, found.ratio, found.causes)


def _of(report: Mapping[str, Any], record: Record) -> bool:
    if (record.kernel, record.target) != (report["kernel"], report["target"]):
        return False
    return record.ran and any(fnmatch.fnmatch(record.case, one) for one in report["cases"])


def row(report: Mapping[str, Any], cases: Sequence[Case]) -> tuple[str, ...]:
    says = f"{report['says']} ({report['factor']})" if "factor" in report else report["says"]
    predicted_as = ", ".join(
        f"{one.name} {one.ratio:.2f}" if one.ratio else f"{one.name}: {one.why}" for one in cases
    )
    most = max((one for one in cases if one.ratio), key=lambda one: one.ratio or 0, default=None)
    cause = most.causes[0] if most and most.causes else ""
    return (
        report["thread"], report["what"], f"{report['before']} > {report['after']}, {report['target']}", says,
        predicted_as or "not run", "yes" if agrees(report, cases) else "no", cause,
    )  # fmt: skip


def run(folder: Path, pythons: Mapping[str, str]) -> None:
    """Runs each release once, with all kernels and targets that some report has of it."""
    for release, python in pythons.items():
        asked = [one for one in load() if release in (one["before"], one["after"])]
        store = folder / f"{release}.db"
        if not asked or store.exists():
            continue
        targets, kernels = (
            ",".join(sorted({one[name] for one in asked})) for name in ("target", "kernel")
        )
        command = [
            *(sys.executable, "-m", "crosswarp.reports.cli", "run", "--suite", str(SUITE)),
            *("--here", python, "--targets", targets, "--kernels", kernels, "--modes", "bare"),
            *("--sample", "4", "--work", str(folder / release), "--store", str(store)),
        ]
        subprocess.run(command, check=False)


def records(folder: Path, release: str) -> Sequence[Record]:
    store = folder / f"{release}.db"
    if not store.exists():
        return ()
    with Store(store, read_only=True) as opened:
        return opened.records(opened.run().id)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("folder", type=Path)
    parser.add_argument("--column", action="append", default=[], metavar="RELEASE=PYTHON")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    run(options.folder, dict(one.split("=", 1) for one in options.column))
    print("| " + " | ".join(HEAD) + " |")
    print("| --- " * len(HEAD) + "|")
    for report in load():
        both = [records(options.folder, report[side]) for side in ("before", "after")]
        print("| " + " | ".join(row(report, list(judged(report, *both)))) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
