"""Methods of tensors that Triton wrote with @triton.jit (``x.sum(1)``, ``x.sigmoid()``) do not compile before 3.4."""

from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import triton.language as tl
    from triton.runtime.jit import JITFunction

    from ..tracing import method_of

    # Breakpoint: Triton 3.4 has methods of @triton.jit; delete with the last column before it.
    for name in list(vars(tl.tensor)):
        function = vars(tl).get(name)
        if isinstance(function, JITFunction):
            patches.set(tl.tensor, name, method_of(function))


SHIM = Shim(
    name="tensor_methods",
    issue="tensor-methods",
    tier="names",
    window=">=3.0,<3.4",
    symptom="Cannot call @triton.jit'd outside of the scope of a kernel",
    link="https://github.com/triton-lang/triton/blob/release/3.3.x/python/triton/language/core.py",
    delete_when="no column of Triton 3.0 to 3.3 is left",
    apply=apply,
)
