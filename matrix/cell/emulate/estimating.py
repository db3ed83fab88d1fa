"""Estimate how long each launch would take, in addition to its counters; this needs machine code, not only PTX."""

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from crosswarp.matrix.cell import estimate
from crosswarp.matrix.cell.observers.counters import Counters
from crosswarp.matrix.cell.standins.virtual_gpu import launching
from crosswarp.matrix.cell.standins.virtual_gpu.launching import Handed

from . import arguments, memory

# Kernels whose machine code is kept, as blocks.
_MOST = 16


class Estimates:
    """The estimates of one process's launches. `known`: the file of encodings that need no nvdisasm."""

    def __init__(self, known: Optional[Path] = None) -> None:
        self._encodings = estimate.Encodings(known)
        self._blocks: "OrderedDict[str, Union[List[Any], str]]" = OrderedDict()
        self._known: Dict[str, Dict[str, Any]] = {}

    def of(
        self, handed: Handed, counters: Counters, executed: int, windows: Sequence[memory.Window]
    ) -> Dict[str, Any]:
        """For the record: `estimate`, or `not_estimated` with why.

        Args:
            counters: of this launch, after it.
            executed: how many of its programs were.
        """
        chip = estimate.chip_of(launching.active_target())
        if chip is None:
            return {
                "not_estimated": f"nothing is known of the speed of {launching.active_target().name}"
            }
        blocks = self._code(handed.function.image)
        if isinstance(blocks, str):
            return {"not_estimated": blocks}
        x, y, z = handed.grid
        binary = handed.function.binary
        launched = estimate.Launched(
            programs=x * y * z * arguments.blocks_in_a_cluster(handed),
            executed=executed,
            num_warps=int(handed.metadata["num_warps"]),
            registers=binary.registers or 0,
            stack=binary.stack or 0,
            shared=int(handed.metadata.get("shared") or 0),
            moved=sum(window.size for window in windows),
        )
        counted = counters.by_instruction()
        # A launcher may make the same launch in a loop.
        same = hashlib.sha256(handed.function.image)
        same.update(repr((launched, counted["blocks"], counted["memory"])).encode())
        key = same.hexdigest()
        if key not in self._known:
            self._known[key] = self._made(blocks, counted, launched, chip)
        return dict(self._known[key])

    @staticmethod
    def _made(blocks: List[Any], counted: Any, launched: Any, chip: Any) -> Dict[str, Any]:
        try:
            figures = estimate.estimated(blocks, counted, launched, chip)
        except estimate.NoFlow as error:
            return {"not_estimated": f"the machine code was not understood: {error}"}
        figures.update(registers=launched.registers, stack=launched.stack)
        if chip.rates.guessed:
            figures["guessed"] = chip.rates.guessed
        return {"estimate": figures}

    def _code(self, cubin: bytes) -> Union[List[Any], str]:
        """The blocks of a binary; else why there are none."""
        key = hashlib.sha256(cubin).hexdigest()
        if key not in self._blocks:
            try:
                self._blocks[key] = estimate.blocks_of_cubin(cubin, self._encodings)
            except estimate.NotDisassembled as error:
                self._blocks[key] = str(error)
            if len(self._blocks) > _MOST:
                self._blocks.popitem(last=False)
        return self._blocks[key]


def is_of(counted: Any, handed: Handed) -> bool:
    """Return whether a launch's stored estimate came from such a binary: one PTX may become several."""
    stored = counted.get("estimate") if isinstance(counted, dict) else None
    binary = handed.function.binary
    cost = binary.registers or 0, binary.stack or 0
    return stored is None or (stored.get("registers"), stored.get("stack")) == cost
