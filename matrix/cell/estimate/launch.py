"""A launch on its chip: how long a block keeps each unit busy, how many blocks are resident, the time of DRAM.

Units, in cycles that a block takes of its multiprocessor: issue, one instruction a cycle and scheduler; each pipe by
its rate; loads and stores one wavefront a cycle; tensor cores; the L2, at most 64 bytes a cycle and multiprocessor.
The executions of PTX, and so the sectors and wavefronts, are counted; those of instructions that ptxas added (spills)
come from the flow.
"""

import math
from collections import defaultdict
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

import numpy as np

from . import flow, warp
from .chips import Chip
from .machine_code import Block
from .opcodes import issue_cycles, kind_of, product_cycles

# Of the longest waits, how many are kept.
MOST_WAITS = 10
SCHEDULERS = 4
# From sm_80 on the system takes 1 KiB of shared memory in each block.
_RESERVED = 1024
# For more than so many bytes of it Triton's loader asks for as little L1 as there is (CU_FUNC_CACHE_PREFER_SHARED).
_WITHOUT_PREFERENCE = 48 * 1024
_SECTOR = 32
_L2_BYTES_A_CYCLE = 64.0
# Which accesses of the emulator a machine instruction is one of.
_ACCESSES = {
    "LDG": ("global", "load"), "STG": ("global", "store"), "LDS": ("shared", "load"), "STS": ("shared", "store"),
    "LDSM": ("shared", "ldmatrix"), "STSM": ("shared", "stmatrix"), "LDGSTS": ("shared", "cp.async"),
}  # fmt: skip


class Launched(NamedTuple):
    """The facts about a launch that neither its machine code nor its counters give.

    Attributes:
        programs: blocks of the whole grid, those of clusters multiplied in.
        executed: of them, by the emulator.
        moved: bytes of all its tensor arguments.
        registers, stack: of a thread; shared: bytes of a block.
    """

    programs: int
    executed: int
    num_warps: int
    registers: int
    stack: int
    shared: int
    moved: int


def estimated(
    blocks: List[Block],
    counted: Mapping[str, Any],
    launched: Launched,
    chip: Chip,
) -> Dict[str, Any]:
    """Return the estimate as plain data; all cycles are those of one block on its multiprocessor.

    Args:
        counted: as of `Counters.by_instruction`.

    Returns:
        `path`: a warp alone, with its `instructions` and `waits`; `units`; `dram` and `spilled`: what DRAM takes for a
        block while all multiprocessors ask it; `resident`: blocks that fit, `together`: of them, those there are;
        `waves`: how often they follow each other; `ghz`.

    Raises:
        flow.NoFlow: this code cannot be estimated.
    """
    rates, warps = chip.rates, launched.num_warps
    # The inputs come from DRAM where they are more than the L2 holds.
    cold = launched.moved > rates.l2_size
    executions = flow.executions(blocks, counted, launched.executed * warps)
    wavefronts = _wavefronts(blocks, counted)
    resident = _resident(launched, chip)
    per_multiprocessor = math.ceil(launched.programs / chip.multiprocessors)
    together = min(resident, per_multiprocessor)
    # Local memory that does not fit the L1 beside the shared memory comes from the L2.
    frames = launched.stack * 32 * warps * together
    far = frames > rates.l1_size - _cut_from_l1(launched, chip, together)
    alone = warp.Warp(chip, wavefronts, cold, far)
    path, waits = warp.alone(alone, blocks, executions)
    units, local, instructions = _units(blocks, executions, wavefronts, warps, chip)
    sectors = (
        sum(access[5][0] for access in counted["memory"] if access[1] == "global")
        / launched.executed
    )
    l2 = _SECTOR * sectors + (128 * local if far else 0)
    a_cycle = rates.l2 / rates.ghz / 1e9 / chip.multiprocessors
    units["l2"] = l2 / min(_L2_BYTES_A_CYCLE, a_cycle)
    of_dram = chip.multiprocessors / rates.dram * rates.ghz * 1e9
    # No more than the total: the L2 has data that several blocks read.
    least = launched.moved / max(launched.programs, 1)
    dram = min(_SECTOR * sectors, least) if launched.moved else _SECTOR * sectors
    figures = {
        "path": path,
        "instructions": instructions,
        "waits": _longest(waits),
        "units": {name: round(float(value), 1) for name, value in units.items() if value},
        "dram": dram * of_dram if cold else 0.0,
        # At real sizes they are streamed out: of group_norm on an H100, whose time grows with them.
        "spilled": 128 * local * of_dram if cold else 0.0,
        "local": local / warps,
        "resident": resident,
        "together": together,
        "waves": per_multiprocessor / together,
        "ghz": rates.ghz,
        "cold": cold,
    }
    # numpy's numbers are no plain data.
    return {
        name: round(float(value), 3) if isinstance(value, float) else value
        for name, value in figures.items()
    }


