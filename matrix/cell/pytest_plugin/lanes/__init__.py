"""The lanes of a test's launches, one module each: compile, interpret, emulate.

A lane is a class with the attributes and methods of `compiling.Compile`; `make` finds it by name.

PYTEST_DONT_REWRITE
"""

from typing import Any


def make(name: str) -> Any:
    """The lane `name`, not yet started."""
    if name == "compile":
        from .compiling import Compile

        return Compile()
    if name == "interpret":
        from .interpreting import Interpret

        return Interpret()
    from .emulating import Emulate

    return Emulate()
