"""The interpreter keeps bf16 as bit patterns and computes on the patterns; compiled kernels compute on the values.

Each operation of the interpreter's builder that would see a bf16 pattern gets float32 instead, and what it returns is
rounded to bf16: once per operation, to nearest even, as compiled kernels do. Reductions and scans of bf16 round each
step; where Triton promotes them to float32 (``tl.sum`` before 3.3, ``tl.cumsum`` before 3.9) that happens in
Triton's own code, before this one sees them.
"""

import functools
from typing import Any

from .. import bf16
from ..acts import note_acted
from ..interpreter import add_in_memory, has_type, once_imported, with_data
from ..record import Patches, Shim
from ..seams.attribute import around

# All functions of the builder that depend on the value of floats; fcmp* is added where the shim is applied. Moves
# (select, splat, join, gather …) and create_fabs are right on patterns.
VALUE_OPS = """
    create_fadd create_fsub create_fmul create_fdiv create_frem create_fneg create_precise_divf create_approx_divf
    create_minimumf create_minnumf create_maximumf create_maxnumf create_clampf
    create_cos create_exp create_exp2 create_floor create_ceil create_log create_log2 create_precise_sqrt create_sqrt
    create_sin create_erf create_rsqrt
""".split()


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    builder = interpreter.InterpreterBuilder

    # Breakpoint: when Triton's interpreter computes bf16 on values; delete with the last column before that.
    def wide(value: Any) -> Any:
        if not has_type(value, interpreter, tl.bfloat16):
            return value
        return interpreter.TensorHandle(bf16.to_float32(value.data), tl.float32)

    def narrow(result: Any) -> Any:
        data = interpreter.np.asarray(result.data)
        if data.dtype == bool:
            return interpreter.TensorHandle(data, tl.int1)
        return interpreter.TensorHandle(bf16.from_float32(data), tl.bfloat16)

    def on_values(operation: Any, self: Any, *args: Any) -> Any:
        wider = [wide(arg) for arg in args]
        if all(was is now for was, now in zip(args, wider)):
            return operation(self, *args)
        _act()
        return narrow(operation(self, *wider))

    for name in VALUE_OPS + [name for name in vars(builder) if name.startswith("create_fcmp")]:
        if hasattr(builder, name):
            around(patches, builder, name, on_values)
    _patch_dot(patches, interpreter, wide)
    _patch_fma(patches, interpreter, wide)
    _patch_casts(patches, interpreter, wide)
    _patch_reductions(patches, interpreter)
    _patch_memory(patches, interpreter)


def _act() -> None:
    note_acted(SHIM.name)


def _patch_dot(patches: Patches, interpreter: Any, wide: Any) -> None:
    import triton.language as tl

    builder = interpreter.InterpreterBuilder
    create_dot = builder.create_dot

    def dot_of_values(self, a, b, d, *options):
        if not has_type(a, interpreter, tl.bfloat16) and not has_type(b, interpreter, tl.bfloat16):
            return create_dot(self, a, b, d, *options)
        _act()
        # Triton refuses an accumulator of bf16.
        return create_dot(self, wide(a), wide(b), d, *options)

    patches.set(builder, "create_dot", dot_of_values)


def _patch_fma(patches: Patches, interpreter: Any, wide: Any) -> None:
    import triton.language as tl

    builder, np = interpreter.InterpreterBuilder, interpreter.np
    create_fma = builder.create_fma

    def fma_rounding_once(self, x, y, z):
        if not has_type(z, interpreter, tl.bfloat16):
            return create_fma(self, x, y, z)
        _act()
        # The product of two bf16 is exact in float64.
        a, b, c = (wide(arg).data.astype(np.float64) for arg in (x, y, z))
        return interpreter.TensorHandle(bf16.from_float64(a * b + c), tl.bfloat16)

    patches.set(builder, "create_fma", fma_rounding_once)


def _patch_casts(patches: Patches, interpreter: Any, wide: Any) -> None:
    import triton.language as tl

    builder, np = interpreter.InterpreterBuilder, interpreter.np
    cast_impl, create_fp_to_fp = builder.cast_impl, builder.create_fp_to_fp

    def rounded(src: Any, toward_zero: bool = False) -> Any:
        _act()
        data = wide(src).data
        if data.dtype == np.float64 and not toward_zero:
            bits = bf16.from_float64(data)
        else:
            # Integers go through float32 on NVIDIA as well.
            bits = bf16.from_float32(data.astype(np.float32), toward_zero)
        return interpreter.TensorHandle(bits, tl.bfloat16)

    def cast_values(self, src, dst_type):
        if dst_type.scalar == tl.bfloat16 and src.dtype.scalar != tl.bfloat16:
            return rounded(src)
        if src.dtype.scalar == tl.bfloat16 and dst_type.scalar != tl.bfloat16:
            _act()
            data = bf16.to_float32(src.data).astype(interpreter._get_np_dtype(dst_type))
            return interpreter.TensorHandle(data, dst_type.scalar)
        return cast_impl(self, src, dst_type)

    def convert_values(self, src, dst_type, rounding_mode):
        if src.dtype.scalar.is_fp8() or dst_type.scalar.is_fp8():
            return create_fp_to_fp(self, src, dst_type, rounding_mode)
        if dst_type.scalar == tl.bfloat16:
            return rounded(src, rounding_mode == interpreter._ir.ROUNDING_MODE.RTZ)
        if src.dtype.scalar == tl.bfloat16:
            wider = wide(src)
            if dst_type.scalar == tl.float32:
                _act()
                return wider
            if rounding_mode == interpreter._ir.ROUNDING_MODE.RTZ:
                return create_fp_to_fp(self, wider, dst_type, rounding_mode)
            return cast_values(self, src, dst_type)
        return create_fp_to_fp(self, src, dst_type, rounding_mode)

    patches.set(builder, "cast_impl", cast_values)
    patches.set(builder, "create_fp_to_fp", convert_values)
    if not hasattr(builder, "get_bf16"):
        # Breakpoint: Triton 3.9 has it; before, tl.full(shape, 1.5, tl.bfloat16) had no constant to call for.
        def get_bf16(self, value):
            return rounded(self.get_fp32(value))

        patches.set(builder, "get_bf16", get_bf16)
    scaled = getattr(interpreter, "_mxfp_value_handle_to_float32", None)
    if scaled is not None:

        def scaled_values(handle):
            if has_type(handle, interpreter, tl.bfloat16):
                _act()
                return bf16.to_float32(handle.data)
            return scaled(handle)

        patches.set(interpreter, "_mxfp_value_handle_to_float32", scaled_values)


