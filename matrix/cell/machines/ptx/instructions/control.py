"""Branches, the end of a thread, barriers."""

import numpy as np

from ..errors import Fault, Unsupported
from ..lowering import NAMESPACE, lowers


@lowers("bra")
def bra(low, instruction):
    block = low.kernel.label(instruction, instruction.operands[0])
    low.emit(f"J.append(({block}, {low.guard}))")
    return True


@lowers("brx")
def brx(low, instruction):
    """A jump by a table of labels.

    Raises:
        Unsupported: there is no such table.
    """
    labels = low.kernel.branches(instruction)
    if instruction.modifiers[:1] != ["idx"] or not labels:
        raise instruction.unsupported()
    index = low.temporary(low.read(instruction.operands[0], "u32"))
    low.emit(f"within_table(S, {instruction.index}, {index}, {len(labels)}, {low.condition})")
    also = f" & {low.guard}" if low.guard else ""
    for number, name in enumerate(labels):
        block = low.kernel.label(instruction, name)
        low.emit(f"J.append(({block}, ({index} == {number}){also}))")
    return True


def within_table(machine, at, index, count, condition):
    """
    Raises:
        Fault: a thread's index is beyond the table, where PTX does not define what happens.
    """
    beyond = np.broadcast_to(index >= count, (machine.ctas, machine.threads))
    if condition is not None:
        beyond = beyond & condition
    if beyond.any():
        lane = divmod(int(beyond.argmax()), machine.threads)
        what = f"a branch by a table of {count} labels has an index beyond it"
        raise machine.fault("branch", what, "", None, lane, at)


NAMESPACE["within_table"] = within_table


@lowers("ret", "exit")
def ret(low, instruction):
    low.emit(f"J.append((-1, {low.guard}))")
    return True


@lowers("call")
def call(low, instruction):
    """
    Raises:
        Unsupported: always, by the function's name.
    """
    name = next((part for part in instruction.operands if not part.startswith("(")), "")
    raise Unsupported(f"call {name}", instruction.line)


@lowers("trap")
def trap(low, instruction):
    low.emit(f"trapped(S, {instruction.index}, {low.condition})")
    low.emit(f"J.append((-1, {low.guard}))")
    return True


def trapped(machine, at, condition):
    """
    Raises:
        Fault: a thread has met `trap`: an assertion of the kernel failed.
    """
    if condition is None:
        lane = (0, 0)
    else:
        full = np.broadcast_to(condition, (machine.ctas, machine.threads))
        if not full.any():
            return
        lane = divmod(int(full.argmax()), machine.threads)
    fault: Fault = machine.fault("trap", "the kernel stops itself", "", None, lane, at)
    raise fault


NAMESPACE["trapped"] = trapped


@lowers("bar", "barrier")
def barrier(low, instruction):
    """The scheduler has let these threads through already: a barrier begins its block."""
    if instruction.modifiers[0] == "warp":
        return
    low.emit(f"S.barrier({instruction.index}, m)")
