"""Tensor memory of each CTA: 128 lanes of 512 columns of 32 bits, allocated by columns (sm_100 and its kin).

An address is lane << 16 | column. Columns allocated and not yet written are NaN in every float type. `tcgen05.st` lands
at the warp's `tcgen05.wait::st` and not before. `tcgen05.ld` is done at once, and gives NaN where a matmul that nobody
has waited for may still write. Layouts of registers: the ISA's "Matrix fragments for shape …" of tcgen05.ld and st.
"""

from functools import lru_cache
from typing import Any, List

import numpy as np

from .types import i8, u2, u4

LANES, COLUMNS = 128, 512
_POISON = u4(0xFFFFFFFF)
_LEAST = 32
# Registers of a thread for .x1.
_REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


@lru_cache(maxsize=None)
def fragment(shape, count):
    """Where each thread's registers lie: (rows, columns, second), each (32 threads, registers) from the address.

    `second` is 1 where the instruction's second address counts (16x32bx2).
    """
    thread = np.arange(32)[:, None]
    register = np.arange(count * _REGISTERS[shape])[None]
    second = np.zeros((32, 1), np.int64)
    if shape == "32x32b":
        row, column = thread, register
    elif shape == "16x32bx2":
        row, column, second = thread % 16, register, thread // 16
    elif shape == "16x64b":
        row = thread // 4 + 8 * (thread % 2)
        column = thread // 2 % 2 + 2 * register
    elif shape == "16x128b":
        row = thread // 4 + 8 * (register % 2)
        column = thread % 4 + 4 * (register // 2)
    else:
        row = thread // 4 + 8 * (register // 2 % 2)
        column = 2 * (thread % 4) + register % 2 + 8 * (register // 4)
    return np.broadcast_arrays(row.astype(i8), column.astype(i8), second.astype(i8))


class TensorMemory:
    """The tensor memory of a chunk of CTAs.

    Attributes:
        cells: (CTAs, lanes, columns) raw bits; None before the first allocation.
    """

    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        self.warps = machine.threads // 32
        self.cells: Any = None
        # Columns that are taken, and who gave its permit to allocate back.
        self._taken = np.zeros((machine.ctas, COLUMNS), bool)
        self._relinquished = np.zeros(machine.ctas, bool)
        # tcgen05.st that nobody has waited for: (CTA and warp of each row, index and values of the rows).
        self._stores: List[Any] = []

    # ---------------------------------------------------------------- which columns

    def allocate(self, at, address, columns, condition):
        """tcgen05.alloc: `columns` columns to each active warp; where they begin goes to shared memory."""
        machine = self.machine
        if self.cells is None:
            self.cells = np.full((machine.ctas, LANES, COLUMNS), _POISON, u4)
        starts = np.zeros(self.shape, u4)
        first = np.zeros(self.shape, bool)
        wanted = np.broadcast_to(columns, self.shape)
        for cta, warp in zip(*np.nonzero(self._active(at, condition))):
            lane = (int(cta), 32 * int(warp))
            count = int(wanted[lane])
            if not _LEAST <= count <= COLUMNS or count & (count - 1):
                what = f"{count} columns; it takes 32, 64, 128, 256 or 512"
                raise machine.fault("tensor memory", what, "", None, lane, at)
            if self._relinquished[cta]:
                what = "an allocation after relinquish_alloc_permit"
                raise machine.fault("tensor memory", what, "", None, lane, at)
            occupied = self._taken[cta].reshape(-1, count)
            free = np.flatnonzero(~occupied.any(1))
            if not len(free):
                what = f"no {count} columns are free, and nobody of this program gives any back"
                raise machine.fault("tensor memory", what, "", None, lane, at)
            start = int(free[0]) * count
            self._taken[cta, start : start + count] = True
            self.cells[cta, :, start : start + count] = _POISON
            starts[lane], first[lane] = start, True
        machine.shared.store(at, address, first, (starts,), u4)

    def free(self, at, address, columns, condition):
        """tcgen05.dealloc."""
        where, wanted = np.broadcast_to(address, self.shape), np.broadcast_to(columns, self.shape)
        for cta, warp in zip(*np.nonzero(self._active(at, condition))):
            lane = (int(cta), 32 * int(warp))
            start, count = int(where[lane]) & 0xFFFF, int(wanted[lane])
            if start + count > COLUMNS or not self._taken[cta, start : start + count].all():
                what = f"{count} columns from {start} are given back, which nobody has allocated"
                raise self.machine.fault("tensor memory", what, "", None, lane, at)
            self._taken[cta, start : start + count] = False
        self.machine.progress += 1

    def relinquish(self, at, condition):
        """tcgen05.relinquish_alloc_permit: no further allocation by the CTA."""
        self._relinquished |= self._active(at, condition).any(1)

    def check(self, at, what, ctas, threads, rows, columns):
        """Raise a `Fault` where cells (n, …) of the CTAs `ctas` (n,) are outside, or were not allocated."""
        if self.cells is None:
            bad = np.ones(rows.shape, bool)
        else:
            inside = (rows >= 0) & (rows < LANES) & (columns >= 0) & (columns < COLUMNS)
            own = ctas.reshape(-1, *[1] * (columns.ndim - 1))
            bad = ~(inside & self._taken[own, np.where(inside, columns, 0)])
        if not bad.any():
            return
        place = np.unravel_index(int(bad.argmax()), bad.shape)
        address = int(rows[place]) << 16 | int(columns[place])
        lane = (int(ctas[place[0]]), int(threads[place[0]]))
        what = f"{what} of columns that nobody has allocated"
        raise self.machine.fault("out-of-bounds", what, "tensor", address, lane, at)

    # ---------------------------------------------------------------- registers

    def _active(self, at, condition):
        """(CTAs, warps) that execute an instruction of whole warps."""
        if condition is None:
            return np.ones((self.shape[0], self.warps), bool)
        lanes = np.broadcast_to(condition, self.shape).reshape(self.shape[0], self.warps, 32)
        if (lanes != lanes[:, :, :1]).any():
            cta, warp = (int(axis[0]) for axis in np.nonzero((lanes != lanes[:, :, :1]).any(2)))
            what = "an instruction of whole warps (.sync.aligned) by some of the threads"
            raise self.machine.fault("divergence", what, "", None, (cta, 32 * warp), at)
        return lanes[:, :, 0]

    def _places(self, at, what, shape, count, packed, address, second, condition):
        """(CTAs, warps, rows, columns) of the active warps; the last two (warps, 32, registers, columns of one)."""
        ctas, warps = np.nonzero(self._active(at, condition))
        base = np.broadcast_to(address, self.shape)[ctas, 32 * warps].astype(i8)[
            :, None, None, None
        ]
        row, column, half = (index[:, :, None] for index in fragment(shape, count))
        per = 2 if packed else 1
        column = column * per + np.arange(per)
        rows = (base >> 16) + row + (second >> 16) * half
        columns = (base & 0xFFFF) + column + (second & 0xFFFF) * half
        rows, columns = np.broadcast_arrays(rows, columns)
        quarter = (warps % 4)[:, None, None, None]
        if (rows // 32 != quarter).any():
            wrong = int((rows // 32 != quarter).any((1, 2, 3)).argmax())
            lane = (int(ctas[wrong]), 32 * int(warps[wrong]))
            message = (
                f"{what} by warp {warps[wrong]} of lanes that belong to another of its warpgroup"
            )
            raise self.machine.fault(
                "tensor memory", message, "tensor", int(base.flat[wrong]), lane, at
            )
        if len(ctas):
            self.check(at, what, ctas, 32 * warps, rows, columns)
        return ctas, warps, rows, columns

    def load(self, at, shape, count, packed, address, second, condition):
        """tcgen05.ld: the registers of each thread; with `packed` two columns of 16 bits make one."""
        places = self._places(at, "tcgen05.ld", shape, count, packed, address, second, condition)
        ctas, warps, rows, columns = places
        registers = count * _REGISTERS[shape]
        if not len(ctas):
            return [np.zeros((1, 1), u4)] * registers
        values = self.cells[ctas[:, None, None, None], rows, columns]
        late = self.machine.products.pending(ctas, rows, columns)
        if late is not None:
            values = np.where(late, _POISON, values)
        if packed:
            values = values.astype(u2)
            values = values[..., 0].astype(u4) | values[..., 1].astype(u4) << u4(16)
        else:
            values = values[..., 0]
        whole = np.zeros((registers, self.shape[0], self.warps, 32), u4)
        whole[:, ctas, warps] = values.transpose(2, 0, 1)
        return list(whole.reshape(registers, *self.shape))

    def store(self, at, shape, count, packed, address, second, values, condition):
        """tcgen05.st; it lands when the warp waits for it."""
        places = self._places(at, "tcgen05.st", shape, count, packed, address, second, condition)
        ctas, warps, rows, columns = places
        if not len(ctas):
            return
        stacked = np.stack([np.broadcast_to(value, self.shape) for value in values], 2)
        stacked = stacked.reshape(self.shape[0], self.warps, 32, len(values))[ctas, warps]
        if packed:
            halves = np.ascontiguousarray(stacked)[..., None].view(u2)
            stored = halves.astype(u4)
        else:
            stored = stacked[..., None]
        self._stores.append((ctas, warps, rows, columns, stored))
        self.machine.progress += 1

    def wait_stores(self, at, condition):
        """tcgen05.wait::st: land the stores of the active warps."""
        if not self._stores:
            return
        active = self._active(at, condition)
        pending = []
        for ctas, warps, rows, columns, stored in self._stores:
            mine = active[ctas, warps]
            if not mine.any():
                pending.append((ctas, warps, rows, columns, stored))
                continue
            self.cells[ctas[mine][:, None, None, None], rows[mine], columns[mine]] = stored[mine]
            if not mine.all():
                rest = ~mine
                pending.append((ctas[rest], warps[rest], rows[rest], columns[rest], stored[rest]))
        self._stores = pending
