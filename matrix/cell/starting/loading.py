"""Run a file as a module under a name that its path does not give: a suite's kernel, a program, a probe."""

import importlib.util
import os
import sys
from typing import Any, Union


def load(name: str, path: Union[str, "os.PathLike[str]"]) -> Any:
    """The module of that file, kept as `name`. Runs a stranger's code: only inside a forked child.

    Raises:
        ImportError for a file that is not Python's, or any exception of the file.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"{path} cannot be imported"
        raise ImportError(msg)
    module = importlib.util.module_from_spec(spec)
    # Triton reads the source of a kernel through its module.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
