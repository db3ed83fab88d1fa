"""Introspection: Gluon's public names by the full name that a caller writes, with the methods of its classes.

The names of a re-exported module (`nvidia.blackwell.mbarrier`) are listed under both modules. A name that only
`from … import tdm` finds, and `import ….tdm` does not, is a `value`.
"""

import ast
import importlib
import inspect
import textwrap
import types
from typing import Any, Callable, Dict, Iterator, Optional, Set, Tuple

from . import host_names

ROOT = "triton.experimental.gluon"
Entry = Dict[str, str]


def found(signature: "Callable[[Any], str]", modules: "Set[str]") -> "Dict[str, Entry]":
    """Full name -> kind and signature; `modules` are the full names of the modules that are installed."""
    return {
        name: {
            "kind": kind,
            "signature": "" if kind in ("module", "value") else _spelled(thing, signature),
        }
        for name, kind, thing in _things(modules)
    }


def removed(modules: "Set[str]") -> "Dict[str, str]":
    """Full name -> error of the functions that are there only to say that they are gone."""
    refusals = (
        (name, _refusal(thing)) for name, kind, thing in _things(modules) if kind == "function"
    )
    return {name: error for name, error in refusals if error}


def _things(modules: "Set[str]") -> "Iterator[Tuple[str, str, Any]]":
    for path in sorted(modules):
        if (path == ROOT or path.startswith(f"{ROOT}.")) and not _private(path):
            try:
                module = importlib.import_module(path)
            except Exception:
                # It needs a missing dependency; its caller reports that the module exists.
                continue
            yield from _in_module(path, module, modules)


def _private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))


def _in_module(
    path: str, module: Any, modules: "Set[str]", depth: int = 0
) -> "Iterator[Tuple[str, str, Any]]":
    for name, thing in sorted(vars(module).items()):
        whole = f"{path}.{name}"
        if name.startswith("_"):
            continue
        if isinstance(thing, types.ModuleType):
            home = thing.__name__
            # Not names that a module imports from those above it.
            if home.startswith(f"{ROOT}.") and not _private(home) and not path.startswith(home):
                if whole not in modules:
                    yield whole, "value", thing
                if whole != home and depth < 2:
                    yield from _in_module(whole, thing, modules, depth + 1)
        elif not _of_triton(thing):
            continue
        elif isinstance(thing, type):
            yield whole, "type", thing
            for method, kind, of in _attributes(thing):
                yield f"{whole}.{method}", kind, of
        elif callable(thing) or hasattr(thing, "fn"):
            yield whole, "function", thing
        else:
            yield whole, "value", thing


def _of_triton(thing: Any) -> bool:
    home = getattr(getattr(thing, "fn", thing), "__module__", None)
    # A constant names no module of origin; names that other packages define are not Gluon's.
    return not isinstance(home, str) or home.partition(".")[0] == "triton"


def _attributes(cls: type) -> "Iterator[Tuple[str, str, Any]]":
    for name, thing in sorted(host_names.attributes(cls).items()):
        # Triton's own tutorials called one by its private name until 3.9.
        if not name.startswith("_") or name == "_reinterpret":
            plain = thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing
            method = callable(plain) or isinstance(plain, property)
            yield name, "method" if method else "value", thing


def _spelled(thing: Any, signature: "Callable[[Any], str]") -> str:
    if isinstance(thing, classmethod):
        return signature(thing.__func__).replace("(cls, ", "(", 1).replace("(cls)", "()", 1)
    return signature(thing.__func__ if isinstance(thing, staticmethod) else thing)


def _refusal(thing: Any) -> Optional[str]:
    """The error that is all that a function does: `RuntimeError: … has been removed; call async_load instead`."""
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
        function = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    body = getattr(function, "body", [])
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        # Its docstring.
        body = body[1:]
    error = body[0].exc if len(body) == 1 and isinstance(body[0], ast.Raise) else None
    if not isinstance(error, ast.Call) or not error.args:
        return None
    said = error.args[0]
    if not isinstance(said, ast.Constant) or not isinstance(said.value, str):
        return None
    return f"{ast.unparse(error.func)}: {said.value}"
