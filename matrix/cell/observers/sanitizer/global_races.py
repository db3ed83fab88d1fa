"""Detector: two programs of one launch touch the same bytes, one of them writes, and no atomic orders them.

Programs run in any order. Atomics never race with each other. A scalar atomic, a volatile load and a store with release
order a program's accesses before those of programs that read the same address later (locks, tickets, flags). Two writes
of equal values are benign, and reported only on request.
"""

from typing import Any, Dict, Optional, Sequence

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .findings import Findings
from .lanes import of_threads
from .pointers import LOADED, Pointers, unit_shift
from .tensors import Ranges, Tensor, named

KIND = "race between programs"
BENIGN = "equal values written by several programs"
# With more programs than this, any program that uses an atomic counts as ordered.
_MOST = 2048
_ORDERED = ("acquire", "release", "acq_rel", "volatile", "relaxed")


class GlobalRaces(ptx.Watch):
    def __init__(
        self, findings: Findings, kernel: Any, tensors: Sequence[Tensor], pointers: Pointers, programs: int,
        benign: bool = False,
    ):  # fmt: skip
        self.findings, self._tensors, self._benign = findings, tensors, benign
        self._ranges = Ranges(tensors, unit_shift(kernel, "global"))
        units = self._ranges.units
        self._writer = np.zeros(units, np.int32)
        self._when = np.zeros(units, np.int32)
        self._atomic = np.zeros(units, bool)
        self._write_at = np.zeros(units, np.int32)
        # Two readers of each unit: the first, and the latest of the others.
        self._readers = np.zeros((2, units), np.int32)
        self._read_when = np.zeros((2, units), np.int32)
        self._read_at = np.zeros(units, np.int32)
        self._watched = self._never_written(tensors, pointers)
        self._pointers = pointers
        self._kernel = kernel
        # Compilers make atomics that a target lacks of a load and a compare-and-swap, which asks again.
        self._swapped = {
            instruction.operands[1]
            for instruction in kernel.instructions
            if instruction.name == "atom" and "cas" in instruction.modifiers
        }
        self._fences = any(
            instruction.name in ("fence", "membar") for instruction in kernel.instructions
        )
        # How often each program has released, and its knowledge of the others.
        self._time = np.ones(programs, np.int32)
        self._exact = programs <= _MOST
        self._known: Dict[int, np.ndarray] = {}
        self._at_address: Dict[int, np.ndarray] = {}
        self._spoke = np.zeros(programs, bool)
        self._programs = programs
        self._suspects: Any = None
        self._meets = -1

    @staticmethod
    def _never_written(tensors: Sequence[Tensor], pointers: Pointers) -> Any:
        """Return the parameters whose memory a store can reach; None if unknown. Loads of others cannot race."""
        stores = pointers.stores
        known = {tensor.parameter for tensor in tensors}
        if stores is None or not stores <= known:
            return None
        written = [tensor.extents() for tensor in tensors if tensor.parameter in stores]
        parameters = set()
        for tensor in tensors:
            low, high = tensor.extents()
            if any(low < end and start < high for start, end in written):
                parameters.add(tensor.parameter)
        return parameters

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space != "global" or what == "tensor map":
            return
        kind = {"atomic": "atomic", "store": "write", "bulk store": "write"}.get(what, "read")
        if what == "bulk store" and "reduce" in self._kernel.instructions[at].modifiers:
            kind = "atomic"
        if kind == "read" and self._watched is not None and what != "bulk load":
            own = self._pointers.of(at) - {LOADED}
            if own and not own & self._watched:
                return
        cta, thread, chosen = _lanes(machine, address, condition, lane)
        if not len(cta):
            return
        instruction = self._kernel.instructions[at]
        modifiers = instruction.modifiers
        if instruction.name == "ld" and instruction.operands[1] in self._swapped:
            kind = "atomic"
        ordered = what != "atomic" and any(part in _ORDERED for part in modifiers)
        if (what == "atomic" or ordered) and self._passes_on(modifiers):
            self._speak(machine.numbers[cta], chosen)
        self._look(machine, at, "atomic" if ordered else kind, cta, thread, chosen, nbytes)

    # ---------------------------------------------------------------- order by atomics

    def _passes_on(self, modifiers: Sequence[str]) -> bool:
        return self._fences or "relaxed" not in modifiers

    def _speak(self, program: np.ndarray, address: np.ndarray) -> None:
        """Merge the clocks of programs that each touch one address with the clock at that address."""
        if len(np.unique(program)) < len(program):
            pairs = np.unique(np.stack([program.astype(np.uint64), address]), axis=1)
            if pairs.shape[1] > 4 * len(np.unique(program)):
                # A tile of atomics is a sum, no message.
                return
            program, address = pairs[0].astype(np.int64), pairs[1]
        self._spoke[program] = True
        if not self._exact:
            return
        for number, place in zip(program.tolist(), address.tolist()):
            own = self._known.get(number)
            if own is None:
                own = self._known[number] = np.zeros(self._programs, np.int32)
            own[number] = self._time[number]
            there = self._at_address.get(place)
            if there is None:
                self._at_address[place] = own.copy()
            else:
                np.maximum(own, there, out=own)
                there[:] = own
            self._time[number] += 1

    def _knows(self, program: np.ndarray, other: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Return whether each program is ordered after the other's accesses at that time."""
        if not self._exact:
            return self._spoke[program] & self._spoke[other]
        after = np.zeros(len(program), bool)
        for number in np.unique(program):
            known = self._known.get(int(number))
            if known is not None:
                mine = program == number
                after[mine] = known[other[mine]] >= when[mine]
        return after

    # ---------------------------------------------------------------- the shadow

    def _look(self, machine, at, kind, cta, thread, address, nbytes) -> None:
        start = self._ranges.number(address)
        count = max(1, nbytes >> int(self._ranges.shift))
        inside = start >= 0
        if not inside.all():
            cta, thread, start = cta[inside], thread[inside], start[inside]
            if not len(cta):
                return
        unit = start[:, None] + np.arange(count)
        # Other detectors report an access that ends outside.
        unit = np.minimum(unit, self._ranges.units - 1).reshape(-1)
        lane = np.repeat(np.arange(len(cta)), count)
        program = machine.numbers[cta][lane]
        name = (program + 1).astype(np.int32)
        writer = self._writer[unit]
        other = (writer != 0) & (writer != name)
        if kind == "atomic":
            other &= ~self._atomic[unit]
        if other.any():
            some = np.flatnonzero(other)
            known = self._knows(program[some], writer[some] - 1, self._when[unit[some]])
            some = some[~known]
            if len(some):
                self._against_write(machine, at, kind, cta, thread, lane[some], unit[some])
        if kind == "read":
            self._read(at, unit, name, program)
            return
        self._against_reads(machine, at, kind, cta, thread, lane, unit, name, program)
        self._writer[unit] = name
        self._when[unit] = self._time[program]
        self._atomic[unit] = kind == "atomic"
        self._write_at[unit] = at
        if kind == "write" and (self._writer[unit] != name).any():
            self._meets = at

    def _read(self, at, unit, name, program) -> None:
        free = (self._readers[0, unit] == 0) | (self._readers[0, unit] == name)
        for slot, mine in ((0, free), (1, ~free)):
            if mine.any():
                self._readers[slot, unit[mine]] = name[mine]
                self._read_when[slot, unit[mine]] = self._time[program[mine]]
        self._read_at[unit] = at

    def _against_write(self, machine, at, kind, cta, thread, lane, unit) -> None:
        raw = self._raw(unit)
        if kind == "write" and "bulk" not in self._kernel.instructions[at].modifiers:
            first = (int(cta[lane[0]]), int(thread[lane[0]]))
            self._suspects = (at, unit, raw, self._write_at[unit], first)
            return
        verb = {"read": "reads", "write": "writes", "atomic": "changes with an atomic"}[kind]
        self._report(machine, at, (cta[lane[0]], thread[lane[0]]), unit[0], int(self._write_at[unit[0]]), len(unit),
                     f"a program {verb} what another one writes, in no order")  # fmt: skip

    def _against_reads(self, machine, at, kind, cta, thread, lane, unit, name, program) -> None:
        for slot in (0, 1):
            reader = self._readers[slot, unit]
            other = (reader != 0) & (reader != name)
            if not other.any():
                continue
            some = np.flatnonzero(other)
            known = self._knows(program[some], reader[some] - 1, self._read_when[slot, unit[some]])
            some = some[~known]
            if len(some):
                first = lane[some[0]]
                self._report(machine, at, (cta[first], thread[first]), unit[some[0]],
                             int(self._read_at[unit[some[0]]]), len(some),
                             "a program writes what another one reads, in no order")  # fmt: skip
                return

    def _raw(self, unit: np.ndarray) -> np.ndarray:
        """Return the contents of the units."""
        from crosswarp.matrix.cell.machines.ptx import memory

        size = 1 << int(self._ranges.shift)
        address = np.array([self._ranges.address(int(number)) for number in unit], np.uint64)
        return memory.read(address, 1, {1: np.uint8, 2: np.uint16, 4: np.uint32}[size])[0].copy()

    def _report(self, machine, at, lane, unit, other, count, what, kind=KIND) -> None:
        address = self._ranges.address(int(unit))
        self.findings.add(
            kind, what, at, machine, lane, count, address=address, tensor=named(self._tensors, address),
            other=f"the other side is {self.findings.instruction(other)}",
        )  # fmt: skip

    def written(self, machine, at, space, address, condition, values, nbytes) -> None:
        if space != "global":
            return
        suspects, self._suspects = self._suspects, None
        if suspects is not None and suspects[0] == at:
            _, unit, before, other, first = suspects
            changed = self._raw(unit) != before
            if changed.any():
                place = int(changed.argmax())
                self._report(machine, at, first, unit[place], int(other[place]), int(changed.sum()),
                             "two programs write different values, in no order")  # fmt: skip
            elif self._benign:
                self._report(machine, at, first, unit[0], int(other[0]), len(unit),
                             "two programs write the same value", BENIGN)  # fmt: skip
        if self._meets == at:
            self._meets = -1
            if not self._meeting(machine, at, address, condition, values, nbytes) and self._benign:
                what = "several programs write the same value with one instruction"
                self.findings.add(BENIGN, what, at)

    def _meeting(self, machine, at, address, condition, values, nbytes) -> bool:
        """Check, for several programs in one store, that memory holds each one's value."""
        from crosswarp.matrix.cell.machines.ptx import memory

        shape = (machine.ctas, machine.threads)
        if condition is None:
            cta, thread = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
            address = np.broadcast_to(address, shape).reshape(-1)
            values = [np.broadcast_to(value, shape).reshape(-1) for value in values]
        else:
            condition = np.broadcast_to(condition, shape)
            cta, thread = np.nonzero(condition)
            address = np.broadcast_to(address, shape)[condition]
        for place, value in enumerate(values):
            where = address + np.uint64(place * nbytes)
            present = memory.read(where, 1, value.dtype)[0]
            different = present != value
            # One program may write twice to one place: its warps and threads are another detector's.
            if different.any():
                lane = self._between_programs(machine, where, cta, different)
                if lane is not None:
                    unit = int(self._ranges.number(where[lane : lane + 1])[0])
                    self._report(machine, at, (cta[lane], thread[lane]), max(unit, 0), at, int(different.sum()),
                                 "two programs write different values with one instruction")  # fmt: skip
                    return True
        return False

    @staticmethod
    def _between_programs(machine, address, cta, different) -> Optional[int]:
        for lane in np.flatnonzero(different)[:64]:
            if (cta[address == address[lane]] != cta[lane]).any():
                return int(lane)
        return None


def _lanes(machine: Any, address: Any, condition: Any, lane: Any) -> Any:
    """(CTA, thread, address) of each access; one a program, where all its threads touch the same."""
    if lane is not None:
        flat = address.reshape(-1)
        return np.full(flat.shape, lane[0]), np.full(flat.shape, lane[1]), flat
    if condition is None and address.shape[1] == 1:
        flat = np.broadcast_to(address, (machine.ctas, 1)).reshape(-1)
        return np.arange(machine.ctas), np.zeros(machine.ctas, np.int64), flat
    return of_threads(machine, address, condition)
