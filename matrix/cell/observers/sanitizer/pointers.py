"""Which arguments the address of each access can come from: a static look at the PTX.

A pointer of an argument plus anything is a pointer into that argument. So an access that lands in another tensor's
memory is out of bounds, however near the two lie.
"""

import re
from typing import Any, Dict, FrozenSet, List, Optional, Set

_WORD = re.compile(r"[%\w$]+(?:\.[xyz])?")
# Results of these are never an address of an argument, for any operands.
_NUMBERS = (
    "setp",
    "set",
    "testp",
    "popc",
    "clz",
    "bfind",
    "vote",
    "activemask",
    "elect",
    "mma",
    "wgmma",
    "ldmatrix",
)
_LOADS = ("ld", "ldu", "atom")
# Memory is read through a pointer that is no argument's.
LOADED = -1


class Pointers:
    """Where the addresses of a kernel come from.

    Attributes:
        stores: parameters that stores, atomics and bulk copies may write through; None where one is not known.
    """

    def __init__(self, kernel: Any):
        self._kernel = kernel
        self._numbers = {parameter.name: place for place, parameter in enumerate(kernel.parameters)}
        self._of: Dict[str, Set[int]] = {}
        self._follow()
        self._cache: Dict[int, Optional[FrozenSet[int]]] = {}
        self.stores = self._stores()

    def _registers(self, text: str) -> List[str]:
        return [name for name in _WORD.findall(text) if name in self._kernel.widths]

    def _follow(self) -> None:
        """Grow the sets until nothing changes: registers are written in loops."""
        steps = []
        for instruction in self._kernel.instructions:
            if instruction.name in _NUMBERS or not instruction.operands:
                continue
            targets = (
                self._registers(instruction.operands[0])
                if "[" not in instruction.operands[0]
                else []
            )
            if not targets:
                continue
            if instruction.name in _LOADS:
                origins = {LOADED}
                if "param" in instruction.modifiers:
                    name = instruction.operands[1].strip()[1:-1].partition("+")[0].strip()
                    origins = {self._numbers[name]} if name in self._numbers else set()
                    # The caller, which knows the arguments, drops sizes and strides.
                for target in targets:
                    self._of.setdefault(target, set()).update(origins)
                continue
            steps.append((targets, self._registers(" ".join(instruction.operands[1:]))))
        changed = True
        while changed:
            changed = False
            for targets, sources in steps:
                origins = set().union(*(self._of.get(source, ()) for source in sources))
                for target in targets:
                    own = self._of.setdefault(target, set())
                    if not origins <= own:
                        own |= origins
                        changed = True

    def of(self, at: int) -> FrozenSet[int]:
        """Return the parameters from which an instruction's address may be made; `LOADED` is for loaded values."""
        if at not in self._cache:
            instruction = self._kernel.instructions[at]
            origins: Set[int] = set()
            for operand in instruction.operands:
                if operand.strip().startswith("["):
                    for register in self._registers(operand):
                        origins |= self._of.get(register, set())
                    if "cp" != instruction.name:
                        break
            self._cache[at] = frozenset(origins)
        return self._cache[at] or frozenset()

    def _stores(self) -> Optional[FrozenSet[int]]:
        origins: Set[int] = set()
        for instruction in self._kernel.instructions:
            if (
                instruction.name == "tensormap"
                or instruction.name == "cp"
                and "bulk" in instruction.modifiers
            ):
                return None
            if instruction.name in ("st", "atom", "red") and "shared" not in " ".join(
                instruction.modifiers
            ):
                if "local" in instruction.modifiers:
                    continue
                own = self.of(instruction.index)
                if not own - {LOADED}:
                    return None
                origins |= own
        return frozenset(origins - {LOADED})


def unit_shift(kernel: Any, space: str) -> int:
    """Return log2 of the smallest access to a state space, at most 4 bytes: the size of a shadow's unit."""
    smallest = 4
    spaces = ("global", "shared", "local", "param", "const")
    for instruction in kernel.instructions:
        if instruction.name not in ("ld", "ldu", "st", "atom", "red"):
            continue
        named = next(
            (
                part.split("::")[0]
                for part in instruction.modifiers
                if part.split("::")[0] in spaces
            ),
            "",
        )
        if named in ("", space):
            bits = re.search(r"(\d+)(x2)?$", instruction.modifiers[-1])
            if bits:
                smallest = min(smallest, int(bits.group(1)) * (2 if bits.group(2) else 1) // 8)
    return {1: 0, 2: 1}.get(smallest, 2)
