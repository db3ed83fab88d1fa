"""In the interpreter before Triton 3.8 ``tl.maximum(nan, x)`` is NaN; compiled kernels return x."""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim
from ..seams.attribute import around


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    np, builder, reduce = interpreter.np, interpreter.InterpreterBuilder, interpreter.ReduceOps
    none = interpreter._ir.PROPAGATE_NAN.NONE

    # Breakpoint: Triton 3.8 takes numpy's fmax and fmin; delete with the last column before it.
    def minimum(own, self, lhs, rhs):
        note_acted(SHIM.name)
        return self.binary_op(lhs, rhs, np.fmin)

    def maximum(own, self, lhs, rhs):
        note_acted(SHIM.name)
        return self.binary_op(lhs, rhs, np.fmax)

    def clamp(own, self, arg, lo, hi, propagate_nans):
        if propagate_nans != none:
            return own(self, arg, lo, hi, propagate_nans)
        return minimum(own, self, maximum(own, self, arg, lo), hi)

    def min_max_of_numbers(own, self, input, val_reduce_op, idx_reduce_op=None):
        # The index for NaN depends on the order of comparisons: left as it is.
        if idx_reduce_op is None and val_reduce_op in (np.max, np.min):
            note_acted(SHIM.name)
            val_reduce_op = np.fmax.reduce if val_reduce_op is np.max else np.fmin.reduce
        return own(self, input, val_reduce_op, idx_reduce_op)

    around(patches, builder, "create_minnumf", minimum)
    around(patches, builder, "create_maxnumf", maximum)
    around(patches, builder, "create_clampf", clamp)
    around(patches, reduce, "min_max", min_max_of_numbers)


SHIM = Shim(
    name="interpreter_nan",
    issue="interpreter-nan",
    tier="interpreter",
    window=">=3.0,<3.8",
    symptom="TRITON_INTERPRET=1: tl.maximum, tl.minimum or tl.clamp gives nan where a compiled kernel gives a number",
    link="https://github.com/triton-lang/triton/pull/10333",
    delete_when="no column before Triton 3.8 is left",
    apply=apply,
    # Before bf16, which passes it float32.
    order=-10,
)
