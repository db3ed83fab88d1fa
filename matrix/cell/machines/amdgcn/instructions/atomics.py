"""Atomic operations on memory, buffers and LDS."""

from .. import accesses
from ..accesses import Load
from ..counters import LDS, LOAD
from ..lowering import handles
from ..operands import Operand
from .buffer_access import place_of
from .global_access import address_of as global_address
from .global_access import stores_count
from .lds_access import address_of as lds_address

_INTEGERS = {
    "add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "swap": "swap", "cmpswap": "cmpswap",
    "inc": "inc", "dec": "dec", "smax": "smax", "smin": "smin", "umax": "umax", "umin": "umin",
}  # fmt: skip
# Names of gfx9: `_x2` is of 64 bits.
_FORMS = {
    f"{name}{suffix}": (update, size)
    for name, update in _INTEGERS.items()
    for suffix, size in (("", 4), ("_x2", 8))
}
# Names since gfx11.
for _bits, _size in (("32", 4), ("64", 8)):
    for _name, _kind in (("and", "b"), ("or", "b"), ("xor", "b"), ("swap", "b"), ("cmpswap", "b"), ("add", "u"),
                         ("sub", "u"), ("inc", "u"), ("dec", "u")):  # fmt: skip
        _FORMS[f"{_name}_{_kind}{_bits}"] = (_name, _size)
    for _name in ("max", "min"):
        _FORMS[f"{_name}_u{_bits}"], _FORMS[f"{_name}_i{_bits}"] = (
            (f"u{_name}", _size),
            (f"s{_name}", _size),
        )
    for _name in ("add", "max", "min"):
        _FORMS[f"{_name}_f{_bits}"] = (f"{_name}_f", _size)
for _name in ("max", "min"):
    _FORMS[f"{_name}_num_f32"] = (f"{_name}_f", 4)
for _name in ("pk_add_f16", "pk_add_bf16"):
    _FORMS[_name] = (_name, 4)

# name -> (operation, bytes); those that return something have `_rtn` after the first part.
_LDS = {
    "add_u32": "add", "sub_u32": "sub", "max_u32": "umax", "min_u32": "umin", "max_i32": "smax", "min_i32": "smin",
    "and_b32": "and", "or_b32": "or", "xor_b32": "xor", "add_f32": "add_f", "wrxchg_b32": "swap",
    "storexchg_b32": "swap", "max_f32": "max_f", "min_f32": "min_f", "max_num_f32": "max_f", "min_num_f32": "min_f",
    "inc_u32": "inc", "dec_u32": "dec", "pk_add_f16": "pk_add_f16", "pk_add_bf16": "pk_add_bf16", "add_u64": "add",
    "sub_u64": "sub", "max_u64": "umax", "min_u64": "umin", "max_i64": "smax", "min_i64": "smin", "and_b64": "and",
    "or_b64": "or", "xor_b64": "xor", "wrxchg_b64": "swap", "storexchg_b64": "swap", "add_f64": "add_f",
    "max_f64": "max_f", "min_f64": "min_f", "max_num_f64": "max_f", "min_num_f64": "min_f",
}  # fmt: skip


def _words(low, data, update, size):
    return low.words(data, size // 4 * (2 if update == "cmpswap" else 1))


def _returns(instruction):
    modifiers = instruction.modifiers
    temporal = modifiers.get("th", "")
    return "sc0" in modifiers or "glc" in modifiers or "ATOMIC_RETURN" in temporal


@handles(*(f"{space}_atomic_{name}" for space in ("global", "flat") for name in _FORMS))
def in_memory(low, name, instruction):
    update, size = _FORMS[name.partition("_atomic_")[2]]
    operands = list(instruction.operands)
    destination = operands.pop(0) if _returns(instruction) else None
    vector, data, *scalar = operands
    address = global_address(low, instruction, vector, *scalar)
    words = low.temporary(
        f"S.atomics.in_memory({low.at}, {update!r}, {address}, {_words(low, data, update, size)}, {size}, e)"
    )
    if name.startswith("flat"):
        low.emit(f"S.counters.later({LDS!r}, m, None)")
    _finish(low, destination, words, size)


def _finish(low, destination, words, size):
    if destination is None:
        stores_count(low)
    else:
        accesses.arrives(low, destination, words, Load(size), LOAD)


@handles(*(f"buffer_atomic_{name}" for name in _FORMS))
def in_buffer(low, name, instruction):
    update, size = _FORMS[name.partition("_atomic_")[2]]
    data, *place = instruction.operands
    address, inside = place_of(low, instruction, place, size)
    words = low.temporary(
        f"S.atomics.in_memory({low.at}, {update!r}, {address}, {_words(low, data, update, size)}, {size}, {inside})"
    )
    _finish(low, Operand("v", data.number) if _returns(instruction) else None, words, size)


def _in_lds(low, instruction, place, update, data, size):
    address = lds_address(low, place, accesses.offset(instruction))
    return low.temporary(f"S.atomics.in_lds({low.at}, {update!r}, {address}, {data}, {size}, e)")


@handles(*(f"ds_{name}" for name in _LDS))
def in_lds(low, name, instruction):
    place, data = instruction.operands
    size, update = (8 if name.endswith("64") else 4), _LDS[name[3:]]
    _in_lds(low, instruction, place, update, _words(low, data, update, size), size)
    low.emit(f"S.counters.later({LDS!r}, m, None)")


def _returning(name):
    first, _, rest = name.partition("_")
    if first == "pk":
        first, rest = "pk_add", rest.partition("_")[2]
    return f"ds_{first}_rtn_{rest}"


_LDS_RETURNING = {_returning(name): name for name in _LDS}


@handles(*_LDS_RETURNING)
def in_lds_returning(low, name, instruction):
    destination, place, data = instruction.operands
    size, update = (8 if name.endswith("64") else 4), _LDS[_LDS_RETURNING[name]]
    words = _in_lds(low, instruction, place, update, _words(low, data, update, size), size)
    accesses.arrives(low, destination, words, Load(size), LDS)


@handles("ds_cmpst_rtn_b32", "ds_cmpst_rtn_b64", "ds_cmpstore_rtn_b32", "ds_cmpstore_rtn_b64")
def compare_in_lds(low, name, instruction):
    destination, place, first, second = instruction.operands
    size = 8 if name.endswith("64") else 4
    # gfx9 hands over the comparison first, gfx11 the new value.
    new, compare = (second, first) if "cmpst_" in name else (first, second)
    data = f"{low.words(new, size // 4)} + {low.words(compare, size // 4)}"
    words = _in_lds(low, instruction, place, "cmpswap", data, size)
    accesses.arrives(low, destination, words, Load(size), LDS)
