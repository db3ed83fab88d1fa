"""Introspection: names that libraries import from Triton besides its language, in full: `triton.testing.do_bench`.

Every existing module is listed, and the contents of those that libraries import from, their own private names too, and
the attributes of the classes that libraries reach into. Nothing here is compiled.
"""

import ast
import contextvars
import importlib
import inspect
import os
import textwrap
import types
from typing import Any, Callable, Container, Dict, Iterator, List, Tuple

from crosswarp.matrix.cell.spelled import SHORT

ROOT = "triton"
# The modules whose names are listed: these, and all below those that end with a dot.
LISTED = (
    *("triton", "triton.backends", "triton.backends.compiler", "triton.backends.driver"),
    *("triton.backends.amd.compiler", "triton.backends.amd.driver"),
    *("triton.backends.nvidia.compiler", "triton.backends.nvidia.driver"),
    *("triton._utils", "triton.common.", "triton.compiler.", "triton.errors", "triton.knobs"),
    *("triton.experimental", "triton.ops.", "triton.runtime.", "triton.testing"),
    *("triton.tools.disasm", "triton.tools.experimental_descriptor", "triton.tools.mxfp"),
    *("triton.tools.ragged_tma", "triton.tools.tensor_descriptor"),
    *("triton.language", "triton.language.core", "triton.language.extra."),
    *("triton.language.math", "triton.language.random", "triton.language.semantic"),
    "triton.language.target_info",
    "triton.language.standard",
    "triton._C.libtriton",
)
CLASSES = (
    *("triton.Config", "triton.compiler.ASTSource", "triton.compiler.CompiledKernel"),
    *("triton.runtime.Autotuner", "triton.runtime.Heuristics", "triton.runtime.JITFunction"),
    *("triton.runtime.KernelInterface", "triton.runtime.jit.JITFunction"),
    *("triton.runtime.autotuner.Autotuner", "triton.runtime.cache.FileCacheManager"),
    *("triton.backends.compiler.GPUTarget", "triton.tools.tensor_descriptor.TensorDescriptor"),
)


def found(
    signature: "Callable[[Any], str]", language: "Container[str]"
) -> Dict[str, Dict[str, str]]:
    """Return full name -> kind and signature, as `signature` spells it, of names that are not in `language`."""
    paths = sorted(modules())
    names = {path: _entry("module") for path in paths}
    for path in paths:
        if _listed(path):
            short = SHORT.get(path)
            for name, entry in _in_module(path, signature, set(paths)):
                if short is None or f"{short}.{name.rpartition('.')[2]}" not in language:
                    names[name] = entry
    for path in CLASSES:
        cls = _thing(path)
        if isinstance(cls, type):
            for name, thing in sorted(attributes(cls, private=False).items()):
                kind = "method" if callable(thing) or isinstance(thing, property) else "value"
                parameters = signature(thing) if kind == "method" else ""
                names[f"{path}.{name}"] = _entry(kind, parameters)
            for name in set_on_self(cls):
                names.setdefault(f"{path}.{name}", _entry("value"))
    return names


def _entry(kind: str, signature: str = "") -> Dict[str, str]:
    return {"kind": kind, "signature": signature}


def modules() -> "Iterator[str]":
    """The modules that are installed, found without importing them."""
    import triton

    top = os.path.dirname(triton.__file__)
    for folder, below, files in os.walk(top):
        inside = os.path.relpath(folder, top)
        parts = [ROOT] if inside == "." else [ROOT, *inside.split(os.sep)]
        below[:] = [one for one in below if one.isidentifier() and one != "__pycache__"]
        own = [one.partition(".")[0] for one in files if one.endswith((".py", ".so"))]
        # A folder of files that are none of Python's is no package, though Python could import it.
        if own:
            yield ".".join(parts)
        for name in own:
            if name.isidentifier() and not name.startswith("__"):
                yield ".".join([*parts, name])


def _listed(path: str) -> bool:
    return any(path == one.rstrip(".") or (one.endswith(".") and path.startswith(one)) for one in LISTED)  # fmt: skip


def _in_module(
    path: str, signature: "Callable[[Any], str]", known: "set[str]"
) -> "Iterator[Tuple[str, Dict[str, str]]]":
    try:
        module = importlib.import_module(path)
    except Exception:
        # It needs a missing dependency; that the module exists is reported above.
        return
    for name, thing in sorted(vars(module).items()):
        whole = f"{path}.{name}"
        if name.startswith("__") or whole in known:
            continue
        if isinstance(thing, types.ModuleType):
            # A part of a compiled module, which has no file.
            if thing.__name__ == whole:
                yield whole, _entry("module")
            continue
        if not _of_triton(thing, path, name):
            continue
        # The functions of the language have theirs under `tl.`, and compiled ones have none.
        has_none = path.startswith(("triton.language", "triton._C."))
        yield whole, _described(thing, _none if has_none else signature)


def _of_triton(thing: Any, path: str, name: str) -> bool:
    """Whether a module has a name to give away, and not for itself: `functools.partial` in `triton.runtime.jit`."""
    home = getattr(getattr(thing, "fn", thing), "__module__", None)
    if isinstance(home, str) and home.partition(".")[0] == ROOT:
        return not name.startswith("_") or home == path or path == "triton.language"
    if isinstance(thing, type) or inspect.isroutine(thing) or isinstance(home, str):
        return False
    # Libraries set the allocator's, which was an object of a class of Triton's before.
    return not name.startswith("_") or isinstance(thing, contextvars.ContextVar)


def _described(thing: Any, signature: "Callable[[Any], str]") -> Dict[str, str]:
    if isinstance(thing, type):
        return _entry("type", signature(thing))
    if callable(thing) or hasattr(thing, "fn"):
        return _entry("function", signature(thing))
    return _entry("value")


def _none(thing: Any) -> str:
    return ""


def _thing(path: str) -> Any:
    """Return the object with this full name, or None."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:cut]))
        except Exception:
            continue
        for name in parts[cut:]:
            thing = getattr(thing, name, None)
        return thing
    return None


def attributes(cls: type, private: bool = True) -> Dict[str, Any]:
    """Of the class and those of Triton that it is made of; a field of a dataclass is one, with a default or without."""
    found: Dict[str, Any] = {}
    kin: List[type] = [one for one in cls.__mro__ if one.__module__.partition(".")[0] == ROOT]
    for one in reversed(kin):
        found.update(dict.fromkeys(getattr(one, "__dataclass_fields__", ())))
        found.update(vars(one))
    return {name: thing for name, thing in found.items() if private or not name.startswith("_")}


def set_on_self(cls: type) -> List[str]:
    """The public attributes that the methods of a class, and of those of Triton that it is made of, set on `self`."""
    found: "set[str]" = set()
    for one in cls.__mro__:
        if one.__module__.partition(".")[0] != ROOT:
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        except (OSError, TypeError, SyntaxError):
            continue
        found.update(name for name in map(_set_by, ast.walk(tree)) if name and name[0] != "_")
    return sorted(found)


def _set_by(node: ast.AST) -> str:
    """The attribute that `self.x = …` or `super().__setattr__("x", …)` sets; empty where it is neither."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr if isinstance(node.value, ast.Name) and node.value.id == "self" else ""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "__setattr__":
        first = node.args[0] if node.args else None
        return (
            first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        )
    return ""
