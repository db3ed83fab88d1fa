"""Before Triton 3.5 the value of a global constant is not in the key of what is compiled: a new value, the old kernel.

``SIZE = tl.constexpr(64)`` is edited to 128, and the kernel that reads it comes out of the cache as it was, without a
word; so does a kernel of the same text in another module, or one that a function makes for another value. With the
shim the values of the constants that a kernel and what it calls read are part of its key, as they are from 3.5 on.
"""

from __future__ import annotations

import hashlib
from typing import Any, List, Tuple

from ..acts import note_acted
from ..reachable import names_of, reachable, scope_of
from ..record import Patches, Shim

# The key that Triton made, and ours.
_KEPT = "_crosswarp_key"


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.5 puts the values of constexprs into the key.
    from triton.runtime.jit import JITFunction

    own = JITFunction.cache_key.fget

    def cache_key(self: Any) -> str:
        key = own(self)
        before, ours = vars(self).get(_KEPT, (None, ""))
        if before != key:
            ours, constants = key, constants_of(self)
            if constants:
                note_acted(SHIM.name)
                ours = hashlib.sha256(f"{key} {constants}".encode()).hexdigest()
            vars(self)[_KEPT] = key, ours
        return ours

    patches.set(JITFunction, "cache_key", property(cache_key))


def constants_of(kernel: Any) -> List[Tuple[str, str, str]]:
    """The constants read by `kernel` and the functions it may call: function, name and value; on 2.3 plain numbers
    too."""
    from triton.language.core import constexpr, dtype
    from triton.runtime.jit import JITFunction

    constants = set()
    for function in reachable([kernel]):
        if not isinstance(function, JITFunction):
            continue
        scope = scope_of(function)
        for name in names_of(function.fn.__code__):
            value = scope.get(name)
            if isinstance(value, constexpr):
                value = value.value
            # The repr of other objects holds an address, which differs between processes.
            if isinstance(value, (bool, int, float, str, dtype)):
                constants.add((function.__name__, name, repr(value)))
    return sorted(constants)


SHIM = Shim(
    name="constant_keys",
    issue="triton-7322",
    tier="silent",
    window="<3.5",
    symptom="a kernel computes with the value that a global constexpr had before",
    link="https://github.com/triton-lang/triton/issues/7322",
    delete_when="Triton before 3.5 is not used",
    apply=apply,
)
