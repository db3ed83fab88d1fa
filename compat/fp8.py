"""The 8-bit floats of Triton in numpy: patterns to values and back, by the table of all 256.

Overflow follows the compiled kernels: to nearest, ``fp8e4nv`` and ``fp8e5`` stop at their largest number, infinity
included; the ``fnuz`` formats of AMD's gfx942 do so for finite values and turn infinity into NaN.
"""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, Tuple

if TYPE_CHECKING:
    import numpy as np


class Format(NamedTuple):
    """A format: exponent and mantissa widths, bias, and which patterns are not numbers."""

    mantissa: int
    bias: int
    # the largest magnitude pattern that is a finite number
    largest: int
    nan: int
    infinity: int = -1
    unsigned_zero: bool = False


# Triton's names. fp8e4b15, which has another format and conversion, is left to Triton.
FORMATS = {
    "fp8e4nv": Format(3, 7, 0x7E, 0x7F),
    "fp8e5": Format(2, 15, 0x7B, 0x7F, infinity=0x7C),
    "fp8e4b8": Format(3, 8, 0x7F, 0x80, unsigned_zero=True),
    "fp8e5b16": Format(2, 16, 0x7F, 0x80, unsigned_zero=True),
}


def to_float64(bits: Any, name: str) -> "np.ndarray":
    """The values of patterns (uint8, any shape) of format `name`. Exact."""
    import numpy as np

    return _values(name)[np.asarray(bits).view(np.uint8)]


def from_float64(values: Any, name: str, toward_zero: bool = False) -> "np.ndarray":
    """The patterns of format `name` nearest to float64 values (ties to even), or the next ones toward zero."""
    import numpy as np

    form = FORMATS[name]
    exact = np.asarray(values, dtype=np.float64)
    size = np.abs(exact)
    positive, middles = _positive(name)
    if toward_zero:
        code = np.searchsorted(positive, size, side="right") - 1
    else:
        code = np.searchsorted(middles, size, side="left")
        # On a middle: to the pattern that ends in 0, which is the even one.
        tie = np.isin(size, middles) & (code % 2 == 1)
        code = code + tie
    code = np.clip(code, 0, form.largest)
    infinite = np.isinf(exact)
    if form.unsigned_zero:
        code = np.where(infinite, form.nan, code)
    elif toward_zero and form.infinity >= 0:
        code = np.where(infinite, form.infinity, code)
    negative = np.signbit(exact)
    if form.unsigned_zero:
        negative = negative & (code != 0) & ~infinite
    code = np.where(negative, code | 0x80, code)
    return np.where(np.isnan(exact), form.nan, code).astype(np.uint8)


@functools.lru_cache(maxsize=None)
def _values(name: str) -> "np.ndarray":
    import numpy as np

    form = FORMATS[name]
    code = np.arange(128)
    exponent, fraction = code >> form.mantissa, (code & ((1 << form.mantissa) - 1)).astype(float)
    fraction /= 1 << form.mantissa
    values = np.where(
        exponent == 0,
        np.ldexp(fraction, 1 - form.bias),
        np.ldexp(1 + fraction, exponent - form.bias),
    )
    values[form.largest + 1 :] = np.nan
    if form.infinity >= 0:
        values[form.infinity] = np.inf
    both = np.concatenate([values, -values])
    if form.unsigned_zero:
        both[form.nan] = np.nan
    return both


@functools.lru_cache(maxsize=None)
def _positive(name: str) -> Tuple["np.ndarray", "np.ndarray"]:
    positive = _values(name)[: FORMATS[name].largest + 1]
    return positive, (positive[1:] + positive[:-1]) / 2
