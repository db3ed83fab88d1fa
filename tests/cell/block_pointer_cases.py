"""Block pointers against torch: numbers. Run as a program by test_block_pointers.py, and by hand on a GPU.

    TRITON_INTERPRET=1 python block_pointer_cases.py interpret [bare]
    python block_pointer_cases.py device

prints one JSON object: case -> "ok", or what was seen. Without `bare`, crosswarp.compat is installed.
"""

import itertools
import json
import random
import sys

import torch
import triton
from block_pointer_kernels import COPY, SUMS, matmul

from crosswarp import compat
from crosswarp.compat.versions import in_window

VERSION = triton.__version__
BLOCKS = {1: (1, 8, 64), 2: (1, 4, 16), 3: (1, 2, 8), 4: (1, 2, 4), 5: (1, 2, 4)}
DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
)
# Up to 3.7, a block of booleans is loaded as int8.
NEW_DTYPES = (torch.bool, torch.float8_e5m2) if in_window(">=3.8", VERSION) else ()


def copies(count, seed=0):
    """`count` random copies between a block and a tensor in memory, as dictionaries."""
    rng = random.Random(seed)
    for number in range(count):
        rank = number % 5 + 1
        block = [rng.choice(BLOCKS[rank]) for _ in range(rank)]
        shape = [rng.randint(1, 2 * extent + 1) for extent in block]
        # below zero, across either end, and wholly outside
        offsets = [rng.randint(-extent - 1, size + 1) for extent, size in zip(block, shape)]
        check = []
        for dimension in range(rank):
            if rng.random() < 0.7:
                check.append(dimension)
            else:
                shape[dimension] = block[dimension] + rng.randint(0, 3)
                offsets[dimension] = rng.randint(0, shape[dimension] - block[dimension])
        rng.shuffle(check)
        dtype = rng.choice(DTYPES + NEW_DTYPES)
        paddings = ("", "zero", "nan") if dtype.is_floating_point else ("", "zero")
        yield {
            "rank": rank,
            "block": block,
            "shape": shape,
            "offsets": offsets,
            "check": tuple(check),
            "order": tuple(rng.sample(range(rank), rank)),
            # which dimension lies how far apart in memory
            "memory": rng.sample(range(rank), rank),
            "spread": rng.choice((1, 1, 1, 2)),
            "dtype": dtype,
            "pad": rng.choice(paddings),
            "out": rng.random() < 0.4,
        }


def native_cannot(plan, lane):
    """Why a Triton with block pointers of its own gets this copy wrong, or ""."""
    if in_window(">=3.8,<3.9", VERSION) and plan["pad"] and not plan["check"]:
        return "padding without a check is refused"
    if lane != "interpret":
        return ""
    if in_window("<3.3", VERSION) and any(plan["offsets"][d] < 0 for d in plan["check"]):
        return "the lower end is not checked: reads and writes beyond the tensor"
    if in_window("<3.8", VERSION) and plan["dtype"] == torch.bfloat16 and plan["pad"] == "nan":
        return "NaN becomes 0"
    return ""


def filled(size, dtype, generator):
    if dtype == torch.bool:
        return torch.rand(size, generator=generator) < 0.5
    return torch.randint(1, 100, size, generator=generator).float().to(dtype)


def raw(tensor):
    """For comparisons and indexing that torch lacks in fp8."""
    return tensor.float() if tensor.dtype == torch.float8_e5m2 else tensor


