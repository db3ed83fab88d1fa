"""A numpy that is too new for the interpreter: wrong memory or a strange error. Refused, with what to install."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..acts import note_acted
from ..errors import CompatError
from ..interpreter import once_imported
from ..record import Patches, Shim
from ..versions import in_window, triton_version


def pin(triton: str, numpy: str) -> Optional[Tuple[str, str]]:
    """The `numpy` to install instead, and why; None if the interpreter of this `triton` works with this one."""
    # libtriton up to 3.1 was built for numpy 1.
    if in_window("<3.2", triton) and in_window(">=2", numpy):
        return "numpy<2", "reads and writes wrong memory, without an error,"
    # numpy 2.4 no longer makes an int of a one-element array.
    if in_window(">=3.2,<3.7", triton) and in_window(">=2.4", numpy):
        return "numpy<2.4", "fails on loops with run-time bounds"
    return None


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    triton, numpy = str(triton_version()), interpreter.np.__version__
    wanted_numpy = pin(triton, numpy)
    if wanted_numpy is None:
        return
    wanted, why = wanted_numpy

    # Breakpoint: Triton 3.7 works with every numpy so far; delete with the last column before it.
    def refuse(self, *args, **kwargs):
        note_acted(SHIM.name)
        msg = f'the interpreter of Triton {triton} {why} with numpy {numpy}: pip install "{wanted}"'
        raise CompatError(msg)

    patches.set(interpreter.GridExecutor, "__call__", refuse)


SHIM = Shim(
    name="interpreter_numpy",
    issue="interpreter-numpy",
    tier="interpreter",
    window="<3.7",
    symptom="only 0-dimensional arrays can be converted to Python scalars; TRITON_INTERPRET=1 outputs stay zero",
    link="https://github.com/triton-lang/triton/issues/9171",
    delete_when="no column before Triton 3.7 is left",
    apply=apply,
    # Outermost: it has to refuse before anything runs.
    order=80,
)
