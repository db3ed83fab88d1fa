"""Unmodified tests of six libraries, each on this GPU and in the lane compile on the virtual sm_90, and a table.

    python on_device.py pack SOURCES --sources sources.tar.xz      where unmodified.py has fetched them
    python on_device.py run --sources sources.tar.xz               on the machine with the GPU; needs no network

Both sides take the same sample and the first and last configuration of each autotuner. Exit 1: a test that is green on
the GPU fails in the lane compile, or a failure to compile was not seen there.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Compiling, assembling and the limits of a launch: what the lane compile has to see.
COMPILES = re.compile(
    r"CompilationError|OutOfResources|out of resource|PassManager|CompileTimeAssertion|UnsupportedLanguage|"
    r"PTXAS|ptxas|Triton Error \[CUDA\]: invalid|SIGABRT|SIGSEGV|triton/compiler|LinearLayout"
)
GREEN = ("compiled", "no launch")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("pack", "run"))
    parser.add_argument("folder", type=Path, nargs="?", help="pack: the checkouts")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--repo", type=Path, default=Path.cwd(), help="a checkout of crosswarp (.)")
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--deadline", type=float, default=330)
    parser.add_argument(
        "--time-limit", type=float, default=90, help="for a test, on the virtual GPU"
    )
    parser.add_argument("--only", action="append")
    parser.add_argument("--virtual-only", action="store_true")
    parser.add_argument("--overlay", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--out", type=Path, default=Path(os.environ.get("OUT") or tempfile.mkdtemp())
    )
    options = parser.parse_args()
    libraries = tomllib.loads((HERE / "libraries.toml").read_text("utf-8"))
    if options.what == "pack":
        return pack(libraries, options.folder, options.sources)
    ends = time.monotonic() + options.deadline
    work = Path(tempfile.mkdtemp(prefix="agree-"))
    with tarfile.open(options.sources) as archive:
        archive.extractall(work / "src", filter="data")
    links = work / "path" / "crosswarp"
    links.mkdir(parents=True)
    for part in ("compat", "kernels", "matrix"):
        (links / part).symlink_to((options.repo / part).resolve())
    chosen = [name for name in libraries if not options.only or name in options.only]
    running = []
    for name in chosen:
        for side in ("virtual",) if options.virtual_only else ("real", "virtual"):
            running.append((name, side, start(name, libraries[name], side, work, options)))
    print(
        f"{len(running)} runs, unpacked in {options.deadline - (ends - time.monotonic()):.0f} s",
        flush=True,
    )
    for name, side, process in running:
        try:
            process.wait(max(0.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            print(f"{name} {side}: stopped at the deadline", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = tell(chosen, work, options)
    for name, side, _ in running:
        log = work / f"{name}-{side}.log"
        (options.out / f"{name}-{side}.log").write_text(log.read_text(errors="replace")[-200_000:])
    return 1 if wrong else 0


def pack(libraries, folder, sources):
    """What the tests need of each checkout: Python and its settings."""
    kept = {".py", ".pyi", ".toml", ".ini", ".cfg", ".yaml", ".yml", ".json", ".txt"}
    with tarfile.open(sources, "w:xz") as archive:
        for name in libraries:
            for path in sorted((folder / name).rglob("*")):
                if path.suffix in kept and path.is_file() and ".git" not in path.parts:
                    archive.add(path, path.relative_to(folder))
    print(f"{sources.stat().st_size} bytes")
    return 0


def start(name, facts, side, work, options):
    checkout = work / "src" / name
    records = work / f"{name}-{side}.jsonl"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=short"]
    command += ["--continue-on-collection-errors", "-o", "log_cli=false"]
    workers = facts.get("workers", options.workers)
    command += ["-p", "xdist", "-n", str(workers)] if workers else []
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join(
            map(
                str,
                (
                    work / "path",
                    HERE,
                    checkout / facts["source"],
                    *([options.overlay.resolve()] if options.overlay else []),
                ),
            )
        ),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        TRITON_CACHE_DIR=str(work / "triton" / f"{name}-{side}"),
        CROSSWARP_CACHE_DIR=str(work / "crosswarp"),
        OMP_NUM_THREADS="1",
        # A library may keep what its tuner measured there: neither side shall find the other's.
        HOME=str(work / "home" / f"{name}-{side}"),
        **facts.get("env", {}),
    )
    if side == "virtual":
        command += ["-p", "crosswarp.matrix.cell.pytest_plugin", "--virtual-gpu", "sm_90"]
        command += ["--crosswarp-sample", str(options.sample), "--crosswarp-records", str(records)]
        command += ["--crosswarp-time-limit", str(options.time_limit)]
        for stub in facts.get("stub", ()):
            command += ["--crosswarp-stub", stub]
        # As on a machine that has none.
        environment["CUDA_VISIBLE_DEVICES"] = ""
    else:
        command += ["-p", "on_device_real"]
        environment.update(AGREE_RECORDS=str(records), AGREE_SAMPLE=str(options.sample))
        # What stands in for compiled extensions while tests are imported; a test that calls one fails, and says so.
        if facts.get("stub"):
            command += ["-p", "on_device_stubs"]
            environment["AGREE_STUBS"] = ",".join(facts["stub"])
    command += [
        *facts.get("options", []),
        *(f"--ignore-glob={glob}" for glob in facts["ignore"]),
        *facts["tests"],
    ]
    Path(environment["HOME"]).mkdir(parents=True)
    log = open(work / f"{name}-{side}.log", "w")
    return subprocess.Popen(
        command, cwd=checkout, env=environment, stdout=log, stderr=log, start_new_session=True
    )


def read(path):
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        one = json.loads(line)
        before = found.get(one["test"])
        if before is None or before["outcome"] not in ("failed", "red"):
            found[one["test"]] = one
    return found


def judged(real, virtual):
    """(agrees?, class) of one test; None where one side says nothing of it."""
    if real is None or virtual is None:
        return None, "not run on both sides"
    on, off = real["outcome"], virtual["outcome"]
    if "is stubbed (--crosswarp-stub)" in real["why"]:
        return None, f"{on} / {off}: needs a compiled extension"
    if "skipped" in (on, off) or off == "not applicable":
        return (
            (True, "skipped by both")
            if on == "skipped" and off == "skipped"
            else (None, f"{on} / {off}")
        )
    if on in ("passed", "xfailed") and off in (*GREEN, "xfailed"):
        return True, "green on both"
    if on in ("passed", "xfailed"):
        return False, "passes on the device, fails in the lane compile"
    does_not_compile = COMPILES.search(real["why"]) is not None
    if off == "red":
        if "took longer than" in virtual["why"]:
            return None, "fails on the device, out of time in the lane compile"
        return True, "red on both"
    if does_not_compile:
        return False, "does not compile on the device, compiles in the lane compile"
    return (
        None,
        "wrong numbers or a runtime's error on the device, which the lane compile does not judge",
    )


def tell(chosen, work, options):
    print(
        "\n| library | tests | green on both | red on both | skipped by both "
        "| disagree | not comparable | not run on both |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    disagree, told, total = [], [], Counter()
    for name in chosen:
        real, virtual = (read(work / f"{name}-{side}.jsonl") for side in ("real", "virtual"))
        count = Counter()
        for test in sorted({*real, *virtual}):
            agrees, kind = judged(real.get(test), virtual.get(test))
            line = {
                "library": name,
                "test": test,
                "class": kind,
                "real": real.get(test),
                "virtual": virtual.get(test),
            }
            told.append(line)
            count[
                kind
                if agrees or kind == "not run on both sides"
                else "disagree"
                if agrees is False
                else "other"
            ] += 1
            # A person compares the causes of what is red on both.
            if (
                agrees is False
                or kind == "red on both"
                or (agrees is None and kind != "not run on both sides")
            ):
                disagree.append((agrees, line))
        total += count
        row(name, count)
    row("all", total)
    for agrees, line in sorted(disagree, key=lambda one: one[0] is not False):
        why = [
            (line[side] or {}).get("why", "").strip()[-300:].replace("\n", " | ")
            for side in ("real", "virtual")
        ]
        print(
            f"\n{'DISAGREE' if agrees is False else 'note'}: {line['class']}: {line['library']} {line['test']}\n"
            f"   device:  {why[0]}\n   virtual: {why[1]}"
        )
    (options.out / "agree.json").write_text(json.dumps(told, indent=1))
    return sum(agrees is False for agrees, _ in disagree)


def row(name, count):
    print(
        f"| {name} | {sum(count.values())} | {count['green on both']} | {count['red on both']} | "
        f"{count['skipped by both']} | {count['disagree']} | {count['other']} | {count['not run on both sides']} |"
    )


if __name__ == "__main__":
    sys.exit(main())
