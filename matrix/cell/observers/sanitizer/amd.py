"""A launch of AMD's code with the detectors that apply to it looking on.

Global memory is bounded by the tensors of the launch; which of them an address was made of is not followed.
"""

from typing import Any, List, Optional, Sequence

import numpy as np

from crosswarp.matrix.cell.machines import amdgcn, ptx

from . import order
from .amd_lds import MISSING_WAIT, SharedAccesses
from .findings import Finding, Findings
from .tensors import Tensor, memory_of
from .uninitialised import Uninitialised, Unwritten

# Lanes of a chunk: fewer than without, since each byte of LDS has its shadow.
LANES = 4096


class Watching(ptx.Watch):
    """A watch for one launch, see `run`.

    Attributes:
        collected: the findings so far.
    """

    def __init__(self, kernel: Any, tensors: Sequence[Tensor], unwritten: Sequence[Unwritten]):
        self.kernel = kernel
        self.collected = Findings(kernel)
        detectors = (
            Uninitialised(self.collected, tensors, unwritten),
            SharedAccesses(self.collected),
        )
        ptx.pass_on(self, detectors)

    def early(self, machine, at, register, mask) -> None:
        """An instruction names a register whose load is under way, in the waves of `mask`."""
        wave = int(np.argmax(mask))
        what = f"{register} is used before its load was waited for"
        self.collected.add(
            MISSING_WAIT, what, at, machine, machine.lane(wave, 0), int(np.count_nonzero(mask))
        )

    def stopped(self, error: Any) -> None:
        """Note the error that ended the launch.

        Raises:
            ptx.PTXError: the error itself, where it is no fault of the kernel.
        """
        if isinstance(error, ptx.Deadlock):
            self.collected.note(Finding("deadlock", self.kernel.name, str(error), error.line))
            return
        kind = "out-of-bounds" if error.kind == "out-of-window" else error.kind
        what = str(error).split(": ", 1)[-1].split(", at ")[0]
        self.collected.note(
            Finding(kind, self.kernel.name, what, error.line, error.instruction, error.program_id, error.thread,
                    error.address, error.nearest)
        )  # fmt: skip


def hands_out(kernel: Any) -> bool:
    """Return whether a kernel uses the result of an atomic operation on global memory."""
    return any(
        instruction.name.startswith(("global_atomic", "buffer_atomic", "flat_atomic"))
        and (
            "sc0" in instruction.modifiers
            or "glc" in instruction.modifiers
            or "RETURN" in instruction.modifiers.get("th", "")
        )
        for instruction in kernel.instructions
    )


def run(
    program: Any,
    grid: Sequence[int],
    arguments: Sequence[Any],
    tensors: Sequence[Tensor],
    *,
    unwritten: Sequence[Unwritten] = (),
    watch: Any = None,
    result: Optional[List[Any]] = None,
    **options: Any,
) -> List[Finding]:
    """`amdgcn.run` with every detector that applies, the order of programs among them; returns the findings.

    Args:
        tensors: all memory that the launch may touch.
        unwritten: allocations without contents, whose reads are findings until something is stored.
        watch: another watch that looks on in the usual order.
        result: gets the `Result` of the launch in its usual order.
        options: of `amdgcn.run`.

    Raises:
        ptx.Unsupported, ptx.OutOfTime: see `amdgcn.run`.
    """
    tensors = list(tensors)
    kernel = program.kernel
    looking = Watching(kernel, tensors, unwritten)
    options.setdefault("lanes", LANES)
    memory = memory_of(tensors)
    before = order.Kept(tensors)

    def again(how: Any, seen: Any = None) -> Any:
        return amdgcn.run(program, grid, arguments, memory=memory, order=how, watch=seen, **options)

    try:
        done = again("forward", ptx.several([watch, looking]))
    except (ptx.Fault, ptx.Deadlock) as error:
        looking.stopped(error)
        return looking.collected.list()
    if result is not None:
        result.append(done)
    if int(np.prod([int(size) for size in grid])) > 1 and not hands_out(kernel):
        order.check(looking.collected, kernel, tensors, before, again)
    return looking.collected.list()