def _longest(waits: Mapping[warp.Wait, float]) -> Dict[str, Tuple[float, int]]:
    """Return the cycles by the cause of the wait, and the source line with most of them."""
    total: Dict[str, float] = defaultdict(float)
    longest: Dict[str, Tuple[float, int]] = {}
    for (what, line), cycles in waits.items():
        total[what] += cycles
        longest[what] = max(longest.get(what, (0.0, 0)), (cycles, line))
    ordered = sorted(total.items(), key=lambda item: -item[1])[:MOST_WAITS]
    return {
        what: (round(float(cycles), 1), longest[what][1]) for what, cycles in ordered if cycles >= 1
    }


def _wavefronts(blocks: List[Block], counted: Mapping[str, Any]) -> Dict[int, float]:
    """By `id` of an access: wavefronts of a request, the mean of its class and size on its line, else of its class."""
    by_place: Dict[Any, List[Any]] = defaultdict(list)
    for what, space, line, *figures in counted["memory"]:
        by_place[space, what, None].append(figures)
        by_place[space, what, line].append(figures)
    means: Dict[Any, float] = {}
    ways = {}
    for block in blocks:
        for instruction in block.instructions:
            access, width = _ACCESSES.get(instruction.name), _width(instruction.op)
            if access is not None:
                line = instruction.line if (*access, instruction.line) in by_place else None
                key = (*access, line, width)
                if key not in means:
                    means[key] = _mean(access, by_place.get((*access, line), []), width)
                ways[id(instruction)] = means[key]
            elif instruction.name in ("LDL", "STL"):
                ways[id(instruction)] = width / 4
    return ways


def _width(op: str) -> int:
    """Bytes of a lane, from `LDS.128` or `LDG.E.64`."""
    parts = op.split(".")
    return 16 if "128" in parts else 8 if "64" in parts else 4


def _mean(access: Tuple[str, str], rows: List[Any], width: int) -> float:
    """Wavefronts of a request whose lanes move `width` bytes; ptxas may have made it of smaller ones."""
    space, what = access
    of_size = 0
    if what in ("load", "store"):
        rows = [row for row in rows if row[1] <= width] or rows
        of_size = {4: 0, 8: 1, 16: 2}[width]
    requests = sum(row[0] for row in rows)
    if not requests:
        return 1.0
    # Four sectors of a line go together.
    work = sum(row[2][of_size] for row in rows) / (4 if space == "global" else 1)
    return max(work / requests, 1.0)


def _cut_from_l1(launched: Launched, chip: Chip, together: int) -> int:
    """Bytes of shared memory of a multiprocessor."""
    if launched.shared > _WITHOUT_PREFERENCE:
        return chip.shared
    return (launched.shared + _RESERVED) * together


def _resident(launched: Launched, chip: Chip) -> int:
    """Blocks that fit a multiprocessor, as in crosswarp/matrix/results/occupancy.py; at least one."""
    step = -(-max(launched.registers, 1) // 8) * 8
    by_registers = chip.registers // (32 * SCHEDULERS) // step * SCHEDULERS // launched.num_warps
    blocks = min(by_registers, chip.warps // launched.num_warps, chip.blocks)
    return max(min(blocks, chip.shared // (launched.shared + _RESERVED)), 1)


def _units(
    blocks: List[Block],
    executions: np.ndarray,
    wavefronts: Mapping[int, float],
    warps: int,
    chip: Chip,
) -> Tuple[Dict[str, float], float, float]:
    """Cycles of each unit for a block; loads and stores of local memory of all its warps; instructions of a warp."""
    rates = chip.rates
    pipes: Dict[str, float] = defaultdict(float)
    instructions = local = tensor = tensors = stores = 0.0
    for block in blocks:
        times = float(executions[block.number])
        instructions += times * len(block.instructions)
        for instruction in block.instructions:
            kind = kind_of(instruction)
            pipes[kind] += times * issue_cycles(instruction, kind, rates)
            if instruction.name in ("LDL", "STL"):
                local += times
            if kind == "mma":
                tensor += times * product_cycles(instruction, kind, rates)
            elif kind == "wgmma":
                tensors += times * product_cycles(instruction, kind, rates) / SCHEDULERS
            elif kind == "lsu":
                stores += times * wavefronts.get(id(instruction), 1.0)
    of_scheduler = warps / SCHEDULERS
    units = {
        "issue": instructions * of_scheduler,
        "fma": max(pipes["imad"], pipes["imad"] / 2 + pipes["fp32"]) * of_scheduler,
        **{name: pipes[name] * of_scheduler for name in ("int", "half", "mufu", "conv", "fp64")},
        "mma": tensor * of_scheduler,
        "wgmma": tensors * warps,
        "lsu": stores * warps,
    }
    return units, local * warps, instructions
