"""Choose the emulator for a target's compiled code, and give it the shape of a launch in its form."""

from types import ModuleType
from typing import Any, Dict, NamedTuple

from crosswarp.matrix.cell.machines import amdgcn, ptx
from crosswarp.matrix.cell.standins.virtual_gpu.launching import Handed

from . import arguments


class Form(NamedTuple):
    """A language of compiled code.

    Attributes:
        name: such as "ptx", for messages.
        emulator: its `load`, `run`, `Memory` and `Limits`.
    """

    name: str
    emulator: ModuleType


FORMS = {"ptx": Form("ptx", ptx), "amdgcn": Form("amdgcn", amdgcn)}


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
