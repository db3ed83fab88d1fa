"""Before Triton 3.3 compiled kernels add bools in one bit; the interpreter says only whether any is true.

A sum of bools is a parity there, which hardly anyone means: the interpreter is to show it, not to hide it.
"""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim
from ..seams.attribute import around


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    np, reduce = interpreter.np, interpreter.ReduceOps

    # Breakpoint: Triton 3.3 promotes; delete with the last column before it.
    def sum_in_one_bit(own, self, input):
        if input.handle.data.dtype != bool:
            return own(self, input)
        note_acted(SHIM.name)
        parity = np.logical_xor.reduce(input.handle.data, axis=self.axis, keepdims=self.keep_dims)
        return self.to_tensor(parity, input.dtype)

    around(patches, reduce, "sum", sum_in_one_bit)


SHIM = Shim(
    name="interpreter_bool_sum",
    issue="interpreter-bool-sum",
    tier="interpreter",
    window=">=3.0,<3.3",
    symptom="TRITON_INTERPRET=1: tl.sum of a comparison is 1 where the compiled kernel gives 0",
    link="https://github.com/triton-lang/triton/pull/5763",
    delete_when="no column before Triton 3.3 is left",
    apply=apply,
)
