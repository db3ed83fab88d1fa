"""Stand-ins for modules that a file imports and this environment lacks, so that its kernels can still be reached.

Only a module that ended the import gets one: an optional import that a file catches stays a failed import. A kernel
that uses a stand-in itself is not compiled.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import sys
import types
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

from crosswarp.matrix.cell.plain import attribute, below_decorators, text_of

# These are never replaced: a check is about the names that they lack.
_NEVER = ("triton", "torch", "crosswarp")
# The package of a file that lies in none; its relative imports are looked for beside it, and no further up.
PACKAGE = "crosswarp_check_package"
_LEVELS = 4
# Modules whose package has another name.
INSTALLED_AS = {
    "PIL": "pillow", "absl": "absl-py", "attr": "attrs", "cutlass": "nvidia-cutlass-dsl", "cv2": "opencv-python",
    "dateutil": "python-dateutil", "gin": "gin-config", "git": "gitpython", "hydra": "hydra-core",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "yaml": "pyyaml", "zmq": "pyzmq",
}  # fmt: skip
RELATIVE = "its own package"
_EXTENSIONS = "torch.utils.cpp_extension"
_OF_NAMES = (ImportError, AttributeError, NameError, SyntaxError, TypeError)


# Whether a stand-in is true, as where a file asks whether something is there.
_true = False
# The paths of stand-ins that were called, other than as a decorator.
_called: Dict[str, None] = {}


class StandIn:
    """Serves as an attribute, a callable or a base class. As a decorator it returns the object that it decorates."""

    def __init__(self, path: str = ""):
        self.__dict__["path"] = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.path}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and (callable(args[0]) or attribute(args[0], "run")):
            return args[0]
        _called[self.path] = None
        return StandIn(f"{self.path}()")

    def __mro_entries__(self, bases: Any) -> Any:
        return ()

    def __getitem__(self, key: Any) -> Any:
        return StandIn(f"{self.path}[]")

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return _true

    def __or__(self, other: Any) -> Any:
        return other

    __ror__ = __or__

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *raised: Any) -> None:
        pass


class _Module(types.ModuleType):
    """Serves as a base class and as a callable too: the same name may be a module's and a class's."""

    __call__ = StandIn.__call__
    __mro_entries__ = StandIn.__mro_entries__

    @property
    def path(self) -> str:
        return self.__name__


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last import finder: existing modules come first."""

    def __init__(self, names: Sequence[str]):
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        own = name.startswith(f"{PACKAGE}.") and RELATIVE in self.names
        if own or any(
            name == left_out or name.startswith(f"{left_out}.") for left_out in self.names
        ):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return _Module(spec.name)

    def exec_module(self, module: Any) -> None:
        name = module.__name__
        module.__version__ = "0"
        module.__all__ = []

        def stand_in(asked: str) -> Any:
            if asked.startswith("__"):
                raise AttributeError(asked)
            return StandIn(f"{name}.{asked}")

        module.__getattr__ = stand_in


def install(names: Sequence[str]) -> None:
    """Stand in for the modules `names`, a list that may grow."""
    sys.meta_path.append(_Finder(names))
    for name in names:
        _attribute(name)


def stand_before(name: str) -> None:
    """Stand in for a package that is there, but cannot be imported."""
    for loaded in [
        existing for existing in sys.modules if existing == name or existing.startswith(f"{name}.")
    ]:
        del sys.modules[loaded]
    sys.meta_path.insert(0, _Finder([name]))


def replaceable(name: str) -> str:
    """Return a module's name, or '' for one that nothing stands in for."""
    return "" if name.split(".")[0] in _NEVER else name


def package(folder: str) -> str:
    """Return the name of a package of several levels, the innermost of which finds the modules in `folder`."""
    name = ""
    for level in range(_LEVELS):
        name = f"{name}.p{level}" if name else PACKAGE
        made = types.ModuleType(name)
        made.__path__ = [folder] if level == _LEVELS - 1 else []
        sys.modules[name] = made
    return name


def lacking(error: Optional[BaseException]) -> str:
    """Return the missing name, if a stand-in may replace it: a module, MODULE:NAME, or RELATIVE; else ''."""
    if not isinstance(error, ImportError):
        return ""
    text = text_of(error)
    if "attempted relative import" in text:
        return RELATIVE
    # An ImportError that a library raises itself names no module.
    raised = re.match(r"No module named '([\w.]+)'", text)
    name = attribute(error, "name") or (raised[1] if raised else "")
    if not isinstance(name, str) or name.split(".")[0] in _NEVER:
        return ""
    if name.startswith(PACKAGE):
        return RELATIVE
    if isinstance(error, ModuleNotFoundError):
        return name
    match = re.search(r"cannot import name '(\w+)'", text)
    return f"{name}:{match[1]}" if match and name else ""


def never_replaced(error: Optional[BaseException]) -> bool:
    """Return whether an import ended at a name of Triton or torch, which no missing package explains."""
    if not isinstance(error, ImportError):
        return False
    name = attribute(error, "name")
    return isinstance(name, str) and name.split(".")[0] in _NEVER


