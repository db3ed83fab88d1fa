"""Logic, moves and selections of scalars. Where the sources are lane masks, the results stay masks."""

from ..errors import Unknown
from ..lowering import handles
from ..operands import EXEC

_LOGIC = {
    "and": "{a} & {b}", "or": "{a} | {b}", "xor": "{a} ^ {b}", "andn2": "{a} & ~{b}", "orn2": "{a} | ~{b}",
    "nand": "~({a} & {b})", "nor": "~({a} | {b})", "xnor": "~({a} ^ {b})",
}  # fmt: skip


def _place(operand):
    """For `State.both`: its register, or -1 for a constant that is a mask of all or none."""
    if operand.kind == "s":
        return operand.number
    return -1 if operand.text in ("0", "-1") else -2


def _logic(low, operation, bits, d, a, b):
    """Where both sides are lane masks now, they stay masks."""
    kind = f"u{bits}"
    expression = _LOGIC[operation]
    masks = bits == low.lanes and -2 not in (_place(a), _place(b))
    if masks:
        low.emit(f"if S.both({_place(a)}, {_place(b)}):")
        low.emit(f"    t = {expression.format(a=low.mask(a), b=low.mask(b))}")
        low.emit(f"    S.setmask({d.number}, t, m)")
        if not low.scc_dead:
            low.emit("    f = t.any(axis=1, keepdims=True)")
        low.emit("else:")
        indent = "    "
    else:
        indent = ""
    low.emit(f"{indent}t = {expression.format(a=low.read(a, kind), b=low.read(b, kind))}")
    low.emit(f"{indent}S.w{'64' if bits == 64 else ''}({d.number}, t, m)")
    if not low.scc_dead:
        low.emit(f"{indent}f = t != 0")
        low.emit("S.condition(f, m)")
    low.after_scalar(d.number, bits // 32)


def _logic_names():
    return [f"s_{name}_b{bits}" for name in _LOGIC for bits in (32, 64)]


@handles(*_logic_names())
def _logical(low, name, instruction):
    _, operation, kind = name.split("_")
    _logic(low, operation, int(kind[1:]), *instruction.operands)


@handles(*(f"s_{name}_saveexec_b{bits}" for name in _LOGIC for bits in (32, 64)))
def _saveexec(low, name, instruction):
    _, operation, _, kind = name.split("_")
    d, a = instruction.operands
    bits = int(kind[1:])
    if bits != low.lanes:
        raise Unknown("saveexec of another width than the wave's")
    before = low.temporary(f"S.mask({EXEC})")
    # Andn2 and its like: the source first, EXEC second.
    value = low.temporary(_LOGIC[operation].format(a=low.mask(a), b=before))
    low.emit(f"S.setmask({d.number}, {before}, m)")
    low.emit(f"S.setmask({EXEC}, {value}, m)")
    low.write_scc(f"{value}.any(axis=1, keepdims=True)")
    low.emit("e = S.active(m)")


@handles("s_not_b32", "s_not_b64")
def _not(low, name, instruction):
    d, a = instruction.operands
    kind = f"u{name[-2:]}"
    value = low.temporary(f"~{low.read(a, kind)}")
    low.write_scalar(d, value, kind)
    low.write_scc(f"({value} != 0)")


@handles("s_mov_b32", "s_mov_b64")
def _mov(low, name, instruction):
    d, a = instruction.operands
    bits = int(name[-2:])
    if bits == low.lanes and a.kind == "s":
        low.emit(f"if S.both({a.number}):")
        low.emit(f"    S.setmask({d.number}, S.mask({a.number}), m)")
        low.emit("else:")
        low.emit(f"    S.w{'64' if bits == 64 else ''}({d.number}, {low.read(a, f'u{bits}')}, m)")
        low.after_scalar(d.number, bits // 32)
    elif bits == low.lanes and a.text in ("0", "-1"):
        low.emit(f"S.setmask({d.number}, {low.mask(a)}, m)")
        low.after_scalar(d.number, bits // 32)
    else:
        low.write_scalar(d, low.read(a, f"u{bits}"), f"u{bits}")


@handles("s_getpc_b64")
def _getpc(low, name, instruction):
    """Code lies at address 0: see `constants`."""
    low.write_scalar(instruction.operands[0], low.constant(0, "u64"), "u64")


@handles("s_cselect_b32", "s_cselect_b64")
def _cselect(low, name, instruction):
    d, a, b = instruction.operands
    bits = int(name[-2:])
    if bits == low.lanes and -2 not in (_place(a), _place(b)):
        low.emit(f"if S.both({_place(a)}, {_place(b)}):")
        low.emit(f"    S.setmask({d.number}, where(S.scc, {low.mask(a)}, {low.mask(b)}), m)")
        low.emit("else:")
        low.emit(
            f"    S.w{'64' if bits == 64 else ''}({d.number}, where(S.scc, {low.read(a, f'u{bits}')}, "
            f"{low.read(b, f'u{bits}')}), m)"
        )
        low.after_scalar(d.number, bits // 32)
    else:
        low.write_scalar(
            d, f"where(S.scc, {low.read(a, f'u{bits}')}, {low.read(b, f'u{bits}')})", f"u{bits}"
        )


@handles("s_cmov_b32", "s_cmov_b64")
def _cmov(low, name, instruction):
    d, a = instruction.operands
    kind = f"u{name[-2:]}"
    low.write_scalar(d, f"where(S.scc, {low.read(a, kind)}, {low.read(d, kind)})", kind)
