"""Detector: the result of a wgmma is used before a wgmma.wait_group has waited for it.

Nothing is executed: a register that a product writes is pending until a wait that covers its group, on every path
through the program. A product may take a pending accumulator; a copy of one (`mov`) is pending too, since compilers
make such copies and the assembler undoes them; anything else that reads or writes one is a finding.
"""

import re
from typing import Any, Dict, List, Set

from .findings import Findings

KIND = "accumulator before its wait"
_WORD = re.compile(r"[%\w$]+(?:\.[xyz])?")
# Groups that may be open at once: more than any program leaves.
_MOST = 32
# Register -> groups committed since its product; -1 while its own is not committed.
State = Dict[str, int]


def check(findings: Findings, kernel: Any) -> None:
    """Look at a whole kernel."""
    if not any(instruction.name == "wgmma" for instruction in kernel.instructions):
        return
    targets = _successors(kernel)
    known: List[Any] = [None] * len(kernel.blocks)
    known[0] = {}
    todo: Set[int] = {0}
    while todo:
        block = min(todo)
        todo.remove(block)
        after = dict(known[block])
        first, end = kernel.blocks[block]
        for at in range(first, end):
            _step(findings, kernel, at, after)
        for target in targets[block]:
            joined = _joined(known[target], after)
            if joined != known[target]:
                known[target] = joined
                todo.add(target)


def _joined(old: Any, new: State) -> State:
    """Pending on either path is pending; the younger product counts."""
    if old is None:
        return dict(new)
    return {name: min(old.get(name, _MOST), new.get(name, _MOST)) for name in {*old, *new}}


def _step(findings: Findings, kernel: Any, at: int, state: State) -> None:
    instruction = kernel.instructions[at]
    if instruction.name == "wgmma":
        _product(findings, instruction, state)
        return
    if not state or not instruction.operands:
        return
    names = {name for operand in instruction.operands for name in _WORD.findall(operand)}
    used = names & state.keys()
    if not used:
        return
    if instruction.name == "mov" and len(instruction.operands) == 2:
        target = instruction.operands[0]
        source = instruction.operands[1]
        if source in state and target in kernel.widths:
            state[target] = state[source]
            return
        if target in state and source not in state:
            # The old value is not needed any more on this path.
            state.pop(target)
            return
    name = sorted(used)[0]
    findings.add(
        KIND,
        f"{name} is used while a wgmma may still write it: no wgmma.wait_group lies between",
        at,
    )
    for name in used:
        state.pop(name)


def _product(findings: Findings, instruction: Any, state: State) -> None:
    if "commit_group" in instruction.modifiers:
        for name, age in state.items():
            state[name] = min(age + 1, _MOST)
    elif "wait_group" in instruction.modifiers:
        newest = int(instruction.operands[0], 0)
        for name in [name for name, age in state.items() if age >= newest]:
            state.pop(name)
    elif "mma_async" in instruction.modifiers:
        for operand in instruction.operands[1:]:
            # Operand A in registers must be there.
            for name in set(_WORD.findall(operand)) & state.keys():
                findings.add(
                    KIND, f"{name} is an operand while a wgmma may still write it: no wgmma.wait_group lies between",
                    instruction.index,
                )  # fmt: skip
        for name in _WORD.findall(instruction.operands[0]):
            state[name] = -1


def _successors(kernel: Any) -> List[List[int]]:
    followers = []
    for number, (first, end) in enumerate(kernel.blocks):
        targets = []
        falls = True
        for at in range(first, end):
            instruction = kernel.instructions[at]
            if instruction.name == "bra":
                targets.append(kernel.label(instruction, instruction.operands[0]))
            if instruction.name in ("bra", "ret", "exit", "trap") and not instruction.guard:
                falls = False
        if falls and number + 1 < len(kernel.blocks):
            targets.append(number + 1)
        followers.append([target for target in targets if 0 <= target < len(kernel.blocks)])
    return followers
