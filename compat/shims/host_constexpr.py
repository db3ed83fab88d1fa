"""`tl.constexpr` on the host: 2.3 cannot add or compare one, nothing before 3.5 can hash one.

With hash and comparison a constant of a module can be a dictionary's key, a default, or an argument of a kernel; and
2.3's interpreter no longer fails on every kernel of a module that has one.
"""

import functools
import operator
from typing import Any, Callable

from .. import features
from ..acts import note_acted
from ..record import Patches, Shim
from ..tracing import value

BINARY = "add sub mul mod truediv floordiv gt ge lt le eq ne and or xor pow rshift lshift".split()
REFLECTED = "add sub mul mod truediv floordiv and or xor pow rshift lshift".split()
FUNCTIONS = {"and": operator.and_, "or": operator.or_}


def apply(patches: Patches) -> None:
    import triton.language as tl
    from triton.runtime.jit import KernelInterface

    constexpr = tl.core.constexpr

    # Breakpoint: Triton 3.0 has the operators, 3.3 the arguments, 3.5 the hash; delete with the last column before it.
    if not _compares(constexpr):
        for name in BINARY:
            patches.set(constexpr, f"__{name}__", _operator(constexpr, name))
        for name in REFLECTED:
            patches.set(constexpr, f"__r{name}__", _operator(constexpr, name, swapped=True))
    if constexpr.__hash__ is None:
        patches.set(constexpr, "__hash__", lambda self: hash(self.value))
    if not features.has_binder() or features.has_function_type():
        # Replaces Triton's own one-line function, so that a launch without a constexpr costs nothing more.
        patches.set(KernelInterface, "__getitem__", _launcher(patches))


def _launcher(patches: Patches) -> Callable:
    from triton.runtime.jit import KernelInterface

    @functools.wraps(KernelInterface.__getitem__)
    def with_grid(self, grid):
        def launch(*args, **kwargs):
            try:
                return self.run(*args, grid=grid, warmup=False, **kwargs)
            except TypeError as error:
                # Raised before anything was launched.
                if "constexpr" not in str(error):
                    raise
                if not patches.attempt(_fix_held_values, patches, self):
                    raise
            named = {name: value(arg) for name, arg in kwargs.items()}
            launched = self.run(*map(value, args), grid=grid, warmup=False, **named)
            note_acted(SHIM.name)
            return launched

        return launch

    return with_grid


def _fix_held_values(patches: Patches, kernel: Any) -> None:
    """Put values in place of the constants among the defaults and the configurations of `kernel`."""
    while kernel is not None:
        for config in getattr(kernel, "configs", ()):
            if any(map(_is_constant, config.kwargs.values())):
                plain = {name: value(held) for name, held in config.kwargs.items()}
                patches.set(config, "kwargs", plain)
        signature = getattr(kernel, "signature", None)
        if signature and any(_is_constant(p.default) for p in signature.parameters.values()):
            parameters = [
                p.replace(default=value(p.default)) for p in signature.parameters.values()
            ]
            patches.set(kernel, "signature", signature.replace(parameters=parameters))
            # The next launch that finds none makes it from the signature. Triton 2.3 has none.
            kernel.binder = None
            patches.on_undo(functools.partial(setattr, kernel, "binder", None))
        kernel = getattr(kernel, "fn", None)


def _is_constant(item: Any) -> bool:
    return type(item).__name__ == "constexpr"


def _compares(constexpr) -> bool:
    try:
        return bool(constexpr(1) == 1)
    except AttributeError:
        return False


def _operator(constexpr, name, swapped=False):
    function = FUNCTIONS.get(name) or getattr(operator, name)

    # Where this Triton has none, it looks like Python's own.
    @functools.wraps(getattr(constexpr, f"__{'r' if swapped else ''}{name}__", function))
    def apply_operator(self, other):
        left, right = self.value, value(other)
        return constexpr(function(right, left) if swapped else function(left, right))

    return apply_operator


SHIM = Shim(
    name="host_constexpr",
    issue="triton-3762",
    tier="names",
    window="<3.5",
    symptom="unhashable type: 'constexpr'",
    link="https://github.com/triton-lang/triton/pull/3762",
    delete_when="no column before Triton 3.5 is left",
    apply=apply,
)