def run_copy(plan, device, generator):
    rank, block, shape = plan["rank"], plan["block"], plan["shape"]
    lying = [shape[d] for d in plan["memory"]]
    lying[-1] *= plan["spread"]
    memory = filled(tuple(lying), plan["dtype"], generator).to(device)
    x = memory[..., :: plan["spread"]].permute([plan["memory"].index(d) for d in range(rank)])
    assert list(x.shape) == shape
    y = filled(tuple(block), plan["dtype"], generator).to(device)
    before_x, before_y, before_all = x.clone(), y.clone(), memory.clone()
    COPY[rank][(1,)](
        x, y, *x.shape, *x.stride(), *plan["offsets"], *block,
        ORDER=plan["order"], CHECK=plan["check"], PAD=plan["pad"], OUT=plan["out"],
    )  # fmt: skip
    inside = torch.zeros(block, dtype=torch.bool)
    want_x, want_y = raw(before_x).clone(), raw(before_y).clone()
    for at in itertools.product(*(range(extent) for extent in block)):
        there = tuple(o + i for o, i in zip(plan["offsets"], at))
        if all(0 <= t < n for t, n in zip(there, shape)):
            inside[at] = True
            if plan["out"]:
                want_x[there] = raw(before_y)[at]
            else:
                want_y[at] = raw(before_x)[there]
    if plan["out"]:
        gaps = memory.clone()
        gaps[..., :: plan["spread"]] = before_all[..., :: plan["spread"]]
        return (
            differ(raw(x), want_x)
            or differ(raw(gaps), raw(before_all))
            or differ(raw(y), raw(before_y))
        )
    outside = ~inside.to(device)
    if plan["pad"]:
        want_y[outside] = float("nan") if plan["pad"] == "nan" else 0
    else:
        # what stands there was left open
        want_y[outside] = raw(y)[outside]
    return differ(raw(y), want_y) or differ(raw(x), raw(before_x))


def differ(got, want):
    """ "" if both are the same, NaN for NaN."""
    same = (got == want) | ((got != got) & (want != want))
    if same.all():
        return ""
    at = (~same).nonzero()[0].tolist()
    return f"{int((~same).sum())} of {same.numel()} wrong, first at {at}: {got[tuple(at)]} for {want[tuple(at)]}"


def run_sum(kernel, rows, width, device, generator):
    x = torch.randint(-9, 9, (rows, width + 3), generator=generator).float().to(device)
    y = torch.full((16, 16), float("nan"), device=device)
    kernel[(1,)](x, y, rows, width, x.stride(0), B=16)
    want = torch.zeros(16, 16, device=device)
    for start in range(0, width, 16):
        part = x[:16, start : min(start + 16, width)]
        want[: part.shape[0], : part.shape[1]] += part
    return differ(y, want)


def run_matmul(m, n, k, transposed, device, generator):
    a = torch.randint(-4, 4, (m, k), generator=generator).half().to(device)
    b = (
        torch.randint(-4, 4, (n, k) if transposed else (k, n), generator=generator)
        .half()
        .to(device)
    )
    b = b.t() if transposed else b
    c = torch.full((m, n), float("nan"), device=device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 64))
    matmul[grid](
        a, b, c, m, n, k, *a.stride(), *b.stride(), c.stride(0), BM=32, BN=64, BK=16
    )  # fmt: skip
    return differ(c, a.float() @ b.float())


def all_cases(count, lane):
    """name -> function of a device and a generator."""
    for number, plan in enumerate(copies(count)):
        if native_cannot(plan, lane):
            continue
        text = " ".join(f"{key}={value}" for key, value in plan.items())
        yield f"copy {number}: {text}", lambda *on, plan=plan: run_copy(plan, *on)
    for name, kernel in SUMS.items():
        for rows, width in ((16, 64), (5, 41), (1, 1)):
            yield (
                f"{name} {rows}x{width}",
                lambda *on, of=(kernel, rows, width): run_sum(*of, *on),
            )
    for size in ((32, 64, 16, False), (37, 70, 41, False), (33, 65, 50, True), (1, 1, 1, False)):
        yield f"matmul {size}", lambda *on, size=size: run_matmul(*size, *on)


def main(lane, *options):
    if "bare" not in options:
        compat.install()
    device = torch.device("cuda" if lane == "device" else "cpu")
    seen = {}
    for name, run in all_cases(100, lane):
        try:
            seen[name] = run(device, torch.Generator().manual_seed(1)) or "ok"
        except Exception as error:
            seen[name] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps({"acted": compat.acted(), "seen": seen}))


if __name__ == "__main__":
    main(*sys.argv[1:])
