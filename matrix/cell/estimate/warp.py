"""Simulate one warp alone on a multiprocessor: in order, by the scheduling bits of its instructions.

An instruction issues when the scoreboards of its wait mask are free; then its stall count passes. A scoreboard is
busy for the latency of its memory or pipe. Groups of wgmma and of cp.async, and copies that end at an mbarrier, are
followed. Each block runs as often as the flow says, at most `TURNS` times: the last iteration stands for the rest.
"""

from collections import defaultdict
from typing import Any, Dict, List, Mapping, Tuple

from .chips import Chip
from .machine_code import NONE, Block, Instruction
from .opcodes import BARRIER, issue_cycles, kind_of, latency, product_cycles

TURNS = 3
# Least that a block runs, to be run at all.
_RARE = 1e-6
_PIPES = ("mufu", "conv", "int", "imad", "fp32", "half", "fp64")
# Guesses: how many requests wait before the unit of loads and stores; the cycles of a fence, of the operands of a
# store, and of the end of a wgmma.
_QUEUE, _FENCE, _READ, _AFTER_PRODUCT = 16.0, 12.0, 12.0, 24.0
_LEAST_WGMMA, _EARLY_MMA = 8.0, 4.0

_WAITED_FOR = {
    "LDG": "global loads", "LDS": "shared loads", "LDSM": "shared loads", "STS": "shared stores",
    "LDL": "local loads", "STG": "global stores", "STL": "local stores", "HMMA": "mma", "MUFU": "MUFU",
    "SHFL": "shuffles", "LDGSTS": "cp.async",
}  # fmt: skip

# The kind of result that was waited for, and the source line of the instruction that made it.
Wait = Tuple[str, int]


