"""Counts what a kernel does while the PTX emulator executes it: instructions by class, memory by source line.

Global memory. A request is one instruction of one warp. Its sectors are the distinct 32 bytes among the addresses of
its active lanes, its lines the distinct 128 bytes (Nsight Compute's documentation, "L1/TEX Cache": lines of 128 bytes
in four sectors). `least` is as few sectors as the distinct bytes need. Tensors on the CPU begin at multiples of 64
bytes, so that there may be a line more in one run than in another; the sectors are always the same.

Shared memory. 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory"). Accesses of up to 4 bytes go in one
phase of 32 lanes, of 8 bytes in two of 16, of 16 bytes, ldmatrix and stmatrix in phases of 8; the phases are nowhere
documented, they are those that Nsight Compute shows. The wavefronts of a phase are the largest number of distinct words
in one bank; `least` is one a phase.

ptxas makes one access of several that are next to each other: four loads of 4 bytes become LDS.128. So the sectors and
wavefronts of a load or store are also counted as if it were one of 8 and of 16 bytes, at a multiple of its size.
"""

import functools
from collections import defaultdict
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

# Source lines that are kept of a launch, those with the most sectors or wavefronts.
MOST_LINES = 24
# Different requests that wait to be counted, of 256 bytes each.
_MOST_ROWS = 1 << 15
# Without the place in four words of shared memory, and in a line of global.
_WHOLE = (np.uint64(2**64 - 16), np.uint64(2**64 - 128))
# Bytes of what ptxas may make of smaller accesses.
WIDER = (8, 16)
# A sum with them tells the rows of addresses apart; any odd numbers of 64 bits do.
_WEIGHTS = np.random.RandomState(1).randint(-(2**62), 2**62, 32, np.int64) | 1
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


class _Pattern(NamedTuple):
    """Addresses by warp and lane, their bytes, and how often each instruction had them: index, what and space."""

    kind: Tuple[str, int, bool]
    uses: Dict[Tuple[int, str, str], int]
    moved: int
    where: np.ndarray


