"""Waits for accesses under way, by the counters of each generation."""

from ..counters import LDS, LOAD, SCALAR, STORE
from ..errors import Unknown
from ..lowering import handles

# Nothing of these kinds is ever under way here.
_NEVER = ("s_wait_samplecnt", "s_wait_bvhcnt", "s_wait_expcnt", "s_waitcnt_expcnt", "s_wait_event",
          "s_waitcnt_depctr", "s_wait_alu", "s_wait_idle")  # fmt: skip


def _kinds(low, counter):
    """Return the kinds that a counter counts: stores have a separate one from gfx10 on."""
    if counter in ("vmcnt", "loadcnt"):
        return (LOAD, STORE) if low.generation < (10, 0) else (LOAD,)
    return {"vscnt": (STORE,), "storecnt": (STORE,), "lgkmcnt": (LDS, SCALAR), "dscnt": (LDS,),
            "kmcnt": (SCALAR,)}[counter]  # fmt: skip


def _number(instruction):
    """The number of an instruction with one counter: `s_wait_dscnt 0x0`, `s_waitcnt_vscnt null, 0x0`."""
    numbers = [key for key in list(instruction.modifiers) if key[:1].isdigit()]
    numbers += [operand.text for operand in instruction.operands if operand.text[:1].isdigit()]
    if len(numbers) != 1:
        raise Unknown("a wait without one number")
    # `null` stands where a register could be added.
    instruction.modifiers.read.update([numbers[0], "null"])
    return int(numbers[0], 0)


_ONE = {
    "s_waitcnt_vscnt": "vscnt", "s_waitcnt_vmcnt": "vmcnt", "s_waitcnt_lgkmcnt": "lgkmcnt",
    "s_wait_loadcnt": "loadcnt", "s_wait_storecnt": "storecnt", "s_wait_dscnt": "dscnt", "s_wait_kmcnt": "kmcnt",
}  # fmt: skip
_TWO = {"s_wait_loadcnt_dscnt": "loadcnt", "s_wait_storecnt_dscnt": "storecnt"}


def wanted(instruction):
    """By the name of a counter: how many accesses may stay under way after an instruction that waits.

    Raises:
        Unknown: a counter or a number that is not understood.
    """
    name = instruction.name
    if name in _ONE:
        return {_ONE[name]: _number(instruction)}
    if name in _TWO:
        number = _number(instruction)
        return {_TWO[name]: number >> 8 & 63, "dscnt": number & 63}
    counters = {}
    if name == "s_waitcnt":
        for key in list(instruction.modifiers):
            value = instruction.modifiers[key]
            if key in ("vmcnt", "lgkmcnt"):
                counters[key] = int(value, 0)
            elif key in ("0", "0x0"):
                counters = {"vmcnt": 0, "lgkmcnt": 0}
            elif key not in ("expcnt", "&"):
                raise Unknown(f"a wait for {key}")
    return counters


@handles("s_waitcnt", *_ONE, *_TWO)
def wait(low, name, instruction):
    limits = {_kinds(low, counter): most for counter, most in wanted(instruction).items()}
    low.emit(f"S.counters.wait({limits!r}, m)")


@handles(*_NEVER)
def never(low, name, instruction):
    """Exports, images and hazards: nothing of theirs is under way."""
    instruction.modifiers.read.update(instruction.modifiers)
