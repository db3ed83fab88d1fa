"""All probes: those that are written down, and those of the methods and modules that repeat them."""

import re
from dataclasses import replace
from typing import Iterator, List, Tuple

from . import control, elementwise, launch, libdevice, memory, shapes
from .probe import Probe

_CALL = re.compile(r"tl\.\w+\((?P<first>[a-z]\w*(?: \+ \w+)?)(?:, |(?=\)))")


def written() -> List[Probe]:
    """Those that are written down."""
    modules = (elementwise, shapes, memory, control, libdevice, launch)
    return [probe for module in modules for probe in module.PROBES]


def all_probes() -> Tuple[Probe, ...]:
    """Return every probe, by id. Written probes take precedence over derived ones."""
    found = {probe.id: probe for one in written() for probe in _derived(one)}
    found.update((probe.id, probe) for probe in written())
    return tuple(found[name] for name in sorted(found))


def _derived(probe: Probe) -> "Iterator[Probe]":
    """The same through a method of its first argument, and through tl.math; libdevice was tl.math in Triton 2.3."""
    module, _, name = probe.name.rpartition(".")
    if probe.option:
        return
    if module == "tl":
        spelled = f"tl.{name}("
        if probe.body.count(spelled) != 1:
            return
        yield replace(
            probe, name=f"tl.math.{name}", body=probe.body.replace(spelled, f"tl.math.{name}(")
        )
        place = probe.body.index(spelled)
        call = _CALL.match(probe.body, place)
        if call:
            first = f"({call['first']})" if " " in call["first"] else call["first"]
            rest = probe.body[call.end() :]
            body = f"{probe.body[:place]}{first}.{name}({rest}"
            yield replace(probe, name=f"tensor.{name}", body=body)
    elif module == "libdevice":
        body = probe.body.replace("libdevice.", "tl.math.")
        yield replace(probe, name=f"tl.math.{name}", body=body, header="")
