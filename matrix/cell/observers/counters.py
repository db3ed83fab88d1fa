"""Counts what a kernel does while an emulator executes it: instructions by class, memory by source line.

This is NVIDIA's; `amd_counters` has AMD's layout and names.

Global memory has sectors of 32 bytes in lines of 128 (Nsight Compute's documentation, "L1/TEX Cache"). `least` is as
few sectors as the distinct bytes need. Tensors on the CPU begin at multiples of 64 bytes, so that there may be a line
more in one run than in another; the sectors are always the same.

Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory"). Accesses of up to 4 bytes go in one
phase of 32 lanes, of 8 bytes in two of 16, of 16 bytes, ldmatrix and stmatrix in phases of 8; the phases are nowhere
documented, they are those that Nsight Compute shows. `least` is one wavefront a phase.

ptxas makes one access of several that are next to each other: four loads of 4 bytes become LDS.128. So the sectors and
wavefronts of a load or store are also counted as if it were one of 8 and of 16 bytes, at a multiple of its size.
"""

import functools
from collections import defaultdict
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .requests import Layout, Phases, filled, of_rows

# Source lines that are kept of a launch, those with the most sectors or wavefronts.
MOST_LINES = 24
# Different requests that wait to be counted, of 8 bytes a lane each.
_MOST_ROWS = 1 << 15
# Without the place in four words of shared memory, and in a line of global.
_WHOLE = (np.uint64(2**64 - 16), np.uint64(2**64 - 128))
# Bytes of what ptxas may make of smaller accesses.
WIDER = (8, 16)
_MATRICES = ("ldmatrix", "stmatrix")
_NOT_COUNTED = ("mbarrier", "mbarrier init", "tensor map")
_BULK = ("bulk load", "bulk copy", "bulk store")
_CLASSES = (
    ("matrix", ("mma", "wgmma", "wmma", "tcgen05")),
    ("matrix load", ("ldmatrix", "stmatrix")),
    ("barrier", ("bar", "barrier", "mbarrier", "fence", "membar")),
    ("shuffle", ("shfl", "vote", "match", "redux", "activemask")),
    ("atomic", ("atom", "red")),
    ("async copy", ("cp",)),
    ("special", ("ex2", "lg2", "sin", "cos", "rsqrt", "sqrt", "rcp", "tanh", "div")),
    ("conversion", ("cvt",)),
    ("control", ("bra", "brx", "ret", "exit", "call", "nop", "elect")),
    ("move", ("mov", "selp", "prmt", "cvta")),
    ("compare", ("setp", "set", "min", "max")),
)
_BY_NAME = {name: kind for kind, names in _CLASSES for name in names}
_FLOATS = ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2")
_SPACES = ("global", "shared", "local", "param", "const")


