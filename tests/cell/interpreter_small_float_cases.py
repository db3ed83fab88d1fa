"""bf16 and the 8-bit floats in Triton's interpreter: cases of interpreter_cases.py."""

import math

import torch
from interpreter_kernels import (
    atomics,
    cast_down,
    constants,
    custom,
    dot,
    padded,
    running,
    sums,
)
from interpreter_support import BF16, VERSION, N, case, converted, reduced, run, same, values

from crosswarp.compat.versions import in_window


@case
def bf16_add():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("add", x, y), x + y)


@case
def bf16_sub():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("sub", x, y), x - y)


@case
def bf16_mul():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("mul", x, y), x * y)


@case
def bf16_neg():
    x = values(0).to(BF16)
    return same(run("neg", x), -x)


@case
def bf16_abs():
    x = values(0).to(BF16)
    return same(run("abs", x), x.abs())


@case
def bf16_div():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("div", x, y, torch.float32), x.float() / y.float())


@case
def bf16_fma():
    # Compiled kernels of every version take fp32 and fp64 only, or round once.
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("fma", x, y), (x.double() * y.double() + x.double()).to(BF16))


@case
def bf16_less():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("less", x, y, torch.float32), (x < y).float())


@case
def bf16_where():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("where", x, y), torch.minimum(x, y))


@case
def bf16_maximum():
    x, y = values(0).to(BF16), values(1).to(BF16)
    return same(run("maximum", x, y), torch.maximum(x, y))


@case
def bf16_clamp():
    x = values(0).to(BF16)
    return same(run("clamp", x), x.clamp(-1, 1))


@case
def bf16_dot():
    a, b = values(0, 1024).reshape(32, 32).to(BF16), values(1, 1024).reshape(32, 32).to(BF16)
    c = torch.zeros(32, 32)
    dot[(1,)](a, b, c, N=32)
    return same(c, a.double() @ b.double(), 1e-3)


@case
def bf16_cast_from_float32():
    x = torch.cat([values(3, 1020), torch.tensor([math.inf, -math.inf, math.nan, 3.4e38])])
    ties = torch.arange(0x3F80, 0x4080, dtype=torch.int32) * 65536 + 32768
    for given in (x, ties.view(torch.float32)):
        verdict = same(converted(given, BF16), given.to(BF16))
        if verdict != "ok":
            return verdict
    return "ok"


@case
def bf16_cast_toward_zero():
    x = torch.cat([values(3, 252), torch.tensor([math.inf, -math.inf, 3.4e38, 1e-40])])
    want = (x.view(torch.int32) & -65536).view(torch.float32)
    return same(converted(x, BF16, cast_down), want)


@case
def bf16_cast_from_float64():
    x = values(3).double() * (1 + 2.0**-40)
    x[:2] = torch.tensor([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40], dtype=torch.float64)
    want = x.to(BF16)
    want[:2] = torch.tensor([1 + 2.0**-7, 1.0], dtype=BF16)
    return same(converted(x, BF16), want)


@case
def bf16_cast_from_int32():
    x = torch.arange(N, dtype=torch.int32) * 37 - 4000
    return same(converted(x, BF16), x.to(BF16))


@case
def bf16_cast_to_others():
    x = values(3).to(BF16)
    for dtype in (torch.float16, torch.float32, torch.float64, torch.int32):
        verdict = same(converted(x, dtype), x.to(dtype))
        if verdict != "ok":
            return f"{dtype}: {verdict}"
    return "ok"


@case
def bf16_cast_from_float16():
    x = values(3).half()
    return same(converted(x, BF16), x.to(BF16))


@case
def bf16_full():
    out = torch.zeros(N, dtype=BF16)
    constants[(1,)](out, N=N)
    return same(out, torch.full((N,), 1.0078125))


@case
def bf16_sum():
    # Compiled kernels add in fp32 before 3.3, and in bf16 from then on.
    x = values(5).to(BF16)
    if in_window("<3.3", VERSION):
        return same(reduced("sum", x), x.double().sum(0, keepdim=True), 1e-3)
    rows = x
    while rows.numel() > 1:
        rows = rows[: rows.numel() // 2] + rows[rows.numel() // 2 :]
    return same(reduced("sum", x), rows)


@case
def bf16_sum_of_rows():
    x = (torch.arange(128) % 5).reshape(8, 16).to(BF16)
    for axis in (0, 1):
        out = torch.zeros(16 if axis == 0 else 8)
        sums[(1,)](x, out, M=8, N=16, AXIS=axis)
        verdict = same(out, x.double().sum(axis))
        if verdict != "ok":
            return f"axis {axis}: {verdict}"
    return "ok"


@case
def bf16_max():
    x = -values(5).abs().to(BF16)
    return same(reduced("max", x), x.max().reshape(1))


@case
def bf16_argmax():
    x = -(torch.arange(N) + 1.0).to(BF16).flip(0)
    value, at = x[-1:], x.numel() - 1
    return same(reduced("argmax", x), value.float() * 1000 + at)


@case
def bf16_cumsum():
    x = (torch.arange(N) % 3 - 1).to(BF16)
    out = torch.zeros(N)
    running[(1,)](x, out, N=N)
    return same(out, x.double().cumsum(0))


@case
def bf16_custom_reduction():
    x, out = values(5, 32).to(BF16), torch.zeros(1)
    custom[(1,)](x, out, N=32)
    return same(out, x.max().reshape(1))


@case
def bf16_atomic_add():
    x, at = torch.arange(8).to(BF16), torch.tensor([0, 1, 0, 2, 0, 1, 3, 3], dtype=torch.int32)
    out = torch.tensor([256.0, 0, 0, 0]).to(BF16)
    try:
        atomics[(1,)](x, out, at, 7, N=8)
    except Exception as error:
        # Triton itself has bf16 atomics from 3.4 on.
        return (
            "ok" if in_window("<3.4", VERSION) and "does not support" in str(error) else repr(error)
        )
    return same(out, torch.tensor([262.0, 6, 3, 6]))


@case
def bf16_padding_nan():
    if in_window(">=3.9", VERSION):
        return "ok"
    x, out = values(5, 16).to(BF16), torch.zeros(32, dtype=BF16)
    padded[(1,)](x, out, N=32)
    return same(out, torch.cat([x, torch.full((16,), math.nan).to(BF16)]))


FP8 = {"fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2}


@case
def fp8_cast_from_float32():
    x = torch.cat([values(3, 1020, 60.0), torch.tensor([math.nan, 0.0, -0.0, 2.0**-9])])
    middles = (torch.arange(1, 1025) * 2.0**-10).float()
    for name, dtype in FP8.items():
        for given in (x, middles):
            verdict = same(converted(given, dtype).float(), given.to(dtype).float())
            if verdict != "ok":
                return f"{name}: {verdict}"
    return "ok"


@case
def fp8_cast_saturates():
    x = torch.tensor([1e6, -1e6, math.inf, -math.inf])
    for (name, dtype), largest in zip(FP8.items(), (448.0, 57344.0)):
        want = torch.tensor([largest, -largest, largest, -largest])
        verdict = same(converted(x, dtype).float(), want)
        if verdict != "ok":
            return f"{name}: {verdict}"
    return "ok"


@case
def fp8_cast_to_float32():
    for name, dtype in FP8.items():
        x = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype)
        verdict = same(converted(x, torch.float32), x.float())
        if verdict != "ok":
            return f"{name}: {verdict}"
    return "ok"


@case
def fp8_cast_from_bf16():
    x = values(3).to(BF16)
    return same(converted(x, torch.float8_e4m3fn).float(), x.to(torch.float8_e4m3fn).float())
