"""Import a file that was never meant to be a suite, as far as its kernels: only inside a forked child.

Many a file runs something where it is imported: a benchmark, a test of its own. Its kernels stand before that. So the
import ends at the first launch, and what it raises counts only where a kernel is not there yet.
"""

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from crosswarp.matrix.cell.plain import attribute, text_of, type_name

_NAME = "crosswarp_check_"


class Launched(BaseException):
    """Raised where a file launches a kernel while it is imported. No ``except Exception`` of the file's takes it."""


def load(check: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
    """The module as far as it came, and what ended its import; None where it came to its end.

    Raises:
        whatever the import raises, where nothing is left of the module.
    """
    undo = _stop_at_launch()
    # What lies beside the file is found before what is installed, as where it is run itself.
    sys.path.insert(0, check["root"])
    sys.dont_write_bytecode = True
    try:
        return _packaged(check) if check["module"] else _alone(check)
    finally:
        undo()


def kernel(module: Any, name: str) -> Any:
    """The kernel that a module has under a name such as ``Class.kernel``; None where it has not come so far."""
    found = module
    for part in name.split("."):
        found = attribute(found, part)
    return found


def ended(error: BaseException, path: str) -> str:
    """Where and by what an import ended, in a few words."""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    where = f" at line {line}" if line else ""
    if isinstance(error, Launched):
        return f"its import launches a kernel{where}"
    return f"its import ends{where}: {type_name(error)}: {text_of(error)}"


def _alone(check: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
    name = f"{_NAME}{Path(check['file']).stem}"
    spec = importlib.util.spec_from_file_location(name, check["file"])
    return _executed(name, spec, f"{check['file']} cannot be imported")


def _packaged(check: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
    """Its package first, as an import does it; the module itself is kept although its import ends."""
    name = check["module"]
    package, _, last = name.rpartition(".")
    parent = importlib.import_module(package)
    known = sys.modules.get(name)
    if known is not None:
        return known, None
    module, error = _executed(
        name, importlib.util.find_spec(name), f"{name} is not found in {check['root']}"
    )
    if error is None:
        setattr(parent, last, module)
    return module, error


def _executed(
    name: str, spec: Optional[ModuleSpec], why_not: str
) -> Tuple[Any, Optional[BaseException]]:
    """The module, and what ended its import; it is kept all the same, and may have its kernels by then."""
    if spec is None or spec.loader is None:
        raise ImportError(why_not)
    module = importlib.util.module_from_spec(spec)
    # Triton reads the source of a kernel through its module.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        return module, error
    return module, None


def _stop_at_launch() -> Any:
    from triton.runtime.jit import JITFunction

    own = JITFunction.run

    def run(self, *args, **kwargs):
        raise Launched

    JITFunction.run = run

    def undo() -> None:
        JITFunction.run = own

    return undo
