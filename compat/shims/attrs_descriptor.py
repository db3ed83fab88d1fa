"""`AttrsDescriptor`, by which torch before 2.7 tells Triton what it knows of arguments, where Triton has no such class.

Triton 3.3 takes a mapping in its place, a signature of all parameters, and every argument at the launch. Inductor of
torch before 2.7 hands over the class, the parameters that are no constants, and as many arguments. So the class is
brought back, what is compiled by it is handed on as Triton wants it, and its launches are filled up.

A later torch looks for the class to tell which Triton it has: there nothing is replaced.
"""

import functools
import importlib
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence

from ..record import Patches, Shim
from ..versions import in_window

# The releases of torch that ask for it; ../pairs.py has them for the doctor.
_TORCH = ">=2.3,<2.7"
_HOMES = ("triton.backends.compiler", "triton.compiler.compiler")
# Of a launch, what stands before the kernel's own arguments.
_BEFORE = 9


@dataclass(repr=False)
class AttrsDescriptor:
    """Places of arguments by what is known of them: made by `from_dict` as Triton 3.2 has it, or as 3.0 and 3.1 have.

    Torch 2.5 asks for the fields of the dataclass that it was there.
    """

    divisible_by_16: Sequence[int] = ()
    equal_to_1: Sequence[int] = ()

    @property
    def divisibility_16(self) -> Sequence[int]:
        return self.divisible_by_16

    @property
    def arg_properties(self) -> Dict[str, Sequence[int]]:
        return {"tt.divisibility": self.divisible_by_16, "tt.equal_to": self.equal_to_1}

    @property
    def property_values(self) -> Dict[str, int]:
        return {"tt.divisibility": 16, "tt.equal_to": 1}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "AttrsDescriptor":
        told = data["arg_properties"]
        return cls(tuple(told.get("tt.divisibility") or ()), tuple(told.get("tt.equal_to") or ()))

    def to_dict(self) -> Dict[str, Any]:
        return {"arg_properties": self.arg_properties, "cls": type(self).__name__}

    def hash(self) -> str:
        import hashlib

        return hashlib.sha256(repr(self).encode("utf-8")).hexdigest()

    def __repr__(self) -> str:
        # Inductor writes this into the source of a kernel.
        return f"{type(self).__name__}.from_dict({self.to_dict()!r})"


def apply(patches: Patches) -> None:
    # Symptom: ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler', by torch.compile.
    # Window: Triton 3.3 and later beside a torch before 2.7. Link: triton-lang/triton#5512.
    # Breakpoint: Triton 3.3 has no such class; delete with the last torch before 2.7.
    if not in_window(_TORCH, _torch_version() or "999"):
        return
    from triton.compiler import ASTSource, CompiledKernel

    for home in _HOMES:
        patches.set(importlib.import_module(home), "AttrsDescriptor", AttrsDescriptor)
    patches.set(ASTSource, "__init__", _of_all_parameters(ASTSource.__init__))
    patches.set(CompiledKernel, "__init__", _with_cluster(CompiledKernel.__init__))
    patches.set(CompiledKernel, "_init_handles", _filled_up(CompiledKernel._init_handles))


def _torch_version() -> Optional[str]:
    """Of the torch that is imported, or else of the one that would be."""
    torch = sys.modules.get("torch")
    found = getattr(torch, "__version__", None)
    if found is not None:
        return str(found)
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def _of_all_parameters(own: Callable) -> Callable:
    @functools.wraps(own)
    def init(
        source: Any,
        fn: Any,
        signature: Any,
        constexprs: Any = None,
        attrs: Any = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(attrs, AttrsDescriptor):
            own(source, fn, signature, constexprs, attrs, **kwargs)
            return
        names = list(fn.arg_names)

        def named(key: Any) -> str:
            key = key[0] if isinstance(key, tuple) else key
            return names[key] if isinstance(key, int) else key

        constants = {named(key): value for key, value in (constexprs or {}).items()}
        types = {named(key): kind for key, kind in signature.items()}
        constants.update((names[place], 1) for place in attrs.equal_to_1)
        # What torch has left out of a signature is an argument that is None.
        constants.update(
            (name, None) for name in names if name not in types and name not in constants
        )
        own(
            source,
            fn,
            {name: "constexpr" if name in constants else types[name] for name in names},
            constants,
            {
                (place,): [["tt.divisibility", 16]]
                for place in attrs.divisible_by_16
                if names[place] not in constants
            },
            **kwargs,
        )
        source.crosswarp_left_out = _left_out(fn, types, constants)

    return init


def _left_out(fn: Any, types: Dict[str, Any], constants: Dict[str, Any]) -> List[Any]:
    """Places and values of the arguments that torch does not hand over at a launch: constexprs, and what is None."""
    by_name = {param.name for param in fn.params if param.is_constexpr}
    return [
        (place, constants[name])
        for place, name in enumerate(fn.arg_names)
        if name in by_name or name not in types and constants.get(name) is None
    ]


def _with_cluster(own: Callable) -> Callable:
    @functools.wraps(own)
    def init(kernel: Any, *args: Any, **kwargs: Any) -> None:
        own(kernel, *args, **kwargs)
        # Breakpoint: Triton 3.6 has no clusters but those of num_ctas; torch hands their shape to a launcher.
        if not hasattr(kernel.metadata, "cluster_dims"):
            # A class of its own for each kernel.
            type(kernel.metadata).cluster_dims = (kernel.metadata.num_ctas, 1, 1)

    return init


def _filled_up(own: Callable) -> Callable:
    @functools.wraps(own)
    def init_handles(kernel: Any) -> Any:
        # Its launcher is made where its module is loaded, once.
        loaded = kernel.module is not None
        result = own(kernel)
        left_out = getattr(kernel.src, "crosswarp_left_out", None)
        if left_out and not loaded:
            # Breakpoint: Triton 3.3 keeps the launcher under the name that it is called by.
            name = "_run" if "_run" in vars(kernel) else "run"
            setattr(
                kernel, name, _Filling(vars(kernel)[name], left_out, len(kernel.src.fn.arg_names))
            )
        return result

    return init_handles


class _Filling:
    """A launcher that is handed all arguments of its kernel, where its caller leaves some out."""

    def __init__(self, launcher: Any, left_out: List[Any], arguments: int) -> None:
        self._launcher, self._left_out, self._arguments = launcher, left_out, arguments

    def __call__(self, *args: Any) -> Any:
        own = list(args[_BEFORE:])
        if len(own) < self._arguments:
            for place, value in self._left_out:
                own.insert(place, value)
        return self._launcher(*args[:_BEFORE], *own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._launcher, name)


SHIM = Shim(
    name="attrs_descriptor",
    issue="triton-5512",
    window=">=3.3",
    symptom="cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'",
    link="https://github.com/triton-lang/triton/pull/5512",
    delete_when="no torch before 2.7 is left",
    apply=apply,
)
