"""Objects that Triton's user had made before a fix came: configurations, and kernels that may have been launched."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Tuple

from .copies import COMMON
from .launch import existing
from .seams.attribute import standing


def configurations_and_launched() -> Tuple[List[Any], List[Any]]:
    """Every configuration, and every kernel that may have been launched."""
    from triton.compiler import compiler
    from triton.runtime import autotuner, jit

    # To walk through all objects takes five milliseconds, and with torch twenty; mostly there are none.
    kinds = []
    if _may_have_objects(vars(autotuner), "Config"):
        kinds.append(autotuner.Config)
    if _may_have_objects(vars(compiler), "CompiledKernel"):
        kinds.append(jit.JITFunction)
    # The heap is walked once for both.
    found = existing(*kinds) if kinds else []
    configurations = [one for one in found if type(one) is autotuner.Config]
    return configurations, [one for one in found if type(one) is jit.JITFunction]


def _may_have_objects(names: Dict[str, Any], name: str) -> bool:
    """Whether the class `name` may have objects: it has more references than the known ones. In doubt True."""
    if not {"__dict__", "__weakref__"} <= vars(names[name]).keys():
        return True
    without = {name: type(name, (), {})}
    packages = vars(names[name])["__module__"].split(".")
    called = [".".join(packages[:count]) for count in range(1, len(packages) + 1)]
    places = [without, *(vars(sys.modules[one]) for one in called if one in sys.modules)]
    try:
        without_objects = _unknown_references(without, name, places)
        return _unknown_references(names, name, places) > without_objects
    except ValueError:
        # A cell that is empty.
        return True


def _unknown_references(names: Dict[str, Any], name: str, places: List[Dict[str, Any]]) -> int:
    # One after the other, and never in a variable here, which would count too.
    return _references(names[name]) - _known_references(names[name], places)


def _references(kind: Any) -> int:
    # An annotation of Triton's may have made it: now it is there for any class.
    List[kind]
    return sys.getrefcount(kind)


def _known_references(kind: Any, places: List[Dict[str, Any]]) -> int:
    """Those of modules, of methods that say ``super()``, of bases, and of our own patches."""
    count = sum(value is kind for place in places for value in list(place.values()))
    closures = [getattr(method, "__closure__", None) or () for method in vars(kind).values()]
    for cell in {id(cell): cell for cells in closures for cell in cells}.values():
        count += cell.cell_contents is kind
    seams = [seam for seam in standing() if seam.owner is kind]
    patches = [one.patches for one in COMMON.applied] + [seam.patches for seam in seams]
    owners = [owner for one in patches for owner, _, _ in one.replaced()]
    return count + len(seams) + sum(owner is kind for owner in owners)
