"""Branches, barriers, the end, and instructions that change no value."""

import re

from ..errors import Unknown
from ..lowering import handles
from ..operands import EXEC, VCC

_CONDITIONS = {
    "scc0": "~S.scc", "scc1": "S.scc", "vccz": f"~S.nonzero({VCC})", "vccnz": f"S.nonzero({VCC})",
    "execz": f"~S.nonzero({EXEC})", "execnz": f"S.nonzero({EXEC})",
}  # fmt: skip
# Registers of the hardware that say where a wave runs: everything runs in one place.
_PLACES = ("HW_REG_XCC_ID", "HW_REG_HW_ID", "HW_REG_HW_ID1", "HW_REG_HW_ID2")


@handles("s_endpgm")
def end(low, name, instruction):
    low.emit("return S.end(m)")
    return True


@handles("s_barrier", "s_barrier_wait")
def barrier(low, name, instruction):
    low.emit(f"S.wait_at_barrier({low.at}, m)")
    low.emit(f"return [({low.block + 1}, m)]")
    return True


@handles("s_barrier_signal")
def signal(low, name, instruction):
    """The first half of a barrier: the second half waits for everybody."""
    if instruction.operands[0].text != "-1":
        raise Unknown("a barrier that is not the workgroup's")


@handles("s_trap")
def trap(low, name, instruction):
    low.emit(f"S.trap({low.at}, m)")


@handles("s_branch")
def branch(low, name, instruction):
    low.emit(f"return [({low.kernel.labels[instruction.operands[0].text]}, m)]")
    return True


@handles(*(f"s_cbranch_{name}" for name in _CONDITIONS))
def conditional(low, name, instruction):
    target = low.kernel.labels[instruction.operands[0].text]
    condition = _CONDITIONS[name[len("s_cbranch_") :]]
    low.emit(f"return S.branch({condition}, m, {target}, {low.block + 1})")
    return True


@handles(
    "s_nop", "s_setprio", "s_sleep", "s_clause", "s_delay_alu", "s_dcache_inv", "s_dcache_wb", "s_icache_inv",
    "s_inst_prefetch", "s_set_inst_prefetch_distance", "s_sched_barrier", "buffer_inv", "buffer_wbl2",
    "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "global_inv", "global_wb",
    "global_wbinv", "v_nop", "ds_nop", "s_code_end", "s_prefetch_inst", "s_prefetch_data",
)  # fmt: skip
def nothing(low, name, instruction):
    """Caches, order and speed: memory is one, and instructions run in order."""
    instruction.modifiers.read.update(instruction.modifiers)


@handles("s_sendmsg")
def send(low, name, instruction):
    """Messages to the hardware: the one that a wave gives its registers back."""
    if "MSG_DEALLOC_VGPRS" not in instruction.text:
        raise Unknown("this message")
    nothing(low, name, instruction)


@handles("s_getreg_b32")
def hardware_register(low, name, instruction):
    match = re.search(r"hwreg\((\w+)", instruction.text)
    if match is None or match.group(1) not in _PLACES:
        raise Unknown("this register")
    low.write_scalar(instruction.operands[0], low.constant(0, "u32"), "u32")


@handles("s_setreg_imm32_b32")
def set_hardware_register(low, name, instruction):
    # gfx12 says how its waves are scheduled.
    if "HW_REG_WAVE_SCHED_MODE" not in instruction.text:
        raise Unknown("this register")


@handles("s_memtime", "s_memrealtime")
def time(low, name, instruction):
    low.emit(f"S.w64({instruction.operands[0].number}, S.time(), m)")
