"""The kernels of the suite against what else computes the same, at the sizes of a Llama-3-8B training step.

Every side does the same work, forward and backward where ours does both, on the same inputs in one process, by turns.
Peers: torch as it is (eager), torch.compile, liger-kernel, flash-linear-attention, and torch's own libraries; one that
is not installed, or fails, is named and left out. Prints a Markdown table: milliseconds (median), the fastest peer's
median (but for eager) over ours, and for memory-bound kernels the share of the copy bandwidth that moving inputs and
outputs once comes to.
Usage: python tests/bench/kernels.py [--only GLOB,..] [--without PEER,..] [--rounds N] [--json FILE] [--plot FILE.svg]
    [--warps]
"""

import argparse
import fnmatch
import json
import statistics
import sys
import tempfile
from pathlib import Path

import torch
import triton
from peers import OPS

from crosswarp import compat
from crosswarp.kernels import load
from crosswarp.kernels.case import Case
from crosswarp.matrix.cell.kinds.suite import device

ROUNDS = 30
# Longer than any cache of a GPU: what one launch has left there must not help the next.
FLUSH_BYTES = 512 << 20
# Cycles of the GPU, 1 to 2 ms, in which the host gets ahead: it is not the host's pace that is measured.
HEAD_START = 2_500_000


def made(op):
    kernel = load(op.kernel)
    generator = torch.Generator(device="cuda").manual_seed(0)
    case = Case("bench", op.dtype, op.shape)
    return kernel, kernel.inputs(case, torch.device("cuda"), generator)


def by_turns(sides, rounds=ROUNDS):
    """Name -> milliseconds, sorted; every round launches each side once, after the cache was emptied."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    times = {name: [] for name in sides}
    for number in range(rounds + 3):
        events = {}
        # Nobody is always the first, whom the host keeps waiting.
        names = list(sides)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            call = sides[name]
            flush.zero_()
            torch.cuda._sleep(HEAD_START)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            events[name] = start, end
        torch.cuda.synchronize()
        if number >= 3:
            for name, (start, end) in events.items():
                times[name].append(start.elapsed_time(end))
    return {name: sorted(found) for name, found in times.items()}


def measure(op, without, rounds):
    kernel, inputs = made(op)
    sides, failed = {"ours": lambda: kernel.launch(**inputs, **op.options)}, {}
    for name, prepare in op.peers.items():
        if name in without:
            continue
        try:
            call = prepare(inputs)
            call()
            torch.cuda.synchronize()
            sides[name] = call
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {str(error)[:150]}".replace("\n", " ")
            torch.cuda.empty_cache()
    moved = device.traffic(inputs, sides["ours"]()) * op.moved
    times = by_turns(sides, rounds)
    return (
        {name: statistics.median(found) for name, found in times.items()},
        moved,
        failed,
        {name: (found[len(found) // 4], found[-len(found) // 4]) for name, found in times.items()},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*")
    parser.add_argument("--without", default="", metavar="PEER,..", help="peers to leave out")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--warps", action="store_true", help="num_warps of cross entropy instead")
    options = parser.parse_args()
    compat.install()
    with tempfile.TemporaryDirectory() as folder:
        copy = device.copy_bandwidth(Path(folder))
    print(f"Triton {triton.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"copy {copy / 1e12:.2f} TB/s")
    if options.warps:
        return warps(options.only.split(","), options.rounds)
    rows, problems = [], []
    for op in OPS:
        if not any(fnmatch.fnmatchcase(op.name, glob) for glob in options.only.split(",")):
            continue
        try:
            medians, moved, failed, spread = measure(op, options.without.split(","), options.rounds)
        except Exception as error:
            problems.append(f"{op.name}: ours failed: {type(error).__name__}: {str(error)[:300]}")
            continue
        finally:
            torch.cuda.empty_cache()
        rows.append({
            "op": op.name, "ms": medians, "spread": spread, "failed": failed,
            "of_copy": moved / (medians["ours"] / 1000) / copy if op.moved else None,
        })  # fmt: skip
        print(line(rows[-1]), flush=True)
    print("\n" + "\n".join(problems + summary(rows)))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    if options.plot:
        plot(rows, options.plot)


def best_peer(row):
    others = {name: ms for name, ms in row["ms"].items() if name not in ("ours", "eager")}
    return min(others, key=others.get, default=None)


def speed(row):
    """The fastest peer's median over ours."""
    return row["ms"][best_peer(row)] / row["ms"]["ours"]


