"""mov, cvta, ld, st, atom, red, and the hints that change no value."""

from ..lowering import lowers
from ..spaces import GENERIC_LOCAL, GENERIC_SHARED
from ..types import RAW, RAW_NAME, type_of, u8

_SPACES = ("global", "shared", "local", "param", "const")
# None of these changes the loaded or stored data here.
_HINTS = {
    "weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "cta", "cluster", "gpu", "sys", "nc", "ca", "cg",
    "cs", "lu", "cv", "wb", "wt", "L2", "L1", "mmio", "noftz",
}  # fmt: skip
_OPERATIONS = ("add", "cas", "exch", "min", "max", "and", "or", "xor", "inc", "dec")


def _space_and_count(instruction):
    space, count = "generic", 1
    for part in instruction.modifiers[:-1]:
        head = part.split("::")[0]
        if head in _SPACES:
            space = head
        elif part in ("v2", "v4", "v8"):
            count = int(part[1])
        elif part in ("async", "mbarrier::complete_tx::bytes") and instruction.name == "st":
            pass
        elif head not in _HINTS and part not in _OPERATIONS:
            raise instruction.unsupported(f"modifier .{part}")
    return space, count


def _stays(low, instruction, what, space, address, nbytes):
    """An address that `mapa` made is not of the CTA's own memory, which ``.shared`` without ``::cluster`` means."""
    if space != "shared" or "shared::cluster" in instruction.modifiers:
        return
    if any(other.name == "mapa" for other in low.kernel.instructions):
        low.emit(
            f"S.shared.stay({instruction.index}, '{what}', {address}, {low.condition}, {nbytes})"
        )


def _polls(instruction):
    return any(part in ("volatile", "relaxed", "acquire") for part in instruction.modifiers)


@lowers("mov")
def mov(low, instruction):
    bits, kind = type_of(instruction.modifiers[-1])
    bare = "pred" if kind == "p" else f"b{bits}"
    low.write(instruction.operands[0], low.read(instruction.operands[1], bare), bare)


@lowers("cvta")
def cvta(low, instruction):
    modifiers, bare = instruction.modifiers, f"b{instruction.modifiers[-1][1:]}"
    value = low.read(instruction.operands[1], bare)
    if "shared" in modifiers or "local" in modifiers:
        if bare != "b64":
            raise instruction.unsupported()
        base = low.constant(GENERIC_SHARED if "shared" in modifiers else GENERIC_LOCAL, u8)
        value = f"({value} & ~{base})" if "to" in modifiers else f"({value} | {base})"
    if "param" in modifiers:
        if bare != "b64" or "to" in modifiers:
            raise instruction.unsupported()
        value = f"S.parameter_address({value})"
    low.write(instruction.operands[0], value, bare)


