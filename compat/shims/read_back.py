"""A pipelined loop that stores something and then loads it gets what was there before.

The pipeliner takes it that a loop does not write what it loads, and starts the load of a later turn ahead of the store
that comes before it. A kernel with a loop that loads through a pointer through which it has stored above, in the same
turn, is compiled without pipelining its loads.

Cost: such a kernel waits for its loads. Every other kernel becomes what it was; one whose source may have a store above
a load in a loop is compiled once more, under a separate key. Not fixed: a load of what an earlier turn has stored
below it.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Set, Tuple

from ..patterns import lazily
from ..record import Concerned, LeaveOut, Shim

_WRITES = lazily(
    r"tt\.(?:store|atomic_rmw|atomic_cas|(?:experimental_)?descriptor_(?:store|reduce)) "
)
_READS = lazily(r"tt\.(?:load|(?:experimental_)?descriptor_load) ")
_CARRIES = lazily(r"scf\.(?:for|while) ")
_NONE: FrozenSet[str] = frozenset()
_VALUE = lazily(r"%\w+")
_RESULT = lazily(r"\s*(%[\w]+)(?::\d+)? = ")
_POINTER = lazily(r"(%\w+): !tt\.(?:ptr|tensordesc)")


def loads_what_it_stored(ir: str) -> bool:
    """Whether a loop of a kernel, as IR of Triton's, loads through a pointer argument through which it stored above."""
    origins: Dict[str, FrozenSet[str]] = {}
    # Of each loop that is open: the arguments stored through in it, inner loops apart, since these are pipelined by
    # themselves; and the depth of its braces.
    loops: List[Set[str]] = []
    opened: List[int] = []
    depth = 0
    for line in ir.splitlines():
        if "tt.func" in line:
            origins = {name: frozenset((name,)) for name in _POINTER.findall(line)}
        text = line.split(" loc(")[0]
        result = _RESULT.match(text)
        names = _VALUE.findall(text)
        pointer = origins.get(names[1 if result else 0], _NONE) if len(names) > 1 else _NONE
        if _WRITES.search(text):
            if loops:
                loops[-1] |= pointer
        elif _READS.search(text):
            if loops and loops[-1] & pointer:
                return True
        elif "tt.addptr " in text:
            origins[names[0]] = pointer
        elif result or _CARRIES.search(text):
            # A loop's variables have the origin of their initial values.
            loaded = _NONE.union(*(origins.get(name, _NONE) for name in names))
            origins.update({name: loaded for name in names if loaded and name not in origins})
        before, depth = depth, depth + text.count("{") - text.count("}")
        if _CARRIES.search(text) and depth > before:
            loops.append(set())
            opened.append(before)
        while opened and depth <= opened[-1]:
            loops.pop()
            opened.pop()
    return False


def _adders() -> Iterator[Tuple[Any, str]]:
    import triton._C.libtriton as module

    passes = module.passes.ttgpuir
    # The pass that assigns stages to loads; before Triton 3.4 one pass does all of it.
    yield (
        passes,
        "add_assign_latencies" if hasattr(passes, "add_assign_latencies") else "add_pipeline",
    )


def _may_store_above_a_load(reached: Iterable[Any]) -> bool:
    # Imported here: a process that installs may never compile.
    from ..memory_order import may_store_above_a_load

    return may_store_above_a_load(reached)


# Breakpoint: none yet, 3.9.0 is wrong.
SHIM = Shim(
    name="read_back",
    issue="triton-8259",
    tier="silent",
    window=">=3.0",
    symptom="silent wrong numbers: a loop that is pipelined loads what was there before its own store",
    link="https://github.com/triton-lang/triton/issues/8259",
    delete_when="Triton does not pipeline a load of what the loop stores, and no column before that is left",
    revision=1,
    concerns=Concerned(_may_store_above_a_load),
    changes=(LeaveOut(loads_what_it_stored, _adders, ("nvidia",)),),
)
