"""New cases of the suite's kernels: their times on a GPU, and the predictions, as a table.

    python tests/proofs/kept_back.py suite DIR                      # writes the cases as suites: DIR/small and DIR/real
    PYTHON tests/proofs/kept_back.py time DIR OUT --part 1/4        # on a GPU, with a release's Python
    PYTHON -m crosswarp.reports.cli run --suite DIR/small --estimate --store STORES/small-RELEASE.db ..
    PYTHON -m crosswarp.reports.cli run --suite DIR/real --sample 4 --store STORES/real-RELEASE.db ..
    python tests/proofs/kept_back.py table TIMES STORES CSV         # pairs of neighbouring releases

kept_back.toml has the cases. Times are those of the lane device: medians of 25 launches, each after a wait that hides
the host. A case is timed on the same card with all releases.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

CASES = Path(__file__).with_name("kept_back.toml")
SEED = 20260
HEAD = ("before", "after", "set", "kernel", "case", "us_before", "us_after", "predicted")
_MODULE = '''"""New cases, written by kept_back.py."""

from dataclasses import replace

from crosswarp.kernels import load

_OF = load({kernel!r})
_BY_ID = {{case.id: case for case in _OF.cases}}
KERNEL = replace(_OF, cases=tuple(
    replace(_BY_ID[like], id=name, dtype=dtype, shape={{**_BY_ID[like].shape, **shape}}, real=shape if {real} else {{}})
    for name, like, dtype, shape in {cases!r}
))
'''


def write_suite(folder: Path) -> None:
    import tomllib

    for kernel, rows in tomllib.loads(CASES.read_text("utf-8")).items():
        by_set = defaultdict(list)
        for number, row in enumerate(rows, 1):
            name = f"new-{number}-{row['dtype']}"
            by_set["real" if row.get("real") else "small"].append(
                (name, row["like"], row["dtype"], row["shape"])
            )
        for which, cases in by_set.items():
            path = folder / which / f"{kernel}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = _MODULE.format(kernel=kernel, cases=tuple(cases), real=which == "real")
            path.write_text(text, "utf-8")


def time_cases(folder: Path, out: Path, part: str, warm: bool) -> None:
    """A line for each case: two times in milliseconds, or the error."""
    import triton

    at, parts = map(int, part.split("/"))
    out.mkdir(parents=True, exist_ok=True)
    paths = sorted(folder.glob("*/*.py"))[at - 1 :: parts]
    # A compiler may end the process, and a fault of a kernel the use of its GPU: the next child goes on behind it.
    begun = multiprocessing.get_context("fork").Value("i", -1)
    with (out / f"{triton.__version__}-{at}.jsonl").open("a") as stream:
        while True:
            child = os.fork()
            if not child:
                _time_on(paths, begun, stream, warm)
                os._exit(0)
            if os.waitpid(child, 0)[1] == 0:
                return


def _time_on(paths: Sequence[Path], begun: Any, stream: TextIO, warm: bool) -> None:
    import torch
    import triton

    from crosswarp.matrix.cell.kinds.suite import device

    number = -1
    for path in paths:
        which = path.parent.name
        try:
            spec = importlib.util.spec_from_file_location(f"{which}_{path.stem}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except Exception as error:
            print(path, type(error).__name__, error, file=sys.stderr)
            continue
        kernel = module.KERNEL
        for case in kernel.cases:
            number += 1
            if number <= begun.value:
                continue
            begun.value = number
            row = {
                "release": triton.__version__,
                "set": which,
                "kernel": path.stem,
                "case": case.id,
            }
            try:
                generator = torch.Generator(device="cpu").manual_seed(SEED)
                inputs = kernel.inputs(case, torch.device("cuda"), generator)

                def launch(kernel=kernel, inputs=inputs, case=case):
                    return kernel.launch(**inputs, **case.options)

                if warm:
                    launch()
                    torch.cuda.synchronize()
                else:
                    row["timing"] = [device.timed(launch) for _ in range(2)]
            except Exception as error:
                row["error"] = f"{type(error).__name__}: {error}"[:300]
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            if "CUDA error" in row.get("error", "") or "[CUDA]" in row.get("error", ""):
                os._exit(1)


def timed(folder: Path) -> dict[tuple[str, ...], float]:
    """By release, set, kernel and case: the least median in milliseconds, of the GPU alone."""
    measures = defaultdict(list)
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            key = row["release"], row["set"], row["kernel"], row["case"]
            measures[key] += row.get("timing") or [None]
    return {
        key: min(measure["median"] for measure in every)
        for key, every in measures.items()
        if all(measure and not measure["host_bound"] for measure in every)
    }


def write_table(times: Path, stores: Path, out: Path) -> None:
    from crosswarp.matrix.results import predicted
    from crosswarp.matrix.results.store import Store

    by_key = timed(times)
    records = {}
    for path in stores.glob("*.db"):
        which, release = path.stem.split("-")
        with Store(path, read_only=True) as opened:
            for record in opened.records(opened.run().id):
                records[release, which, record.kernel, record.case] = record
    releases = sorted({key[0] for key in by_key}, key=lambda text: tuple(map(int, text.split("."))))
    rows = []
    for before, after in zip(releases, releases[1:], strict=False):
        for key in sorted(key[1:] for key in by_key if key[0] == before):
            sides = (before, *key), (after, *key)
            if any(side not in by_key or side not in records for side in sides):
                continue
            prediction = predicted.prediction(*(records[side] for side in sides))
            if prediction is None:
                continue
            us = [f"{1000 * by_key[side]:.3f}" for side in sides]
            rows.append((before, after, *key, *us, f"{prediction.ratio:.4f}"))
    with out.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows(rows)
    print(f"{len(rows)} pairs of {len(by_key)} times and {len(records)} cells")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    suite = commands.add_parser("suite")
    suite.add_argument("folder", type=Path)
    timing = commands.add_parser("time")
    timing.add_argument("folder", type=Path)
    timing.add_argument("out", type=Path)
    timing.add_argument("--part", default="1/1")
    timing.add_argument("--warm", action="store_true", help="launch each once, which compiles it")
    pairs = commands.add_parser("table")
    for name in ("times", "stores", "csv"):
        pairs.add_argument(name, type=Path)
    options = parser.parse_args()
    if options.command == "suite":
        write_suite(options.folder)
    elif options.command == "time":
        time_cases(options.folder, options.out, options.part, options.warm)
    else:
        write_table(options.times, options.stores, options.csv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
