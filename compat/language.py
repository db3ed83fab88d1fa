"""`triton.language` as it is on Triton 3.4 and later, on every Triton, by import instead of by patching.

    import triton
    import triton.language as tl
    from crosswarp.compat import language as ctl

    @triton.jit
    def kernel(x, y, B: tl.constexpr):
        at = tl.arange(0, B)
        tl.store(y + at, ctl.libdevice.tanh(ctl.rsqrt(tl.load(x + at))))

Every name is Triton's own object where this Triton has it. `math` has what it has on any version, and `libdevice` is
libdevice wherever Triton keeps it. Keep ``import triton.language as tl`` beside it: Triton's interpreter asks for it.

What a name alone cannot bring needs `compat.install()`: methods of tensors (``x.sum(1)``) and `range` on Triton 2.3,
and `constexpr_function` before 3.4. Asking for those here says so.
"""

import functools
import types
from typing import Any, Dict, List

from . import features

# Names that work only together with a change to the code generator.
NEED_INSTALL = ("range", "constexpr_function")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import triton
    import triton.language as tl

    if name in ("math", "libdevice"):
        return _namespace(name)
    value = _ours().get(name)
    # Looked up at each access: the interpreter replaces attributes of triton.language while a kernel runs.
    if value is None:
        value = getattr(tl, name, None)
    if value is None and name == "constexpr_function":
        value = getattr(triton, name, None)
    if value is not None:
        return _for_interpreter(name, value)
    msg = f"triton.language of Triton {triton.__version__} has no {name!r}, nor can crosswarp add it by name"
    if name in NEED_INSTALL:
        msg += ": call crosswarp.compat.install() first, then use tl." + name
    raise AttributeError(msg)


def _for_interpreter(name: str, value: Any) -> Any:
    """`value`, or in Triton's interpreter what stands in for it after an import by name, too.

    The interpreter replaces the attributes of triton.language while a kernel runs, and nothing that was imported.
    """
    from .tracing import MARK, handed_on, interpreting

    if not interpreting() or not isinstance(value, types.FunctionType):
        return value
    import triton.language as tl

    @functools.wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        for hidden in ("_builder", "_semantic"):
            kwargs.pop(hidden, None)
        current = getattr(tl, name, value)
        if getattr(current, MARK, False):
            return current(*args, **kwargs, **handed_on())
        return current(*args, **kwargs)

    return call


def __dir__() -> List[str]:
    import triton.language as tl

    return sorted({*dir(tl), *_ours(), "math", "libdevice"})


@functools.lru_cache(maxsize=None)
def _ours() -> Dict[str, Any]:
    """The names that are not Triton's own on this Triton."""

    if features.has_libdevice_in_math():
        from . import old_arguments, old_language

        names = {**old_language.NAMES, **old_arguments.NAMES}
        return {name: value for name, value in names.items() if name not in NEED_INSTALL}
    if features.has_descriptors() or features.has_experimental_descriptors():
        from .shims import descriptor_names

        return descriptor_names.names()
    return {}


@functools.lru_cache(maxsize=None)
def _namespace(name: str) -> types.ModuleType:
    """`math` or `libdevice`: a module, since Triton looks attributes up in modules only."""
    import triton.language as tl

    module = types.ModuleType(f"{__name__}.{name}")
    if features.has_libdevice_in_math():
        from .shims import libdevice_modules

        functions = libdevice_modules.functions()
    else:
        from . import libdevice_names

        functions = {name: libdevice_names.dispatched(name) for name in libdevice_names.names()}
    if name == "libdevice":
        vars(module).update(functions)
        return module

    def of_math(wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        return getattr(tl.math, wanted)

    if not features.has_libdevice_in_math():
        vars(module).update(libdevice_names.missing_from_math())
    vars(module)["__getattr__"] = of_math
    return module
