"""The counters of a launch of AMD's code: its memory's layout, its classes of instructions, and its waits.

Global memory. A request is coalesced into cache lines: 64 bytes on gfx908 and gfx90a, 128 from gfx942 on and on RDNA,
of which memory behind the caches delivers halves. Sectors are of 64 bytes here, as tensors on the CPU begin at
multiples of 64: the lines may differ from run to run, the sectors do not. A scalar load is one access of a wave.

LDS has 32 banks of 4 bytes, gfx950 64 (llvm/llvm-project#220632). It serves as many lanes at once as have a word for
each bank: with 32 banks 32 lanes of 4 bytes, or 8 lanes of 16 bytes. Loads of 16 bytes are served in another order of
lanes. Orders and banks of gfx942, gfx950, gfx1100 and gfx1201 were measured by nod-ai/amd-shark-ai#2919
(docs/empirical-lds), those of gfx942 and gfx950 are also in triton-lang/triton#11365. Stores go in the order of lanes
(gfx942: AMDGPU Kernel Optimization Guide of the same project; the others are taken to do so). `cycles` less
`least` is what rocprof counts as SQ_LDS_BANK_CONFLICT on gfx942.

Other targets get the layout of a relative that was measured; then `guessed` says so.
"""

import functools
from collections import defaultdict
from typing import Any, Dict, List, Tuple

import numpy as np

from crosswarp.matrix.cell.machines.amdgcn import names
from crosswarp.matrix.cell.machines.amdgcn.instructions import waits

from .counters import MOST_LINES, Counters, line_of
from .requests import Layout, Phases

# Beginnings of names, the first that fits counts.
_CLASSES = (
    ("wait", ("s_wait",)),
    # gfx12 has two instructions for a barrier, which counts where it waits.
    ("control", ("s_barrier_signal",)),
    ("barrier", ("s_barrier",)),
    ("matrix", ("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")),
    ("shuffle", ("ds_bpermute", "ds_permute", "ds_swizzle", "v_permlane", "v_readlane", "v_readfirstlane",
                 "v_writelane", "v_mov_b32_dpp", "v_mov_b64_dpp")),
    ("atomic", ("global_atomic", "buffer_atomic", "flat_atomic", "ds_add", "ds_sub", "ds_and", "ds_or", "ds_xor",
                "ds_min", "ds_max", "ds_inc", "ds_dec", "ds_cmpst", "ds_pk", "ds_storexchg", "ds_wrxchg")),
    ("shared load", ("ds_read", "ds_load")),
    ("shared store", ("ds_write", "ds_store")),
    ("local load", ("scratch_load",)),
    ("local store", ("scratch_store",)),
    ("scalar load", ("s_load", "s_buffer_load")),
    ("global load", ("global_load", "buffer_load", "flat_load")),
    ("global store", ("global_store", "buffer_store", "flat_store")),
    ("control", ("s_branch", "s_cbranch", "s_endpgm", "s_nop", "v_nop", "ds_nop", "s_sleep", "s_set", "s_get",
                 "s_delay", "s_clause", "s_code", "s_inst", "s_sched", "s_send", "s_trap", "s_prefetch", "s_mem",
                 "s_dcache", "s_icache", "buffer_", "global_")),
    ("scalar", ("s_",)),
    ("special", ("v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt", "v_sin", "v_cos", "v_s_", "v_div")),
    ("conversion", ("v_cvt", "v_sat")),
    ("move", ("v_mov", "v_pk_mov", "v_swap", "v_accvgpr", "v_cndmask", "v_perm", "v_pack", "v_align")),
    ("compare", ("v_cmp", "v_min", "v_max", "v_med3", "v_pk_min", "v_pk_max", "v_pk_maximum", "v_pk_minimum")),
)  # fmt: skip
_FLOATS = ("_f16", "_f32", "_f64", "_bf16", "fma", "mix")
# Targets whose order of lanes was measured, and the relatives of the others by the beginning of their names.
_MEASURED = ("gfx942", "gfx950", "gfx1100", "gfx1201")
_RELATIVES = (
    ("gfx9", "gfx942"),
    ("gfx10", "gfx1100"),
    ("gfx11", "gfx1100"),
    ("gfx12", "gfx1201"),
)