class Counters(ptx.Watch):
    """Of one launch.

    Args:
        program: as of `ptx.load`.
    """

    def __init__(self, program: Any):
        self._kernel = program.entry().kernel
        self._warps = np.zeros(len(self._kernel.blocks), np.int64)
        # By instruction and what it does: requests, bytes, sectors or wavefronts, lines, least, and those of `WIDER`.
        self._accesses: Dict[Tuple[int, str, str], np.ndarray] = defaultdict(
            lambda: np.zeros(7, np.int64)
        )
        self._nbytes: Dict[Tuple[int, str, str], int] = {}
        # By its pattern of addresses.
        self._pending: Dict[Any, _Pattern] = {}
        self._rows = 0

    def executing(self, machine, block, mask) -> None:
        if machine.threads % 32:
            # No launch of Triton's has such a CTA.
            return
        if mask is None:
            self._warps[block] += machine.ctas * (machine.threads // 32)
            return
        of_each = machine.ctas // mask.shape[0]
        if mask.shape[1] == 1:
            self._warps[block] += int(np.count_nonzero(mask)) * (machine.threads // 32) * of_each
        else:
            warps = mask.reshape(mask.shape[0], -1, 32).any(2)
            self._warps[block] += int(np.count_nonzero(warps)) * of_each

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if what in _NOT_COUNTED or machine.threads % 32:
            return
        place = (at, what, space)
        tally = self._accesses[place]
        self._nbytes[place] = nbytes
        if what in _BULK or lane is not None or what == "wgmma":
            count = _count(address, condition)
            sectors = count * nbytes // 32
            tally += (1, count * nbytes, sectors, count * nbytes // 128, sectors, sectors, sectors)
            return
        if condition is not None and condition.all():
            condition = None
        rows = machine.ctas
        if address.shape[0] == 1 and (condition is None or condition.shape[0] == 1):
            # Alike in all of them.
            rows = 1
        scale = machine.ctas // rows
        kind = (space, nbytes, what in ("ldmatrix", "stmatrix"))
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
        where = np.broadcast_to(moved, shape).reshape(-1, 32)
        lanes = where.size
        if condition is not None:
            active = np.broadcast_to(condition, shape).reshape(-1, 32)
            lanes = int(np.count_nonzero(active))
            some = active.any(1)
            where, active = where[some], active[some]
            if lanes < where.size:
                # An inactive lane gets the address of the first active one.
                first = where[np.arange(len(where)), active.argmax(1)][:, None]
                where = np.where(active, where, first)
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
            sums = np.zeros((len(where) + 1, 5), np.int64)
            if kind[0] != "local" and len(where):
                np.cumsum(_of_rows(where, *kind), axis=0, out=sums[1:])
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
        lines = [
            None if instruction.loc is None else instruction.loc[1]
            for instruction in self._kernel.instructions
        ]
        return {
            "blocks": [
                (first, end, count) for (first, end), count in zip(self._kernel.blocks, warps)
            ],
            "instructions": [
                (instruction.opcode, line)
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
        """Plain data: a warp's `instructions` by class, `bytes` by space, `barriers`, and `memory` by source line."""
        self._look()
        instructions: Dict[str, int] = defaultdict(int)
        warps = self._warps.tolist()
        for instruction in self._kernel.instructions:
            if instruction.block >= 0 and warps[instruction.block]:
                instructions[class_of(instruction.opcode)] += warps[instruction.block]
        moved: Dict[str, int] = defaultdict(int)
        lines: Dict[Tuple[Any, str, str], np.ndarray] = defaultdict(lambda: np.zeros(7, np.int64))
        for (at, what, space), tally in self._accesses.items():
            loc = self._kernel.instructions[at].loc
            moved[space] += int(tally[1])
            lines[None if loc is None else loc[1], what, space] += tally
        return {
            "instructions": dict(sorted(instructions.items())),
            "bytes": dict(sorted(moved.items())),
            "barriers": instructions.get("barrier", 0),
            "sectors": _sum(lines, "global", 2),
            "wavefronts": _sum(lines, "shared", 2),
            "memory": _by_line(lines),
        }


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


def _by_line(lines: Dict[Tuple[Any, str, str], np.ndarray]) -> List[Dict[str, Any]]:
    rows = []
    for (line, what, space), tally in lines.items():
        requests, moved, units, cache_lines, least = map(int, tally[:5])
        row = {"line": line, "what": what, "space": space, "requests": requests, "bytes": moved}
        if space == "global":
            row.update(sectors=units, lines=cache_lines, least=least)
        elif space != "local":
            row.update(wavefronts=units, least=least)
        rows.append((units, moved, row))
    rows.sort(key=lambda each: each[:2], reverse=True)
    return [entry for _, _, entry in rows[:MOST_LINES]]


def _sum(lines: Dict[Tuple[Any, str, str], np.ndarray], space: str, place: int) -> int:
    return int(sum(tally[place] for (_, _, where), tally in lines.items() if where == space))


def _count(address: Any, condition: Any) -> int:
    if condition is None:
        return int(np.size(address))
    return int(np.count_nonzero(np.broadcast_to(condition, np.shape(address))))


def _of_rows(where: np.ndarray, space: str, nbytes: int, matrices: bool) -> np.ndarray:
    """Five counts of the request in each row of `where`, the last as if it were of the `WIDER` sizes."""
    where, again = _different(where - (where[:, :1] & ~127))

    def counts(where: np.ndarray, nbytes: int) -> np.ndarray:
        if space == "global":
            return _sectors(where, nbytes)
        return _wavefronts(where, nbytes, matrices)

    own = counts(where, nbytes)
    columns = [own]
    for width in WIDER:
        wider = own
        if nbytes < width and not matrices:
            rows, back = _different(where & -width)
            wider = counts(rows, width)[back]
        columns.append(wider[:, :1])
    return np.concatenate(columns, 1)[again]


def _different(where: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The rows without those that repeat another, and of each row its place among them."""
    _, first, again = np.unique(where @ _WEIGHTS, return_index=True, return_inverse=True)
    return where[first], again


def _sectors(where: np.ndarray, nbytes: int) -> np.ndarray:
    """Sectors, lines, and the least sectors of the request in each row of `where`."""
    spots = np.sort(where, 1)
    units = spots >> 5
    if nbytes > 32:
        units = np.sort(np.concatenate([units, units + 1], 1), 1)
    least = -(-_distinct(spots) * nbytes // 32)
    return np.stack([_distinct(units), _distinct(units >> 2), least], 1)


def _distinct(ordered: np.ndarray) -> np.ndarray:
    """How many different values each row has."""
    return 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)


def _wavefronts(where: np.ndarray, nbytes: int, matrices: bool) -> np.ndarray:
    """Wavefronts, 0, and the least wavefronts of the request in each row of `where`."""
    words, lanes = (4, 8) if matrices else (max(1, nbytes // 4), 32)
    if words > 1:
        lanes = max(8, 32 // words)
    groups = (where & 0xFFFFFF).reshape(-1, lanes) >> 2
    word = groups if words == 1 else (groups[:, :, None] + np.arange(words)).reshape(len(groups), -1)  # fmt: skip
    word = np.sort(word, 1)
    new = np.ones(word.shape, bool)
    new[:, 1:] = word[:, 1:] != word[:, :-1]
    bank = (word & 31) + 32 * np.arange(len(word))[:, None]
    load = np.bincount(bank[new], minlength=32 * len(word)).reshape(-1, 32).max(1)
    phases = 32 // lanes
    counts = np.zeros((len(where), 3), np.int64)
    counts[:, 0] = load.reshape(-1, phases).sum(1)
    counts[:, 2] = phases
    return counts
