"""In the interpreter's lane a kernel is interpreted or not launched at all.

`gluon.jit` ignores TRITON_INTERPRET: it would be compiled, nothing would execute it, and its outputs would be compared
all the same.
"""

from typing import Any, List

from crosswarp.compat.record import Patches


class NotInterpreted(Exception):
    """A kernel that Triton's interpreter does not run was launched in its lane."""


def refuse_compiled(patches: Patches) -> List[str]:
    """Have the launch of a compiled kernel raise NotInterpreted; why stands in the list, whoever catches that."""
    from triton.runtime.jit import JITFunction

    refused: List[str] = []

    def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        refused.append(_why(kernel))
        raise NotInterpreted(refused[-1])

    patches.set(JITFunction, "run", run)
    return refused


def _why(kernel: Any) -> str:
    name = getattr(kernel, "__name__", "a kernel")
    gluon = getattr(kernel, "is_gluon", None)
    if gluon is not None and gluon():
        return (
            f"{name} is a Gluon kernel, and gluon.jit ignores TRITON_INTERPRET: there is no interpreter for Gluon. "
            "The lane emulate computes it"
        )
    return f"{name} was decorated as a kernel to compile, which Triton's interpreter does not run"
