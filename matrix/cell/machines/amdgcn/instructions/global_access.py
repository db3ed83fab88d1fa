"""Loads and stores by address: global and flat, and loads into LDS."""

from .. import accesses
from ..accesses import LOADS, STORES
from ..counters import LDS, LOAD, STORE
from ..lowering import handles


def address_of(low, instruction, vector, scalar=None):
    """v[0:1], off; or v0, s[2:3]. The offset is signed."""
    offset = accesses.offset(instruction)
    if scalar is None or scalar.text == "off":
        address = low.read(vector, "u64")
    elif vector.text == "off":
        address = low.read(scalar, "u64")
    else:
        address = f"({low.read(scalar, 'u64')} + {low.read(vector, 'u32')}.astype(u8))"
    return f"({address} + u8({offset % 2**64}))" if offset else address


def _counter(name):
    # A flat access counts with both; all of them go to memory here.
    return LDS if name.startswith("flat") else LOAD


@handles(*accesses.names("global_load", LOADS), *accesses.names("flat_load", LOADS))
def load(low, name, instruction):
    kind = name.partition("_load_")[2]
    destination, *place = instruction.operands
    address = address_of(low, instruction, *place)
    words = low.temporary(f"S.memory.load({low.at}, {address}, {LOADS[kind].size}, e)")
    if name.startswith("flat"):
        low.emit(f"S.counters.later({LDS!r}, m, None)")
    accesses.arrives(low, destination, words, kind, LOAD)


@handles(*accesses.names("global_store", STORES), *accesses.names("flat_store", STORES))
def store(low, name, instruction):
    form = STORES[name.partition("_store_")[2]]
    vector, data, *scalar = instruction.operands
    address = address_of(low, instruction, vector, *scalar)
    low.emit(
        f"S.memory.store({low.at}, {address}, {accesses.stored(low, data, form)}, {form.size}, e)"
    )
    stores_count(low)


def stores_count(low):
    """Emits that a store is under way. It matters where it shares a counter with loads."""
    if low.generation < (10, 0):
        low.emit(f"S.counters.later({STORE!r}, m, None)")


@handles(*(f"global_load_lds_{kind}" for kind in LOADS))
def load_to_lds(low, name, instruction):
    size = LOADS[name.partition("_lds_")[2]].size
    to_lds(low, instruction, address_of(low, instruction, *instruction.operands), "e", size)


def to_lds(low, instruction, address, inside, size):
    """Emits a load into LDS: M0 holds the place of the first lane's, and the others follow."""
    each = max(4, size)
    words = low.temporary(f"S.memory.load({low.at}, S.whole({address}), {size}, {inside})")
    low.emit(f"S.load_into_lds({low.at}, {words}, {accesses.offset(instruction)}, {each}, e, m)")
