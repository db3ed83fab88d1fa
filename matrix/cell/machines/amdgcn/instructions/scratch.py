"""Scratch: private memory of a lane, of gfx942 and later."""

from .. import accesses
from ..accesses import LOADS, STORES
from ..counters import LOAD
from ..lowering import handles
from .global_access import stores_count


def _address(low, instruction, vector, scalar=None):
    parts = [f"i8({accesses.offset(instruction)})"]
    if vector.text != "off":
        parts.append(f"{low.read(vector, 'u32')}.astype(i8)")
    if scalar is not None and scalar.text != "off":
        parts.append(f"{low.read(scalar, 'u32')}.astype(i8)")
    return f"np.broadcast_to({' + '.join(parts)}, S.shape)"


@handles(*accesses.names("scratch_load", LOADS))
def load(low, name, instruction):
    kind = name.partition("_load_")[2]
    destination, *place = instruction.operands
    address = _address(low, instruction, *place)
    words = low.temporary(f"S.scratch.load({low.at}, {address}, {LOADS[kind].size}, e)")
    accesses.arrives(low, destination, words, kind, LOAD)


@handles(*accesses.names("scratch_store", STORES))
def store(low, name, instruction):
    form = STORES[name.partition("_store_")[2]]
    vector, data, *scalar = instruction.operands
    address = _address(low, instruction, vector, *scalar)
    low.emit(
        f"S.scratch.store({low.at}, {address}, {accesses.stored(low, data, form)}, {form.size}, e)"
    )
    stores_count(low)
