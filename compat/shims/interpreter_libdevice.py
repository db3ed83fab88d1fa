"""The interpreter has no libdevice: its functions return None or raise. Here they go to numpy.

A call without a builder comes from interpreted code. It is given the interpreter's builder and goes through Triton's
own checks of types and shapes to ``create_extern_elementwise``, which finds numpy's function by the symbol. Nothing
of the libdevice modules is replaced before the first interpreted launch; a compiled call still reaches Triton's own.
"""

import functools
import importlib
import sys
import types
from typing import Any, Dict, List

from .. import features, gpu_math
from ..acts import note_acted
from ..errors import CompatError
from ..interpreter import once_imported
from ..record import Patches, Shim

# The first of these that has a function implements it for those that only dispatch.
MODULES = (
    "triton.language.extra.cuda.libdevice",
    "triton.language.extra.hip.libdevice",
    "triton.language.extra.libdevice",
)


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    np, patch_lang = interpreter.np, interpreter._patch_lang
    ours: Dict[Any, Any] = {}
    tried: List[bool] = []

    # Breakpoint: when the interpreter has extern_elementwise; delete with the last column before that.
    def create_extern_elementwise(self, lib_name, lib_path, symbol, args, ret_type, is_pure):
        function = gpu_math.function(symbol)
        if function is None:
            msg = f"{symbol} has no counterpart in numpy here; compute it from functions of triton.language"
            raise CompatError(msg)
        note_acted(SHIM.name)
        dtype = interpreter._get_np_dtype(ret_type)
        data = np.asarray(function(*(arg.data for arg in args)))
        if data.dtype != dtype and data.dtype.itemsize == dtype.itemsize and data.dtype.kind == "u":
            data = data.view(dtype)
        with np.errstate(all="ignore"):
            data = data.astype(dtype)
        return interpreter.TensorHandle(data, ret_type.scalar)

    def patch_lang_and_libdevice(fn, *args):
        if not tried:
            if not patches.attempt(_replace_all, patches, interpreter, ours):
                ours.clear()
            tried.append(True)
        # Names that this kernel's module imported directly.
        home = sys.modules.get(fn.__module__)
        if home is not None and vars(home) is fn.__globals__:
            for name, value in list(fn.__globals__.items()):
                if isinstance(value, types.FunctionType) and value in ours:
                    patches.set(home, name, ours[value])
        return patch_lang(fn, *args)

    patches.set(
        interpreter.InterpreterBuilder, "create_extern_elementwise", create_extern_elementwise
    )
    patches.set(interpreter, "_patch_lang", patch_lang_and_libdevice)


def _replace_all(patches: Patches, interpreter: Any, ours: Dict[Any, Any]) -> None:
    builder = features.hidden_keyword(interpreter)
    implementations: Dict[str, Any] = {}
    for module_name in MODULES:
        home = importlib.import_module(module_name)
        for name, own in list(vars(home).items()):
            if not isinstance(own, types.FunctionType) or own.__module__ != module_name:
                continue
            implementation = implementations.setdefault(name, own)
            ours[own] = _with_builder(own, implementation, builder)
            patches.set(home, name, ours[own])


def _with_builder(own: Any, implementation: Any, builder: Dict[str, Any]) -> Any:
    @functools.wraps(own)
    def call(*args, **kwargs):
        if kwargs.get("_builder") is not None or kwargs.get("_semantic") is not None:
            return own(*args, **kwargs)
        return implementation(*args, **{**kwargs, **builder})

    return call


SHIM = Shim(
    name="interpreter_libdevice",
    issue="interpreter-libdevice",
    tier="interpreter",
    window=">=3.0",
    symptom="TRITON_INTERPRET=1: cannot convert None of type <class 'NoneType'> to tensor, from libdevice functions",
    link="https://github.com/triton-lang/triton/issues/8825",
    delete_when="Triton's interpreter has libdevice, and no column before that is left",
    apply=apply,
)
