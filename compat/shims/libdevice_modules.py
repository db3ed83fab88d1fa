"""`triton.language.extra.libdevice` and `tl.extra.cuda.libdevice`, which came with Triton 3.0, on 2.3."""

import sys

from ..record import Items, Patches, Shim


def apply(patches: Patches) -> None:
    import types

    import triton.language as tl

    # Breakpoint: Triton 3.0 has these modules; delete with the last column before it.
    modules = Items(sys.modules)
    for owner in (tl.extra, tl.extra.cuda):
        name = f"{owner.__name__}.libdevice"
        module = types.ModuleType(name, "libdevice, where Triton keeps it since 3.0.")
        vars(module).update(functions())
        patches.set(owner, "libdevice", module)
        patches.set(modules, name, module)


def functions() -> dict:
    """libdevice's functions by their names, on Triton 2.3."""
    import triton.language as tl

    return {
        name: function
        for name, function in vars(tl.math).items()
        # These two are no functions of libdevice, and are in no later module of that name.
        if tl.core.is_builtin(function) and name not in ("max", "min")
    }


SHIM = Shim(
    name="libdevice_modules",
    issue="triton-3748",
    tier="names",
    window="<3.0",
    symptom="cannot import name 'libdevice' from 'triton.language.extra'",
    link="https://github.com/triton-lang/triton/issues/3748",
    delete_when="no column before Triton 3.0 is left",
    apply=apply,
)
