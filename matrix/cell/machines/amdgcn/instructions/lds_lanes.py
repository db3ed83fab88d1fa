"""Moves between lanes through the hardware of LDS, and transposing loads."""

import re

import numpy as np

from .. import accesses, lanes
from ..counters import LDS
from ..lowering import NAMESPACE, handles
from .lds_access import address_of

u1, u2, u4 = np.uint8, np.uint16, np.uint32


@handles("ds_bpermute_b32")
def read_from_lane(low, name, instruction):
    destination, place, data = instruction.operands
    address = address_of(low, place, accesses.offset(instruction))
    lane = low.temporary(
        f"np.broadcast_to((({address} >> u4(2)) & u4({low.lanes - 1})).astype(i8), S.shape)"
    )
    value = low.temporary(f"S.gather({low.word(data)}, {lane})")
    # A lane that is switched off gives 0.
    words = f"[{value} if e is None else where(np.take_along_axis(e, {lane}, 1), {value}, u4(0))]"
    accesses.arrives(low, destination, low.temporary(words), "b32", LDS)


@handles("ds_permute_b32")
def write_to_lane(low, name, instruction):
    destination, place, data = instruction.operands
    address = address_of(low, place, accesses.offset(instruction))
    words = low.temporary(f"[permuted(S, {address}, S.whole({low.word(data)}), e)]")
    accesses.arrives(low, destination, words, "b32", LDS)


def permuted(machine, address, data, e):
    """Each lane hands its value to another; of two for one lane the later stays, and 0 where there is none."""
    out = np.zeros(machine.shape, u4)
    target = np.broadcast_to((address >> u4(2)) & u4(machine.lanes - 1), out.shape).astype(np.int64)
    if e is None:
        np.put_along_axis(out, target, data, 1)
    else:
        wave, lane = np.nonzero(e)
        out[wave, target[wave, lane]] = data[wave, lane]
    return out


@handles("ds_swizzle_b32")
def swizzle(low, name, instruction):
    destination, data = instruction.operands
    text = instruction.modifiers.get("offset") or ""
    match = re.search(r"swizzle\(([^)]*)\)", text)
    table = low.table(lanes.swizzle(match.group(1) if match else text, low.lanes))
    value = low.temporary(f"S.gather({low.word(data)}, {table})")
    words = low.temporary(f"[{value} if e is None else where(e[:, {table}], {value}, u4(0))]")
    accesses.arrives(low, destination, words, "b32", LDS)


@handles("ds_read_b64_tr_b16", "ds_read_b64_tr_b8")
def load_transposed(low, name, instruction):
    """gfx950: sixteen lanes read 16 x 4 halves, or 16 x 8 bytes, and each gets its column's."""
    destination, place = instruction.operands
    address = address_of(low, place, accesses.offset(instruction))
    words = low.temporary(f"S.lds.load({low.at}, {address}, 8, e)")
    value = low.temporary(f"transposed({words}, {16 if name.endswith('b16') else 8})")
    accesses.arrives(low, destination, value, "b64", LDS)


def transposed(words, bits):
    """Of n items in a lane: lane i of a row of sixteen gets item i % n of each n-th of the row's lanes."""
    pair = np.ascontiguousarray(np.stack(np.broadcast_arrays(*words), -1))
    waves, width = pair.shape[:2]
    n = 64 // bits
    items = pair.view({16: u2, 8: u1}[bits]).reshape(waves, width // 16, n, 16 // n, n)
    out = np.ascontiguousarray(items.transpose(0, 1, 3, 4, 2).reshape(waves, width, n)).view(u4)
    return [out[..., 0], out[..., 1]]


NAMESPACE.update(permuted=permuted, transposed=transposed)
