"""tcgen05: tensor memory, and the products of the fifth generation of tensor cores (sm_100, sm_103, sm_110).

And clusterlaunchcontrol, which the same generation brought.
"""

from ..lowering import lowers

# Hints, and how an instruction's threads come together: they change no value.
_PLAIN = {
    "sync",
    "aligned",
    "b32",
    "b64",
    "shared::cta",
    "shared::cluster",
    "cta_group::1",
    "cta_group::2",
    "mbarrier::arrive::one",
}
_KINDS = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
# Names of the same: a factor for 32 elements of K, or for 16.
_BLOCKS = {
    "mxf8f6f4": (32, {"", "block32", "scale_vec::1X"}),
    "mxf4": (32, {"", "block32", "scale_vec::2X"}),
    "mxf4nvf4": (16, {"block16", "scale_vec::4X"}),
}


@lowers("tcgen05")
def tcgen05(low, instruction):
    form = instruction.modifiers[0]
    rest = [part for part in instruction.modifiers[1:] if part not in _PLAIN]
    if form in _FORMS:
        _FORMS[form](low, instruction, rest)
    elif form not in ("fence::before_thread_sync", "fence::after_thread_sync", "wait::ld") or rest:
        raise instruction.unsupported()


def _only(instruction, rest, known=()):
    for part in rest:
        if part not in known:
            raise instruction.unsupported(f"modifier .{part}")


def _group(instruction):
    """CTAs that take part."""
    return 2 if "cta_group::2" in instruction.modifiers else 1


def _alloc(low, instruction, rest):
    _only(instruction, rest)
    address, columns = instruction.operands
    low.emit(
        f"S.tensor_memory.allocate({instruction.index}, {low.address(address, 32)}, {low.read(columns, 'u32')}, "
        f"{low.condition})"
    )


def _dealloc(low, instruction, rest):
    _only(instruction, rest)
    address, columns = (low.read(operand, "u32") for operand in instruction.operands)
    low.emit(f"S.tensor_memory.free({instruction.index}, {address}, {columns}, {low.condition})")


def _relinquish(low, instruction, rest):
    _only(instruction, rest)
    low.emit(f"S.tensor_memory.relinquish({instruction.index}, {low.condition})")


def _shape(instruction, rest, packing):
    """(shape, times, whether columns of 16 bits are packed) of a load or store."""
    shape, times, *more = rest
    _only(instruction, more, (packing,))
    if shape not in ("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"):
        raise instruction.unsupported()
    return shape, int(times[1:]), bool(more)


def _second(low, shape, operands):
    """Return the address offset of the upper half of the threads, and the remaining operands."""
    if shape != "16x32bx2":
        return 0, operands
    return low.integer(operands[0]), operands[1:]


def _ld(low, instruction, rest):
    shape, times, packed = _shape(instruction, rest, "pack::16b")
    destinations, address, *more = instruction.operands
    second, _ = _second(low, shape, more)
    values = low.temporary(
        f"S.tensor_memory.load({instruction.index}, '{shape}', {times}, {packed}, {low.address(address, 32)}, "
        f"{second}, {low.condition})"
    )
    low.scatter(destinations, values, "b32")


def _st(low, instruction, rest):
    shape, times, packed = _shape(instruction, rest, "unpack::16b")
    address, *more = instruction.operands
    second, (values,) = _second(low, shape, more)
    low.emit(
        f"S.tensor_memory.store({instruction.index}, '{shape}', {times}, {packed}, {low.address(address, 32)}, "
        f"{second}, {low.values(values, 'b32')}, {low.condition})"
    )


def _wait_st(low, instruction, rest):
    _only(instruction, rest)
    low.emit(f"S.tensor_memory.wait_stores({instruction.index}, {low.condition})")


def _mma(low, instruction, rest):
    kind = rest.pop(0)[len("kind::") :]
    if kind not in _KINDS:
        raise instruction.unsupported()
    scaled = "block_scale" in rest
    vector = ""
    for part in rest:
        if part.startswith(("block1", "block3", "scale_vec::")):
            vector = part
        elif part != "block_scale" and not part.startswith("collector::"):
            raise instruction.unsupported(f"modifier .{part}")
    if scaled != (kind in _BLOCKS) or scaled and vector not in _BLOCKS[kind][1]:
        raise instruction.unsupported()
    d, a, b, idesc, *more = instruction.operands
    scales = "None"
    if scaled:
        first, second = (low.address(operand, 32) for operand in more[:2])
        scales, more = f"({first}, {second}, {_BLOCKS[kind][0]})", more[2:]
    if len(more) != 1:
        raise instruction.unsupported("lanes that are not written, or a factor for D")
    left = (
        f"'tensor', {low.address(a, 32)}"
        if a.startswith("[")
        else f"'shared', {low.read(a, 'b64')}"
    )
    low.emit(
        f"S.products.multiply({instruction.index}, '{kind}', {_group(instruction)}, {low.address(d, 32)}, ({left}), "
        f"{low.read(b, 'b64')}, {low.read(idesc, 'b32')}, {low.read(more[0], 'pred')}, {scales}, {low.condition})"
    )


def _cp(low, instruction, rest):
    name = ".".join(sorted(rest, key=lambda part: part[0].isdigit()))
    if name not in ("warpx4.32x128b", "128x256b", "128x128b"):
        raise instruction.unsupported()
    target, source = instruction.operands
    low.emit(
        f"S.products.copy({instruction.index}, '{name}', {_group(instruction)}, {low.address(target, 32)}, "
        f"{low.read(source, 'b64')}, {low.condition})"
    )


def _commit(low, instruction, rest):
    _only(instruction, rest, ("multicast::cluster",))
    barrier, *mask = instruction.operands
    multicast = low.read(mask[0], "u16") if mask else "None"
    low.emit(
        f"S.products.commit({instruction.index}, {low.address(barrier, 32)}, {multicast}, {low.condition})"
    )


_FORMS = {
    "alloc": _alloc,
    "dealloc": _dealloc,
    "relinquish_alloc_permit": _relinquish,
    "ld": _ld,
    "st": _st,
    "wait::st": _wait_st,
    "mma": _mma,
    "cp": _cp,
    "commit": _commit,
}


@lowers("clusterlaunchcontrol")
def clusterlaunchcontrol(low, instruction):
    form, *rest = instruction.modifiers
    first, second = instruction.operands
    if form == "try_cancel":
        known = {"async", "shared::cta", "mbarrier::complete_tx::bytes", "b128"}
        everyone = "multicast::cluster::all"
        _only(instruction, rest, known | {everyone})
        low.emit(
            f"S.cancels.request({instruction.index}, {low.address(first, 32)}, {low.address(second, 32)}, "
            f"{everyone in rest}, {low.condition})"
        )
        return
    if form != "query_cancel":
        raise instruction.unsupported()
    response = low.read(second, "b128")
    if rest[0] == "is_canceled":
        low.write(first, f"S.cancels.cancelled({response})", "pred")
    elif rest[0] == "get_first_ctaid":
        low.scatter(first, low.temporary(f"S.cancels.first({response})"), "b32")
    elif rest[0].startswith("get_first_ctaid::"):
        axis = "xyz".index(rest[0][-1])
        low.write(first, f"S.cancels.first({response})[{axis}]", "b32")
    else:
        raise instruction.unsupported()
