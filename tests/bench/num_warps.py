"""Time of row kernels by row length, block size and num_warps, for the table of `crosswarp.compat.launch.num_warps`.

Two kernels of our own in bf16. `rows`: a cross entropy that walks a row in blocks, twice (sum, then gradient), as
libraries do for a vocabulary. `whole`: a softmax that holds its whole row, as norms do. Medians of CUDA-event timings.
Every variant is compiled first, in processes of their own, all at once; what takes too long to compile is left out and
said. Prints its table last. Usage: python tests/bench/num_warps.py [seconds for compiling, default 35]
"""

import math
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import torch
import triton
import triton.language as tl

VOCABULARIES = (32000, 50257, 65536, 100352, 128256, 151936, 262144)
CAPS = (32768, 65536)
WHOLE = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
WARPS = (4, 8, 16, 32)
SMALL_WARPS = (1, 2, 4, 8, 16, 32)
BYTES = 256 * 2**20
REPEATS = 15


@triton.jit
def rows(x_ptr, dx_ptr, loss_ptr, target_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride
    dx_ptr += row * stride
    y = tl.load(target_ptr + row)
    m = float("-inf")
    d = 0.0
    at = tl.arange(0, BLOCK)
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + start + at, mask=start + at < n_cols, other=float("-inf")).to(
            tl.float32
        )
        new = tl.maximum(m, tl.max(x, 0))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new), 0)
        m = new
    tl.store(loss_ptr + row, m + tl.log(d) - tl.load(x_ptr + y).to(tl.float32))
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + start + at, mask=start + at < n_cols, other=float("-inf")).to(
            tl.float32
        )
        g = tl.exp(x - m) / d
        g = tl.where(start + at == y, g - 1.0, g)
        tl.store(dx_ptr + start + at, g, mask=start + at < n_cols)


@triton.jit
def whole(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n_cols, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * stride + at, e / tl.sum(e, 0), mask=at < n_cols)


def variants():
    """(kernel, columns, block, num_warps); columns only matter to a compilation by whether 16 divides them."""
    for columns in VOCABULARIES:
        for block in sorted({min(cap, triton.next_power_of_2(columns)) for cap in CAPS}):
            for warps in WARPS:
                yield "rows", columns, block, warps
    for columns in WHOLE:
        for warps in SMALL_WARPS if columns <= 8192 else WARPS:
            yield "whole", columns, columns, warps


def compiled_alike(variant):
    kernel, columns, block, warps = variant
    return kernel, columns % 16 == 0, block, warps


def bf16(*size):
    return torch.empty(size, dtype=torch.bfloat16, device="cuda")


def compile_one(variant):
    kernel, columns, block, warps = variant
    start = time.monotonic()
    x = bf16(1)
    if kernel == "rows":
        loss = torch.empty(1, device="cuda")
        target = torch.empty(1, dtype=torch.int64, device="cuda")
        rows.warmup(x, x, loss, target, columns, columns, BLOCK=block, num_warps=warps, grid=(1,))
    else:
        whole.warmup(x, x, columns, columns, BLOCK=block, num_warps=warps, grid=(1,))
    return time.monotonic() - start


def compile_all(all_variants, seconds):
    """The keys of what was compiled within `seconds`."""
    todo = {compiled_alike(variant): variant for variant in all_variants}
    # The slowest first: many elements a thread.
    order = sorted(todo, key=lambda key: -key[2] / key[3])
    done, times = set(), {}
    pool = ProcessPoolExecutor(
        min(len(os.sched_getaffinity(0)), 14), mp_context=get_context("spawn")
    )
    futures = {pool.submit(compile_one, todo[key]): key for key in order}
    try:
        for future in as_completed(futures, timeout=seconds):
            key = futures[future]
            try:
                times[key] = future.result()
                done.add(key)
            except Exception as error:
                print("does not compile:", key, repr(error)[:200])
    except TimeoutError:
        print("not compiled in time:", sorted(set(order) - done))
    children = list(pool._processes.values())
    pool.shutdown(wait=False, cancel_futures=True)
    for child in children:
        child.kill()
    slow = sorted(times, key=times.get)[-3:]
    print("slowest compilations:", [(key, round(times[key], 1)) for key in slow])
    return done


def timed(call):
    for _ in range(3):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(REPEATS)]
    for start, end in events:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def measure(variant, x, y, target, loss):
    kernel, columns, block, warps = variant
    count = x.numel() // columns
    if kernel == "rows":
        count = min(count, 4096)
        return timed(
            lambda: rows[(count,)](
                x, y, loss, target, columns, columns, BLOCK=block, num_warps=warps
            )
        )
    return timed(lambda: whole[(count,)](x, y, columns, columns, BLOCK=block, num_warps=warps))


def main():
    began = time.monotonic()
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 35.0
    chosen = list(variants())
    ready = compile_all(chosen, seconds)
    print(f"compiled {len(ready)} in {time.monotonic() - began:.0f} s")
    x = torch.randn(BYTES // 2, device="cuda").to(torch.bfloat16)
    y = torch.empty_like(x)
    target = torch.zeros(BYTES // 2 // 512, dtype=torch.int64, device="cuda")
    loss = torch.empty(target.numel(), device="cuda")
    found = {}
    for variant in chosen:
        if compiled_alike(variant) not in ready:
            continue
        try:
            found[variant] = measure(variant, x, y, target, loss)
        except Exception as error:
            print("fails:", variant, repr(error)[:200])
    print(f"measured in {time.monotonic() - began:.0f} s")
    print(f"{torch.cuda.get_device_name()}, Triton {triton.__version__}, torch {torch.__version__}")
    print("microseconds (times the best of its line)")
    lines = sorted({variant[:3] for variant in chosen})
    print("kernel  columns  block   " + "".join(f"{w:>16}" for w in SMALL_WARPS) + "   best")
    ratios = {}
    for line in lines:
        times = {w: found[(*line, w)] for w in SMALL_WARPS if (*line, w) in found}
        if not times:
            continue
        best = min(times, key=times.get)
        cells = ""
        for warps in SMALL_WARPS:
            text = "-"
            if warps in times:
                ratio = times[warps] / times[best]
                ratios.setdefault((line[0], line[2]), {}).setdefault(warps, []).append(ratio)
                text = f"{times[warps] * 1000:.0f} ({ratio:.2f})"
            cells += f"{text:>16}"
        print(f"{line[0]:6} {line[1]:8} {line[2]:6}   {cells}   {best}")
    print("by block: geometric mean of the ratios to the best, and the num_warps with the least")
    for (kernel, block), by_warps in sorted(ratios.items()):
        most = max(map(len, by_warps.values()))
        means = {
            warps: math.exp(statistics.fmean(map(math.log, values)))
            for warps, values in by_warps.items()
            if len(values) == most
        }
        cells = "".join(f"{means[w]:>16.3f}" if w in means else f"{'-':>16}" for w in SMALL_WARPS)
        print(f"{kernel:6} {'':8} {block:6}   {cells}   {min(means, key=means.get)}")
    print(f"all in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
