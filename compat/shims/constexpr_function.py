"""`constexpr_function` is in `triton.language` on 3.4, in `triton` from 3.5 on, nowhere before: both, everywhere."""

import functools

from .. import features
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    import triton
    import triton.language as tl

    # Breakpoint: Triton 3.5 moved it; delete when the columns before 3.5 are gone, and the code written for 3.4.
    in_triton, in_language = features.has_constexpr_function()
    if in_triton:
        if not in_language:
            patches.set(tl, "constexpr_function", triton.constexpr_function)
        return
    own = getattr(tl, "constexpr_function", None)
    _hash_what_it_wraps(patches, own(_source).__code__ if own else None)
    for owner in (triton, tl):
        patches.set(owner, "constexpr_function", _constexpr_function)


def _constexpr_function(function):
    """Let a kernel call `function`, a plain Python function, while it is traced, on values known then."""
    from ..tracing import builtin, interpreting, value

    @functools.wraps(function)
    def call(*args, _builder=None, _semantic=None, **kwargs):
        result = function(
            *(value(arg) for arg in args), **{name: value(arg) for name, arg in kwargs.items()}
        )
        # The host, or the interpreter, which has no constexpr.
        if (_builder is None and _semantic is None) or interpreting():
            return result
        import triton.language as tl

        return tl.constexpr(result)

    # Its own signature hides that it takes the builder, which Triton looks for.
    del call.__wrapped__
    setattr(call, "crosswarp_source", _source(function))  # noqa: B010
    return builtin(call)


def _source(function) -> str:
    import inspect

    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        # Typed at a prompt: only its code identifies it.
        return repr((function.__code__.co_code, function.__code__.co_consts))


def _hash_what_it_wraps(patches: Patches, own_code) -> None:
    """Put functions into a kernel's hash: Triton leaves builtins out, so a changed one would get the old kernel.

    `own_code` is the code of functions that Triton 3.4 itself wrapped, maybe before this was installed.
    """
    import hashlib

    from triton.runtime.jit import DependenciesFinder

    def source_of(function):
        if own_code is not None and getattr(function, "__code__", None) is own_code:
            return _source(function.__wrapped__)
        source = getattr(function, "crosswarp_source", None)
        return source if isinstance(source, str) else None

    def and_source(visit):
        @functools.wraps(visit)
        def visit_and_hash(self, node):
            result = visit(self, node)
            source = source_of(result)
            if source is not None:
                if hasattr(self, "hasher"):
                    self.hasher.update(source.encode("utf-8"))
                else:
                    # Breakpoint: Triton 2.3 keeps the hash so far as text.
                    self.ret = hashlib.sha1((self.ret + source).encode("utf-8")).hexdigest()
            return result

        return visit_and_hash

    # A function is called by its name, or as an attribute of its module.
    for method in ("visit_Name", "visit_Attribute"):
        patches.set(DependenciesFinder, method, and_source(getattr(DependenciesFinder, method)))


SHIM = Shim(
    name="constexpr_function",
    issue="vllm-39664",
    tier="names",
    window=">=2.3",
    symptom="module 'triton.language' has no attribute 'constexpr_function'",
    link="https://github.com/vllm-project/vllm/issues/39664",
    delete_when="no column before Triton 3.5 is left, and no library says tl.constexpr_function",
    apply=apply,
)