def _phases(nbytes: int, kind: str) -> Phases:
    words = 4 if kind else max(1, nbytes // 4)
    return Phases(max(8, 32 // words))


LAYOUT = Layout(lanes=32, sector=32, banks=32, phases=_phases, wider=WIDER)


class _Pattern(NamedTuple):
    """Addresses by warp and lane, their bytes, and how often each instruction had them: index, what and space."""

    kind: Tuple[str, int, str]
    uses: Dict[Tuple[int, str, str], int]
    moved: int
    where: np.ndarray


class Counters(ptx.Watch):
    """Of one launch.

    Args:
        kernel: the one that is launched, as its emulator has read it.
        layout: of the GPU's memory.
    """

    def __init__(self, kernel: Any, layout: Layout = LAYOUT):
        self._kernel, self._layout = kernel, layout
        self._warps = np.zeros(len(self._kernel.blocks), np.int64)
        # By instruction and what it does: requests, bytes, sectors or wavefronts, lines, least, and the wider.
        self._accesses: Dict[Tuple[int, str, str], np.ndarray] = defaultdict(
            lambda: np.zeros(5 + len(layout.wider), np.int64)
        )
        self._nbytes: Dict[Tuple[int, str, str], int] = {}
        # By its pattern of addresses.
        self._pending: Dict[Any, _Pattern] = {}
        self._rows = 0

    def kind_of(self, what: str) -> str:
        """The kind of access that shared memory serves in a different way; empty for the others."""
        return what if what in _MATRICES else ""

    def class_of(self, opcode: str) -> str:
        return class_of(opcode)

    def opcode_of(self, instruction: Any) -> str:
        return str(instruction.opcode)

    def executing(self, machine, block, mask) -> None:
        lanes = self._layout.lanes
        if machine.threads % lanes:
            # No launch of Triton's has such a CTA.
            return
        if mask is None:
            self._warps[block] += machine.ctas * (machine.threads // lanes)
            return
        of_each = machine.ctas // mask.shape[0]
        if mask.shape[1] == 1:
            self._warps[block] += int(np.count_nonzero(mask)) * (machine.threads // lanes) * of_each
        else:
            warps = mask.reshape(mask.shape[0], -1, lanes).any(2)
            self._warps[block] += int(np.count_nonzero(warps)) * of_each

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if what in _NOT_COUNTED or machine.threads % self._layout.lanes:
            return
        place = (at, what, space)
        tally = self._accesses[place]
        self._nbytes[place] = nbytes
        if what in _BULK or lane is not None or what == "wgmma":
            count = _count(address, condition)
            moved = count * nbytes
            tally[:4] += (1, moved, moved // self._layout.sector, moved // 128)
            tally[4:] += moved // self._layout.sector
            return
        if condition is not None and condition.all():
            condition = None
        rows = machine.ctas
        if address.shape[0] == 1 and (condition is None or condition.shape[0] == 1):
            # Alike in all of them.
            rows = 1
        scale = machine.ctas // rows
        kind = (space, nbytes, self.kind_of(what))
        # Each copy of an unrolled loop counts the same: its addresses lie whole lines or banks further on.
        moved = address - (address.flat[0] & _WHOLE[space == "global"])
        key = (
            *(kind, rows, moved.shape, hash(moved.tobytes())),
            None if condition is None else (condition.shape, hash(condition.tobytes())),
        )
        known = self._pending.get(key)
        if known is not None:
            known.uses[place] = known.uses.get(place, 0) + scale
            return
        shape = (rows, machine.threads)
        where = np.broadcast_to(moved, shape).reshape(-1, self._layout.lanes)
        lanes = where.size
        if condition is not None:
            active = np.broadcast_to(condition, shape).reshape(where.shape)
            lanes = int(np.count_nonzero(active))
            some = active.any(1)
            where, active = where[some], active[some]
            if lanes < where.size:
                where = filled(self._layout, where, active, *kind)
        self._pending[key] = _Pattern(kind, {place: scale}, lanes * nbytes, where.astype(np.int64))
        # Small arrays cost as much as large ones: they are looked at together.
        self._rows += len(where)
        if self._rows > _MOST_ROWS:
            self._look()

    def _look(self) -> None:
        """Add up the pending counts."""
        of_kinds: Dict[Any, List[_Pattern]] = defaultdict(list)
        for pending in self._pending.values():
            of_kinds[pending.kind].append(pending)
        for kind, patterns in of_kinds.items():
            where = np.concatenate([pattern.where for pattern in patterns])
            starts = np.cumsum([0, *(len(pattern.where) for pattern in patterns)])
            # The sums up to each row.
            sums = np.zeros((len(where) + 1, 3 + len(self._layout.wider)), np.int64)
            if kind[0] != "local" and len(where):
                np.cumsum(of_rows(self._layout, where, *kind), axis=0, out=sums[1:])
            for pattern, first, end in zip(patterns, starts, starts[1:]):
                figures = (end - first, pattern.moved, *(sums[end] - sums[first]))
                for place, times in pattern.uses.items():
                    self._accesses[place] += times * np.array(figures)
        self._pending.clear()
        self._rows = 0

    def by_instruction(self) -> Dict[str, Any]:
        """Counts of all executed warps, for the estimate of its time.

        Returns:
            `blocks`: first and end instruction, and how many warps ran it; `instructions`: opcode and source line;
            `memory`: what, space, line, requests, bytes of a lane, and sectors of global or wavefronts of shared
            memory: as it is, and as if it had each of the `WIDER` sizes.
        """
        self._look()
        warps = self._warps.tolist()
        lines = list(map(line_of, self._kernel.instructions))
        return {
            "blocks": [
                (first, end, count) for (first, end), count in zip(self._kernel.blocks, warps)
            ],
            "instructions": [
                (self.opcode_of(instruction), line)
                for instruction, line in zip(self._kernel.instructions, lines)
            ],
            "memory": [
                (
                    *(what, space, lines[at], int(tally[0]), self._nbytes[at, what, space]),
                    (int(tally[2]), int(tally[5]), int(tally[6])),
                )
                for (at, what, space), tally in self._accesses.items()
            ],
        }

    def figures(self) -> Dict[str, Any]:
        """Plain data, by warps: `instructions` by class, matrix `products` by opcode, `memory` by source line."""
        self._look()
        instructions: Dict[str, int] = defaultdict(int)
        products: Dict[str, int] = defaultdict(int)
        # gfx90a spills with the instructions of global memory.
        spills = {at for at, _, space in self._accesses if space == "local"}
        for instruction, warps in self._executed():
            name = self.opcode_of(instruction)
            kind = self.class_of(name)
            if instruction.index in spills:
                kind = kind.replace("global", "local")
            instructions[kind] += warps
            if kind == "matrix":
                products[name] += warps
        moved: Dict[str, int] = defaultdict(int)
        lines: Dict[Tuple[Any, str, str], np.ndarray] = defaultdict(lambda: np.zeros(6, np.int64))
        for (at, what, space), tally in self._accesses.items():
            moved[space] += int(tally[1])
            lanes = tally[1] // self._nbytes[at, what, space]
            lines[line_of(self._kernel.instructions[at]), what, space] += (*tally[:5], lanes)
        return {
            "instructions": dict(sorted(instructions.items())),
            "bytes": dict(sorted(moved.items())),
            "barriers": instructions.get("barrier", 0),
            "products": dict(sorted(products.items())),
            "sectors": _sum(lines, "global", 2),
            self._layout.served: _sum(lines, "shared", 2),
            "memory": _by_line(lines, self._layout.served),
        }

    def _executed(self) -> Iterator[Tuple[Any, int]]:
        """The instructions that ran, each with the number of warps that ran it."""
        for (first, end), warps in zip(self._kernel.blocks, self._warps.tolist()):
            if warps:
                for instruction in self._kernel.instructions[first:end]:
                    yield instruction, warps


def line_of(instruction: Any) -> Optional[int]:
    """Return the line of the kernel's source; None where it is not known."""
    return None if instruction.loc is None else int(instruction.loc[1])


@functools.lru_cache(maxsize=None)
def class_of(opcode: str) -> str:
    """Return the class of a PTX instruction: the unit that executes it, and for memory the space."""
    name, *modifiers = opcode.split(".")
    if name in ("ld", "st", "ldu"):
        named = [space for space in _SPACES if any(m.startswith(space) for m in modifiers)]
        return f"{named[0] if named else 'generic'} {'store' if name == 'st' else 'load'}"
    if name in _BY_NAME:
        return _BY_NAME[name]
    return "float" if any(modifier in _FLOATS for modifier in modifiers) else "integer"


def _by_line(lines: Dict[Tuple[Any, str, str], np.ndarray], served: str) -> List[Dict[str, Any]]:
    rows = []
    for (line, what, space), tally in lines.items():
        requests, moved, units, cache_lines, least, lanes = map(int, tally)
        row = {"line": line, "what": what, "space": space, "requests": requests, "bytes": moved}
        row["lanes"] = lanes
        if space == "global":
            row.update(sectors=units, lines=cache_lines, least=least)
        elif space != "local":
            row.update({served: units, "least": least})
        rows.append((units, moved, row))
    rows.sort(key=lambda each: each[:2], reverse=True)
    return [entry for _, _, entry in rows[:MOST_LINES]]


def _sum(lines: Dict[Tuple[Any, str, str], np.ndarray], space: str, place: int) -> int:
    return int(sum(tally[place] for (_, _, where), tally in lines.items() if where == space))


def _count(address: Any, condition: Any) -> int:
    if condition is None:
        return int(np.size(address))
    return int(np.count_nonzero(np.broadcast_to(condition, np.shape(address))))