def line(row):
    peer = best_peer(row)
    cells = [row["op"], f"{row['ms']['ours']:.3f}"]
    peers = ("eager", "compile", "liger", "fla", "torch")
    cells += [f"{row['ms'][name]:.3f}" if name in row["ms"] else "" for name in peers]
    cells.append(f"{row['ms'][peer] / row['ms']['ours']:.2f} ({peer})" if peer else "")
    cells.append(f"{row['of_copy']:.0%}" if row["of_copy"] else "")
    text = "| " + " | ".join(cells) + " |"
    return text + "".join(f"\n  {name}: {why}" for name, why in row["failed"].items())


def summary(rows):
    ratios = {row["op"]: speed(row) for row in rows if best_peer(row)}
    bound = [row for row in rows if row["of_copy"]]
    return [
        "| op | ours | eager | compile | liger | fla | torch | best peer / ours | of copy |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(line(row).splitlines()[0] for row in rows),
        f"at 1.0 or better: {sum(ratio >= 1 for ratio in ratios.values())} of {len(ratios)};"
        f" under 0.8: {', '.join(name for name, ratio in ratios.items() if ratio < 0.8) or 'none'}",
        f"memory-bound at 85 % of a copy: {sum(row['of_copy'] >= 0.85 for row in bound)} of {len(bound)}",
    ]  # fmt: skip


def plot(rows, path):
    """Bars of the ratio to the fastest peer."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if best_peer(row)]
    figure = Figure(figsize=(8, 0.3 * len(rows) + 1), layout="constrained")
    axes = figure.subplots()
    axes.barh([f"{row['op']} ({best_peer(row)})" for row in rows], [speed(row) for row in rows])
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel("median time of the fastest peer / ours")
    figure.savefig(path)


def warps(wanted, rounds):
    """The cross-entropy family by vocabulary: the chosen num_warps against 4, 8, 16 and 32."""
    for vocabulary in (32000, 50304, 128256, 151936, 262144):
        for name in ("cross_entropy", "kl_divergence", "js_divergence"):
            if not any(fnmatch.fnmatchcase(name, glob) for glob in wanted):
                continue
            shape = {"tokens": 2048, "M": 2048, "V": vocabulary, "N": vocabulary, "percent": 50}
            if name == "cross_entropy":
                shape.pop("percent")
            print(warps_line(name, vocabulary, shape, rounds), flush=True)


def warps_line(name, vocabulary, shape, rounds):
    kernel = load(name)
    generator = torch.Generator(device="cuda").manual_seed(0)
    inputs = kernel.inputs(Case("bench", "bf16", shape), torch.device("cuda"), generator)
    # The launcher asks this name of its own module.
    module = sys.modules[kernel.launch.__module__]
    chosen = module.num_warps

    def with_warps(count):
        def call():
            module.num_warps = chosen if count is None else lambda *args: count
            kernel.launch(**inputs)

        return call

    found = by_turns({count: with_warps(count) for count in (None, 4, 8, 16, 32)}, rounds)
    module.num_warps = chosen
    medians = {count: statistics.median(times) for count, times in found.items()}
    fixed = [medians[count] for count in (4, 8, 16, 32)]
    cells = [name, str(vocabulary), *(f"{ms:.3f}" for ms in (*fixed, medians[None]))]
    return f"| {' | '.join(cells)} | {medians[None] / min(fixed):.3f} |"


if __name__ == "__main__":
    main()
