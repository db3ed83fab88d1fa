"""Which block runs next, and for which lanes.

All lanes begin together. Where they part, those furthest behind go first (`meeting`), so that all have come where
paths meet again. Lanes at a barrier wait until enough of their CTA have come. Blocks that only ask
(a try_wait, an atomic, a volatile load) let all others go first.
"""

import time
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .errors import Deadlock, OutOfTime
from .types import RAW

Mask = Optional[np.ndarray]
# Blocks in a row that only polled and changed nothing, before others are let in.
_PATIENCE = 1000


class _Arrivals:
    """Who has come to one barrier of each CTA, and how many are wanted."""

    def __init__(self, ctas: int):
        self.count = np.zeros(ctas, np.int64)
        self.wanted = np.full(ctas, -1, np.int64)


class Chunk:
    """The execution of some CTAs; it can be left when it waits for others, and taken up again."""

    def __init__(self, program: Any, machine: Any, limits: Any):
        self.program, self.machine, self._limits = program, machine, limits
        self._registers = [np.zeros((1, 1), RAW[bits]) for bits in program.register_bits]
        self._shape = (machine.ctas, machine.threads)
        self._lanes = machine.ctas * machine.threads
        self._ready: Dict[int, Mask] = {0: None}
        # Lanes that wait at the barrier which begins a block, and those that have passed it.
        self._waiting: Dict[int, np.ndarray] = {}
        self._passed: Dict[int, Mask] = {}
        self._arrivals: Dict[Any, _Arrivals] = {}
        self._ended: Mask = None
        self._asked: Dict[int, int] = {}
        # Phases of barrier.cluster: how often each thread has arrived, and the one it waits for.
        self._cluster_arrived: Any = None
        self._cluster_waited: Any = None
        self.instructions = 0
        self._idle = 0

    def run(self) -> bool:
        """Execute until all threads have ended (True), or until only waiting is left (False)."""
        machine, program, limits = self.machine, self.program, self._limits
        self._idle = 0
        while True:
            if not self._ready and not self._passed:
                if not self._waiting:
                    return True
                if not self._release_cluster():
                    raise Deadlock(
                        f"all threads wait: {self.place()}; look at which of them never arrive there",
                        place=self.place(),
                        line=self._line(),
                    )
                continue
            block, mask, passed = self._next()
            barrier = program.barriers.get(block)
            if barrier is not None and not passed:
                mask = self._arrive(block, barrier, mask)
                if mask is _NOBODY:
                    continue
            before = machine.progress
            machine.polled = False
            jumps = program.function(block, mask is not None)(self._registers, machine, mask)
            self._count(block, mask)
            self._follow(jumps, mask)
            limits.check(self)
            if machine.polled:
                self._asked[block] = self._asked.get(block, 0) + 1
                if machine.progress == before:
                    self._idle += 1
                    if self._idle > _PATIENCE:
                        return False
                    continue
            self._idle = 0

    def place(self) -> str:
        """Where the lanes are, in words."""
        kernel = self.program.kernel
        stops = []
        for block in sorted({*self._ready, *self._passed, *self._waiting}):
            instruction = kernel.instructions[kernel.blocks[block][0]]
            at = "" if instruction.loc is None else f" ({instruction.loc[0]}:{instruction.loc[1]})"
            who = self._who(block)
            stops.append(
                f"{who} at `{instruction.text}` in line {instruction.line} of {kernel.name}{at}"
            )
        return "; ".join(stops) or f"the end of {kernel.name}"

    def _who(self, block: int) -> str:
        """The lanes at a block, in words: which threads of the first program, and how many programs."""
        lanes = np.zeros(self._shape, bool)
        for masks in (self._ready, self._passed, self._waiting):
            if block in masks:
                lanes |= self._full(masks[block])
        ctas = np.flatnonzero(lanes.any(1))
        if not len(ctas):
            return "nobody"
        threads = np.flatnonzero(lanes[ctas[0]])
        edges = np.flatnonzero(np.diff(threads) > 1)
        first, last = threads[np.r_[0, edges + 1]], threads[np.r_[edges, len(threads) - 1]]
        runs = [f"{a}-{b}" if a != b else f"{a}" for a, b in zip(first, last)]
        more = f" and of {len(ctas) - 1} more" if len(ctas) > 1 else ""
        shown = ", ".join(runs[:4]) + (" …" if len(runs) > 4 else "")
        return f"threads {shown} of program {self.machine.program_id(ctas[0])}{more}"

    def _line(self):
        kernel = self.program.kernel
        for block in sorted({*self._ready, *self._passed, *self._waiting}):
            loc = kernel.instructions[kernel.blocks[block][0]].loc
            if loc is not None:
                return loc
        return None

    def _count(self, block: int, mask: Mask) -> None:
        if mask is None:
            lanes = self._lanes
        else:
            lanes = int(np.count_nonzero(mask)) * (self._lanes // mask.size)
        self.instructions += self.program.sizes[block] * lanes
        if self.machine.watch is not None:
            self.machine.watch.executing(self.machine, block, mask)

    def _next(self) -> Tuple[int, Mask, bool]:
        ready, passed = self._ready, self._passed
        if len(ready) + len(passed) == 1:
            if ready:
                block, mask = ready.popitem()
                return block, mask, False
            block, mask = passed.popitem()
            return block, mask, True
        asked, ranks = self._asked, self.program.ranks
        if asked:
            block = min((*ready, *passed), key=lambda number: (asked.get(number, 0), ranks[number]))
        else:
            block = min((*ready, *passed), key=ranks.__getitem__)
        if block in passed:
            return block, passed.pop(block), True
        return block, ready.pop(block), False

    # ---------------------------------------------------------------- barriers

    def _arrive(self, block: int, barrier: Any, mask: Mask) -> Any:
        """The lanes that pass at once; `_NOBODY` where none does. The others are kept."""
        if barrier.kind.startswith("cluster"):
            return self._cluster(block, barrier, mask)
        if mask is None and not self._waiting and barrier.kind == "sync":
            if barrier.threads in (None, self.machine.threads):
                if self.machine.watch is not None:
                    self._tell_arrived(block, barrier, None)
                    self.machine.watch.released(self.machine, barrier.name, None)
                return None
        full = self._full(mask)
        if self.machine.watch is not None:
            self._tell_arrived(block, barrier, full)
        arrivals = self._arrivals.setdefault(barrier.name, _Arrivals(self.machine.ctas))
        arrivals.count += full.sum(1)
        here = full.any(1)
        arrivals.wanted[here] = -1 if barrier.threads is None else barrier.threads
        if barrier.kind == "sync":
            old = self._waiting.get(block)
            self._waiting[block] = full if old is None else old | full
        self._release(barrier.name)
        return mask if barrier.kind == "arrive" else _NOBODY

    def _release(self, name: Any) -> None:
        arrivals = self._arrivals[name]
        alive = self.machine.threads
        if self._ended is not None:
            alive = alive - self._full(self._ended).sum(1)
        wanted = np.where(arrivals.wanted < 0, alive, arrivals.wanted)
        complete = (arrivals.count >= wanted) & (arrivals.count > 0)
        if not complete.any():
            return
        arrivals.count[complete] = 0
        everybody = np.zeros(self._shape, bool)
        for block, barrier in self.program.barriers.items():
            waiting = self._waiting.get(block)
            if waiting is None or barrier.name != name:
                continue
            released = waiting & complete[:, None]
            rest = waiting & ~complete[:, None]
            if rest.any():
                self._waiting[block] = rest
            else:
                del self._waiting[block]
            if released.any():
                everybody |= released
                self._passed[block] = self._merged(self._passed, block, released)
        if self.machine.watch is not None and everybody.any():
            self.machine.watch.released(self.machine, name, everybody)

    def _tell_arrived(self, block: int, barrier: Any, mask: Mask) -> None:
        first = self.program.kernel.blocks[block][0]
        self.machine.watch.arrived(self.machine, first, barrier.name, mask)

    def _cluster(self, block: int, barrier: Any, mask: Mask) -> Any:
        if self._cluster_arrived is None:
            self._cluster_arrived = np.zeros(self._shape, np.int64)
            self._cluster_waited = np.zeros(self._shape, np.int64)
        full = self._full(mask)
        if barrier.kind == "cluster arrive":
            if self.machine.watch is not None:
                self._tell_arrived(block, barrier, full)
            self._cluster_arrived += full
            self.machine.progress += 1
            self._release_cluster()
            return mask
        # A wait is for the last arrival; not every arrival has one.
        waits = np.maximum(self._cluster_arrived, self._cluster_waited + 1)
        self._cluster_waited = np.where(full, waits, self._cluster_waited)
        old = self._waiting.get(block)
        self._waiting[block] = full if old is None else old | full
        self._release_cluster()
        return _NOBODY

    def _release_cluster(self) -> bool:
        """Let those pass whose whole cluster has arrived; whether there were any."""
        if self._cluster_arrived is None:
            return False
        size = self.machine.launch.cluster_size
        arrived = self._cluster_arrived
        if self._ended is not None:
            arrived = np.where(self._full(self._ended), np.iinfo(np.int64).max, arrived)
        phase = arrived.min(1).reshape(-1, size).min(1)
        may = self._cluster_waited <= np.repeat(phase, size)[:, None]
        progress = False
        for block, barrier in self.program.barriers.items():
            waiting = self._waiting.get(block)
            if waiting is None or barrier.kind != "cluster wait":
                continue
            released = waiting & may
            if not released.any():
                continue
            progress = True
            rest = waiting & ~may
            if rest.any():
                self._waiting[block] = rest
            else:
                del self._waiting[block]
            self._passed[block] = self._merged(self._passed, block, released)
            if self.machine.watch is not None:
                self.machine.watch.released(self.machine, barrier.name, released)
        return progress

    # ---------------------------------------------------------------- masks

    def _full(self, mask: Mask) -> np.ndarray:
        return np.ones(self._shape, bool) if mask is None else np.broadcast_to(mask, self._shape)

    def _merged(self, into: Dict[int, Mask], block: int, mask: Mask) -> Mask:
        """The mask of `block` in `into` with `mask` added; None where it is every lane."""
        if block in into:
            other = into[block]
            if other is None or mask is None:
                return None
            mask = mask | other
        if mask is not None and mask.all():
            return None
        return mask

    def _follow(self, jumps: List[Tuple[int, Any]], mask: Mask) -> None:
        """Send the lanes of `mask` on: each jump takes those of its condition that no jump before it took."""
        rest = mask
        for block, condition in jumps:
            last = condition is None
            if last:
                going = rest
            elif condition.size == 1:
                if not condition.flat[0]:
                    continue
                going, last = rest, True
            else:
                going = condition if rest is None else condition & rest
                if not going.any():
                    continue
                left = ~condition if rest is None else rest & ~condition
                last = not left.any()
                if last:
                    going = rest
                else:
                    rest = left
            if block == -1 or block >= len(self.program.kernel.blocks):
                self._end(going)
            else:
                self._ready[block] = self._merged(self._ready, block, going)
            if last:
                return

    def _end(self, mask: Mask) -> None:
        full = self._full(mask)
        self._ended = full.copy() if self._ended is None else self._ended | full
        self.machine.ended = self._ended
        if self._waiting:
            # A barrier waits for the living.
            for name in list(self._arrivals):
                self._release(name)


class _Nobody:
    pass


_NOBODY = _Nobody()


class Clock:
    """The limits of one launch, counted over its chunks."""

    def __init__(self, limits: Any):
        self._began = time.monotonic()
        self._seconds, self._instructions = limits.seconds, limits.instructions
        self._ended = 0

    def seconds(self) -> float:
        return time.monotonic() - self._began

    def finished(self, instructions: int) -> None:
        self._ended += instructions

    def check(self, chunk: Chunk) -> None:
        """
        Raises:
            OutOfTime: a limit is used up.
        """
        if self._seconds is not None and self.seconds() > self._seconds:
            used = f"{self._seconds:g} seconds"
        elif (
            self._instructions is not None and chunk.instructions + self._ended > self._instructions
        ):
            used = f"{self._instructions:,} instructions"
        else:
            return
        place = chunk.place()
        raise OutOfTime(
            f"{used} are used up: {place}; a loop that cannot end, or a limit too low",
            place=place,
            line=chunk._line(),
        )
