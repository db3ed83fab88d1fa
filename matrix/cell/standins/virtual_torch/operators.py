"""Operators of `torch.library`: implementations for the GPU serve the tensors that claim to be there."""

import functools
from typing import Any, Callable, Set, Tuple

import torch

_KEYS = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU", "AutocastCUDA": "AutocastCPU"}
# Operators whose CPU implementation was replaced by one for the GPU: (operator, key).
_taken: Set[Tuple[str, str]] = set()


def library_init(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def init(self: Any, ns: Any, kind: Any, dispatch_key: str = "") -> None:
        own(self, ns, kind, _KEYS.get(dispatch_key, dispatch_key))
        self._crosswarp_for_gpu = dispatch_key in _KEYS

    return init


def library_impl(own: Callable, gpu: Any) -> Callable:
    """`Library.impl`. An operator may have an implementation for each: then the GPU's is the one that is used."""

    @functools.wraps(own)
    def impl(
        self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any
    ) -> Any:
        for_gpu = dispatch_key in _KEYS or (
            not dispatch_key and getattr(self, "_crosswarp_for_gpu", False)
        )
        wanted = dispatch_key or self.dispatch_key
        key = _KEYS.get(wanted, wanted)
        name = op_name if isinstance(op_name, str) else getattr(op_name, "_name", str(op_name))
        operator = (f"{self.ns}::{name.split('::')[-1]}", key)
        if not for_gpu and operator in _taken:
            return None
        if for_gpu:
            _taken.add(operator)
            # The CPU has an implementation already: torch refuses a second only if it remembers the first.
            torch.library._impls.discard("/".join((self.ns, name.split("::")[-1], key)))
        return own(self, op_name, fn, key, *args, **kwargs)

    return impl


def identity_compile(own: Callable, gpu: Any) -> Callable:
    """Replace `torch.compile` and `torch.jit.script` by the identity.

    Functions that a library leaves to them are not its own kernels, and would be built for the CPU.
    """

    @functools.wraps(own)
    def compile_(model: Any = None, **kwargs: Any) -> Any:
        return model if model is not None else (lambda function: function)

    return compile_