class Warp:
    """The state of the warp.

    Args:
        wavefronts: by `id` of an instruction, how often the unit of loads and stores is taken by it.
        cold: global loads come from DRAM, else from the L2.
        far: local memory is in the L2, else in the L1.

    Attributes:
        clock: cycles.
        waits: cycles in which it could not issue.
    """

    def __init__(self, chip: Chip, wavefronts: Mapping[int, float], cold: bool, far: bool):
        self._chip, self._wavefronts, self._cold, self._far = chip, wavefronts, cold, far
        self.clock = 0.0
        self.waits: Dict[Wait, float] = defaultdict(float)
        self._ready = [0.0] * NONE
        self._owner: List[Wait] = [("", 0)] * NONE
        self._busy: Dict[str, float] = defaultdict(float)
        # Ends of committed groups of wgmma, and of the open one; the same of cp.async; ends of bulk copies.
        self._products: List[float] = []
        self._open = 0.0
        self._copies: List[float] = []
        self._copying = 0.0
        self._bulk: List[float] = []

    def run(self, block: Block) -> None:
        for instruction in block.instructions:
            self._run(instruction)

    def _run(self, instruction: Instruction) -> None:
        now = self.clock
        for number in range(6):
            if instruction.waits >> number & 1 and self._ready[number] > now:
                self.waits[self._owner[number]] += self._ready[number] - now
                now = self._ready[number]
        kind = kind_of(instruction)
        rates = self._chip.rates
        takes = 0.0
        done = now + latency(instruction, self._chip, self._cold)
        if kind in _PIPES:
            now = max(now, self._busy[kind])
            self._busy[kind] = now + issue_cycles(instruction, kind, rates)
            done = now + latency(instruction, self._chip, self._cold)
        elif kind == "lsu":
            takes = self._wavefronts.get(id(instruction), 1.0)
            start = max(now, self._busy["lsu"])
            self._busy["lsu"] = start + takes
            done = start + takes - 1 + latency(instruction, self._chip, self._cold)
            if instruction.name == "LDL" and self._far:
                done += rates.to_l2 - rates.to_l1
            now = max(now, start - _QUEUE)
            if instruction.name == "LDGSTS":
                self._copying = max(self._copying, done)
        elif kind in ("mma", "wgmma"):
            now, done = self._multiply(instruction, kind, now, done)
        else:
            now = self._synchronise(instruction, now)
        if instruction.write_barrier < 6:
            self._ready[instruction.write_barrier] = max(
                self._ready[instruction.write_barrier], done
            )
            self._owner[instruction.write_barrier] = _waited_for(instruction), instruction.line
        if instruction.read_barrier < 6:
            free = now + _READ + takes
            self._ready[instruction.read_barrier] = max(self._ready[instruction.read_barrier], free)
            self._owner[instruction.read_barrier] = (
                f"operands of {_waited_for(instruction)}",
                instruction.line,
            )
        self.clock = now + max(1, instruction.stall)

    def _multiply(
        self, instruction: Instruction, kind: str, now: float, done: float
    ) -> Tuple[float, float]:
        start = max(now, self._busy["tensor"])
        takes = product_cycles(instruction, kind, self._chip.rates)
        if kind == "mma":
            self._busy["tensor"] = start + takes
            return max(now, start - _EARLY_MMA), start + latency(
                instruction, self._chip, self._cold
            )
        self._busy["tensor"] = start + max(takes, _LEAST_WGMMA)
        self._open = self._busy["tensor"] + _AFTER_PRODUCT
        if "gsb" in instruction.text:
            self._products.append(self._open)
        return now, done

    def _synchronise(self, instruction: Instruction, now: float) -> float:
        name = instruction.name
        if name == "WARPGROUP" and "DEPBAR" in instruction.op:
            now, self._products = self._awaited(self._products, instruction, "wgmma", now)
        elif name == "LDGDEPBAR":
            self._copies.append(self._copying)
            self._copying = 0.0
        elif name == "DEPBAR" and "SB0" in instruction.text:
            now, self._copies = self._awaited(self._copies, instruction, "cp.async", now)
        elif name == "BAR":
            self.waits["barriers", instruction.line] += BARRIER
            now += BARRIER
        elif name in ("UTMALDG", "UBLKCP"):
            self._bulk.append(now + self._chip.rates.tma)
        elif name == "SYNCS" and "TRYWAIT" in instruction.op and self._bulk:
            end = self._bulk.pop(0)
            if end > now:
                self.waits["TMA", instruction.line] += end - now
                now = end
        elif name in ("FENCE", "MEMBAR"):
            now += _FENCE
        return now

    def _awaited(
        self, groups: List[float], instruction: Instruction, what: str, now: float
    ) -> Tuple[float, List[float]]:
        """When all but the newest groups are done, as many as the instruction names; and those that are left."""
        left = _last_number(instruction.text)
        awaited = groups[: len(groups) - left] if left else groups
        end = max(awaited, default=0.0)
        if end > now:
            self.waits[what, instruction.line] += end - now
            now = end
        return now, groups[len(awaited) :]


def alone(warp: Warp, blocks: List[Block], executions: Any) -> Tuple[float, Dict[Wait, float]]:
    """Return the cycles of a warp that nothing else delays, and those of its waits by cause."""
    cycles = 0.0
    waits: Dict[Wait, float] = defaultdict(float)
    for block in blocks:
        times = float(executions[block.number])
        if times < _RARE:
            continue
        turns = max(1, min(TURNS, round(times)))
        for turn in range(turns):
            began, had = warp.clock, dict(warp.waits)
            warp.run(block)
            share = times - (turns - 1) if turn == turns - 1 else 1.0
            cycles += (warp.clock - began) * share
            for what, value in warp.waits.items():
                waits[what] += (value - had.get(what, 0.0)) * share
    return cycles, waits


def _waited_for(instruction: Instruction) -> str:
    return _WAITED_FOR.get(instruction.name, instruction.name)


def _last_number(text: str) -> int:
    """Behind the last comma; 0 where there is none."""
    _, comma, number = text.rpartition(",")
    try:
        return int(number.strip().rstrip(";"), 0) if comma else 0
    except ValueError:
        return 0
