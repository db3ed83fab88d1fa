"""Detector: a read of an earlier kernel's output comes ahead of the griddepcontrol.wait that guards it.

Nothing is executed. A kernel that is launched beside its predecessor waits for it with `tl.extra.cuda.gdc_wait()`, and
reads the predecessor's output after the wait. Triton's pipeliner fetches a loop's first iterations ahead of the loop,
including reads after a wait in its body (triton#11905). The finding is a read whose source line is after the wait, and
which comes ahead of the first wait in the PTX.
"""

from typing import Any

from .findings import Findings, where

KIND = "read ahead of griddepcontrol.wait"


def check(findings: Findings, kernel: Any) -> None:
    """Look at a whole kernel."""
    waits = [
        instruction.index
        for instruction in kernel.instructions
        if instruction.name == "griddepcontrol" and "wait" in instruction.modifiers
    ]
    if not waits:
        return
    wait = findings.line(waits[0])
    for at in range(waits[0]):
        line = findings.line(at)
        if line is None or wait is None or line[0] != wait[0] or line[1] <= wait[1]:
            continue
        if _reads_global(kernel.instructions[at]):
            findings.add(
                KIND,
                f"it may read what the kernel before has not written yet: the source waits in {where(wait)}, the "
                "compiled code only after this",
                at,
            )


def _reads_global(instruction: Any) -> bool:
    if instruction.name == "ld":
        return "global" in instruction.modifiers
    if instruction.name != "cp":
        return False
    spaces = [
        name
        for name in instruction.modifiers
        if name in ("shared", "shared::cta", "shared::cluster", "global")
    ]
    # cp.async.cg.shared.global: into shared memory first, from global second.
    return "async" in instruction.modifiers and spaces[-1:] == ["global"]
