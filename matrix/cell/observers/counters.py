"""Counts what a kernel does while the PTX emulator executes it: instructions by class, memory by source line.

Global memory. A request is one instruction of one warp. Its sectors are the distinct 32 bytes among the addresses of
its active lanes, its lines the distinct 128 bytes (Nsight Compute's documentation, "L1/TEX Cache": lines of 128 bytes
in four sectors). `least` is as few sectors as the distinct bytes need. Tensors on the CPU begin at multiples of 64
bytes, so that there may be a line more in one run than in another; the sectors are always the same.

Shared memory. 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory"). Accesses of up to 4 bytes go in one
phase of 32 lanes, of 8 bytes in two of 16, of 16 bytes, ldmatrix and stmatrix in phases of 8; the phases are nowhere
documented, they are those that Nsight Compute shows. The wavefronts of a phase are the largest number of distinct words
in one bank; `least` is one a phase.
"""

import functools
from collections import defaultdict
from typing import Any, Dict, List, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

# Source lines that are kept of a launch, those with the most sectors or wavefronts.
MOST_LINES = 24
# Requests that wait to be counted, of 256 bytes each.
_MOST_ROWS = 1 << 15
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


class Counters(ptx.Watch):
    """Of one launch.

    Args:
        program: as of `ptx.load`.
    """

    def __init__(self, program: Any):
        self._kernel = program.entry().kernel
        self._warps = np.zeros(len(self._kernel.blocks), np.int64)
        # By instruction and what it does: space, and requests, bytes, sectors or wavefronts, lines, least.
        self._accesses: Dict[Tuple[int, str, str], np.ndarray] = defaultdict(
            lambda: np.zeros(5, np.int64)
        )

        # By kind of count: the counter, the factor, and the addresses of each request.
        self._pending: Dict[Tuple[bool, int, bool], List[Tuple[np.ndarray, int, np.ndarray]]] = (
            defaultdict(list)
        )
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
        kept = self._accesses[at, what, space]
        if what in _BULK or lane is not None or what == "wgmma":
            count = _count(address, condition)
            kept += (
                1,
                count * nbytes,
                count * nbytes // 32,
                count * nbytes // 128,
                count * nbytes // 32,
            )
            return
        if condition is not None and condition.size == 1:
            condition = None
        rows = machine.ctas
        if address.shape[0] == 1 and (condition is None or condition.shape[0] == 1):
            # Alike in all of them.
            rows = 1
        shape = (rows, machine.threads)
        where = np.broadcast_to(address, shape).reshape(-1, 32)
        active = None
        if condition is not None:
            active = np.broadcast_to(condition, shape).reshape(-1, 32)
            some = active.any(1)
            if not some.any():
                return
            where, active = where[some], active[some]
            # An inactive lane gets the address of the first active one.
            first = where[np.arange(len(where)), active.argmax(1)][:, None]
            where = np.where(active, where, first)
        lanes = where.size if active is None else int(np.count_nonzero(active))
        scale = machine.ctas // rows
        kept[0] += scale * len(where)
        kept[1] += scale * lanes * nbytes
        if space != "local":
            # Small arrays cost as much as large ones: they are looked at together.
            kind = (space == "global", nbytes, what in ("ldmatrix", "stmatrix"))
            self._pending[kind].append((kept, scale, where.astype(np.int64)))
            self._rows += len(where)
            if self._rows > _MOST_ROWS:
                self._look()

    def _look(self) -> None:
        """Add up the pending counts."""
        for (is_global, nbytes, matrices), pending in self._pending.items():
            where = np.concatenate([one[2] for one in pending])
            of_rows = _sectors(where, nbytes) if is_global else _wavefronts(where, nbytes, matrices)
            starts = np.cumsum([0, *(len(one[2]) for one in pending[:-1])])
            sums = np.add.reduceat(of_rows, starts, axis=0)
            for (kept, scale, _), found in zip(pending, sums):
                kept[2:] += scale * found
        self._pending.clear()
        self._rows = 0

    def by_instruction(self) -> Dict[str, Any]:
        """Counts of all executed warps, for the estimate of its time.

        Returns:
            `blocks`: first and end instruction, and how many warps ran it; `instructions`: opcode and source line;
            `memory`: what, space, line, requests, and sectors of global or wavefronts of shared memory.
        """
        self._look()
        warps = self._warps.tolist()
        lines = [None if one.loc is None else one.loc[1] for one in self._kernel.instructions]
        return {
            "blocks": [
                (first, end, count) for (first, end), count in zip(self._kernel.blocks, warps)
            ],
            "instructions": [
                (one.opcode, line) for one, line in zip(self._kernel.instructions, lines)
            ],
            "memory": [
                (what, space, lines[at], int(kept[0]), int(kept[2]))
                for (at, what, space), kept in self._accesses.items()
            ],
        }

    def found(self) -> Dict[str, Any]:
        """Plain data: a warp's `instructions` by class, `bytes` by space, `barriers`, and `memory` by source line."""
        self._look()
        instructions: Dict[str, int] = defaultdict(int)
        warps = self._warps.tolist()
        for one in self._kernel.instructions:
            if one.block >= 0 and warps[one.block]:
                instructions[class_of(one.opcode)] += warps[one.block]
        moved: Dict[str, int] = defaultdict(int)
        lines: Dict[Tuple[Any, str, str], np.ndarray] = defaultdict(lambda: np.zeros(5, np.int64))
        for (at, what, space), kept in self._accesses.items():
            loc = self._kernel.instructions[at].loc
            moved[space] += int(kept[1])
            lines[None if loc is None else loc[1], what, space] += kept
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
        named = [one for one in _SPACES if any(m.startswith(one) for m in modifiers)]
        return f"{named[0] if named else 'generic'} {'store' if name == 'st' else 'load'}"
    if name in _BY_NAME:
        return _BY_NAME[name]
    return "float" if any(one in _FLOATS for one in modifiers) else "integer"


def _by_line(lines: Dict[Tuple[Any, str, str], np.ndarray]) -> List[Dict[str, Any]]:
    found = []
    for (line, what, space), kept in lines.items():
        requests, moved, units, cache_lines, least = map(int, kept)
        one = {"line": line, "what": what, "space": space, "requests": requests, "bytes": moved}
        if space == "global":
            one.update(sectors=units, lines=cache_lines, least=least)
        elif space != "local":
            one.update(wavefronts=units, least=least)
        found.append((units, moved, one))
    found.sort(key=lambda each: each[:2], reverse=True)
    return [one for _, _, one in found[:MOST_LINES]]


def _sum(lines: Dict[Tuple[Any, str, str], np.ndarray], space: str, place: int) -> int:
    return int(sum(kept[place] for (_, _, where), kept in lines.items() if where == space))


def _count(address: Any, condition: Any) -> int:
    if condition is None:
        return int(np.size(address))
    return int(np.count_nonzero(np.broadcast_to(condition, np.shape(address))))


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
    found = np.zeros((len(where), 3), np.int64)
    found[:, 0] = load.reshape(-1, phases).sum(1)
    found[:, 2] = phases
    return found
