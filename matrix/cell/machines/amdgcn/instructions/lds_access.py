"""Loads and stores of LDS."""

import re

from .. import accesses
from ..accesses import LOADS, STORES, Load, Store
from ..counters import LDS
from ..lowering import handles


def address_of(low, operand, offset):
    base = low.read(operand, "u32")
    return f"({base} + u4({offset}))" if offset else base


@handles(*(f"ds_{verb}_{kind}" for verb in ("read", "load") for kind in LOADS))
def load(low, name, instruction):
    kind = re.sub(r"^ds_(read|load)_", "", name)
    destination, place = instruction.operands
    address = address_of(low, place, accesses.offset(instruction))
    words = low.temporary(f"S.lds.load({low.at}, {address}, {LOADS[kind].size}, e)")
    accesses.arrives(low, destination, words, kind, LDS)


@handles(*(f"ds_{verb}_{kind}" for verb in ("write", "store") for kind in STORES))
def store(low, name, instruction):
    form = STORES[re.sub(r"^ds_(write|store)_", "", name)]
    place, data = instruction.operands
    address = address_of(low, place, accesses.offset(instruction))
    # First, so that the sanitizer finds what the store's wait ends.
    low.emit(f"S.counters.later({LDS!r}, m, None)")
    low.emit(
        f"S.lds.store({low.at}, {address}, {accesses.stored(low, data, form)}, {form.size}, e)"
    )


def _twice(verbs):
    """Name -> (bytes of each, distance of two neighbours in elements)."""
    return {
        f"ds_{verb}{how}_{kind}": (size, stride)
        for verb, hows in verbs
        for how, stride in hows
        for kind, size in (("b32", 4), ("b64", 8))
    }


_OLD, _NEW = (("2", 1), ("2st64", 64)), (("_2addr", 1), ("_2addr_stride64", 64))
_LOADS_TWICE = _twice((("read", _OLD), ("load", _NEW)))
_STORES_TWICE = _twice((("write", _OLD), ("store", _NEW)))


@handles(*_LOADS_TWICE)
def load_two(low, name, instruction):
    size, stride = _LOADS_TWICE[name]
    destination, place = instruction.operands
    parts = []
    for key in ("offset0", "offset1"):
        address = address_of(low, place, accesses.offset(instruction, key) * size * stride)
        parts.append(low.temporary(f"S.lds.load({low.at}, {address}, {size}, e)"))
    words = low.temporary(f"{parts[0]} + {parts[1]}")
    accesses.arrives(low, destination, words, Load(2 * size), LDS)


@handles(*_STORES_TWICE)
def store_two(low, name, instruction):
    size, stride = _STORES_TWICE[name]
    place, *data = instruction.operands
    low.emit(f"S.counters.later({LDS!r}, m, None)")
    for key, operand in zip(("offset0", "offset1"), data):
        address = address_of(low, place, accesses.offset(instruction, key) * size * stride)
        words = accesses.stored(low, operand, Store(size))
        low.emit(f"S.lds.store({low.at}, {address}, {words}, {size}, e)")
