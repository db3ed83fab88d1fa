"""Branches, the end of a thread, barriers."""

from ..errors import Fault, Unsupported
from ..lowering import NAMESPACE, lowers


@lowers("bra")
def bra(low, instruction):
    block = low.kernel.label(instruction, instruction.operands[0])
    low.emit(f"J.append(({block}, {low.guard}))")
    return True


@lowers("brx")
def brx(low, instruction):
    """A jump by a table; an index beyond it is undefined."""
    if low.guard:
        raise instruction.unsupported("guarded")
    index = low.read(instruction.operands[0], "u32")
    table = low.kernel.tables[instruction.operands[1]]
    for number, name in enumerate(table[:-1]):
        low.emit(f"J.append(({low.kernel.label(instruction, name)}, {index} == {number}))")
    low.emit(f"J.append(({low.kernel.label(instruction, table[-1])}, None))")
    return True


@lowers("ret", "exit")
def ret(low, instruction):
    low.emit(f"J.append((-1, {low.guard}))")
    return True


@lowers("call")
def call(low, instruction):
    """A failed tl.device_assert, or tl.device_print, which prints nothing here; no other function is there.

    Raises:
        Unsupported: by the function's name.
    """
    name = next((part for part in instruction.operands if not part.startswith("(")), "")
    if name == "vprintf":
        return
    if name != "__assertfail":
        raise Unsupported(f"call {name}", instruction.line)
    low.emit(f"trapped(S, {instruction.index}, {low.condition})")


@lowers("trap")
def trap(low, instruction):
    low.emit(f"trapped(S, {instruction.index}, {low.condition})")
    low.emit(f"J.append((-1, {low.guard}))")
    return True


def trapped(machine, at, condition):
    """
    Raises:
        Fault: a thread has met `trap` or `__assertfail`: an assertion of the kernel failed.
    """
    if condition is None:
        lane = (0, 0)
    else:
        import numpy as np

        full = np.broadcast_to(condition, (machine.ctas, machine.threads))
        if not full.any():
            return
        lane = divmod(int(full.argmax()), machine.threads)
    fault: Fault = machine.fault("trap", "the kernel stops itself", "", None, lane, at)
    raise fault


NAMESPACE["trapped"] = trapped


@lowers("bar", "barrier")
def barrier(low, instruction):
    """Nothing: the scheduler has let these threads through already, for a barrier begins its block."""
