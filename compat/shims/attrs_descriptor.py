"""`AttrsDescriptor`, by which torch before 2.7 tells what it knows of arguments, where Triton has another or none.

Triton 3.2 has a class of that name that is made otherwise, and wants parameters by their names. Torch before 2.6 asks
for the fields of the dataclass that it was, and tells of parameters by their places: it gets the dataclass, and what it
hands over is handed on in the words of 3.2.

Triton 3.3 takes a mapping in its place, a signature of all parameters, and every argument at the launch. Inductor of
torch before 2.7 hands over the class, the parameters that are no constants, and as many arguments. So the class is
brought back, what is compiled by it is handed on as Triton wants it, and its launches are filled up.

A later torch looks for the class to tell which Triton it has: there nothing is replaced.
"""

import functools
import importlib
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence

from ..record import Patches, Shim
from ..seams.attribute import around_call
from ..versions import in_window, torch_version

# The releases of torch that use the class; ../pairs.py has them for the doctor.
_TORCH = ">=2.3,<2.7"
# The releases that require a dataclass.
_TORCH_BEFORE_3_2 = ">=2.3,<2.6"
_HOMES = ("triton.backends.compiler", "triton.compiler.compiler")
# The arguments of a launch that precede the kernel's.
_BEFORE = 9


@dataclass(repr=False)
class AttrsDescriptor:
    """Positions of arguments by what is known of them: `from_dict` makes it as in Triton 3.2, or as in 3.0 and 3.1.

    Torch 2.5 reads the fields of the dataclass that it was there.
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
        properties = data["arg_properties"]
        return cls(
            tuple(properties.get("tt.divisibility") or ()),
            tuple(properties.get("tt.equal_to") or ()),
        )

    def to_dict(self) -> Dict[str, Any]:
        return {"arg_properties": self.arg_properties, "cls": type(self).__name__}

    def hash(self) -> str:
        import hashlib

        return hashlib.sha256(repr(self).encode("utf-8")).hexdigest()

    def __repr__(self) -> str:
        # Inductor writes this into the source of a kernel.
        return f"{type(self).__name__}.from_dict({self.to_dict()!r})"


def apply(patches: Patches) -> None:
    from triton.compiler import ASTSource, CompiledKernel

    torch = torch_version() or "999"
    theirs = vars(importlib.import_module(_HOMES[0])).get("AttrsDescriptor")
    if theirs is not None:
        # Symptom: TypeError: must be called with a dataclass type or instance, by import torch._inductor.
        # Affected: Triton 3.2 beside a torch before 2.6. Link: triton-lang/triton#5722, triton-lang/triton#5026.
        # Breakpoint: Triton 3.3 has no such class; delete with the last torch before 2.6.
        if in_window(_TORCH_BEFORE_3_2, torch):
            # Torch looks here; Triton's own code looks in the module that defines the class.
            patches.set(importlib.import_module(_HOMES[1]), "AttrsDescriptor", AttrsDescriptor)
            patches.set(ASTSource, "__init__", _in_words_of_3_2(ASTSource.__init__, theirs))
        return
    # Symptom: ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler', by torch.compile.
    # Affected: Triton 3.3 and later beside a torch before 2.7. Link: triton-lang/triton#5512.
    # Breakpoint: Triton 3.3 has no such class; delete with the last torch before 2.7.
    if not in_window(_TORCH, torch):
        return
    for home in _HOMES:
        patches.set(importlib.import_module(home), "AttrsDescriptor", AttrsDescriptor)
    patches.set(ASTSource, "__init__", _of_all_parameters(ASTSource.__init__))
    around_call(
        patches, CompiledKernel, "_init_handles", lambda own, kernel: _filled_up(own)(kernel)
    )


def _in_words_of_3_2(own: Callable, theirs: Any) -> Callable:
    @functools.wraps(own)
    def init(
        source: Any, fn: Any, signature: Any, constants: Any = None, attrs: Any = None
    ) -> None:
        if isinstance(attrs, AttrsDescriptor):
            signature, constants = (
                {_named(fn, key): value for key, value in (given or {}).items()}
                for given in (signature, constants)
            )
            attrs = theirs.from_dict({**attrs.to_dict(), "cls": theirs.__name__})
        # Otherwise Triton makes a descriptor here, by the name that is now ours.
        own(source, fn, signature, constants, theirs() if attrs is None else attrs)

    return init


def _named(fn: Any, key: Any) -> str:
    """A parameter's name: torch gives its position, a path to it, or its name."""
    key = key[0] if isinstance(key, tuple) else key
    return fn.arg_names[key] if isinstance(key, int) else key


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
        constants = {_named(fn, key): value for key, value in (constexprs or {}).items()}
        types = {_named(fn, key): kind for key, kind in signature.items()}
        constants.update((names[place], 1) for place in attrs.equal_to_1)
        # An argument that torch has left out of a signature is None.
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
    """Positions and values of the arguments that torch does not pass at a launch: constexprs, and those that are
    None."""
    by_name = {param.name for param in fn.params if param.is_constexpr}
    return [
        (place, constants[name])
        for place, name in enumerate(fn.arg_names)
        if name in by_name or name not in types and constants.get(name) is None
    ]


def _filled_up(own: Callable) -> Callable:
    @functools.wraps(own)
    def init_handles(kernel: Any) -> Any:
        # Its module is loaded, and the launcher made, only once.
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
    """A launcher that passes all arguments of its kernel, although its caller leaves some out."""

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
    tier="torch",
    window=">=3.2",
    symptom="cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'\n"
    "must be called with a dataclass type or instance",
    link="https://github.com/triton-lang/triton/pull/5512",
    delete_when="no torch before 2.7 is left",
    apply=apply,
)
