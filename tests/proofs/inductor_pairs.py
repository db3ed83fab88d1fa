"""Does this torch work with this Triton at all? Each torch beside each Triton, by `crosswarp inductor --pair`. By hand.

    python tests/proofs/inductor_pairs.py --out OUT --torches 2.6.0=ENV/bin/python .. --tritons 3.6.0=OVERLAY .. \
        [--seconds 600] [--both] [--replayed OUT_OF_INDUCTOR_REPLAY]

A torch is an interpreter that has it, a Triton a folder that comes first on PYTHONPATH. Each pair has its own store,
OUT/TORCH-TRITON.db: bare, and shimmed where that is red (--both: always). Called again it goes on with what has no
verdict yet. grid.md says the same as table.md, shorter, and docs/inductor.md has it. `right` is what the lane emulate
said of the same programs, written by that torch and compiled by that Triton: from the stores of inductor_replay.py.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from inductor_replay import PREFIX, Cell, verdicts

from crosswarp.compat import pairs
from crosswarp.matrix import versions
from crosswarp.matrix.facts import issues
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.verdict import classify

_SHORTEST = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--torches", nargs="*", default=[], metavar="TORCH=PYTHON")
    parser.add_argument("--tritons", nargs="*", default=[], metavar="TRITON=OVERLAY")
    parser.add_argument("--programs", default="layer_norm,softmax")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--seconds", type=float, default=600, help="until nothing more begins (600)")  # fmt: skip
    parser.add_argument("--time-limit", type=int, default=200)
    parser.add_argument("--both", action="store_true", help="shimmed also where bare is green")
    parser.add_argument("--replayed", type=Path, help="the folder of inductor_replay.py's stores")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + options.seconds
    # Bare first, of all of them: what is red there is what shims are asked for.
    for mode in MODES:
        for torch, triton in itertools.product(_named(options.torches), _named(options.tritons)):
            store = options.out / f"{torch[0]}-{triton[0]}.db"
            found = records(store)
            bare = [one for one in found if one.mode == "bare"]
            wanted = mode == "bare" or options.both or any(one.red for one in bare)
            if not wanted or any(one.mode == mode for one in found):
                continue
            if ends - time.monotonic() > _SHORTEST:
                _try(options, store, mode, Path(torch[1]), triton[1])
    text = table(options.out, options.replayed, options.programs.split(","), issues.load())
    (options.out / "table.md").write_text(text, "utf-8")
    (options.out / "grid.md").write_text(grid(options.out), "utf-8")
    print(text)
    return 0


def _named(texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(text.partition("=")[0], text.partition("=")[2]) for text in texts]


def _try(options: argparse.Namespace, store: Path, mode: str, python: Path, overlay: str) -> None:
    command = [
        sys.executable, "-m", "crosswarp.reports.cli", "inductor", "--pair", "--here", str(python),
        "--programs", options.programs, "--targets", options.target, "--modes", mode, "--jobs", "1",
        "--time-limit", str(options.time_limit), "--work", str(options.out / "work" / store.stem),
        "--store", str(store),
    ]  # fmt: skip
    before = [overlay, *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, before))}
    began = time.monotonic()
    with store.with_suffix(".log").open("ab") as log:
        code = subprocess.run(
            command, env=environ, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        ).returncode
    print(f"{store.stem} {mode}: {time.monotonic() - began:.0f} s, status {code}", flush=True)


def records(path: Path) -> list[Record]:
    """Of a pair, with the verdicts of the last run of each mode."""
    if not path.is_file():
        return []
    by_mode: dict[str, list[Record]] = {}
    with Store(path) as store:
        for run in store.runs():
            found = [one for one in store.records(run.id) if one.ran]
            for mode in {one.mode for one in found}:
                by_mode[mode] = [one for one in found if one.mode == mode]
    return [one for found in by_mode.values() for one in found]


# How far a cell came, by the phase that it was red in.
_STEPS = {"import": 0, "generate": 1, "compile": 2}


def far(found: Sequence[Record]) -> tuple[str, str, str]:
    """Whether a pair imports, generates and compiles, each in a word; empty where nothing was tried."""
    if not found:
        return ("", "", "")
    came = min(_STEPS.get(one.phase, 1) if one.red else 3 for one in found)
    return tuple("yes" if came > step else "no" if came == step else "" for step in range(3))  # type: ignore[return-value]


def table(out: Path, replayed: Path | None, programs: Sequence[str], known: Sequence[Issue]) -> str:
    lines = [
        "| torch | Triton | mode | imports | generates | compiles | right (emulated) | fixed by | in the way |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    told = {}
    emulated: dict[str, Mapping[Cell, Record]] = {}
    for path in out.glob("*.db"):
        torch, _, triton = path.stem.partition("-")
        if replayed is not None and triton not in emulated:
            emulated[triton] = verdicts(replayed / f"{triton}.db")
        found = records(path)
        bare = [one for one in found if one.mode == "bare"]
        reds = [classify(one, known, triton) for one in bare if one.red]
        for mode in MODES:
            mine = [one for one in found if one.mode == mode]
            if not mine:
                continue
            red = [one for one in mine if one.red]
            green = mode == "shimmed" and not red
            shims = {one.shim or "" for one in reds if one is not None}
            shims |= {need.shim for need in pairs.needs(torch, triton)}
            causes = sorted({one.fingerprint[:110].replace("|", "\\|") for one in red})
            ids = sorted({one.id for one in reds if one is not None}) if mode == "bare" else []
            way = "; ".join([*(f"`{one}`" for one in causes), *ids])
            told[torch, triton, mode] = [
                *far(mine),
                _right(emulated.get(triton, {}), torch, mode, programs),
                ", ".join(sorted(shims - {""})) if green and reds else "",
                way,
            ]
    for key in sorted(told, key=lambda one: (versions.base(one[0]), versions.base(one[1]), one[2])):
        lines.append(f"| {' | '.join([*key, *told[key]])} |")
    return "\n".join(lines) + "\n"


def grid(out: Path) -> str:
    """Torch by Triton: how a pair works, then what is in the way of those that do not as they are."""
    cells: dict[tuple[str, str], str] = {}
    reasons: dict[tuple[str, str, str, str], list[str]] = {}
    for path in sorted(out.glob("*.db"), key=lambda one: _release(one.stem.partition("-")[2])):
        torch, _, triton = path.stem.partition("-")
        found = records(path)
        red = {mode: [one for one in found if one.mode == mode and one.red] for mode in MODES}
        if not any(one.mode == "bare" for one in found):
            continue
        fixed = not red["shimmed"] and any(one.mode == "shimmed" for one in found)
        cells[torch, triton] = "no" if red["bare"] else "bare"
        if red["bare"]:
            cells[torch, triton] = "shimmed" if fixed else "no"
            shims = ", ".join(sorted({f"`{need.shim}`" for need in pairs.needs(torch, triton)}))
            left = "; ".join(_causes(red["shimmed"]))
            key = (torch, "; ".join(_causes(red["bare"])), shims if fixed else "", left)
            reasons.setdefault(key, []).append(triton)
    tritons = sorted({triton for _, triton in cells}, key=_release)
    torches = sorted({torch for torch, _ in cells}, key=_release)
    lines = [f"| torch | {' | '.join(tritons)} |", "| --- |" + " --- |" * len(tritons)]
    for torch in torches:
        row = [cells.get((torch, triton), "") for triton in tritons]
        lines.append(f"| {torch} | {' | '.join(row)} |")
    lines += ["", "| torch | Triton | in the way, bare | fixed by | in the way, shimmed |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    in_order = sorted(reasons.items(), key=lambda one: (_release(one[0][0]), _release(one[1][0])))
    for key, found in in_order:
        torch, *told = key
        lines.append(f"| {' | '.join([torch, ', '.join(found), *told])} |")
    return "\n".join(lines) + "\n"


def _release(text: str) -> versions.Version:
    return versions.base(text)


def _causes(red: Sequence[Record]) -> list[str]:
    """The first sentence of each; torch's advice and the file of an import left out."""
    found = set()
    for one in red:
        text = one.fingerprint.partition(". ")[0].partition(" (compiler")[0]
        found.add(text.partition(": Set TORCH")[0].rstrip(":")[:100].replace("|", "\\|"))
    return [f"`{one}`" for one in sorted(found)]


def _right(found: Mapping[Cell, Record], torch: str, mode: str, programs: Sequence[str]) -> str:
    """Of the graphs of these programs that the torch wrote: how many are right, shimmed where bare is not."""
    names = {PREFIX + one for one in programs}
    bare = {
        cell: one
        for cell, one in found.items()
        if cell.lane == "emulate" and cell.kernel in names and cell.mode == "bare"
        and cell.case.partition("-")[0] == torch
    }  # fmt: skip
    if mode == "shimmed":
        bare = {cell: found.get(cell._replace(mode=mode), one) for cell, one in bare.items()}
    green = sum(one.outcome == "pass" for one in bare.values())
    return f"{green} of {len(bare)}" if bare else ""


if __name__ == "__main__":
    sys.exit(main())
