"""Introspection: the public names of this Triton's language and their signatures, without compiling anything."""

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import types
from typing import Any, Dict, Iterator, Optional, Tuple

from . import gluon_names, host_names

# How Triton 2.3 to 3.3 and later ones hand their builder to a function: none of a caller's business.
_HIDDEN = ("_builder", "_generator", "_semantic")
# Internal modules of Triton; their names are public in `triton.language`.
_INTERNAL = ("core", "random", "semantic", "standard")
MODULES = (
    ("tl.math", "triton.language.math"),
    ("libdevice", "triton.language.extra.libdevice"),
    ("tl.extra.cuda", "triton.language.extra.cuda"),
    ("tl.extra.hip", "triton.language.extra.hip"),
)
CLASSES = ("tensor", "tensor_descriptor")
OPTIONS = (
    ("triton.backends.nvidia.compiler", "CUDAOptions"),
    ("triton.backends.amd.compiler", "HIPOptions"),
    # Breakpoint: Triton 3.0 has pluggable backends.
    ("triton.compiler.backends.cuda", "CUDAOptions"),
)


def found() -> Dict[str, Dict[str, str]]:
    """Name -> kind and signature."""
    language = {
        name: {"kind": kind, "signature": signature}
        for name, (kind, signature) in [*_language(), *_modules(), *_methods(), *_launch()]
    }
    gluon = gluon_names.found(signature, set(host_names.modules()))
    return {**language, **host_names.found(signature, language), **gluon}


def _language() -> "Iterator[Tuple[str, Tuple[str, str]]]":
    import triton.language as tl

    listed = set(getattr(tl, "__all__", ()))
    for name in sorted({*dir(tl), *listed}):
        thing = getattr(tl, name, None)
        if thing is None or (name.startswith("_") and name not in listed):
            continue
        if name in _INTERNAL or (isinstance(thing, types.ModuleType) and name not in listed):
            continue
        yield f"tl.{name}", (_kind(thing), signature(thing))


def _modules() -> "Iterator[Tuple[str, Tuple[str, str]]]":
    for prefix, path in MODULES:
        try:
            module = importlib.import_module(path)
        except ImportError:
            continue
        for name, thing in sorted(vars(module).items()):
            # Names that these modules import for themselves do not count.
            if name.startswith("_") or not _of_the_language(thing, path):
                continue
            yield f"{prefix}.{name}", ("function", signature(thing))


def _of_the_language(thing: Any, path: str) -> bool:
    if getattr(thing, "__triton_builtin__", False) or hasattr(thing, "fn"):
        return True
    # Breakpoint: the libdevice of Triton 3.0 and later is a module of plain functions, which each backend replaces.
    return path.endswith("libdevice") and inspect.isfunction(thing) and thing.__module__ == path


def _methods() -> "Iterator[Tuple[str, Tuple[str, str]]]":
    import triton.language as tl

    for owner in CLASSES:
        for name, thing in sorted(vars(getattr(tl, owner, object)).items()):
            if not name.startswith("_") and (callable(thing) or isinstance(thing, property)):
                yield f"{owner}.{name}", ("method", signature(thing))


def _launch() -> "Iterator[Tuple[str, Tuple[str, str]]]":
    for path, name in OPTIONS:
        try:
            options = getattr(importlib.import_module(path), name)
        except (ImportError, AttributeError):
            continue
        prefix = "launch.hip" if name == "HIPOptions" else "launch"
        for one in dataclasses.fields(options):
            default = "" if one.default is dataclasses.MISSING else f"={_default(one.default)}"
            yield f"{prefix}.{one.name}", ("option", default)


def _kind(thing: Any) -> str:
    if isinstance(thing, types.ModuleType):
        return "module"
    if isinstance(thing, type):
        return "type"
    return "function" if callable(thing) or hasattr(thing, "fn") else "value"


def signature(thing: Any) -> str:
    """Return ``(pointer, mask=None, *, volatile=False)``: no annotations, and no parameters that Triton adds itself."""
    if isinstance(thing, (property, enum.EnumMeta)):
        return ""
    function = getattr(thing, "fn", thing)
    if not callable(function) or inspect.isclass(function) and _plain_init(function):
        return ""
    try:
        own = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    kept = [
        one.replace(annotation=inspect.Parameter.empty, default=_spelled(one.default))
        for one in own.parameters.values()
        if one.name not in _HIDDEN and one.name != "self"
    ]
    if [one.kind for one in kept] == [inspect.Parameter.VAR_KEYWORD]:
        # A method that hands everything on to a function of the same name.
        return ""
    if [one.kind for one in kept[:2]] == [
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    ]:
        return ""
    return str(inspect.Signature(kept))


def _plain_init(cls: type) -> bool:
    return not isinstance(cls.__init__, types.FunctionType)  # type: ignore[misc]


class _Spelled:
    def __init__(self, text: str):
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _spelled(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return default
    return _Spelled(_default(default))


def _default(value: Any) -> str:
    """How a default is written, the same in every version."""
    inner: Optional[Any] = getattr(value, "value", None)
    if type(value).__name__ == "constexpr":
        value = inner
    if type(value).__name__ == "dtype":
        return f"tl.{value.name}"
    text = repr(value).replace("triton.language.", "tl.")
    named = re.fullmatch(r"<?(\w+\.\w+)(?:: .*)?>?", text)
    text = named[1] if named else text
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        # `<function … at 0x…>` and the like.
        return type(value).__name__
    return text
