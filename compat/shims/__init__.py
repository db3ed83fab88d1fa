"""The shims, one file each, named for what they heal."""

from typing import Tuple

from ..record import Shim


def all_shims() -> Tuple[Shim, ...]:
    """Every shim, in the order in which they are applied."""
    from . import compiler_crash, interpreter_reserved_options, reserved_options, wavefront_limit

    modules = (reserved_options, interpreter_reserved_options, wavefront_limit, compiler_crash)
    return tuple(module.SHIM for module in modules)
