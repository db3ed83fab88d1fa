"""tcgen05.mma and tcgen05.cp, which one thread issues to the tensor core, and tcgen05.commit, which signals others.

Nothing is done at issue. Operands are read and results written when a thread waits on the mbarrier of a commit that
covers them: as late as a device may. Earlier instructions of the same thread come first, in order.
"""

import re
from typing import Any, List, NamedTuple

import numpy as np

from .descriptors import Descriptor, Shape
from .errors import Unsupported
from .floats import FP4, FP8, scale_factors
from .operands import offsets, swizzled
from .tensor_cores import elements, multiplied
from .types import f2, f4, f8, i4, i8, u1, u2, u4, u8

# Bytes of an element as it lies in memory; 4-bit floats lie by two.
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4}
# Bytes of K that one instruction takes.
_DEPTH_BYTES = 32


class _Issued(NamedTuple):
    """A product or copy that is not done: `ctas`, `threads` (n,) who issued it; `work` is called with rows of them."""

    number: int
    ctas: np.ndarray
    threads: np.ndarray
    work: Any
    # Where it writes: the CTA, lane and column of its first cell (n,), lanes of a quarter, columns.
    where: Any


class _Commit(NamedTuple):
    number: int
    barrier: np.ndarray
    ctas: np.ndarray
    threads: np.ndarray


