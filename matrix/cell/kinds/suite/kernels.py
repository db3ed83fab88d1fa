"""Find the kernels of a suite: our own, or a folder of modules that each define KERNEL."""

import fnmatch
import os
import sys
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence

from crosswarp import kernels as own
from crosswarp.compat.seams import key
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.plain import below_decorators
from crosswarp.matrix.cell.starting import loading

from . import modules

# "0": no __pycache__ is to be left in the suite's folder.
SUITE_BYTECODE_ENV = "CROSSWARP_SUITE_BYTECODE"


def names(suite: Optional[str], patterns: Sequence[str]) -> List[str]:
    """Names of the modules to load, from their files: nothing is imported. A helper beside them sets no KERNEL."""
    available = own.NAMES if suite is None else modules.kernels(modules.look(suite))
    return [
        name
        for name in available
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]


def of_suite(spec: AskedSuite, name: str) -> Any:
    """The kernel of a specification, as `load`."""
    return load(spec.suite, name)


# The function with which a child loads its kernel. Another kind of work that runs its cases as a suite's replaces it.
loader: Callable[[Any, str], Any] = of_suite


def load(suite: Optional[str], name: str) -> Any:
    """Import one kernel module and return its KERNEL. Runs a stranger's code: only inside a forked child.

    Raises:
        any exception of the module; AttributeError if it defines no KERNEL.
    """
    if suite is None:
        return own.load(name)
    if os.environ.get(SUITE_BYTECODE_ENV) == "0":
        sys.dont_write_bytecode = True
    # A suite's kernels may share helpers in the same folder.
    sys.path.insert(0, str(suite))
    return loading.load(f"crosswarp_suite_{name}", Path(suite) / f"{name}.py").KERNEL


def digest(kernel: Any) -> None:
    """Have Triton, and the shims, read the source of the module's kernels, and of what they call, as for a launch.

    Raises:
        Triton's exception for a kernel that it cannot digest, which is then half done: do not launch it after that.
    """
    from triton.runtime.jit import JITFunction, KernelInterface

    for thing in list(vars(sys.modules[kernel.launch.__module__]).values()):
        function = (
            below_decorators(thing, KernelInterface) if isinstance(thing, KernelInterface) else None
        )
        if isinstance(function, JITFunction):
            # Kept by the kernel from now on.
            function.cache_key  # noqa: B018
            key.look_ahead(function)
