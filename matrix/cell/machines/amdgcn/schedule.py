"""Choose the block that runs next, and its waves.

Every wave has its own program counter, and its lanes never part: EXEC says which of them act. The block with the
least number goes first, so waves that took a longer way come together again. Blocks that only poll (an atomic, a load
that passes the caches) let all others go first.
"""

import time
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .dispatch import begin
from .errors import Deadlock, OutOfTime
from .machine import Machine

# Blocks in a row that only polled and changed nothing, before others are let in.
_PATIENCE = 1000


class Chunk:
    """The execution of some workgroups; it can be left when it waits for others, and taken up again."""

    def __init__(self, machine: Machine, clock: "Clock"):
        self.machine, self._clock = machine, clock
        self._program = machine.program
        self._pc = np.zeros(machine.waves, np.int64)
        # How often a block asked in vain, since something changed.
        self._asked: Dict[int, int] = {}
        self.instructions = 0
        begin(machine)

    def run(self) -> bool:
        """Execute until all waves have ended (True), or until only asking is left (False)."""
        machine, program, pc = self.machine, self._program, self._pc
        sizes, lanes = program.sizes, machine.lanes
        idle = 0
        while True:
            ready = (pc >= 0) & ~machine.waiting
            count = int(np.count_nonzero(ready))
            if not self._release(count):
                return True
            if count == 0:
                continue
            current = self._next(pc[ready])
            here = ready & (pc == current)
            own = int(np.count_nonzero(here))
            m = None if own == machine.waves else here.reshape(-1, 1)
            if machine.watch is not None:
                machine.watch.executing(machine, current, machine.by_thread(m))
            before = machine.progress
            machine.polled = False
            jumps = program.function(current)(machine, m)
            self.instructions += sizes[current] * own * lanes
            for target, mask in jumps:
                pc[here if mask is None else mask[:, 0]] = target
            self._clock.check(self)
            if machine.progress != before:
                self._asked.clear()
                idle = 0
            elif machine.polled:
                self._asked[current] = self._asked.get(current, 0) + 1
                idle += 1
                if idle > _PATIENCE:
                    return False

    def _next(self, places: np.ndarray) -> int:
        least = int(places.min())
        if not self._asked or least not in self._asked:
            return least
        return min(
            (int(place) for place in np.unique(places)),
            key=lambda place: (self._asked.get(place, 0), place),
        )

    def _release(self, ready: int) -> bool:
        """Let workgroups go on whose waves have all come to the barrier; False when all waves have ended.

        A wave that has ended counts as one that has come.
        """
        machine, pc = self.machine, self._pc
        if not machine.waiting.any():
            return ready > 0
        if ready == 0:
            released = machine.waiting.copy()
        else:
            late = ((pc >= 0) & ~machine.waiting).reshape(machine.ctas, -1).any(1)
            released = machine.waiting & np.repeat(~late, machine.waves_each)
        if released.any():
            machine.waiting &= ~released
            machine.progress += 1
            if machine.watch is not None:
                mask = np.repeat(released, machine.lanes).reshape(machine.ctas, machine.threads)
                machine.watch.released(machine, 0, mask)
        return True

    def place(self) -> str:
        """Where the waves are, in words."""
        kernel = self._program.kernel
        stops = []
        for block in np.unique(self._pc[self._pc >= 0]):
            instruction = kernel.instructions[kernel.blocks[int(block)][0]]
            wave = int(np.argmax(self._pc == block))
            at = "" if instruction.loc is None else f" ({instruction.loc[0]}:{instruction.loc[1]})"
            group, own = divmod(wave, self.machine.waves_each)
            who = f"wave {own} of program {self.machine.program_id(group)}"
            stops.append(
                f"{who} at `{instruction.text}` in line {instruction.line} of {kernel.name}{at}"
            )
        return "; ".join(stops[:4]) or f"the end of {kernel.name}"

    def line(self) -> Optional[Tuple[str, int]]:
        """(file, line) of the kernel's source where the first waves are; None where it is not known."""
        kernel = self._program.kernel
        blocks = [int(block) for block in np.unique(self._pc[self._pc >= 0])]
        lines = [kernel.instructions[kernel.blocks[block][0]].loc for block in blocks]
        return next((line for line in lines if line is not None), None)


class Clock:
    """The limits of a launch, and how much of them it has used."""

    def __init__(self, limits: Any):
        self._limits = limits
        self._start = time.monotonic()
        self._checks = 0
        self._finished = 0

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def finished(self, instructions: int) -> None:
        self._finished += instructions

    def check(self, chunk: Chunk) -> None:
        """
        Raises:
            OutOfTime: a limit is used up.
        """
        limits = self._limits
        if (
            limits.instructions is not None
            and self._finished + chunk.instructions > limits.instructions
        ):
            self._stop(chunk, f"more than {limits.instructions} instructions")
        self._checks += 1
        if (
            limits.seconds is not None
            and self._checks % 16 == 0
            and self.seconds() > limits.seconds
        ):
            self._stop(chunk, f"longer than {limits.seconds:g} s")

    def _stop(self, chunk: Chunk, what: str) -> None:
        place = chunk.place()
        raise OutOfTime(f"{what}: {place}", place, chunk.line())


def run_all(launch: Any, clock: Clock, lanes: int) -> int:
    """Execute all workgroups, chunk by chunk; returns the instructions of lanes.

    Raises:
        Deadlock: waves ask forever.
    """
    numbers = launch.numbers()
    each = max(1, lanes // launch.threads)
    stuck: List[Chunk] = []
    total = 0
    for start in range(0, len(numbers), each):
        chunk = Chunk(Machine(launch, numbers[start : start + each]), clock)
        if chunk.run():
            total += _finish(launch, clock, chunk)
        else:
            # It waits for workgroups that come later.
            stuck.append(chunk)
    rounds = 0
    while stuck:
        before = sum(chunk.machine.progress for chunk in stuck)
        for chunk in list(stuck):
            if chunk.run():
                stuck.remove(chunk)
                total += _finish(launch, clock, chunk)
                rounds = 0
        if stuck and sum(chunk.machine.progress for chunk in stuck) == before:
            rounds += 1
            if rounds > 2:
                place = stuck[0].place()
                msg = f"waves ask forever for what nobody will change: {place}"
                raise Deadlock(msg, place, stuck[0].line())
    return total


def _finish(launch: Any, clock: Clock, chunk: Chunk) -> int:
    clock.finished(chunk.instructions)
    if launch.watch is not None:
        launch.watch.finished(chunk.machine)
    return chunk.instructions
