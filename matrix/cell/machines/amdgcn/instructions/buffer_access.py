"""Loads and stores through a buffer's descriptor: accesses outside the buffer load 0 and store nothing."""

from .. import accesses
from ..accesses import LOADS, STORES
from ..counters import LOAD
from ..errors import Unknown
from ..lowering import handles
from .global_access import stores_count, to_lds


def place_of(low, instruction, operands, size):
    """(address, lanes inside) as expressions; `operands` are the offset's register, the descriptor and an offset."""
    vector, resource, scalar = operands
    if resource.kind != "s" or resource.count != 4:
        raise Unknown(f"the descriptor {resource.text}")
    offset = low.read(vector, "u32") if "offen" in instruction.modifiers else "u4(0)"
    immediate = accesses.offset(instruction)
    pair = low.temporary(
        f"S.memory.buffer({resource.number}, {offset}, {low.read(scalar, 'u32')}, {immediate}, {size}, e)"
    )
    return f"{pair}[0]", f"{pair}[1]"


def _may_be_scratch(low):
    """gfx90a: a lane's own memory stands behind a descriptor too, which a kernel may move before it uses s[0:3]."""
    if low.generation >= (9, 0x40) or not low.kernel.directive("private_segment_fixed_size"):
        return False
    return bool(low.kernel.directive("user_sgpr_private_segment_buffer"))


def _behind(low, instruction, operands, size):
    """(address, lanes inside) as expressions that work the descriptor out only where they are evaluated."""
    vector, resource, scalar = operands
    offset = low.read(vector, "u32") if "offen" in instruction.modifiers else "u4(0)"
    numbers = f"{low.read(scalar, 'u32')}, {accesses.offset(instruction)}, {size}, e"
    pair = f"(behind := S.memory.buffer({resource.number}, {offset}, {numbers}))"
    return f"{pair}[0]", "behind[1]"


def _scratch_offset(low, instruction, vector, scalar):
    parts = [f"i8({accesses.offset(instruction)})"]
    if "offen" in instruction.modifiers:
        parts.append(f"{low.read(vector, 'u32')}.astype(i8)")
    # s32 is the stack pointer of a kernel: 0.
    if scalar.kind == "s" and scalar.number != 32:
        parts.append(f"{low.read(scalar, 'u32')}.astype(i8)")
    elif scalar.kind == "c" and scalar.text not in ("0", "off"):
        parts.append(f"i8({int(scalar.text, 0)})")
    return f"np.broadcast_to({' + '.join(parts)}, S.shape)"


@handles(*accesses.names("buffer_load", LOADS))
def load(low, name, instruction):
    kind = name.partition("_load_")[2]
    size = LOADS[kind].size
    if "lds" in instruction.modifiers:
        address, inside = place_of(low, instruction, instruction.operands, size)
        to_lds(low, instruction, address, inside, size)
        return
    destination, vector, resource, scalar = instruction.operands
    if _may_be_scratch(low):
        own = f"S.scratch.load({low.at}, {_scratch_offset(low, instruction, vector, scalar)}, {size}, e)"
        address, inside = _behind(low, instruction, (vector, resource, scalar), size)
        words = low.temporary(
            f"{own} if S.scratch.is_behind({resource.number}, e) "
            f"else S.memory.load({low.at}, {address}, {size}, {inside})"
        )
    else:
        address, inside = place_of(low, instruction, (vector, resource, scalar), size)
        words = low.temporary(f"S.memory.load({low.at}, {address}, {size}, {inside})")
    accesses.arrives(low, destination, words, kind, LOAD)


@handles(*accesses.names("buffer_store", STORES))
def store(low, name, instruction):
    form = STORES[name.partition("_store_")[2]]
    data, vector, resource, scalar = instruction.operands
    words = accesses.stored(low, data, form)
    if _may_be_scratch(low):
        own = _scratch_offset(low, instruction, vector, scalar)
        address, inside = _behind(low, instruction, (vector, resource, scalar), form.size)
        low.emit(
            f"S.scratch.store({low.at}, {own}, {words}, {form.size}, e) if S.scratch.is_behind({resource.number}, e) "
            f"else S.memory.store({low.at}, {address}, {words}, {form.size}, {inside})"
        )
    else:
        address, inside = place_of(low, instruction, (vector, resource, scalar), form.size)
        low.emit(f"S.memory.store({low.at}, {address}, {words}, {form.size}, {inside})")
    stores_count(low)