@lowers("ld", "ldu")
def ld(low, instruction):
    type_name = instruction.modifiers[-1]
    space, count = _space_and_count(instruction)
    bits, kind = type_of(type_name)
    destinations = low.registers(instruction.operands[0])
    bare = f"{kind if kind == 's' else 'b'}{bits}"
    view = f".view(i{bits // 8})" if kind == "s" else ""
    held = space == "param" and instruction.operands[1].strip()[1:].lstrip().startswith("%")
    if space == "param" and _is_result(low, instruction):
        for destination in destinations:
            low.write(destination, low.constant(0, RAW[bits]), bare)
        return
    if space == "param" and not held:
        base, offset = _parameter(low, instruction)
        for place, destination in enumerate(destinations):
            at = offset + place * bits // 8
            value = f"S.parameter({at}, {RAW_NAME[bits]}){view}"
            low.write(destination, value, bare)
        return
    address = low.address(instruction.operands[1], 32 if space in ("shared", "local") else 64)
    if held:
        # A register has the place among the parameters, as `mov` of a parameter's name gives it.
        address, space = low.temporary(f"S.parameter_address({address})"), "global"
    _stays(low, instruction, "load", space, address, count * bits // 8)
    if _polls(instruction):
        low.emit("S.polled = True")
    name = "global_" if space in ("global", "const") else space
    call = (
        f"S.{name}.load({instruction.index}, {address}, {low.condition}, {count}, {RAW_NAME[bits]})"
    )
    values = low.temporary(call)
    for place, destination in enumerate(destinations):
        if destination != "_":
            low.write(destination, f"{values}[{place}]{view}", bare)


def _is_result(low, instruction):
    """Whether this reads the result of a call; the only call that goes on is vprintf's, whose result nobody needs."""
    name = instruction.operands[1].strip()[1:-1].partition("+")[0].strip()
    return (
        name not in {parameter.name for parameter in low.kernel.parameters}
        and name in low.kernel.of_calls
    )


def _parameter(low, instruction):
    inner = instruction.operands[1].strip()[1:-1]
    name, _, offset = inner.partition("+")
    for parameter in low.kernel.parameters:
        if parameter.name == name.strip():
            return parameter.name, parameter.offset + int(offset.strip() or "0", 0)
    raise instruction.unsupported(f"parameter {name}")


@lowers("st")
def st(low, instruction):
    type_name = instruction.modifiers[-1]
    space, count = _space_and_count(instruction)
    if space == "param":
        # An argument of a call: `call` knows whether it needs any.
        return
    if space == "const":
        raise instruction.unsupported()
    bits = type_of(type_name).bits
    if "async" in instruction.modifiers:
        target, source, barrier = instruction.operands
        low.emit(
            f"S.mbarriers.store({instruction.index}, {low.address(target, 32)}, "
            f"{low.values(source, f'b{bits}')}, {RAW_NAME[bits]}, {low.address(barrier, 32)}, {low.condition})"
        )
        return
    address = low.address(instruction.operands[0], 32 if space in ("shared", "local") else 64)
    _stays(low, instruction, "store", space, address, count * bits // 8)
    values = low.values(instruction.operands[1], f"b{bits}")
    name = "global_" if space == "global" else space
    low.emit(
        f"S.{name}.store({instruction.index}, {address}, {low.condition}, {values}, {RAW_NAME[bits]})"
    )


@lowers("atom", "red")
def atom(low, instruction):
    modifiers = instruction.modifiers
    type_name = modifiers[-1]
    if "async" in modifiers:
        raise instruction.unsupported()
    space, count = _space_and_count(instruction)
    operation = next(part for part in modifiers if part in _OPERATIONS)
    bits = type_of(type_name).bits
    returns = instruction.name == "atom"
    operands = instruction.operands[1:] if returns else instruction.operands
    address = low.address(operands[0], 32 if space == "shared" else 64)
    _stays(low, instruction, "atomic", space, address, count * bits // 8)
    values, compare = operands[1], "None"
    if operation == "cas":
        # The compared operand comes before the stored one.
        values, compare = operands[2], low.read(operands[1], f"b{bits}")
    if len(low.registers(values)) != count:
        raise instruction.unsupported(f"{len(low.registers(values))} values")
    values = low.values(values, f"b{bits}")
    call = (
        f"S.atomics.apply({instruction.index}, '{space}', '{operation}', '{type_name}', {address}, {values}, "
        f"{compare}, {low.condition})"
    )
    if not returns:
        low.emit(call)
        return
    loaded = low.temporary(call)
    low.scatter(instruction.operands[0], loaded, f"b{bits}")


@lowers("createpolicy")
def createpolicy(low, instruction):
    low.write(instruction.operands[0], low.constant(0, u8), "b64")


@lowers("mapa")
def mapa(low, instruction):
    destination, address, rank = instruction.operands
    type_name = instruction.modifiers[-1]
    if "shared::cluster" not in instruction.modifiers:
        raise instruction.unsupported("a generic address")
    where = low.read(address, f"b{type_of(type_name).bits}")
    low.write(destination, f"S.shared.map({where}, {low.read(rank, 'u32')})", type_name)


@lowers("isspacep")
def isspacep(low, instruction):
    address = low.read(instruction.operands[1], "b64")
    space = instruction.modifiers[-1].split("::")[0]
    shared, local = low.constant(GENERIC_SHARED, u8), low.constant(GENERIC_LOCAL, u8)
    test = {
        "shared": f"(({address} & {shared}) != 0)",
        "local": f"(({address} & {local}) != 0)",
        "global": f"(({address} & ({shared} | {local})) == 0)",
    }
    if space not in test:
        raise instruction.unsupported()
    low.write(instruction.operands[0], test[space], "pred")


@lowers(
    "prefetch",
    "prefetchu",
    "applypriority",
    "membar",
    "fence",
    "griddepcontrol",
    "discard",
    "setmaxnreg",
    "nop",
)
def hint(low, instruction):
    """Order and hints: threads run in lock step here, so every store is seen at once."""


@lowers("nanosleep")
def nanosleep(low, instruction):
    low.emit("S.polled = True")