class TensorProducts:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        self._number = 0
        self._issued: List[_Issued] = []
        self._commits: List[_Commit] = []

    # ---------------------------------------------------------------- what is under way

    def _lanes(self, condition):
        if condition is None:
            return np.nonzero(np.ones(self.shape, bool))
        return np.nonzero(np.broadcast_to(condition, self.shape))

    def _of(self, value, lanes):
        return np.broadcast_to(value, self.shape)[lanes]

    def _issue(self, lanes, work, where):
        self._number += 1
        self._issued.append(_Issued(self._number, lanes[0], lanes[1], work, where))
        self.machine.progress += 1

    def _hosts(self, at, lanes, group):
        """The issuing lanes, once for each CTA that takes part, and those CTAs: those of a pair side by side."""
        if group == 1:
            return lanes, lanes[0]
        if self.machine.shared.cluster % 2:
            lane = (int(lanes[0][0]), int(lanes[1][0]))
            what = "an instruction of two CTAs (.cta_group::2) in a cluster without pairs"
            raise self.machine.fault("tensor memory", what, "", None, lane, at)
        both = np.stack([lanes[0] & ~1, lanes[0] | 1], 1).reshape(-1)
        return tuple(np.repeat(axis, 2) for axis in lanes), both

    def commit(self, at, address, multicast, condition):
        """tcgen05.commit: mbarriers get an arrival when all that the thread issued before is done.

        Args:
            multicast: None, or the CTAs of the cluster whose mbarriers at this offset are meant, as a mask.
        """
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        shared = self.machine.shared
        address = np.broadcast_to(address, self.shape)
        active = np.zeros(self.shape, bool)
        active[lanes] = True
        shared.check(at, "mbarrier", np.where(active, address, address[lanes][0]), active, 8)
        index = shared.flat(address)[lanes] // 8
        if multicast is not None:
            rank = np.arange(shared.cluster)
            who, ranks = np.nonzero(self._of(multicast, lanes).astype(i8)[:, None] >> rank & 1)
            lanes = tuple(axis[who] for axis in lanes)
            cta = lanes[0] - lanes[0] % shared.cluster + ranks
            offset = (address[lanes] & u4(0xFFFFFF)).astype(i8)
            index = (shared.base[cta, 0] + offset) // 8
        if self.machine.watch is not None:
            self.machine.watch.committed(self.machine, at, index, lanes)
        self._number += 1
        self._commits.append(_Commit(self._number, index, *lanes))
        self.machine.progress += 1

    def land(self, objects):
        """Do the operations of the oldest commit on each of the mbarriers `objects`; return whether there were any."""
        left = set(objects.tolist())
        for place, commit in enumerate(self._commits):
            mine = np.array([barrier in left for barrier in commit.barrier.tolist()], bool)
            if not mine.any():
                continue
            left -= set(commit.barrier[mine].tolist())
            self._do(commit.number, commit.ctas[mine], commit.threads[mine])
            rest = ~mine
            self._commits[place] = _Commit(
                commit.number, commit.barrier[rest], commit.ctas[rest], commit.threads[rest]
            )
            self.machine.mbarriers.arrive(commit.barrier[mine])
            if not left:
                break
        changed = len(left) < len(objects)
        self._commits = [commit for commit in self._commits if len(commit.barrier)]
        return changed

    def _do(self, number, ctas, threads):
        """Do all that the threads have issued before `number`."""
        who = np.zeros(self.shape, bool)
        who[ctas, threads] = True
        pending = []
        for product in self._issued:
            mine = (
                who[product.ctas, product.threads]
                if product.number < number
                else np.zeros(len(product.ctas), bool)
            )
            if not mine.any():
                pending.append(product)
                continue
            product.work(mine)
            if not mine.all():
                rest = ~mine
                left = product.work
                where = tuple(part[rest] if np.ndim(part) else part for part in product.where)
                rows = np.flatnonzero(rest)
                pending.append(
                    _Issued(
                        product.number, product.ctas[rest], product.threads[rest], _part(left, rows, len(mine)), where
                    )
                )  # fmt: skip
        self._issued = pending

    def pending(self, ctas, rows, columns):
        """Which of the cells (n, …) of the CTAs (n,) something under way may still write; None where none."""
        if not self._issued:
            return None
        hits = None
        seen = set()
        for product in self._issued:
            hosts, lane, column, quarter, count = product.where
            key = (hosts.tobytes(), lane.tobytes(), column.tobytes(), quarter, count)
            if key in seen:
                continue
            seen.add(key)
            first = np.full(self.shape[0], -1, i8)
            base = np.zeros(self.shape[0], i8)
            first[hosts], base[hosts] = column, lane
            start = first[ctas].reshape(-1, *[1] * (columns.ndim - 1))
            low = base[ctas].reshape(start.shape) % 32
            hit = (start >= 0) & (columns >= start) & (columns < start + count)
            hit &= (rows % 32 >= low) & (rows % 32 < low + quarter)
            if hit.any():
                hits = hit if hits is None else hits | hit
        return hits

    # ---------------------------------------------------------------- products

    def multiply(self, at, kind, group, d, a, b, idesc, accumulate, scales, condition):
        """tcgen05.mma of one CTA, or of a pair: each has its rows of A and D, and half of the columns of B.

        Args:
            kind: of `.kind::…`.
            group: how many CTAs take part.
            d: address in tensor memory.
            a: ("shared", descriptor) or ("tensor", address).
            idesc: the instruction descriptor.
            accumulate: whether D is added.
            scales: None, or (address of A's, address of B's, elements of K that share a factor).
        """
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        ctas, threads = lanes
        if len(np.unique(ctas)) < len(ctas):
            # A product by several threads of a CTA is as many products.
            for place in np.unique(threads):
                mask = np.zeros(self.shape, bool)
                mask[ctas[threads == place], place] = True
                self.multiply(at, kind, group, d, a, b, idesc, accumulate, scales, mask)
            return
        lanes, ctas = self._hosts(at, lanes, group)
        threads = lanes[1]
        codes = np.unique(self._of(idesc, lanes))
        if len(codes) > 1:
            raise Unsupported("tcgen05.mma with several instruction descriptors at once")
        shape = Shape(kind, int(codes[0]), group)
        if scales is not None:
            shape.blocks = shape.depth // scales[2]
        address = self._of(d, lanes).astype(i8)
        lane, column = address >> 16, address & 0xFFFF
        quarter, width = 32 if shape.m == 128 or group == 2 else 16, shape.n
        row, place = np.arange(shape.m)[:, None], np.arange(shape.n)[None]
        if shape.m == 64 and group == 2:
            # The ISA's layout B: the right half of the columns lies below the left one.
            width //= 2
            row, place = row + 64 * (place // width), place % width
        else:
            row = row // quarter * 32 + row % quarter
        rows, columns = lane[:, None, None] + row[None], column[:, None, None] + place[None]
        rows, columns = np.broadcast_arrays(rows, columns)
        memory = self.machine.tensor_memory
        memory.check(at, "tcgen05.mma", ctas, threads, rows, columns)
        if group == 2 and shape.m == 64 and a[0] == "tensor":
            raise Unsupported("tcgen05.mma.cta_group::2 of M 128 with A in tensor memory")
        left = self._operand(at, lanes, ctas, a, shape.m, shape.a, shape, shape.transposed[0])
        part = self._operand(
            at, lanes, ctas, ("shared", b), shape.n // group, shape.b, shape, shape.transposed[1]
        )

        def right(mine):
            got = part(mine)
            if group == 1:
                return got
            return np.repeat(got.reshape(-1, shape.n, got.shape[2]), 2, 0)

        adds = self._of(accumulate, lanes)
        scaled = None
        if scales is not None:
            scaled = [
                self._scales(at, lanes, ctas, where, count, shape, place)
                for where, count, place in ((scales[0], shape.m, 0), (scales[1], shape.n, 1))
            ]
        cells, negate = memory.cells, shape.negated

        def work(mine):
            x, y = left(mine), right(mine)
            if scaled is not None:
                x, y = x.astype(f8) * scaled[0](mine), y.astype(f8) * scaled[1](mine)
            total = multiplied(x, y.transpose(0, 2, 1))
            if negate:
                total = -total
            where = (ctas[mine][:, None, None], rows[mine], columns[mine])
            old = cells[where]
            cells[where] = _accumulated(total, old, adds[mine], shape.d)

        self._issue(lanes, work, (ctas, lane, column, quarter, width))

    def _operand(self, at, lanes, ctas, operand, count, kind, shape, transposed):
        """A function of which lanes: the elements (lanes, count, depth) of an operand, read when it is called.

        `ctas` are those in whose memory it lies.
        """
        where, value = operand
        value = self._of(value, lanes)
        if where == "tensor":
            return self._in_tensor_memory(at, lanes, ctas, value.astype(i8), kind, shape)
        machine = self.machine
        size = _BYTES.get(kind, 1)
        packed = kind == "e2m1"
        depth = _DEPTH_BYTES // size
        forms = np.unique(value >> u8(14))
        if len(forms) > 1:
            raise Unsupported("tcgen05.mma with descriptors of different layouts")
        layout = Descriptor(int(value[0]))
        if packed and transposed:
            raise Unsupported("tcgen05.mma of 4-bit floats that are not K-major")
        place = offsets(
            count, depth, size, bool(transposed), layout.leading, layout.stride, layout.span
        )
        index = self._in_shared(
            at, f"tcgen05.mma of {size} bytes", lanes, ctas, value, place, layout, size
        )
        if machine.watch is not None:
            # Of 4-bit floats in 16 bytes the upper eight are padding.
            padded = packed and not shape.dense_fp4
            seen = index[..., np.arange(depth) % 16 < 8] if padded else index
            machine.watch.multiplying(machine, at, lanes, seen, size)
        data = machine.shared.data[size]

        def read(mine):
            raw = np.ascontiguousarray(data[index[mine]])
            return decoded(raw, kind, shape.dense_fp4)

        return read

    def _in_shared(self, at, what, lanes, ctas, value, place, layout, size):
        """Where each byte offset `place` from the descriptor's start is in shared memory's elements of `size` bytes."""
        shared = self.machine.shared
        start = ((value & u8(0x3FFF)) << u8(4)).astype(i8)
        address = swizzled(start[:, None, None] + place, layout.span, layout.base)
        bad = shared.outside(address.astype(u4), size)
        if bad is not None:
            first = int(address[bad].flat[0])
            lane = (int(lanes[0][0]), int(lanes[1][0]))
            near = shared.nearest(first)
            raise self.machine.fault("out-of-bounds", what, "shared", first, lane, at, near)
        return (shared.base[ctas][:, :, None] + address) // size

    def _in_tensor_memory(self, at, lanes, ctas, address, kind, shape):
        lane, column = address >> 16, address & 0xFFFF
        quarter = 32 if shape.m == 128 else 16
        row = np.arange(shape.m)
        rows = lane[:, None, None] + (row // quarter * 32 + row % quarter)[None, :, None]
        columns = column[:, None, None] + np.arange(_DEPTH_BYTES // 4)[None, None]
        rows, columns = np.broadcast_arrays(rows, columns)
        memory = self.machine.tensor_memory
        memory.check(at, "tcgen05.mma of A", ctas, lanes[1], rows, columns)
        cells = memory.cells

        def read(mine):
            raw = np.ascontiguousarray(cells[ctas[mine][:, None, None], rows[mine], columns[mine]])
            if kind in ("f16", "bf16", "tf32", "s8", "u8"):
                return elements(raw, kind)
            return decoded(raw.view(u1), kind, shape.dense_fp4)

        return read

    def _scales(self, at, lanes, ctas, value, count, shape, which):
        """A function of which lanes: the factors (lanes, count, depth) of an operand's elements."""
        address = self._of(value, lanes).astype(i8)
        lane, column = address >> 16, address & 0xFFFF
        row = np.arange(count)
        rows = lane[:, None, None] + (row % 32)[None, :, None] + (32 * np.arange(4))[None, None]
        columns = column[:, None, None] + (row // 32)[None, :, None]
        rows, columns = np.broadcast_arrays(rows, columns)
        memory = self.machine.tensor_memory
        memory.check(at, "tcgen05.mma of scales", ctas, lanes[1], rows, columns)
        cells, blocks = memory.cells, shape.blocks
        first = shape.scale_ids[which]

        def read(mine):
            raw = np.ascontiguousarray(cells[ctas[mine][:, None, None], rows[mine], columns[mine]])
            raw = raw[..., None].view(u1)[..., first : first + blocks]
            # Each quarter of the lanes has to hold the same; a device's behaviour is unknown otherwise.
            factor = scale_factors(raw[:, :, 0], shape.scale_kind)
            factor = np.where((raw == raw[:, :, :1]).all(2), factor, np.nan)
            return np.repeat(factor, shape.depth // blocks, 2)

        return read

    # ---------------------------------------------------------------- copies

    def copy(self, at, shape, group, address, descriptor, condition):
        """tcgen05.cp of 32 lanes of 128 bits to all four quarters, or of 128 lanes of 256 or 128 bits.

        Each CTA of a `group` of two copies within its memory.
        """
        lanes = self._lanes(condition)
        if not len(lanes[0]):
            return
        lanes, ctas = self._hosts(at, lanes, group)
        target = self._of(address, lanes).astype(i8)
        value = self._of(descriptor, lanes)
        layout = Descriptor(int(value[0]))
        if len(np.unique(value >> u8(14))) > 1:
            raise Unsupported("tcgen05.cp with descriptors of different layouts")
        count, bits = map(int, re.findall(r"\d+", shape.split(".")[-1])[:2])
        words = bits // 32
        place = offsets(count, words, 4, False, layout.leading, layout.stride, layout.span)
        index = self._in_shared(at, "tcgen05.cp", lanes, ctas, value, place, layout, 4)
        if self.machine.watch is not None:
            self.machine.watch.multiplying(self.machine, at, lanes, index, 4)
        times = 4 if shape.startswith("warpx4") else 1
        lane, column = target >> 16, target & 0xFFFF
        rows = lane[:, None, None] + np.arange(count * times)[None, :, None]
        columns = column[:, None, None] + np.arange(words)[None, None]
        rows, columns = np.broadcast_arrays(rows, columns)
        memory = self.machine.tensor_memory
        memory.check(at, "tcgen05.cp", ctas, lanes[1], rows, columns)
        cells, data = memory.cells, self.machine.shared.data[4]

        def work(mine):
            values = np.tile(data[index[mine]], (1, times, 1))
            cells[ctas[mine][:, None, None], rows[mine], columns[mine]] = values

        self._issue(lanes, work, (ctas, lane, column, 32, words))


def _part(work, rows, count):
    """`work` for those `rows` of its lanes that are left."""

    def some(mine):
        whole = np.zeros(count, bool)
        whole[rows[mine]] = True
        work(whole)

    return some


def decoded(raw, kind, dense):
    """The values of the elements `raw` (…, depth); 4-bit floats lie in the last axis as bytes."""
    if kind in FP8:
        return FP8[kind][raw]
    if kind == "e2m1":
        if not dense:
            # 16 elements in 8 bytes, and 8 of padding.
            raw = raw.reshape(*raw.shape[:-1], -1, 16)[..., :8]
            raw = raw.reshape(*raw.shape[:-2], -1)
        both = np.stack([raw & u1(15), raw >> u1(4)], -1)
        return FP4[both.reshape(*raw.shape[:-1], -1)]
    if kind == "f16":
        return raw.view(f2).astype(f4)
    if kind in ("s8", "u8"):
        return elements(raw.view(u4), kind)
    return elements(raw if kind == "tf32" else raw.view(u2), kind)


def _accumulated(total, old, adds, kind):
    """total + old as the raw bits of cells (lanes, M, N); `old` counts where `adds`."""
    adds = adds[:, None, None]
    if kind == "s32":
        before = np.where(adds, old.view(i4).astype(i8), i8(0))
        return (total.astype(i8) + before).astype(u4)
    if kind == "f16":
        before = np.where(adds, old.astype(u2).view(f2).astype(f4), f4(0))
        return (total + before).astype(f2).view(u2).astype(u4)
    before = np.where(adds, old.view(f4), f4(0))
    return (total + before).astype(f4).view(u4)
