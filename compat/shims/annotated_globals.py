"""A global that is annotated as a constexpr, ``BLOCK: tl.constexpr = 64``, is refused in kernels from Triton 3.3 on.

Up to 3.2 it was one of the two ways that its error message named. With the shim a kernel reads it as it did; its value
is in the key of what is compiled, which in 3.2 it was not. A global without the annotation is refused as before.
"""

import hashlib
from typing import Any, Callable, List, Mapping, Tuple

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.attribute import around_call
from ..seams.trace import before_first_trace


def apply(patches: Patches) -> None:
    # Breakpoint: none, they mean it; when no library annotates its globals.
    from triton.compiler.compiler import ASTSource

    def hash_with_values(own_hash: Callable[..., Any], self: Any) -> Any:
        # The globals that a kernel reads are known once it is hashed.
        key = own_hash(self)
        values = annotated_values(getattr(self.fn, "used_global_vals", {}))
        return hashlib.sha256(f"{key} {values}".encode()).hexdigest() if values else key

    around_call(patches, ASTSource, "hash", hash_with_values)
    before_first_trace(patches, lambda code_generator: _fix(code_generator, patches))


def _fix(code_generator: Any, patches: Patches) -> None:
    is_constexpr = code_generator._is_constexpr_global

    def is_constexpr_or_annotated(self: Any, name: str) -> bool:
        if is_constexpr(self, name):
            return True
        if not is_annotated(self.gscope, name):
            return False
        note_acted(SHIM.name)
        return True

    patches.set(code_generator, "_is_constexpr_global", is_constexpr_or_annotated)


def is_annotated(scope: Mapping[str, Any], name: str) -> bool:
    """Whether `name`, a global of this scope, is annotated as a constexpr, by the type or by its name."""
    annotation = scope.get("__annotations__", {}).get(name)
    called = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name in scope and called.split(".")[-1] == "constexpr"


def annotated_values(used: Mapping[Tuple[str, int], Tuple[Any, Any]]) -> List[Tuple[str, str]]:
    """The values of those globals that are annotated, of all that a kernel uses, as Triton keeps them."""
    return sorted(
        (name, repr(value))
        for (name, _), (value, scope) in used.items()
        if is_annotated(scope, name)
    )


SHIM = Shim(
    name="annotated_globals",
    issue="annotated-globals",
    tier="names",
    window=">=3.3",
    symptom="NameError: Cannot access global variable BLOCK from within @jit'ed function",
    link="https://github.com/triton-lang/triton/blob/release/3.3.x/python/triton/compiler/code_generator.py",
    delete_when="no library annotates its globals",
    apply=apply,
)
