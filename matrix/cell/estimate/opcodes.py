"""An instruction of machine code: its kind, how long it takes a pipe, when its result is there."""

from typing import Optional

from .chips import BARRIER, MUFU, PRODUCT, SHUFFLE, SPECIAL, Chip, Rates
from .machine_code import Instruction

__all__ = [
    "BARRIER", "anchor_of_machine", "anchor_of_ptx", "issue_cycles", "kind_of", "latency", "product_cycles",
]  # fmt: skip

# Never done: ptxas puts `@!PT LDS RZ, [RZ]` before cp.async. It takes a slot, and that is all.
_NEVER = "!PT"

# FSEL, FSETP, FMNMX go to the pipe of the integers (Nsight Compute's "ALU").
_INT = (
    "IADD3 LOP3 SHF ISETP LEA SEL IABS IMNMX VIADD VIMNMX PRMT SGXT BMSK ISCADD P2R R2P LOP SHL SHR VIADDMNMX IADD "
    "ICMP VOTE PLOP3 FLO POPC BREV UIADD3 ULOP3 USHF UISETP USEL ULEA UMOV UPRMT USGXT UPLOP3 UFLO UPOPC FSEL FSETP "
    "FMNMX FSET FCHK"
)
_KINDS = (
    ("fp32", "FADD FMUL FFMA FADD2 FMUL2 FFMA2 FSWZADD"),
    ("half", "HADD2 HMUL2 HFMA2 HSETP2 HMNMX2 HSET2"),
    ("mufu", "MUFU"),
    ("conv", "F2F F2I I2F I2FP F2FP FRND I2I F2IP"),
    ("fp64", "DADD DMUL DFMA DSETP DMNMX"),
    ("imad", "IMAD UIMAD IDP"),
    ("int", _INT),
    ("mma", "HMMA IMMA QMMA"),
    ("wgmma", "HGMMA IGMMA QGMMA"),
    ("lsu", "LDG STG LD ST LDS STS LDSM STSM LDL STL LDGSTS ATOM ATOMG ATOMS RED REDG SHFL LDC LDCU"),
)  # fmt: skip
_KIND = {name: kind for kind, names in _KINDS for name in names.split()}

# Multiply-adds of an mma by its shape.
_PRODUCTS = {
    "HMMA.16816": 2048, "HMMA.1688": 1024, "HMMA.884": 256, "IMMA.16832": 4096, "IMMA.16816": 2048,
    "IMMA.8816": 1024, "QMMA.16832": 4096,
}  # fmt: skip
_LIKELY_PRODUCT = 2048
# A result of a pipe whose stall counts say when it is there, and of those whose scoreboard does.
_FIXED, _STORED, _CONVERTED, _DOUBLE = 14.0, 12.0, 20.0, 16.0

# Names under which a PTX instruction and one of machine code are both counted.
_MACHINE_ANCHORS = (
    ("ldg", "LDG LD"), ("stg", "STG ST"), ("ldgsts", "LDGSTS"), ("lds", "LDS"), ("sts", "STS"), ("ldsm", "LDSM"),
    ("stsm", "STSM"), ("atom", "ATOM ATOMG RED REDG ATOMS"), ("bar", "BAR"), ("mma", "HMMA IMMA QMMA DMMA OMMA"),
    ("wgmma", "HGMMA IGMMA QGMMA"), ("mufu", "MUFU"), ("shfl", "SHFL"), ("tma", "UTMALDG UTMASTG UTMAREDG UBLKCP"),
)  # fmt: skip
_MACHINE_ANCHOR = {name: anchor for anchor, names in _MACHINE_ANCHORS for name in names.split()}
_PTX_ANCHOR = {
    "ldmatrix": "ldsm", "stmatrix": "stsm", "atom": "atom", "red": "atom", "mma": "mma", "shfl": "shfl",
}  # fmt: skip
_SPECIALS = ("ex2", "lg2", "rcp", "rsqrt", "sin", "cos", "tanh", "sqrt")


