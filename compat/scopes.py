"""Whose kernels a shim acts on: everybody's, or those of the packages for which somebody asked for it."""

from typing import Any, Optional, Set

from .copies import COMMON


def in_scope(shim: str, kernel: Any) -> bool:
    """Whether somebody has requested `shim` for this kernel.

    Args:
        shim: its name.
        kernel: a ``@triton.jit`` function, or its Python function. It belongs to the module that defines it, whoever
            launches it and whatever it calls.
    """
    packages = _packages(shim)
    if None in packages:
        return True
    module = str(getattr(getattr(kernel, "fn", kernel), "__module__", ""))
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _packages(shim: str) -> Set[Optional[str]]:
    """The packages for which `shim` was asked for, of any copy of this library; None among them for everywhere."""
    packages: Set[Optional[str]] = set()
    for copy in tuple(COMMON.asking):
        packages.update(copy.scopes(shim) if hasattr(copy, "scopes") else (None,))
    # Installed without a request: in a test, or while somebody uninstalls.
    return packages or {None}