def unset(error: Optional[BaseException]) -> str:
    """Return the environment variable whose absence ended an import; empty if that is not its cause."""
    if isinstance(error, OSError):
        # As torch says it where a file has it build an extension.
        match = re.match(r"(\w+) environment variable is not set", text_of(error))
        return match[1] if match else ""
    at = attribute(error, "__traceback__") if isinstance(error, KeyError) else None
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    # A frozen module's code has no file.
    inside = at is not None and type(at.tb_frame.f_locals.get("self")) is type(os.environ)
    name = error.args[0] if inside and error is not None and error.args else ""
    return name if isinstance(name, str) else ""


def library(error: Optional[BaseException]) -> str:
    """Return the shared library that an import did not find; empty if that is not its cause."""
    if not isinstance(error, (ImportError, OSError)):
        return ""
    match = re.match(r"([\w.+-]+\.so[\w.]*): cannot open shared object file", text_of(error))
    return match[1] if match else ""


def unopened(error: Optional[BaseException]) -> str:
    """Return the file that an import opened in vain; empty if that is not its cause."""
    name = attribute(error, "filename") if isinstance(error, FileNotFoundError) else ""
    return name if isinstance(name, str) else ""


def builds(error: Optional[BaseException]) -> bool:
    """Return whether an import ended as torch built an extension."""
    return any(name == _EXTENSIONS for name in _modules(error))


def names_extensions(path: str) -> bool:
    """Return whether a file's text names the module of torch that builds extensions."""
    with contextlib.suppress(OSError):
        return _EXTENSIONS.rpartition(".")[2].encode() in Path(path).read_bytes()
    return False


def without_extensions() -> None:
    """Have stand-ins in place of the extensions that torch would build."""
    module = importlib.import_module(_EXTENSIONS)
    for name in ("load", "load_inline", "CUDAExtension", "CppExtension"):
        setattr(module, name, StandIn(f"{_EXTENSIONS}.{name}"))


def elsewhere(error: Optional[BaseException]) -> bool:
    """Return whether an import ended by what says nothing about Triton: a file, a device, a check of the file's own.

    A name or a word that torch or Triton lacks shows as one of the errors of `_OF_NAMES`. None stands for what is not
    there: a variable of the environment, a version of CUDA.
    """
    if error is None or isinstance(error, _OF_NAMES) and "'NoneType'" not in text_of(error):
        return False
    return not any(name.split(".")[0] == "triton" for name in _modules(error))


def _modules(error: Optional[BaseException]) -> Iterator[str]:
    """Yield the names of the modules through which an error came."""
    at = attribute(error, "__traceback__")
    while at is not None:
        name = at.tb_frame.f_globals.get("__name__")
        yield name if isinstance(name, str) else ""
        at = at.tb_next


def called() -> List[str]:
    """Return the modules of which a stand-in was called so far, other than as a decorator."""
    return list(dict.fromkeys(path.split(".")[0] for path in _called))


def be_true() -> None:
    """From now on a stand-in is true: for a file that defines its kernels where something is there."""
    global _true
    _true = True


def grow(names: List[str], name: str) -> None:
    """Stand in for `one` as well."""
    names.append(name)
    _attribute(name)


def _attribute(spelled: str) -> None:
    module, colon, name = spelled.partition(":")
    if colon and module in sys.modules:
        setattr(sys.modules[module], name, StandIn(f"{module}.{name}"))


def used(kernel: Any) -> str:
    """Return the stand-in's name that a kernel, or a function that it calls, uses; empty if none."""
    return _used(kernel, set())


def _used(thing: Any, seen: Set[int]) -> str:
    thing = below_decorators(thing)
    code = attribute(thing, "__code__")
    if code is None or id(thing) in seen:
        return ""
    seen.add(id(thing))
    names: Dict[str, Any] = attribute(thing, "__globals__") or {}
    for name in code.co_names:
        value = names.get(name)
        if type(value) is StandIn:
            return re.sub(rf"^{PACKAGE}(\.p\d)*\.", "", value.path)
        spec = attribute(value, "__spec__")
        if type(attribute(spec, "loader")) is _Finder:
            return name
        if attribute(value, "fn") is not None and (below := _used(value, seen)):
            return below
    return ""


def pip(names: Sequence[str]) -> str:
    """Return what to do about missing modules: the command that installs their packages."""
    modules = (name.partition(":")[0].split(".")[0] for name in names if name != RELATIVE)
    packages = list(dict.fromkeys(INSTALLED_AS.get(module, module) for module in modules))
    advice = [f"pip install {' '.join(packages)}"] if packages else []
    if RELATIVE in names:
        advice.append("check the file where its package is")
    return ", and ".join(advice)


def pip_or_stub(names: Sequence[str]) -> str:
    """As `pip`, for `check`, which can do without them."""
    return f"{pip(names)} (or --stub)"
