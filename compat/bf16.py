"""bfloat16 in numpy, which has no such type: values are float32, stored as the 16-bit patterns that Triton keeps.

Rounding is to nearest, ties to even; what overflows becomes infinite; a NaN stays one. numpy is imported when first
asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

NAN = 0x7FC0


def to_float32(bits: Any) -> "np.ndarray":
    """The values of bf16 patterns (uint16, any shape). Exact."""
    import numpy as np

    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def from_float32(values: Any, toward_zero: bool = False) -> "np.ndarray":
    """The bf16 patterns nearest to float32 values, or the next ones toward zero."""
    import numpy as np

    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).reshape(np.shape(values))
    if toward_zero:
        rounded = bits >> np.uint32(16)
    else:
        # Half a unit less one, plus the bit that decides a tie: it carries into the exponent as it should.
        even = (bits >> np.uint32(16)) & np.uint32(1)
        rounded = (bits + np.uint32(0x7FFF) + even) >> np.uint32(16)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    sign = (bits >> np.uint32(16)) & np.uint32(0x8000)
    return np.where(is_nan, sign | np.uint32(NAN), rounded).astype(np.uint16)


def from_float64(values: Any) -> "np.ndarray":
    """The bf16 patterns nearest to float64 values, rounded once."""
    import numpy as np

    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = exact.astype(np.float32)
    # Round to odd on the way: the last bit of the float32 says that something was lost, so that no false tie arises.
    bits = np.ascontiguousarray(single).view(np.uint32).reshape(exact.shape)
    with np.errstate(invalid="ignore"):
        lost = (single.astype(np.float64) != exact) & ~np.isnan(exact)
        too_far = lost & (np.abs(single.astype(np.float64)) > np.abs(exact))
    bits = bits - too_far.astype(np.uint32) | lost.astype(np.uint32)
    return from_float32(np.ascontiguousarray(bits).view(np.float32).reshape(exact.shape))


def add(left: Any, right: Any) -> "np.ndarray":
    """The sum of bf16 patterns, rounded."""
    return from_float32(to_float32(left) + to_float32(right))


def sum_(bits: Any, axis: int) -> "np.ndarray":
    """The sum along `axis`, each addition rounded: halves onto each other, as threads of a warp do it.

    The order is part of the result, and a compiler's own order depends on its layout; this is a plain tree.
    """
    import numpy as np

    rows = np.moveaxis(np.asarray(bits), axis, 0)
    while rows.shape[0] > 1:
        half = rows.shape[0] // 2
        rest = rows[2 * half :]
        rows = np.concatenate([add(rows[:half], rows[half : 2 * half]), rest])
    return rows[0]


def scan(bits: Any, axis: int, operation: Any) -> "np.ndarray":
    """The running `operation` (numpy's add, multiply) along `axis`, each step rounded."""
    import numpy as np

    rows = np.moveaxis(np.asarray(bits), axis, 0)
    out = np.empty_like(rows)
    for at in range(rows.shape[0]):
        if at == 0:
            out[at] = rows[at]
        else:
            out[at] = from_float32(operation(to_float32(out[at - 1]), to_float32(rows[at])))
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))
