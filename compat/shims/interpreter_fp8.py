"""The interpreter loses the carry when it rounds to an 8-bit float, and knows neither their NaN nor their infinity."""

from typing import Any

from .. import bf16, fp8
from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    np, convert = interpreter.np, interpreter._convert_float

    # See also triton-lang/triton#11667, triton-lang/triton#11897.
    # Breakpoint: when one of those fixes is published; delete with the last column before it.
    def convert_values(input, input_dtype, output_dtype, rounding_mode):
        names = {dtype.name for dtype in (input_dtype, output_dtype) if dtype.is_fp8()}
        if not names or not names <= set(fp8.FORMATS):
            return convert(input, input_dtype, output_dtype, rounding_mode)
        note_acted(SHIM.name)
        toward_zero = rounding_mode == interpreter._ir.ROUNDING_MODE.RTZ
        return narrow(widen(input, input_dtype), output_dtype, toward_zero)

    def widen(data: Any, dtype: Any) -> Any:
        if dtype.name in fp8.FORMATS:
            return fp8.to_float64(data, dtype.name)
        if dtype == tl.bfloat16:
            return bf16.to_float32(data).astype(np.float64)
        return np.asarray(data).astype(np.float64)

    def narrow(values: Any, dtype: Any, toward_zero: bool) -> Any:
        if dtype.name in fp8.FORMATS:
            return fp8.from_float64(values, dtype.name, toward_zero)
        if dtype == tl.bfloat16:
            return bf16.from_float64(values)
        # From 8 bits to 16 and more nothing is rounded.
        unsigned = getattr(np, f"uint{dtype.primitive_bitwidth}")
        return values.astype(interpreter._get_np_dtype(dtype)).view(unsigned)

    patches.set(interpreter, "_convert_float", convert_values)


SHIM = Shim(
    name="interpreter_fp8",
    issue="interpreter-fp8",
    tier="interpreter",
    window=">=3.0",
    symptom="TRITON_INTERPRET=1 casts to float8 that are wrong by a factor of two, or not rounded to nearest even",
    link="https://github.com/triton-lang/triton/issues/8322",
    delete_when="Triton's interpreter rounds to 8-bit floats as its compiler does, and no column before that is left",
    apply=apply,
)
