"""What compat costs: a launch of an empty kernel, and a guarded compilation, bare and installed. One Triton a run.

Launches: one process holds both. Blocks of launches alternate, bare and installed, with install() and uninstall()
between them (outside the clock, and after a warm-up); a ratio is the median over pairs of neighbours. A control does
the same with nothing installed: what it differs from 1 is the noise. The same again with a fresh process for each side.
Guard: sets of configurations of one autotuned kernel on cold caches, bare and with install(guard="always"), by turns.
Usage: python tests/bench/launch_overhead.py [pairs of blocks, default 120] [pairs of processes, default 3]
    [rounds of the guard, default 6]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.versions import in_window

LAUNCHES = 200
WARM = 400
CONFIGS = 8
GUARD_ROUNDS = 6


@triton.jit
def empty(a, b, n, BLOCK: tl.constexpr):
    pass


@triton.jit
def declares(a, b, n, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    pass


@triton.jit
def small(x, y, n, SEED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, tl.exp(value) * SEED + tl.sum(value, 0), mask=at < n)


def ways(a, b):
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    tuned = triton.autotune(configs=configs, key=["n"])(empty)
    chosen = triton.heuristics({"BLOCK": lambda arguments: 64})(empty)
    compiled = empty[(1,)](a, b, 1000, 64)
    # From 3.3 on a compiled kernel takes its constants as well.
    arguments = (a, b, 1000, 64) if in_window(">=3.3", triton.__version__) else (a, b, 1000)

    def positional():
        empty[(1,)](a, b, 1000, 64)

    def keyword():
        empty[(1,)](a=a, b=b, n=1000, BLOCK=64, num_warps=4, num_stages=2)

    def by_grid_function():
        empty[lambda meta: (1,)](a, b, 1000, BLOCK=64, num_warps=8)

    def declared():
        declares[(1,)](a, b, 1000, 64, num_warps=8)

    def autotuned():
        tuned[(1,)](a, b, 1000)

    def heuristics():
        chosen[(1,)](a, b, 1000)

    def run():
        empty.run(a, b, 1000, BLOCK=64, grid=(1,), warmup=False)

    def compiled_kernel():
        compiled[(1, 1, 1)](*arguments)

    return {
        "positional": positional,
        "keyword": keyword,
        "grid function": by_grid_function,
        "declared num_warps": declared,
        "autotuned": autotuned,
        "heuristics": heuristics,
        "run": run,
        "compiled kernel": compiled_kernel,
    }


def block(call, launches=LAUNCHES):
    """Microseconds a launch, of one block."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(launches):
        call()
    spent = time.perf_counter() - start
    torch.cuda.synchronize()
    return spent / launches * 1e6


def warm(call):
    for _ in range(WARM):
        call()
    torch.cuda.synchronize()


def runs_bare(call):
    try:
        call()
        return True
    except Exception as error:
        print(f"fails bare: {type(error).__name__}: {error}"[:150])
        return False


