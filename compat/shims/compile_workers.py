"""The shims in inductor's compile workers, which are separate interpreters from torch 2.4 on.

Torch starts them as it imports its inductor, with a command line that is known: a file of its own, and what that takes.
Here the worker first imports this package, under the name that it has here, and installs what is installed here.

What it has compiled it hands back pickled, from torch 2.7 on with the kernel's function. Torch before 2.10 does not
know the lock that Triton 3.5 gave that: it is left out, and made anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any, Dict, List

from .. import features
from ..record import Patches, Shim
from ..versions import in_window, torch_version

# The releases that pickle a kernel's function without removing the lock.
_TORCH = ">=2.7,<2.10"

_POOL = "torch._inductor.compile_worker.subproc_pool"
_ENTRY = os.path.join("compile_worker", "__main__.py")
# Arguments: this package, the shims by name, and torch's command line without the interpreter.
_START = """\
import importlib, os, runpy, sys
package, names, sys.argv = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
try:
    guard = "always" if "compiler_crash" in names else "off"
    importlib.import_module(package).install(guard, only=names)
except Exception as error:
    print(f"{package}: torch's workers compile without shims, because of {error!r}", file=sys.stderr)
# As python has it that is given a file.
if sys.path[:1] == [""]:
    sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def apply(patches: Patches) -> None:
    # Symptom: SubprocException: An exception occurred in a subprocess: … cannot import name 'triton_key' from
    # 'triton.compiler.compiler', by torch.compile after compat.install().
    # Affected: every Triton beside torch 2.4 and later. Link: triton-lang/triton#7835, pytorch/pytorch#122941.
    # Breakpoint: none. A torch whose workers are forks of this process needs nothing.
    if features.has_hash_lock() and in_window(_TORCH, torch_version() or "999"):
        from triton.runtime.jit import JITFunction

        # Symptom: TypeError: cannot pickle '_thread.RLock' object, out of a worker. Affected: Triton 3.5 and later
        # beside torch 2.7 to 2.9. Breakpoint: torch 2.10 takes the lock out itself; delete with the last before it.
        patches.set(JITFunction, "__getstate__", _without_lock)
        patches.set(JITFunction, "__setstate__", _with_lock)
    module = sys.modules.get(_POOL)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        _replace(patches, module)
        return
    finder = _AfterPool(patches)
    sys.meta_path.insert(0, finder)
    patches.on_undo(finder.remove)


def _without_lock(function: Any) -> Dict[str, Any]:
    return {name: value for name, value in vars(function).items() if name != "_hash_lock"}


def _with_lock(function: Any, state: Dict[str, Any]) -> None:
    vars(function).update(state, _hash_lock=threading.RLock())


class _AfterPool:
    """A finder on ``sys.meta_path`` for one module only: it has run, and no worker was started."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def remove(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _POOL:
            return None
        from ..after_import import after_execution

        others = [
            finder
            for finder in sys.meta_path
            if finder is not self and hasattr(finder, "find_spec")
        ]
        specs = (finder.find_spec(name, path, target) for finder in others)
        return after_execution(next((spec for spec in specs if spec is not None), None), self._imported)  # fmt: skip

    def _imported(self, module: Any) -> None:
        self.remove()
        self._patches.attempt(_replace, self._patches, module)


def _replace(patches: Patches, module: Any) -> None:
    patches.set(module, "subprocess", _Subprocess())


class _Subprocess:
    """The module `subprocess` as the code that starts the workers sees it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, command: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N802
        return subprocess.Popen(with_shims(command), *args, **kwargs)


def with_shims(command: Any) -> Any:
    """The command line of a worker, with the shims that are active here; any other command as it is."""
    if not isinstance(command, list) or command[:1] != [sys.executable] or len(command) < 2:
        return command
    if not str(command[1]).endswith(_ENTRY):
        return command
    return [command[0], "-c", _START, __name__.rpartition(".shims.")[0], ",".join(_names()), *command[1:]]  # fmt: skip


def _names() -> List[str]:
    from ..install import active
    from . import listed

    # A worker knows only this copy's shims: those of other copies cannot be asked for.
    known = {shim.name for shim in listed()}
    return [shim.name for shim in active() if shim.name in known]


SHIM = Shim(
    name="compile_workers",
    issue="triton-7835",
    tier="torch",
    window=">=3.0",
    symptom="SubprocException: An exception occurred in a subprocess\ncannot pickle '_thread.RLock' object",
    link="https://github.com/triton-lang/triton/issues/7835",
    delete_when="torch compiles in forks of the process, or no shim fixes torch",
    apply=apply,
)
