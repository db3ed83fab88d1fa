"""The state of a chunk of workgroups: its waves' registers, memory, and accesses under way."""

from typing import Any, List, Tuple

import numpy as np

from .atomics import Atomics
from .counters import LOAD, Counters
from .errors import Fault
from .global_memory import GlobalMemory
from .lds import LDS, Scratch
from .matrix_products import Kept
from .operands import M0
from .registers import Mask, Registers

# The program counter of a wave that has ended.
ENDED = -1


class Machine(Registers):
    """One chunk: the waves of `numbers` workgroups, those of a workgroup beside each other.

    Attributes:
        numbers: linear program id of each workgroup.
        ctas, threads: workgroups of the chunk, and lanes of each, as every watch knows them.
        group: which workgroup of the chunk each wave is of, (waves,).
        waiting: waves at a barrier, (waves,).
        progress: grows whenever something changes that another wave could see.
        polled: an instruction that may be repeated until it succeeds was executed.
    """

    def __init__(self, launch: Any, numbers: np.ndarray):
        program = launch.program
        self.launch, self.program, self.watch = launch, program, launch.watch
        self.numbers = np.asarray(numbers, np.int64)
        self.ctas, self.threads = len(numbers), launch.threads
        self.waves_each = launch.threads // program.kernel.wave
        super().__init__(
            self.ctas * self.waves_each, program.kernel.wave, program.vectors, program.accumulators
        )
        self.backwards = launch.backwards
        self.progress = 0
        self.polled = False
        self._ticks = 0
        self.group = np.repeat(np.arange(self.ctas), self.waves_each)
        self.waiting = np.zeros(self.waves, bool)
        self.memory = GlobalMemory(self, launch.memory)
        self.lds = LDS(self, launch.shared)
        self.scratch = Scratch(self, program.kernel.directive("private_segment_fixed_size"))
        self.atomics = Atomics(self)
        self.counters = Counters(self)
        self.matrices = Kept()

    def program_id(self, group: int) -> Tuple[int, int, int]:
        """The (x, y, z) of a workgroup of this chunk."""
        x, y, _ = self.launch.grid
        number = int(self.numbers[group])
        return number % x, number // x % y, number // (x * y)

    def lane(self, wave: int, lane: int) -> Tuple[int, int]:
        """(workgroup of the chunk, thread of the workgroup) of a lane."""
        group, own = divmod(wave, self.waves_each)
        return group, own * self.lanes + lane

    def by_thread(self, value: Any) -> Any:
        """An array over lanes in the shape that watches know, (workgroups, threads); None stays None."""
        if value is None:
            return None
        return np.broadcast_to(value, self.shape).reshape(self.ctas, self.threads)

    def fault(self, at: int, kind: str, what: str, space: str, address: np.ndarray, bad: np.ndarray,
              memory: Any = None) -> None:  # fmt: skip
        """Raise the fault of the first lane that is `bad`."""
        wave, lane = (int(index) for index in np.argwhere(bad)[0])
        first = int(np.broadcast_to(address, bad.shape)[wave, lane])
        group, thread = self.lane(wave, lane)
        instruction = self.program.kernel.instructions[at]
        raise Fault(
            kind, what, space=space, address=first, program_id=self.program_id(group), thread=thread,
            line=instruction.loc, instruction=instruction.text,
            nearest=memory.nearest(first) if memory is not None else "",
        )  # fmt: skip

    # ---------------------------------------------------------------- control

    def end(self, m: Mask) -> List[Tuple[int, Mask]]:
        """Waves that come to their end."""
        self.counters.finish(m)
        return [(ENDED, m)]

    def wait_at_barrier(self, at: int, m: Mask) -> None:
        """Waves that wait until all of their workgroup have come."""
        arrived = np.ones(self.waves, bool) if m is None else m[:, 0]
        self.waiting = self.waiting | arrived
        if self.watch is not None:
            self.watch.arrived(self, at, 0, self.by_thread(arrived.reshape(-1, 1)))

    def trap(self, at: int, m: Mask) -> None:
        """An assertion of the kernel, or code that must not be reached."""
        waves = np.ones((self.waves, 1), bool) if m is None else m
        self.fault(
            at, "trap", "the kernel stops itself", "code", np.zeros(waves.shape, np.int64), waves
        )

    def time(self) -> np.ndarray:
        """A clock that always grows; it measures nothing."""
        self._ticks += 64
        self.polled = True
        return np.full((self.waves, 1), self._ticks, np.uint64)

    def load_into_lds(
        self, at: int, words: List[np.ndarray], offset: int, each: int, e: Mask, m: Mask
    ) -> None:
        """A load whose lanes' values come to lie behind each other in LDS, from where M0 says."""
        lane = np.arange(self.lanes, dtype=np.uint32).reshape(1, -1)
        address = (self.r(M0) & np.uint32(0x3FFFF)) + np.uint32(offset) + lane * np.uint32(each)
        self.lds.poison(address, each, e)

        def land(waves: Mask, everyone: bool) -> None:
            lanes = (
                e
                if waves is None
                else np.broadcast_to(waves, self.shape)
                if e is None
                else e & waves
            )
            self.lds.store(at, address, words, each, lanes, "copy")

        self.counters.later(LOAD, m, land)

    # ---------------------------------------------------------------- watching

    def seen(self, at: int, space: str, what: str, address: np.ndarray, e: Mask, size: int) -> None:
        """Tell the watch of an access by lane."""
        self.watch.access(self, at, space, what, self.by_thread(address), self.by_thread(e), size)

    def stored(self, at: int, address: np.ndarray, words: Any, size: int, e: Mask) -> None:
        """Report a store's bytes to the watch."""

    def seen_scalar(self, at: int, address: np.ndarray, m: Mask, size: int) -> None:
        """Tell the watch of a scalar load: it is one access of each wave, of its first lane."""
        first = np.zeros(self.shape, bool)
        first[:, 0] = True if m is None else m[:, 0]
        self.watch.access(
            self, at, "global", "load", self.by_thread(address), self.by_thread(first), size
        )
