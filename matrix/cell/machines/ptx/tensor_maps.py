"""Tensor maps and the copies that use them (TMA).

The driver's 128 bytes are opaque; these have a layout of our own, with the codes of `tensormap.replace`:

    byte 0 rank - 1 · 1 element type · 2 interleave · 3 swizzle · 4 fill · 8 address (u64) · 16 five sizes (u32)
    40 four strides in bytes (u64) · 72 five box sizes (u32) · 92 five element strides (u32)
    112 whether of im2col · 114 the pixels' three lower corners and three upper ones (i16)

The innermost dimension comes first. The box sizes of im2col are channels and pixels.
"""

import struct
from typing import Optional, Sequence, Tuple

import numpy as np

from . import floats, memory
from .atomics import combine
from .errors import Unsupported
from .types import BY_BYTES, f4, i8, u4, u8

BYTES = 128
# Code of `tensormap.replace.elemtype` -> (name, bytes).
ELEMENT_TYPES = {
    0: ("u8", 1), 1: ("u16", 2), 2: ("u32", 4), 3: ("s32", 4), 4: ("u64", 8), 5: ("s64", 8), 6: ("f16", 2),
    7: ("f32", 4), 8: ("f32", 4), 9: ("f64", 8), 10: ("bf16", 2), 11: ("tf32", 4), 12: ("tf32", 4),
    # 16 of 4 bits, which go to 16 bytes of shared memory: 8 of them are padding.
    14: ("u4", 8),
}  # fmt: skip
_CODES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 9, "bf16": 10,
          "tf32": 11, "u4": 14}  # fmt: skip
_FORM = "<5B3xQ5I4x4Q5I5IBx6h"
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
# Bits of the address above the lowest 7 that are folded onto bits 4 to 6.
SWIZZLE_MASKS = {0: 0, 1: 1, 2: 3, 3: 7}
_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF, "f64": (1 << 63) - 1}
# Where tensormap.replace writes: field -> (offset, bytes of an element).
FIELDS = {
    "rank": (0, 1), "elemtype": (1, 1), "interleave_layout": (2, 1), "swizzle_mode": (3, 1), "fill_mode": (4, 1),
    "global_address": (8, 8), "global_dim": (16, 4), "global_stride": (40, 8), "box_dim": (72, 4),
    "element_stride": (92, 4),
}  # fmt: skip


def tensor_map(
    address: int,
    element_type: str,
    shape: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle: int = 0,
    fill_nan: bool = False,
    steps: Sequence[int] = (),
    corners: Optional[Tuple[Sequence[int], Sequence[int]]] = None,
) -> bytes:
    """Return the 128 bytes of a tensor map, to be passed as an argument.

    Args:
        element_type: one of u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, tf32, and u4 for 4-bit numbers that are
            padded in shared memory; fp8 travels as u8.
        shape: elements of each dimension, the innermost first.
        strides: bytes between elements of the second and further dimensions.
        box: elements of a copy in each dimension.
        swizzle: span of the swizzle in bytes: 0, 32, 64 or 128.
        fill_nan: elements outside are NaN and not zero.
        steps: element strides of each dimension.
        corners: for im2col: how far the lower and the upper corner of the box of pixels are from the tensor's, by
            dimension without channels and images; `box` is channels and pixels then.

    Raises:
        ValueError: sizes that do not fit each other, or an unknown element type.
    """
    rank = len(shape)
    sizes = rank if corners is None else 2
    if not 1 <= rank <= 5 or len(strides) != rank - 1 or len(box) != sizes:
        msg = f"a tensor of rank {rank} takes {rank} box sizes and {rank - 1} strides; ranks are 1 to 5"
        raise ValueError(msg)
    if element_type not in _CODES or swizzle not in SWIZZLES:
        msg = f"no tensor map of {element_type} with swizzle {swizzle}; types: {', '.join(_CODES)}"
        raise ValueError(msg)

    def padded(values, count, by):
        return [*values, *[by] * (count - len(values))]

    lower, upper = corners or ((), ())
    return struct.pack(
        _FORM,
        rank - 1, _CODES[element_type], 0, SWIZZLES[swizzle], int(fill_nan), address,
        *padded(shape, 5, 1), *padded(strides, 4, 0), *padded(box, 5, 1), *padded(steps, 5, 1),
        corners is not None, *padded(lower, 3, 0), *padded(upper, 3, 0),
    ).ljust(BYTES, b"\0")  # fmt: skip


