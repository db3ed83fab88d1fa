"""Modules that stand in for compiled extensions which a checkout lacks.

A stub can be imported from, subclassed and used as a decorator while tests are collected. A test that calls it needs
the extension, and does not apply.

PYTEST_DONT_REWRITE
"""

import importlib.abc
import importlib.machinery
import sys
from typing import Any, Sequence

from crosswarp.compat.record import Patches

# Set in the child that runs a test: from then on a call is a use.
running = False


class _Missing(type):
    """The class of everything in a stub: attributes are found, calls are refused."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"{cls.__crosswarp_stub__}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "__crosswarp_stub__" not in vars(cls) or not running:
            # A class of the library's that derives from the stub; or a decorator, at import.
            return super().__call__(*args, **kwargs)
        from crosswarp.matrix.cell.standins.virtual_torch import NotOnVirtualGPU

        msg = f"{cls.__crosswarp_stub__} is stubbed (--crosswarp-stub): the test needs the extension itself"
        raise NotOnVirtualGPU(msg)


def missing(path: str) -> Any:
    """Stands for any object of the extension at this dotted path."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        pass

    name = path.rpartition(".")[2]
    return _Missing(name, (), {"__crosswarp_stub__": path, "__module__": path, "__init__": init})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Sequence[str]):
        self.names = names
        self.made: list = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if any(name == stub or name.startswith(f"{stub}.") for stub in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return None

    def exec_module(self, module: Any) -> None:
        name = module.__name__
        self.made.append(name)

        def attribute(asked: str) -> Any:
            if asked.startswith("__"):
                raise AttributeError(asked)
            stub = missing(f"{name}.{asked}")
            setattr(module, asked, stub)
            return stub

        module.__getattr__ = attribute
        module.__version__ = "0"


def install(patches: Patches, names: Sequence[str]) -> None:
    """Stand in for the modules `names`, and for all below them."""
    if not names:
        return
    finder = _Finder(names)
    sys.meta_path.insert(0, finder)

    def undo() -> None:
        sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)

    patches.on_undo(undo)


def hint(text: str) -> str:
    """Return advice on a collection error with this text, if a stub may help; else an empty string."""
    import re

    match = re.search(r"No module named '([\w.]+)'", text)
    if match is None:
        match = re.search(r"cannot import name '\w+' from '([\w.]+)'", text)
        if match is None or "undefined symbol" in text:
            return ""
    name = match[1]
    if name.partition(".")[0] == "triton":
        # Nothing can stand in for the compiler itself.
        return "crosswarp: this Triton has no such name; crosswarp lint FILE lists the releases that lack it."
    return (
        f"crosswarp: if {name} is a compiled extension that this machine lacks, --crosswarp-stub {name} "
        "stands in for it; if it is a dependency of the tests, install it."
    )