def _patch_reductions(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    np, reduce, scan = interpreter.np, interpreter.ReduceOps, interpreter.ScanOps
    cumsum, cumprod = scan.cumsum, scan.cumprod

    def sum_values(sum_, self, input):
        if input.dtype.scalar != tl.bfloat16:
            return sum_(self, input)
        _act()
        data = input.handle.data
        if self.axis is None:
            total = bf16.sum_(data.reshape(-1), 0)
            total = total.reshape((1,) * data.ndim) if self.keep_dims else total
        else:
            total = bf16.sum_(data, self.axis)
            total = np.expand_dims(total, self.axis) if self.keep_dims else total
        return self.to_tensor(total, input.dtype)

    def min_max_values(min_max, self, input, val_reduce_op, idx_reduce_op=None):
        first = input[0] if isinstance(input, tuple) else input
        if first.dtype.scalar != tl.bfloat16:
            return min_max(self, input, val_reduce_op, idx_reduce_op)
        _act()
        data = bf16.to_float32(first.handle.data)
        result = min_max(
            self, with_data(first, data, tl.float32, interpreter), val_reduce_op, idx_reduce_op
        )
        value = result[0] if isinstance(result, tuple) else result
        if value.dtype.scalar == tl.float32:
            bits = bf16.from_float32(value.handle.data)
            value = with_data(value, bits, tl.bfloat16, interpreter)
        return (value, *result[1:]) if isinstance(result, tuple) else value

    def scanned(operation, whole):
        def scan_values(self, input):
            if input.dtype.scalar != tl.bfloat16:
                return whole(self, input)
            _act()
            return [self.to_tensor(bf16.scan(input.handle.data, self.axis, operation), input.dtype)]

        return scan_values

    around(patches, reduce, "sum", sum_values)
    around(patches, reduce, "min_max", min_max_values)
    patches.set(scan, "cumsum", scanned(np.add, cumsum))
    patches.set(scan, "cumprod", scanned(np.multiply, cumprod))


def _patch_memory(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    builder, np = interpreter.InterpreterBuilder, interpreter.np

    def atomic_on_values(own, self, rmw_op, ptr, val, mask, sem, scope):
        if has_type(val, interpreter, tl.bfloat16) and rmw_op == interpreter._ir.ATOMIC_OP.FADD:
            _act()
            return add_in_memory(interpreter, ptr, val, mask, bf16.add)
        return own(self, rmw_op, ptr, val, mask, sem, scope)

    around(patches, builder, "create_atomic_rmw", atomic_on_values)

    def padded(load, padding_of, masks_of):
        @functools.wraps(load)
        def load_padded(self, source, where, *args, **kwargs):
            # numpy has no integer for NaN; the patterns of the other formats are floats and get theirs.
            padding = padding_of(source, args, kwargs)
            nan = interpreter._ir.PADDING_OPTION.PAD_NAN
            element = source.base.get_element_ty()
            if element != tl.bfloat16 or padding != nan:
                return load(self, source, where, *args, **kwargs)
            _act()
            with np.errstate(invalid="ignore"):
                loaded = load(self, source, where, *args, **kwargs)
            masks = masks_of(source, where)
            data = np.where(masks, loaded.data, np.uint16(bf16.NAN))
            return interpreter.TensorHandle(data.astype(np.uint16), tl.bfloat16)

        return load_padded

    def inside(source, where):
        masks = source.materialize_pointers(where)[1]
        return masks.data if isinstance(masks, interpreter.TensorHandle) else masks

    if hasattr(builder, "create_tensor_pointer_load"):
        patches.set(
            builder,
            "create_tensor_pointer_load",
            padded(
                builder.create_tensor_pointer_load,
                lambda source, args, kwargs: args[0] if args else kwargs["padding_option"],
                inside,
            ),
        )
    if hasattr(builder, "create_descriptor_load"):
        patches.set(
            builder,
            "create_descriptor_load",
            padded(
                builder.create_descriptor_load,
                lambda source, args, kwargs: getattr(source, "padding", None),
                inside,
            ),
        )


SHIM = Shim(
    name="interpreter_bf16",
    issue="interpreter-bf16",
    tier="interpreter",
    window=">=3.0",
    symptom="TRITON_INTERPRET=1 gives wrong numbers for bfloat16: tl.dot around 1e10, x + y, x < y, casts",
    link="https://github.com/triton-lang/triton/issues/11584",
    delete_when="Triton's interpreter computes bf16 on values, and no column before that is left",
    apply=apply,
)
