"""`tl.flip(x)` without a dimension does not compile on Triton 3.4 to 3.8: its check compares None with a number."""

from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import triton.language as tl

    from ..tracing import builtin, value

    own = tl.flip

    # Breakpoint: Triton 3.9 takes None again; delete with the last column before it.
    def flip(x, dim=None, _semantic=None, _generator=None):
        dim = -1 if value(dim) is None else dim
        if _generator is None:
            # The interpreter.
            return own(x, dim)
        return _generator.call_JitFunction(own, [x, tl.constexpr(value(dim))], {})

    patches.set(tl, "flip", builtin(flip))
    patches.set(tl.tensor, "flip", flip)


SHIM = Shim(
    name="flip_default_dim",
    issue="flip-default-dim",
    tier="refused",
    window=">=3.4,<3.9",
    symptom="'<=' not supported between instances of 'int' and 'NoneType'",
    link="https://github.com/triton-lang/triton/blob/release/3.4.x/python/triton/language/standard.py",
    delete_when="no column of Triton 3.4 to 3.8 is left",
    apply=apply,
)
