"""How many warps of a kernel a multiprocessor of a target holds at once: an estimate from the target's table.

Registers, shared memory, threads and blocks each allow a number of blocks, and the least counts (CUDA C++ Programming
Guide, "Multiprocessor Level"; for AMD the same with waves, compute units and LDS, as LLVM's AMDGPUBaseInfo.cpp has it).
Left out: how shared memory is cut into steps, and what a cluster needs.
"""

from __future__ import annotations

from crosswarp.matrix.facts.targets import Target

# Both makers hand registers to a warp in steps of 8 a thread or more; each multiprocessor has four schedulers with a
# quarter of the registers.
_REGISTER_STEP = 8
_SCHEDULERS = 4
# From sm_80 on the system takes 1 KiB of shared memory in each block.
_RESERVED = 1024


def resident_warps(target: Target, registers: int, shared: int, num_warps: int) -> int:
    """Warps (waves) at once on one multiprocessor: `registers` a thread, `shared` bytes a block; 0 if none fits."""
    lanes = target.registers_per_block // (target.warp_size * _SCHEDULERS)
    step = -(-max(registers, 1) // _REGISTER_STEP) * _REGISTER_STEP
    by_registers = lanes // step * _SCHEDULERS
    by_threads = target.threads_per_multiprocessor // target.warp_size
    blocks = min(
        by_registers // num_warps, by_threads // num_warps, target.blocks_per_multiprocessor
    )
    if shared:
        reserved = _RESERVED if target.backend == "cuda" and int(target.arch) >= 80 else 0
        blocks = min(blocks, target.shared_memory_per_multiprocessor // (shared + reserved))
    return max(blocks, 0) * num_warps
