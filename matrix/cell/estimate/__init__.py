"""Estimate the cycles of a launch from the emulator's counts and the machine code with its scheduling bits.

Four steps, one file each: the machine code as blocks (`machine_code`; `encodings` spares nvdisasm), how often each of
them ran (`flow`), a warp alone (`warp`), and the units of a multiprocessor with all resident blocks (`launch`).
`chips` has the facts about each target, with their sources, and `opcodes` the needs of each instruction. Do not trust
an estimate by itself: it is made to be compared with another estimate of the same launch
(crosswarp/matrix/results/predicted.py; docs/predicted.md says how far).
"""

from .chips import chip_of
from .encodings import Encodings
from .flow import NoFlow
from .launch import Launched, estimated
from .machine_code import NotDisassembled, blocks_of_cubin

__all__ = [
    "Encodings",
    "Launched",
    "NoFlow",
    "NotDisassembled",
    "blocks_of_cubin",
    "chip_of",
    "estimated",
]
