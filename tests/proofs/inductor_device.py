"""Are the kernels that were generated without a GPU those that inductor writes on one? Program by program.

Run on a machine with a GPU, torch and Triton, by hand and not in CI; nothing is downloaded:

    python3 tests/proofs/inductor_device.py --out OUT --jobs 12 --seconds 100
    PYTHONPATH=another/triton python3 tests/proofs/inductor_device.py --out OUT --sides device --mode shimmed

Both sides are generated there, by the same torch: once with the GPU, where each program also runs on it and is
compared with eager, and once by `matrix/cell/kinds/inductor` with the GPU hidden. Of the two sources of a kernel what
only says where it was made is left out: comments, paths, the properties of the device, the hash of the backend. OUT
gets table.md and differences.txt.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIDES = ("device", "virtual")
# Choices of templates are timed on a device, one by one: they take minutes.
_SLOW = ("*_template", "*_matmul")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=100, help="for both sides together (100)")
    parser.add_argument(
        "--programs", default="", help="names, comma-separated (all but the templates)"
    )
    parser.add_argument(
        "--sides", default=",".join(SIDES), help="device, virtual (both): the comparison needs both"
    )
    parser.add_argument(
        "--mode",
        default="bare",
        choices=("bare", "shimmed"),
        help="with crosswarp's shims, or without",
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.programs.split(",") if options.programs else _names()
    ends = time.monotonic() + options.seconds
    started = []
    for side in options.sides.split(","):
        # Each process imports torch once, and takes its share of the programs.
        jobs = max(1, min(options.jobs // 2, len(names)))
        for number in range(jobs):
            started.append(_start(options, side, number, names[number::jobs]))
    for process in started:
        try:
            process.wait(max(1.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
    table, differences = _compared(options.out, options.target, names)
    (options.out / "table.md").write_text(table, "utf-8")
    (options.out / "differences.txt").write_text(differences, "utf-8")
    print(table)
    return 0


def _names() -> list[str]:
    sys.path.insert(0, str(_links()))
    from fnmatch import fnmatchcase

    from crosswarp.matrix.cell.kinds.inductor import programs

    return [name for name in programs.load() if not any(fnmatchcase(name, one) for one in _SLOW)]


def _links() -> Path:
    """A folder from which this checkout is imported as crosswarp."""
    folder = ROOT / ".links" / "crosswarp"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("compat", "kernels", "matrix", "reports"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name, target_is_directory=True)
    return folder.parent


def _start(
    options: argparse.Namespace, side: str, number: int, names: list[str]
) -> subprocess.Popen[bytes]:
    place = options.out.absolute() / f"{side}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    targets = tomllib.loads((ROOT / "matrix" / "facts" / "targets.toml").read_text("utf-8"))
    asked = {"folder": str(options.out.absolute() / side), "programs": names, "compile": False}
    if side == "device":
        asked["device"] = "cuda"
    spec = {
        "records": str(place / "records.jsonl"), "cache": str(place / "cache"), "expect": {},
        "modes": [options.mode],
        "targets": {options.target: targets[options.target]}, "time_limit": 60, "inductor": asked,
    }  # fmt: skip
    (place / "spec.json").write_text(json.dumps(spec), "utf-8")
    # What is on the path already may be another Triton.
    path = os.pathsep.join(filter(None, [str(_links()), os.environ.get("PYTHONPATH")]))
    # Whether there is a GPU is asked of its management library: the other way wakes it, and no fork has it then.
    environ = {**os.environ, "PYTHONPATH": path, "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    if side == "virtual":
        environ["CUDA_VISIBLE_DEVICES"] = ""
    with (place / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "crosswarp.matrix.cell.kinds.inductor", str(place / "spec.json")],
            env=environ, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip


def _cells(out: Path, side: str) -> dict[str, dict[str, str]]:
    found = {}
    for path in sorted(out.glob(f"{side}-*/records.jsonl")):
        for line in path.read_text("utf-8", "replace").splitlines():
            told = json.loads(line)
            if told["event"] == "cell":
                found[told["kernel"].removeprefix("inductor_")] = told
    return found


def _sources(folder: Path) -> list[str]:
    """What inductor wrote of a program, each kernel without what only says where it was made."""
    texts = [plain(path.read_text("utf-8")) for path in sorted(folder.glob("*.txt"))]
    return sorted(texts)


def plain(source: str) -> str:
    source = re.sub(r"^\s*#.*$", "", source, flags=re.M)
    source = re.sub(r"DeviceProperties\([^)]*\)", "DeviceProperties()", source)
    source = re.sub(r"'(backend_hash|filename)': '[^']*'", r"'\1': ''", source)
    return re.sub(r"\n\s*\n+", "\n", source)


def _compared(out: Path, target: str, names: list[str]) -> tuple[str, str]:
    cells = {side: _cells(out, side) for side in SIDES}
    rows, told = [], []
    for name in names:
        sides = [cells[side].get(name) for side in SIDES]
        states = [one["outcome"] if one else "not run" for one in sides]
        verdict, detail = "", ""
        if states == ["pass", "pass"]:
            mine, theirs = (_sources(out / side / target / name) for side in SIDES)
            if mine == theirs:
                verdict = f"the same {len(mine)} kernels"
            else:
                common = len([one for one in mine if one in theirs])
                lines = list(
                    difflib.unified_diff(
                        "\n".join(mine).splitlines(),
                        "\n".join(theirs).splitlines(),
                        *SIDES,
                        lineterm="",
                        n=0,
                    )
                )
                changed = [
                    one[1:].strip()
                    for one in lines
                    if one[:1] in "+-" and one[:3] not in ("+++", "---")
                ]
                verdict = f"{common} of {len(mine)} the same ({len(theirs)} virtual)"
                detail = changed[0][:60].replace("|", "\\|") if changed else ""
                told += [f"== {name}", *lines, ""]
        else:
            for side, one in zip(SIDES, sides):
                if one and one["outcome"] != "pass":
                    told += [f"== {name}, {side}: {one['outcome']}", one["message"][:2000], ""]
        rows.append(f"| {name} | {states[0]} | {states[1]} | {verdict} | {detail} |")
    same = sum("the same" in row and " of " not in row for row in rows)
    ran = sum("| pass |" in row for row in rows)
    head = "| program | on the device, against eager | without it | kernels | first difference |"
    head += "\n| --- | --- | --- | --- | --- |"
    ending = f"\n{same} of {ran} programs: every kernel the same.\n"
    return "\n".join([head, *rows]) + "\n" + ending, "\n".join(told) + "\n"


if __name__ == "__main__":
    sys.exit(main())
