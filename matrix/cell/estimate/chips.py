"""The figures of each target: rates in a cycle and multiprocessor, latencies in cycles, bytes a second.

Sources, by the letter behind a number:
  a  CUDA C++ Programming Guide, "Arithmetic Instructions": results a cycle and multiprocessor
  b  NVIDIA's whitepapers on A100, H100, GA102, AD102 and Blackwell RTX, and the data sheets of H100 SXM, A100 40 GB,
     L40 and B200: bandwidth of DRAM, clocks, dense products, sizes of the L1 and the L2
  c  "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture" (arXiv 2402.13499): latencies of L1, shared
     memory, L2 and DRAM on sm_80, sm_89 and sm_90; mma.sync on sm_90 is at 62 % of wgmma
  d  Chips and Cheese on H100: 5.5 TB/s from the L2
  g  a guess: nobody says, or nobody measured it on this target
Of targets with `guessed`, the numbers without a source are the nearest relative's. sm_90 alone was compared with a GPU.
"""

from typing import Dict, NamedTuple, Optional

from crosswarp.matrix.cell.standins.virtual_gpu import Target


class Rates(NamedTuple):
    """Figures that targets.toml lacks.

    Attributes:
        ghz: clock.
        dram, l2: bytes a second of the whole chip.
        l2_size, l1_size: bytes; the L1 with the shared memory that is cut from it.
        lanes: of 32, how many a scheduler's pipe takes a cycle, by kind of instruction.
        mma: fp16 multiply-adds a cycle and scheduler; `wgmma`: of a whole multiprocessor, 0 for none.
        guessed: which of these nobody measured on this target, in words.
    """

    ghz: float
    dram: float
    l2: float
    l2_size: float
    l1_size: float
    lanes: Dict[str, int]
    mma: float
    wgmma: float
    to_l1: float
    to_shared: float
    to_l2: float
    to_dram: float
    atomic: float
    tma: float
    guessed: str = ""


class Chip(NamedTuple):
    """A target with all that the estimate takes."""

    name: str
    rates: Rates
    multiprocessors: int
    registers: int
    warps: int
    blocks: int
    shared: int


# Alike on all of them. MUFU, shuffle, barrier, special registers and mma: g, from a look at code of sm_90.
MUFU, SHUFFLE, BARRIER, SPECIAL, PRODUCT = 23.0, 24.0, 24.0, 40.0, 33.0

_MIB = 1 << 20
# a: results a cycle and multiprocessor / 4 schedulers. IMAD goes to the heavy half of FFMA's pipe.
_DATACENTER = {"fp32": 32, "int": 16, "imad": 16, "half": 32, "mufu": 4, "conv": 16, "fp64": 16}
_SM_80 = {**_DATACENTER, "fp32": 16, "fp64": 8}
_CONSUMER = {**_DATACENTER, "fp64": 1}

_RATES = {
    "sm_80": Rates(
        1.41, 1.555e12, 3.9e12, 40 * _MIB, 192 * 1024, _SM_80, 256, 0,  # b b g b b a b
        38, 29, 262, 466, 350, 0,  # c c c c g
    ),
    "sm_86": Rates(
        1.695, 0.936e12, 2.3e12, 6 * _MIB, 128 * 1024, _CONSUMER, 128, 0,  # b b g b b a b
        38, 29, 262, 466, 350, 0,
        guessed="latencies are those of sm_80; nothing was compared with a GPU",
    ),
    "sm_89": Rates(
        2.49, 0.864e12, 4.0e12, 96 * _MIB, 128 * 1024, _CONSUMER, 128, 0,  # b b g b b a b
        43, 30, 273, 542, 350, 0,  # c c c c g
        guessed="latency of atomics and rate of the L2; nothing was compared with a GPU",
    ),
    "sm_90": Rates(
        1.755, 3.35e12, 5.5e12, 50 * _MIB, 256 * 1024, _DATACENTER, 320, 2048,  # b b d b b a c b
        41, 29, 263, 479, 400, 650,  # c c c c g g
    ),
    "sm_100": Rates(
        1.85, 8.0e12, 8.0e12, 126 * _MIB, 256 * 1024, _DATACENTER, 320, 2048,  # g b g g b g g g
        41, 29, 263, 479, 400, 650,
        guessed="all but DRAM are those of sm_90, and products of tcgen05 are not in it",
    ),
    "sm_120": Rates(
        2.407, 1.792e12, 5.0e12, 96 * _MIB, 128 * 1024, _CONSUMER, 128, 0,  # b b g b b a g
        43, 30, 273, 542, 350, 650,
        guessed="latencies are those of sm_89; nothing was compared with a GPU",
    ),
}  # fmt: skip
_RATES["sm_103"] = _RATES["sm_100"]


def chip_of(target: Target) -> Optional[Chip]:
    """The figures of `target`; None for one of which nothing is known."""
    rates = _RATES.get(target.name)
    if rates is None:
        return None
    return Chip(
        target.name,
        rates,
        target.multiprocessors,
        target.registers_per_block,
        target.threads_per_multiprocessor // target.warp_size,
        target.blocks_per_multiprocessor,
        target.shared_memory_per_multiprocessor,
    )