def kind_of(instruction: Instruction) -> str:
    """Which pipe takes it: a key of `Rates.lanes`, "mma", "wgmma", "lsu", or "other"."""
    return "other" if instruction.guard == _NEVER else _KIND.get(instruction.name, "other")


def issue_cycles(instruction: Instruction, kind: str, rates: Rates) -> float:
    """Cycles that a scheduler's pipe is taken by a warp's instruction."""
    lanes = rates.lanes.get(kind)
    if not lanes or kind == "int" and instruction.name.startswith("U"):
        return 1.0
    return 32 / lanes


def product_cycles(instruction: Instruction, kind: str, rates: Rates) -> float:
    """Cycles of a scheduler's tensor core for an mma; for a wgmma, of all four together."""
    parts = instruction.op.split(".")
    halved = 0.5 if "TF32" in instruction.op else 1.0
    if kind == "mma":
        rate = rates.mma * (1 if parts[0] == "HMMA" else 2) * halved
        return _PRODUCTS.get(".".join(parts[:2]), _LIKELY_PRODUCT) / rate
    try:
        m, n, k = (int(size) for size in parts[1].split("x"))
    except (ValueError, IndexError):
        m, n, k = 64, 64, 16
    rate = (rates.wgmma or rates.mma * 4) * (1 if parts[0] == "HGMMA" else 2) * halved
    return m * n * k / rate


def latency(instruction: Instruction, chip: Chip, cold: bool) -> float:
    """Return the cycles until a result is available. `cold`: loads come from DRAM, else from the L2."""
    name, rates = instruction.name, chip.rates
    if name in ("LDG", "LD", "LDGSTS"):
        return rates.to_dram if cold else rates.to_l2
    if name in ("ATOM", "ATOMG", "RED", "REDG"):
        return rates.atomic
    if name == "LDL":
        return rates.to_l1
    if name in ("LDS", "LDSM", "ATOMS"):
        return rates.to_shared
    if name in ("STS", "STSM", "STG", "STL", "ST", "R2UR"):
        return _STORED
    if name == "MUFU":
        return MUFU
    if name == "SHFL":
        return SHUFFLE
    if name in ("S2R", "S2UR", "CS2R", "LDC", "LDCU"):
        return SPECIAL
    if name in ("F2F", "F2I", "I2F", "FRND", "POPC", "FLO", "BREV", "I2FP"):
        return _CONVERTED
    if name in ("DADD", "DMUL", "DFMA", "DSETP"):
        return _DOUBLE
    return PRODUCT if name in ("HMMA", "IMMA", "QMMA") else _FIXED


def anchor_of_machine(instruction: Instruction) -> Optional[str]:
    """The name under which both sides count it; None for an instruction without a twin in PTX."""
    return None if instruction.guard == _NEVER else _MACHINE_ANCHOR.get(instruction.name)


def anchor_of_ptx(opcode: str) -> Optional[str]:
    """As `anchor_of_machine`, of an instruction of PTX."""
    name, *modifiers = opcode.split(".")
    shared = any(part.startswith("shared") for part in modifiers)
    if name == "ld" and ("global" in modifiers or modifiers[:1] == ["nc"]):
        return "ldg"
    if name == "st" and "global" in modifiers:
        return "stg"
    if name in ("ld", "st"):
        return {"ld": "lds", "st": "sts"}[name] if shared else None
    if name == "cp":
        return _copy(modifiers)
    if name in ("bar", "barrier"):
        return None if "warp" in modifiers or "arrive" in modifiers else "bar"
    if name == "wgmma":
        return "wgmma" if "mma_async" in modifiers else None
    if name in _SPECIALS or name == "div" and ("full" in modifiers or "approx" in modifiers):
        return "mufu"
    return _PTX_ANCHOR.get(name)


def _copy(modifiers: "list[str]") -> Optional[str]:
    if "bulk" in modifiers:
        return None if "commit_group" in modifiers or "wait_group" in modifiers else "tma"
    if modifiers[:1] == ["reduce"]:
        return "tma"
    if modifiers[:1] == ["async"] and len(modifiers) > 1 and modifiers[1] in ("ca", "cg"):
        return "ldgsts"
    return None
