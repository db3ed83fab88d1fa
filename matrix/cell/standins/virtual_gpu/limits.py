"""The limits of a target, and the error of a launch that exceeds them."""

from dataclasses import dataclass
from typing import Any, Mapping, Sequence, Union

# Blocks in y and z; x goes to 2^31-1 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
# HIP counts work items: 2^32-1 in a dimension (HIP documentation, hipModuleLaunchKernel).
CUDA_GRID = (2**31 - 1, 65535, 65535)
HIP_WORK_ITEMS = 2**32 - 1


class LaunchRefused(RuntimeError):
    """The launch is more than the target can hold; a real driver answers `invalid argument`."""


@dataclass(frozen=True)
class Target:
    """One table of targets.toml. Sizes in bytes, registers of 32 bits."""

    name: str
    backend: str
    arch: Union[int, str]
    family: str
    warp_size: int
    max_threads_per_block: int
    shared_memory_optin: int
    registers_per_block: int
    multiprocessors: int
    threads_per_multiprocessor: int = 2048
    blocks_per_multiprocessor: int = 32
    shared_memory_per_multiprocessor: int = 0
    triton: str = ""

    @classmethod
    def from_table(cls, name: str, table: Mapping[str, Any]) -> "Target":
        """From the parsed table; keys that only people read (product, source) are left out."""
        fields = [field for field in cls.__dataclass_fields__ if field != "name" and field in table]
        return cls(name=name, **{field: table[field] for field in fields})

    def check(self, num_warps: int, shared: int, registers: int, grid: Sequence[int]) -> None:
        """Raise LaunchRefused if a launch does not fit: threads, shared memory, registers, grid."""
        threads = num_warps * self.warp_size
        message = (
            "invalid argument"
            if self.backend == "cuda"
            else "Triton Error [HIP]: Code: 1, Messsage: invalid argument"
        )
        if threads > self.max_threads_per_block:
            self._refuse(
                f"{threads} threads > {self.max_threads_per_block} in a block (num_warps={num_warps})",
                message,
            )
        if shared > self.shared_memory_optin:
            self._refuse(f"{shared} bytes of shared memory > {self.shared_memory_optin}", message)
        if registers * threads > self.registers_per_block:
            self._refuse(
                f"{registers} registers x {threads} threads > {self.registers_per_block}", message
            )
        for axis, blocks in zip("xyz", grid):
            if self.backend == "cuda" and blocks > CUDA_GRID["xyz".index(axis)]:
                self._refuse(
                    f"{blocks} blocks > {CUDA_GRID['xyz'.index(axis)]} in grid dimension {axis}",
                    message,
                )
            if self.backend == "hip" and blocks * (threads if axis == "x" else 1) > HIP_WORK_ITEMS:
                self._refuse(
                    f"{blocks} blocks in grid dimension {axis} pass {HIP_WORK_ITEMS} work items",
                    message,
                )

    def _refuse(self, what: str, message: str) -> None:
        msg = f"{self.name}: {what}; a real driver says: {message}"
        raise LaunchRefused(msg)