def alternate(call, pairs, install, uninstall):
    """(median ratio, its quartiles, median microseconds bare, installed)."""
    bare, ours = [], []
    for number in range(pairs):
        # Each side goes first half of the time.
        for mine in (False, True) if number % 2 else (True, False):
            if mine:
                install()
            warm(call)
            (ours if mine else bare).append(block(call))
            if mine:
                uninstall()
    ratios = [one / other for one, other in zip(ours, bare)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, low, high, statistics.median(bare), statistics.median(ours)


def one_process(installed):
    """Medians of many blocks, in this process alone; printed as JSON."""
    if installed:
        compat.install()
    calls = ways(torch.empty(8, device="cuda"), torch.empty(8, device="cuda"))
    found = {}
    for name, call in calls.items():
        if not runs_bare(call):
            continue
        warm(call)
        found[name] = statistics.median(block(call) for _ in range(60))
    print(json.dumps(found))


def processes(pairs):
    """Name -> ratio of the medians over fresh processes of each kind."""
    found = {False: [], True: []}
    for number in range(pairs):
        for mine in (False, True) if number % 2 else (True, False):
            done = subprocess.run(
                [sys.executable, __file__, "--one", "installed" if mine else "bare"],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                print(done.stderr[-500:])
                return {}
            found[mine].append(json.loads(done.stdout.splitlines()[-1]))
    if not pairs:
        return {}
    return {
        name: (
            statistics.median(one[name] for one in found[True]),
            statistics.median(one[name] for one in found[False]),
        )
        for name in found[True][0]
        if all(name in one for one in found[False] + found[True])
    }


def fresh_caches():
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    os.environ["CROSSWARP_CACHE_DIR"] = tempfile.mkdtemp()


def compile_set(seed, guarded, x, y):
    """Milliseconds of each first launch of a configuration, in the order of an autotuner, on cold caches."""
    fresh_caches()
    if guarded:
        compat.install(guard="always")
    times = []
    try:
        for number in range(CONFIGS):
            torch.cuda.synchronize()
            start = time.perf_counter()
            small[(1,)](
                x,
                y,
                100,
                SEED=seed + number,
                BLOCK=128 << (number % 3),
                num_warps=1 << (number % 4),
            )
            times.append((time.perf_counter() - start) * 1000)
    finally:
        compat.uninstall()
    return times


def guard(rounds):
    x, y = torch.empty(8192, device="cuda"), torch.empty(8192, device="cuda")
    # Unmeasured: the first compilation of a process starts more than the compiler.
    compile_set(2, False, x, y)
    compile_set(102, True, x, y)
    sets = {False: [], True: []}
    seed = 1000
    for number in range(rounds):
        for guarded in (False, True) if number % 2 else (True, False):
            sets[guarded].append(compile_set(seed, guarded, x, y))
            seed += 1000
    by_number = [
        {guarded: statistics.median(one[number] for one in sets[guarded]) for guarded in sets}
        for number in range(CONFIGS)
    ]
    whole = {
        guarded: statistics.median(sum(one) / CONFIGS for one in sets[guarded]) for guarded in sets
    }
    return by_number, whole


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    pairs_of_processes = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    began = time.monotonic()
    print(f"Triton {triton.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}")
    # Before this process measures anything.
    apart = processes(pairs_of_processes)
    calls = ways(torch.empty(8, device="cuda"), torch.empty(8, device="cuda"))
    compat.install()
    for call in calls.values():
        call()
    print("active:", ", ".join(shim.name for shim in compat.active()))
    compat.uninstall()
    lines = []
    for name, call in calls.items():
        if not runs_bare(call):
            continue
        control = alternate(call, max(pairs // 2, 2), lambda: None, lambda: None)
        result = alternate(call, pairs, compat.install, compat.uninstall)
        lines.append((name, control, result))
    by_number, whole = guard(int(sys.argv[3]) if len(sys.argv) > 3 else GUARD_ROUNDS)
    print("guard, ms by configuration (bare, guarded, more):")
    for number, found in enumerate(by_number):
        print(
            f"  {number + 1}: {found[False]:7.1f} {found[True]:7.1f} {found[True] - found[False]:+6.1f}"
        )
    print(f"took {time.monotonic() - began:.0f} s")
    print(
        "launch: ratio installed / bare (quartiles), microseconds bare and installed; control; in processes apart"
    )
    for name, control, (ratio, low, high, bare, ours) in lines:
        line = f"  {name:20} {ratio:.4f} ({low:.4f} to {high:.4f})  {bare:7.2f} {ours:7.2f}  control {control[0]:.4f}"
        if name in apart:
            line += f"  apart {apart[name][0] / apart[name][1]:.4f} ({apart[name][1]:.2f} {apart[name][0]:.2f})"
        print(line)
    extra = sorted(found[True] - found[False] for found in by_number)
    print(
        f"guard: {whole[True] - whole[False]:.1f} ms more a configuration, over sets of {CONFIGS}"
        f" (bare {whole[False]:.1f} ms); the first {by_number[0][True] - by_number[0][False]:.1f} ms,"
        f" the median {statistics.median(extra):.1f} ms"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one_process(sys.argv[2] == "installed")
    else:
        main()
