"""Choose the emulator for a target's compiled code, and give it the shape of a launch in its form."""

from types import ModuleType
from typing import Any, Callable, Dict, NamedTuple

from crosswarp.matrix.cell.machines import amdgcn, ptx
from crosswarp.matrix.cell.observers.amd_counters import AMDCounters
from crosswarp.matrix.cell.observers.counters import Counters
from crosswarp.matrix.cell.standins.virtual_gpu.launching import Handed

from . import arguments


class Form(NamedTuple):
    """A language of compiled code.

    Attributes:
        emulator: its `load`, `run`, `Memory` and `Limits`.
        counters: of a launch of a loaded program.
    """

    emulator: ModuleType
    counters: Callable[[Any], Counters]


FORMS = {
    "ptx": Form(ptx, lambda program: Counters(program.entry().kernel)),
    "amdgcn": Form(amdgcn, lambda program: AMDCounters(program.kernel)),
}


def of(handed: Handed) -> Form:
    """The form that was compiled.

    Raises:
        ptx.Unsupported: none that an emulator reads.
    """
    form = FORMS.get(handed.function.form)
    if form is None:
        raise ptx.Unsupported("what was compiled", why="it is neither PTX nor AMD's assembly")
    return form


def shape(handed: Handed, program: Any) -> Dict[str, Any]:
    """The options of `run` that say how large a launch is."""
    shared, warps = int(handed.metadata.get("shared") or 0), int(handed.metadata["num_warps"])
    if handed.function.form == "amdgcn":
        return {"shared": shared, "threads": program.kernel.wave * warps}
    blocks = arguments.blocks_in_a_cluster(handed)
    cluster = (blocks, 1, 1) if blocks > 1 else None
    return {"shared": shared, "threads": 32 * warps, "cluster": cluster}