class _Map:
    """A decoded tensor map."""

    def __init__(self, raw):
        (rank, code, interleave, self.swizzle, fill, self.address, *rest) = struct.unpack(
            _FORM, raw[: struct.calcsize(_FORM)]
        )
        if rank > 4 or code not in ELEMENT_TYPES:
            raise Unsupported(f"a tensor map of rank {rank + 1} and element type {code}")
        if interleave or self.swizzle not in SWIZZLE_MASKS:
            raise Unsupported("a tensor map with interleaving or an unknown swizzle")
        self.rank = rank + 1
        self.element, self.size = ELEMENT_TYPES[code]
        self.shape, self.box = rest[0:5][: self.rank], rest[9:14][: self.rank]
        self.strides = (self.size, *rest[5:9])[: self.rank]
        self.steps = [max(step, 1) for step in rest[14:19]][: self.rank]
        self.fill = _NAN.get(self.element, 0) if fill else 0
        # Elements that move as one, and bytes from one to the next in shared memory.
        self.together, self.pitch = (16, 16) if self.element == "u4" else (1, self.size)
        self.shape = [self.shape[0] // self.together, *self.shape[1:]]
        self.box = [self.box[0] // self.together, *self.box[1:]]
        self.im2col, self.corners = bool(rest[19]), (rest[20:23], rest[23:26])
        if self.im2col:
            self.elements = self.box[0] * self.box[1]
            return
        counts = [-(-size // step) for size, step in zip(self.box, self.steps)]
        # Index of each element of the box in each dimension, in the order of shared memory.
        grids = np.indices(counts[::-1]).reshape(self.rank, -1)[::-1]
        self.inside_box = [grids[d].astype(i8) * self.steps[d] for d in range(self.rank)]
        self.elements = grids.shape[1]

    def _pixels(self, coordinates, offsets):
        """(copies, elements, rank) coordinates of im2col: pixels one after another, each with its channels.

        Pixels run through the box, a line after the other and an image after the other; `offsets` move them then.
        """
        channels, pixels = self.box[:2]
        count = np.arange(pixels, dtype=i8)[None]
        axes = []
        for place in range(1, self.rank - 1):
            low, high = (corner[place - 1] for corner in self.corners)
            step = self.steps[place]
            size = -(-(self.shape[place] + high - low) // step)
            count = count + (coordinates[:, place, None] - low) // step
            axes.append(low + count % size * step + offsets[:, place - 1, None])
            count = count // size
        axes.append(coordinates[:, -1, None] + count)
        axes = [
            np.repeat(np.broadcast_to(axis, (len(coordinates), pixels)), channels, 1)
            for axis in axes
        ]
        first = coordinates[:, 0, None] + np.tile(np.arange(channels, dtype=i8), pixels)[None]
        return np.stack([first, *axes], 2)

    def boxes(self, coordinates):
        """Coordinates (copies, boxes, rank): of one box, or of the four rows of tile::gather4 and tile::scatter4."""
        if coordinates.shape[1] == self.rank:
            return coordinates[:, None]
        if self.rank != 2 or coordinates.shape[1] != 5 or self.box[1] != 1:
            msg = f"a tensor map of rank {self.rank} with {coordinates.shape[1]} coordinates"
            raise Unsupported(msg)
        column = np.broadcast_to(coordinates[:, :1], (len(coordinates), 4))
        return np.stack([column, coordinates[:, 1:]], 2)

    def global_addresses(self, coordinates, offsets=None):
        """(copies, elements) addresses, and which of them lie inside of the tensor; of all boxes, one after another.

        Args:
            offsets: (copies, dimensions of pixels) of im2col.
        """
        if self.im2col != (offsets is not None):
            raise Unsupported("a tensor map of im2col in another copy, or another map in im2col's")
        if self.im2col:
            each = self._pixels(coordinates, offsets)
            inside = ((each >= 0) & (each < np.array(self.shape))).all(2)
            return (self.address + (each * np.array(self.strides, i8)).sum(2)).view(u8), inside
        boxes = self.boxes(coordinates)
        shape = (len(coordinates), boxes.shape[1] * self.elements)
        address, inside = self._of_box(boxes.reshape(-1, self.rank))
        return address.reshape(shape), inside.reshape(shape)

    def _of_box(self, coordinates):
        inside = np.ones((len(coordinates), self.elements), bool)
        address = np.full(inside.shape, self.address, i8)
        for dimension in range(self.rank):
            index = coordinates[:, dimension, None] + self.inside_box[dimension][None]
            inside &= (index >= 0) & (index < self.shape[dimension])
            address += index * self.strides[dimension]
        return address.view(u8), inside

    def shared_addresses(self, start, count):
        """(copies, count) addresses in shared memory, swizzled."""
        linear = start.astype(u4)[:, None] + np.arange(count, dtype=u4)[None] * u4(self.pitch)
        mask = SWIZZLE_MASKS[self.swizzle]
        return linear ^ (((linear >> u4(7)) & u4(mask)) << u4(4)) if mask else linear


class TensorMaps:
    """Copies by tensor map, of each active lane: one elected thread, as a rule."""

    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        self._decoded = {}

    def _lanes(self, condition):
        shape = self.shape
        active = np.ones(shape, bool) if condition is None else np.broadcast_to(condition, shape)
        return np.nonzero(active)

    def _of(self, value, lanes):
        return np.broadcast_to(value, self.shape)[lanes]

    def _groups(self, at, address, lanes):
        """Lanes by the bytes of their maps: (map, which of the lanes)."""
        where = self._of(address, lanes)
        for start in np.unique(where):
            mine = np.flatnonzero(where == start)
            lane = (int(lanes[0][mine[0]]), int(lanes[1][mine[0]]))
            place = np.full((1, 1), start, u8)
            # A map is aligned to 64 bytes, half of its size: as a parameter, it lies no better.
            both = place + np.array([[0, BYTES // 2]], u8)
            self.machine.global_.check(at, "tensor map", both, None, BYTES // 2, lane)
            halves = memory.read(place, BYTES // 8, u8)
            raw = b"".join(half.tobytes() for half in halves)
            if raw not in self._decoded:
                self._decoded[raw] = _Map(raw)
            yield self._decoded[raw], mine

    def _coordinates(self, coordinates, lanes):
        return np.stack(
            [self._of(value, lanes).view(np.int32).astype(i8) for value in coordinates], 1
        )

    def load(self, at, target, address, coordinates, barrier, multicast, pairs, offsets, condition):
        """Global to shared memory; bytes are completed on the mbarrier when they land.

        Args:
            multicast: None, or the CTAs of the cluster that get a copy each, as a mask.
            pairs: the mbarrier is that of the receiver or of its neighbour, whichever has the rank's lowest bit of the
                one that is named (.cta_group::2).
            offsets: of im2col: how far each dimension of the pixels moves; None without.
        """
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        self.machine.progress += 1
        coordinates = self._coordinates(coordinates, lanes)
        if offsets is not None:
            offsets = np.stack([self._of(value, lanes).astype(i8) for value in offsets], 1)
        target, barrier = self._of(target, lanes), self._of(barrier, lanes)
        mask = None if multicast is None else self._of(multicast, lanes)
        for tensor, mine in self._groups(at, address, lanes):
            where = self._checked(tensor, coordinates[mine])
            moved = None if offsets is None else offsets[mine]
            addresses, inside = tensor.global_addresses(where, moved)
            values = np.full(addresses.shape, tensor.fill, BY_BYTES[tensor.size])
            if inside.any():
                wanted = addresses[inside]
                self._check_each(at, "bulk load", addresses, inside, tensor.size, lanes, mine)
                values[inside] = memory.read(wanted, 1, BY_BYTES[tensor.size])[0]
            if tensor.element == "tf32":
                values = floats.to_tf32(values.view(f4), "rn")
            places = tensor.shared_addresses(target[mine] & u4(0xFFFFFF), values.shape[1])
            ranks = target[mine] >> u4(24)
            for rank, who in self._receivers(
                None if mask is None else mask[mine], ranks, lanes[0][mine]
            ):
                cta = rank[who]
                issuers = tuple(axis[mine][who] for axis in lanes)
                signal = barrier[mine][who]
                owner = (cta & ~1) | (signal >> u4(24)).astype(i8) & 1 if pairs else cta
                signal = self.machine.shared.base[owner, 0] + (signal & u4(0xFFFFFF)).astype(i8)
                self._deliver(at, tensor, places[who], values[who], signal, cta, issuers)

    def _receivers(self, mask, ranks, ctas):
        """(index of the CTA of each lane, which lanes) for each CTA of the clusters that gets a copy."""
        size = self.machine.shared.cluster
        first = ctas - ctas % size
        if mask is None:
            own = first + ranks.astype(i8) if size > 1 else ctas
            yield own, np.ones(len(ctas), bool)
            return
        for rank in range(size):
            who = (mask.astype(i8) >> rank & 1) == 1
            if who.any():
                yield first + rank, who

    def _deliver(self, at, tensor, places, values, signal, cta, lanes):
        shared = self.machine.shared
        lane = (int(lanes[0][0]), int(lanes[1][0]))
        shared.check(at, "bulk copy", places, None, tensor.size, lane)
        base = shared.base[cta, 0]
        index = (base[:, None] + places.astype(i8)) // tensor.size
        if self.machine.watch is not None:
            self.machine.watch.copying(self.machine, at, lanes, index, tensor.size, signal // 8)
        nbytes = values.shape[1] * tensor.size
        self.machine.mbarriers.copy(signal, tensor.size, index, values, nbytes)

    def _check_each(self, at, what, addresses, inside, size, lanes, mine):
        """Check the elements inside the tensor: at once, or by copy if the watch needs to know whose they are."""
        rows = [(mine[0], inside)]
        watch = self.machine.watch
        if watch is not None and watch.each_copy:
            index = np.arange(len(mine))[:, None]
            rows = [(number, inside & (index == row)) for row, number in enumerate(mine)]
        for number, part in rows:
            if part.any():
                lane = (int(lanes[0][number]), int(lanes[1][number]))
                self.machine.global_.check(at, what, addresses[part], None, size, lane)

    def _checked(self, tensor, coordinates):
        """The coordinates, in elements that move as one.

        Raises:
            Unsupported: a box begins where no box may.
        """
        # No document says so: an H100 ended boxes that begin 6 bytes further with `illegal instruction` (2026-11-22,
        # tests/ptx on the device), and took those that begin at such a multiple, below zero as well.
        if tensor.element == "u4":
            # CUDA's "CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B": a multiple of 128 numbers.
            if (coordinates[:, 0] % 128).any():
                raise Unsupported(
                    "a tensor map's box that begins at no multiple of 128 padded numbers"
                )
            return np.concatenate([coordinates[:, :1] // 16, coordinates[:, 1:]], 1)
        if (coordinates[:, 0] * tensor.size % 16).any():
            msg = "a tensor map's box that begins at no multiple of 16 bytes in its first dimension"
            raise Unsupported(msg)
        return coordinates

    def store(self, at, source, address, coordinates, operation, condition):
        """Copy shared to global memory, at once; with an operation, reduce into the contents there."""
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        machine = self.machine
        machine.progress += 1
        coordinates = self._coordinates(coordinates, lanes)
        source = self._of(source, lanes)
        for tensor, mine in self._groups(at, address, lanes):
            addresses, inside = tensor.global_addresses(self._checked(tensor, coordinates[mine]))
            lane = (int(lanes[0][mine[0]]), int(lanes[1][mine[0]]))
            places = tensor.shared_addresses(source[mine] & u4(0xFFFFFF), inside.shape[1])
            machine.shared.check(at, "bulk store", places, None, tensor.size, lane)
            index = machine.shared.base[lanes[0][mine], 0][:, None] + places.astype(i8)
            values = machine.shared.data[tensor.size][index // tensor.size]
            if machine.watch is not None:
                issuers = tuple(axis[mine] for axis in lanes)
                machine.watch.reading(machine, at, issuers, index // tensor.size, tensor.size)
            wanted = addresses[inside]
            if not wanted.size:
                continue
            self._check_each(at, "bulk store", addresses, inside, tensor.size, lanes, mine)
            if operation is None:
                memory.write(wanted, [values[inside]], BY_BYTES[tensor.size])
                continue
            kind = tensor.element if operation in ("add", "min", "max") else f"b{8 * tensor.size}"
            # Lanes one after another: two of them may meet the same element.
            for row in range(len(mine)):
                at_row, new = addresses[row][inside[row]], values[row][inside[row]]
                view, where = memory.elements(at_row, tensor.size)
                view[where] = combine(operation, kind, view[where], new, None)

    def replace(self, at, address, field, ordinal, value, condition, space):
        """tensormap.replace of one field."""
        offset, size = FIELDS[field]
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        dtype = BY_BYTES[size]
        place = address + address.dtype.type(offset + ordinal * size)
        target = self.machine.shared if space == "shared" else self.machine.global_
        target.store(at, place, condition, (value.astype(dtype),), dtype)

    def publish(self, at, target, source, condition):
        """tensormap.cp_fenceproxy: 128 bytes of shared memory to global memory, once a warp."""
        machine = self.machine
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        words = machine.shared.load(at, source, condition, BYTES // 8, u8)
        for word, value in enumerate(words):
            machine.global_.store(at, target + u8(8 * word), condition, (value,), u8)