def _order(lanes: int, *first: Tuple[int, ...]) -> np.ndarray:
    """The order of all lanes from that of the first 32, in fours of neighbours."""
    fours = np.array(first).reshape(-1, 1) * 4 + np.arange(4)
    return np.concatenate([fours.reshape(-1) + start for start in range(0, lanes, 32)])


# Fours of lanes whose loads of 16 bytes are served together.
_FOURS = {
    "gfx942": ((0, 5), (1, 4), (2, 7), (3, 6)),
    "gfx1100": ((0, 5), (1, 4), (2, 7), (3, 6)),
    "gfx950": ((0, 3, 5, 6), (1, 2, 4, 7)),
}


@functools.lru_cache(maxsize=None)
def layout_of(target: str, lanes: int) -> Layout:
    """The layout of a target's memory for waves of so many lanes."""
    relative = _relative(target)
    banks = 64 if relative == "gfx950" else 32
    wide = _order(lanes, *_FOURS[relative]) if relative in _FOURS else None

    def phases(nbytes: int, kind: str) -> Phases:
        words = max(1, nbytes // 4)
        # Three words are served as four.
        at_once = min(lanes, banks // (4 if words == 3 else words))
        return Phases(at_once, wide if words == 4 and kind == "load" else None)

    return Layout(lanes=lanes, sector=64, banks=banks, phases=phases, served="cycles")


def _relative(target: str) -> str:
    """The target whose figures count for this one."""
    if target in _MEASURED:
        return target
    return next((known for start, known in _RELATIVES if target.startswith(start)), "gfx942")


class AMDCounters(Counters):
    """Of one launch.

    Args:
        kernel: of `amdgcn.load`.
    """

    def __init__(self, kernel: Any):
        super().__init__(kernel, layout_of(kernel.target, kernel.wave))

    def kind_of(self, what: str) -> str:
        return what if what == "load" else ""

    def class_of(self, opcode: str) -> str:
        return class_of(opcode)

    def opcode_of(self, instruction: Any) -> str:
        name = instruction.name.replace("v_dual_", "v_")
        # Lanes hand each other their values by DPP.
        return names.base(name) + ("_dpp" if "_dpp" in name else "")

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if self._kernel.instructions[at].name.startswith("s_"):
            what = "scalar load"
        super().access(machine, at, space, what, address.astype(np.uint64), condition, nbytes, lane)

    def figures(self) -> Dict[str, Any]:
        """NVIDIA's figures, with `waits` and perhaps `guessed`.

        `waits` has, by source line, the counter, how many accesses may stay under way, and how many waves came there.
        `guessed` is there where the layout is that of another target.
        """
        figures = {**super().figures(), "waits": self._waits()}
        target, relative = self._kernel.target, _relative(self._kernel.target)
        if target != relative:
            figures["guessed"] = f"LDS of {target}: as measured on {relative}"
        return figures

    def _waits(self) -> List[Dict[str, Any]]:
        times: Dict[Tuple[Any, str, int], int] = defaultdict(int)
        for instruction, waves in self._executed():
            if instruction.name.startswith("s_wait"):
                for counter, left in waits.wanted(instruction).items():
                    times[line_of(instruction), counter, left] += waves
        rows = [
            {"line": line, "counter": counter, "left": left, "times": count}
            for (line, counter, left), count in times.items()
        ]
        rows.sort(key=lambda row: -int(row["times"]))
        return rows[:MOST_LINES]


@functools.lru_cache(maxsize=None)
def class_of(opcode: str) -> str:
    """Return the class of an instruction, by its opcode: the unit that executes it, and for memory the space."""
    for kind, starts in _CLASSES:
        if opcode.startswith(starts):
            return kind
    return "float" if any(part in opcode for part in _FLOATS) else "integer"
