"""The ways in which a test's launches go, one module each: compile, interpret, emulate.

A way is a class with the attributes and methods of `compiling.Compile`; `make` finds it by name.

PYTEST_DONT_REWRITE
"""

from typing import Any


def make(name: str) -> Any:
    """The way `name`, not yet started."""
    if name == "compile":
        from .compiling import Compile

        return Compile()
    if name == "interpret":
        from .interpreting import Interpret

        return Interpret()
    from .emulating import Emulate

    return Emulate()
