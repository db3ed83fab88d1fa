"""Errors of Triton's interpreter that a shim fixes, a case each. The compiled kernels are right.

No case says in `requires` which of FEATURES it uses: the suite would not trust an interpreter without compat with it.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

try:
    from triton.language.extra import libdevice
except ImportError:
    # Triton 2.3, whose interpreter is not asked
    libdevice = None

SIZE = 32


@triton.jit
def _bf16_kernel(x_ptr, y_ptr, sum_ptr, dot_ptr, cast_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(sum_ptr + at, x + y)
    tl.store(dot_ptr + at, tl.dot(x, y))
    tl.store(cast_ptr + at, (x.to(tl.float32) * 1.005).to(tl.bfloat16))


def bf16(x, y):
    x, y = x.bfloat16(), y.bfloat16()
    added, rounded = torch.empty_like(x), torch.empty_like(x)
    product = torch.empty(x.shape)
    _bf16_kernel[(1,)](x, y, added, product, rounded, SIZE)
    return {"bf16_sum": added, "bf16_dot": product, "bf16_cast": rounded}


def bf16_reference(x, y):
    x, y = x.bfloat16(), y.bfloat16()
    return {
        "bf16_sum": x + y,
        "bf16_dot": x.double() @ y.double(),
        "bf16_cast": (x.float() * 1.005).bfloat16(),
    }


@triton.jit
def _fp8_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE * SIZE)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.float8e4nv).to(tl.float32))


def fp8(x, y):
    out = torch.empty_like(x)
    _fp8_kernel[(1,)](x, out, SIZE)
    return {"fp8_cast": out}


def fp8_reference(x, y):
    return {"fp8_cast": x.to(torch.float8_e4m3fn).double()}


@triton.jit
def _nan_kernel(x_ptr, y_ptr, low_ptr, high_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE * SIZE)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(low_ptr + at, tl.minimum(x, y))
    tl.store(high_ptr + at, tl.maximum(x, y))


def nan(x, y):
    low, high = torch.empty_like(x), torch.empty_like(x)
    _nan_kernel[(1,)](x.log(), y, low, high, SIZE)
    return {"nan_low": low, "nan_high": high}


def nan_reference(x, y):
    # the logarithm of a negative number: the other operand is the result
    x = x.log()
    return {"nan_low": torch.fmin(x, y), "nan_high": torch.fmax(x, y)}


@triton.jit
def _atomic_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.atomic_add(y_ptr + tl.arange(0, SIZE)[None, :] + at * 0, tl.load(x_ptr + at))


def atomic(x, y):
    # integers below 2048, so that no order of the additions rounds
    out = torch.zeros(SIZE, dtype=torch.float16)
    _atomic_kernel[(1,)](x.round().half(), out, SIZE)
    return {"atomic_sum": out}


def atomic_reference(x, y):
    return {"atomic_sum": x.round().sum(0)}


@triton.jit
def _float_kernel(x_ptr, y_ptr, factor, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE * SIZE)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * factor)


def float_argument(x, y):
    out = torch.empty_like(x)
    _float_kernel[(1,)](x.half(), out, 0.3, SIZE)
    return {"float_product": out}


def float_argument_reference(x, y):
    return {"float_product": x.half().float() * 0.3}


@triton.jit
def _bool_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    row = tl.program_id(0)
    positive = tl.sum(tl.load(x_ptr + row * SIZE + tl.arange(0, SIZE)) > 0, 0)
    tl.store(y_ptr + row, (positive & 1).to(tl.float32))


def bool_sum(x, y):
    out = torch.empty(SIZE)
    _bool_kernel[(SIZE,)](x, out, SIZE)
    return {"bool_parity": out}


def bool_sum_reference(x, y):
    # of the last bit alone, which is what compiled kernels have before Triton 3.3
    return {"bool_parity": (x > 0).sum(1) % 2}


@triton.jit
def _libdevice_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE * SIZE)
    tl.store(y_ptr + at, libdevice.tanh(tl.load(x_ptr + at)))


def of_libdevice(x, y):
    out = torch.empty_like(x)
    _libdevice_kernel[(1,)](x, out, SIZE)
    return {"libdevice": out}


def of_libdevice_reference(x, y):
    return {"libdevice": x.double().tanh()}


@triton.jit
def _config_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE * SIZE)
    tl.store(y_ptr + at, -tl.load(x_ptr + at))


def config(x, y):
    out = torch.empty_like(x)
    # options that an autotuner adds to a launch
    _config_kernel[(1,)](x, out, **triton.Config({"SIZE": SIZE}).all_kwargs())
    return {"configured": out}


def config_reference(x, y):
    return {"configured": -x.double()}


@triton.jit
def _option_kernel(x_ptr, y_ptr, SIZE: tl.constexpr, num_warps: tl.constexpr):
    at = tl.arange(0, SIZE * SIZE)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * num_warps)


def option(x, y):
    out = torch.empty_like(x)
    _option_kernel[(1,)](x, out, SIZE=SIZE, num_warps=8)
    return {"option": out}


def option_reference(x, y):
    return {"option": x.double() * 8}


@triton.jit
def _mask_kernel(x_ptr, y_ptr, rows, SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, SIZE)
    mask = (cols < SIZE) & (row < rows)
    x = tl.load(x_ptr + row * SIZE + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * SIZE + cols, x, mask=mask)


def mask(x, y):
    out = torch.zeros_like(x)
    _mask_kernel[(SIZE,)](x, out, SIZE // 2, SIZE)
    return {"masked": out}


def mask_reference(x, y):
    return {"masked": torch.cat([x[: SIZE // 2], torch.zeros_like(x[SIZE // 2 :])])}


@triton.jit
def _condition_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    total = tl.load(x_ptr + at)
    left = tl.program_id(0)
    while tl.condition(left > 0):
        # without it a hang
        assert left > 0, "a turn too many of a while loop"
        total += tl.load(x_ptr + left * SIZE + at)
        left -= 1
    tl.store(y_ptr + tl.program_id(0) * SIZE + at, total)


def condition(x, y):
    out = torch.empty_like(x)
    _condition_kernel[(SIZE,)](x, out, SIZE)
    return {"summed": out}


def condition_reference(x, y):
    return {"summed": x.double().cumsum(0)}


def _no_condition():
    return None if hasattr(tl, "condition") else "this Triton has no tl.condition"


SHOWS = {
    "bf16": (bf16, bf16_reference),
    "fp8": (fp8, fp8_reference),
    "nan": (nan, nan_reference),
    "fp16-atomic": (atomic, atomic_reference),
    "float-argument": (float_argument, float_argument_reference),
    "bool-sum": (bool_sum, bool_sum_reference),
    "libdevice": (of_libdevice, of_libdevice_reference),
    "config-options": (config, config_reference),
    "reserved-option": (option, option_reference),
    "scalar-mask": (mask, mask_reference),
    "condition": (condition, condition_reference),
}


def launch(shows, x, y):
    return SHOWS[shows][0](x, y)


def reference(shows, x, y):
    return {name: value.double() for name, value in SHOWS[shows][1](x, y).items()}


def inputs(case, device, generator):
    x, y = torch.randn(2, SIZE, SIZE, generator=generator, device=generator.device) * 4
    return {"shows": case.id, "x": x.to(device), "y": y.to(device)}


def case(shows):
    # one of them is compiled as well, which the suite asks of every kernel
    lanes = ("compile", "interpret") if shows == "bf16" else ("interpret",)
    requires = ("while-condition",) if shows == "condition" else ()
    return Case(shows, "fp32", {"N": SIZE}, lanes, targets=("sm_90",), requires=requires)


KERNEL = kernel_of(
    globals(),
    cases=tuple(case(shows) for shows in SHOWS),
    # measured: 0 but for the dot and tanh, 1e-7
    tolerance={"fp32": 1e-6},
    probes={"while-condition": _no_condition},
)
