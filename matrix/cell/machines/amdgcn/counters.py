"""Loads that are under way: they land at the wait that asks for them, and not before.

Until then their registers hold poison, so code without the wait computes NaN or leaves all memory. Each generation
counts the accesses under way by kind, and a kind lands in the order of its issue. Only scalar loads land in any order,
so they need a wait for all of them.
"""

from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from .registers import POISON, Mask, Registers

u4, i8 = np.uint32, np.int64
LOAD, STORE, LDS, SCALAR = "load", "store", "lds", "scalar"
# Instructions that are kept at the most: the widest counter has six bits.
_MOST = 256
LandFunction = Callable[[Mask, bool], None]


class _Entry:
    """One instruction under way.

    Attributes:
        waves: those that have not waited for it, (waves, 1); None for all.
        registers: (file, number) of each register that it will write.
        parted: some of its waves have waited for it, and others not yet.
    """

    __slots__ = ("kind", "land", "parted", "registers", "waves")

    def __init__(
        self, kind: str, waves: Mask, land: Optional[LandFunction], registers: Sequence[Any]
    ):
        self.kind, self.waves, self.land, self.registers = kind, waves, land, registers
        self.parted = False


class Counters:
    """The instructions that a chunk of waves has under way.

    Attributes:
        open: in the order of issue.
    """

    def __init__(self, registers: Registers):
        self._registers = registers
        self.open: List[_Entry] = []

    def load(self, kind: str, file: List[np.ndarray], first: int, words: Sequence[np.ndarray], e: Mask, m: Mask,
             half: Optional[int] = None, name: str = "v") -> None:  # fmt: skip
        """A load of `words` into registers from `first` on, for the lanes `e`.

        Args:
            kind: one of the kinds above.
            half: 0 or 1 where only half of a register is written.
        """
        shape = self._registers.shape
        words = [self._registers.whole(word) for word in words]
        before = [file[first + place] for place in range(len(words))]
        keep = None
        if half is not None:
            keep = u4(0xFFFF0000) if half == 0 else u4(0x0000FFFF)
            words = [(before[0] & keep) | (words[0] << u4(16 * half) & ~keep)]
        if e is None and half is None:
            poisoned = [self._registers.poison] * len(words)
            after = words
        else:
            lanes = np.ones(shape, bool) if e is None else e
            poison = POISON if keep is None else (before[0] & keep) | (POISON & ~keep)
            poisoned = [np.where(lanes, poison, old) for old in before]
            after = [np.where(lanes, word, old) for word, old in zip(words, before)]
        for place, value in enumerate(poisoned):
            file[first + place] = value

        def land(waves: Mask, everyone: bool) -> None:
            for place, word in enumerate(words):
                own = file[first + place]
                if everyone and own is poisoned[place]:
                    # Not written since.
                    file[first + place] = after[place]
                    continue
                lanes = _both(e, waves)
                if keep is not None:
                    word = (own & keep) | (word & ~keep)
                file[first + place] = word if lanes is None else np.where(lanes, word, own)

        self._add(kind, m, land, [(name, first + place) for place in range(len(words))])

    def scalar(self, first: int, words: Sequence[np.ndarray], m: Mask) -> None:
        """A scalar load of `words` into registers from `first` on."""
        registers = self._registers
        for place in range(len(words)):
            registers.w(first + place, registers.scalar_poison, m)

        def land(waves: Mask, everyone: bool) -> None:
            for place, word in enumerate(words):
                registers.w(first + place, word, waves)

        self._add(SCALAR, m, land, [("s", first + place) for place in range(len(words))])

    def later(self, kind: str, m: Mask, land: Optional[LandFunction]) -> None:
        """Anything else that counts: a store, or a load that writes LDS in `land`."""
        self._add(kind, m, land)

    def _add(
        self, kind: str, m: Mask, land: Optional[LandFunction], registers: Sequence[Any] = ()
    ) -> None:
        if len(self.open) > _MOST:
            # Stores without a wait: no counter counts so far.
            for entry in self.open[: -_MOST // 2]:
                if entry.land is None:
                    entry.kind = ""
            self.open = [entry for entry in self.open if entry.kind]
        self.open.append(_Entry(kind, m, land, registers))

    def wait(self, wanted: Dict[Sequence[str], int], m: Mask) -> None:
        """Land the loads that are older than the newest few of each counter, for the waves `m`.

        Args:
            wanted: the kinds of a counter -> how many of them may stay under way.
        """
        for kinds, most in wanted.items():
            if self.open:
                self._land(kinds, most, m)

    def look(self, at: int, registers: Sequence[Any], m: Mask) -> None:
        """Tell the watch of registers among these whose load is under way in the waves `m`."""
        machine: Any = self._registers
        for entry in self.open:
            for register in entry.registers:
                if register in registers:
                    waves = _both(entry.waves, m)
                    mask = np.ones(machine.waves, bool) if waves is None else waves[:, 0]
                    if mask.any() and machine.watch is not None:
                        machine.watch.early(machine, at, f"{register[0]}{register[1]}", mask)
                        return

    def finish(self, m: Mask) -> None:
        """Drop the loads that ended waves have under way."""
        for entry in self.open:
            if m is None:
                entry.kind = ""
            else:
                left = ~m if entry.waves is None else entry.waves & ~m
                entry.waves, entry.parted = left, True
                if not left.any():
                    entry.kind = ""
        self.open = [entry for entry in self.open if entry.kind]

    def _land(self, kinds: Sequence[str], most: int, m: Mask) -> None:
        # By wave; a plain number as long as all waves do the same.
        newer: Any = 0
        landing = []
        for entry in reversed(self.open):
            if entry.kind not in kinds:
                continue
            mine = _both(entry.waves, m)
            if entry.kind == SCALAR:
                if most == 0:
                    landing.append((entry, mine))
                continue
            old = newer >= most
            if isinstance(old, bool):
                if old:
                    landing.append((entry, mine))
            else:
                landing.append((entry, _both(old, mine)))
            newer = newer + (1 if mine is None else mine.astype(i8))
        if not landing:
            return
        # In the order of issue: of two loads into one register the later one stays.
        for entry, due in reversed(landing):
            if due is not None and not due.any():
                continue
            left = None if due is None else (~due if entry.waves is None else entry.waves & ~due)
            done = left is None or not left.any()
            if entry.land is not None:
                entry.land(due, done and not entry.parted)
            entry.waves, entry.parted = left, True
            if done:
                entry.kind = ""
        self.open = [entry for entry in self.open if entry.kind]


def _both(a: Mask, b: Mask) -> Mask:
    if a is None or b is None:
        return b if a is None else a
    return a & b
