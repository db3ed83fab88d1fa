"""From Triton 3.5 on a loop forgets a variable that it sets to what another one held: ``previous = current``.

The frontend visits a loop's body once for practice, and carries from one iteration to the next what is another value
afterwards. Where two names stood for the same value before the loop, ``previous = current`` leaves the one with the
value that it had, and it is not carried: every read of it, in the loop and after it, gives what it was before the loop,
without a word. With the shim it is carried, as up to Triton 3.4.

What was compiled without it may be wrong, and is not taken from Triton's cache: where a loop assigns two variables from
outside, one of them by more than ``+=``, the kernel is kept under a key that has the revision of this file in it, and
compiled once more. Which of them really needs it, only the tracing of a kernel shows; other kernels keep their key.
Install before the first launch: what this process has launched it keeps.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Dict, Iterable, List, Set

from ..acts import note_acted
from ..record import Concerned, Patches, Shim
from ..seams.attribute import around_traced
from ..seams.trace import before_first_trace


def apply(patches: Patches) -> None:
    # Breakpoint: none yet, 3.9.0 has it. Delete when Triton carries what a loop's body assigns, or compares the names.
    before_first_trace(patches, lambda code_generator: _fix(code_generator, patches))


def _fix(code_generator: Any, patches: Patches) -> None:
    from triton.compiler.code_generator import flatten_values_to_ir
    from triton.language.core import base_value

    def find_aliases_too(find_carries, self, node, liveins, *args, **kwargs):
        assigned = _Assigned(self)
        with assigned:
            names, init_handles, init_types = find_carries(self, node, liveins, *args, **kwargs)
        if not names:
            return names, init_handles, init_types
        wanted = assigned.names - set(names) - set(kwargs.get("ignore", ()))
        live = {
            name: flatten_values_to_ir([value])
            for name, value in liveins.items()
            if isinstance(value, base_value) and (name in wanted or name in names)
        }
        added = _aliases(live, set(names))
        if added:
            note_acted(SHIM.name)
            names = [name for name in live if name in added or name in names]
            init_handles = [handle for name in names for handle in live[name]]
            init_types = [liveins[name].type for name in names]
        return names, init_handles, init_types

    around_traced(patches, code_generator, "_find_carries", find_aliases_too)


def _aliases(live: Dict[str, List[Any]], carried: Set[str]) -> Set[str]:
    """Of the names not in `carried`, those that share a value with a carried one, directly or through others."""
    added: Set[str] = set()
    # Compared one by one: equal objects of Triton's may not have equal hashes.
    shared = [handle for name in carried for handle in live[name]]
    while True:
        more = {
            name
            for name in live.keys() - carried - added
            if any(handle in shared for handle in live[name])
        }
        if not more:
            return added
        added |= more
        shared += [handle for name in more for handle in live[name]]


class _Assigned:
    """Notes the names that a code generator assigns, also in branches and loops that forget them."""

    def __init__(self, generator: Any):
        self.generator = generator
        self.names: Set[str] = set()

    def __enter__(self) -> None:
        self.outer = vars(self.generator).get("set_value")
        set_value = self.generator.set_value

        def set_and_note(name, value):
            self.names.add(name)
            set_value(name, value)

        self.generator.set_value = set_and_note

    def __exit__(self, *_: object) -> None:
        if self.outer is None:
            del self.generator.set_value
        else:
            self.generator.set_value = self.outer


def _may_concern(reached: Iterable[Any]) -> bool:
    from triton.runtime.jit import JITCallable

    return any(isinstance(item, JITCallable) and _may_forget(item.src) for item in reached)


@functools.lru_cache(maxsize=None)
def _may_forget(source: str) -> bool:
    """Whether a loop in `source` assigns two names that are known outside of it, one of them by more than ``+=``."""
    function = ast.parse(source)
    nodes = list(ast.walk(function))
    # An augmented assignment computes; the variable of an inner loop belongs to that loop.
    augmented = {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
    counters = {id(node.target) for node in nodes if isinstance(node, ast.For)}
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    for loop in nodes:
        if not isinstance(loop, (ast.For, ast.While)) or _is_unrolled(loop):
            continue
        inside = [store for statement in loop.body for store in _stores(statement)]
        own = {id(store) for store in inside}
        outside = parameters | {store.id for store in _stores(function) if id(store) not in own}
        inside = [s for s in inside if s.id in outside and id(s) not in counters]
        if len({s.id for s in inside}) > 1 and any(id(s) not in augmented for s in inside):
            return True
    return False


def _stores(node: ast.AST) -> List[ast.Name]:
    return [
        name
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]


def _is_unrolled(loop: ast.AST) -> bool:
    function = getattr(getattr(loop, "iter", None), "func", None)
    return getattr(function, "attr", getattr(function, "id", "")) == "static_range"


SHIM = Shim(
    name="loop_carried_alias",
    issue="triton-7200",
    tier="silent",
    window=">=3.5",
    symptom="wrong numbers after a loop with previous = current: the value from before the loop is used",
    link="https://github.com/triton-lang/triton/pull/7200",
    delete_when="Triton carries what a loop assigns although it has the same value, and no column before that is left",
    apply=apply,
    revision=1,
    concerns=Concerned(_may_concern),
)
