"""A kernel made inside a function sees nothing of that function before Triton 3.4: ``NameError('tl is not defined')``.

torchao 0.18 makes its float8 kernels so, with ``import triton.language as tl`` in the function around them. With the
shim what such a kernel takes from around it is found ahead of the globals, as Python finds it: modules, constexprs, and
other kernels, those that are made later as well. constant_keys keeps apart what two values of a constexpr compile to.
"""

from __future__ import annotations

import threading
from collections import ChainMap
from typing import Any, Dict, Iterator, Mapping

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.trace import before_first_trace

_HELD = "__globals__"


class Around(Mapping[str, Any]):
    """The closure's names of a function, with their current values: one may be bound after the function was made."""

    def __init__(self, function: Any) -> None:
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__))

    def __getitem__(self, name: str) -> Any:
        try:
            return self._cells[name].cell_contents
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        for name in self._cells:
            if name in self:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> Dict[str, Any]:
        return dict(self)


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.4 looks up what a kernel closes over.
    from triton.runtime.jit import JITFunction

    def scope(self: Any) -> Mapping[str, Any]:
        own = vars(self)[_HELD]
        if not getattr(self.fn, "__closure__", None):
            return own
        note_acted(SHIM.name)
        # Always the same object: Triton recognises a scope by its identity.
        if "_crosswarp_scope" not in vars(self):
            around: Any = Around(self.fn)
            vars(self)["_crosswarp_scope"] = ChainMap(around, own)
        return vars(self)["_crosswarp_scope"]

    def hold(self: Any, scope: Mapping[str, Any]) -> None:
        vars(self)[_HELD] = scope

    patches.set(JITFunction, _HELD, property(scope, hold))
    # The name in Triton 3.4.
    patches.set(JITFunction, "get_capture_scope", scope)
    before_first_trace(patches, lambda code_generator: _called(code_generator, patches))


def _called(code_generator: Any, patches: Patches) -> None:
    """Triton 2.3 asks the module for the scope of a function that a kernel calls, not the function."""
    from triton.compiler import code_generator as module

    if not hasattr(module, "_get_fn_file_line"):
        return
    own_call, own_init = code_generator.call_JitFunction, code_generator.__init__
    called = threading.local()

    def call(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        before, called.scope = getattr(called, "scope", None), fn.__globals__
        try:
            return own_call(self, fn, *args, **kwargs)
        finally:
            called.scope = before

    def init(
        self: Any, context: Any, prototype: Any, gscope: Any, *args: Any, **kwargs: Any
    ) -> None:
        scope = getattr(called, "scope", None)
        called.scope = None
        if isinstance(scope, ChainMap) and gscope is scope.maps[-1]:
            gscope = scope
        own_init(self, context, prototype, gscope, *args, **kwargs)

    patches.set(code_generator, "call_JitFunction", call)
    patches.set(code_generator, "__init__", init)


SHIM = Shim(
    name="closure_names",
    issue="triton-3035",
    tier="refused",
    window="<3.4",
    symptom="NameError('tl is not defined') of a kernel that is made inside a function",
    link="https://github.com/triton-lang/triton/issues/3035",
    delete_when="Triton before 3.4 is not used",
    apply=apply,
)
