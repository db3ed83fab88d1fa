"""wgmma, mbarrier, tensormap, and the bulk copies of `cp.async.bulk`."""

import re

from ..lowering import lowers
from ..tensor_maps import FIELDS
from ..types import u4


@lowers("wgmma")
def wgmma(low, instruction):
    modifiers = instruction.modifiers
    if modifiers[0] in ("fence", "commit_group", "wait_group"):
        # A product is done when it is issued.
        _groups(low, instruction, "wgmma")
        return
    shape = next(part for part in modifiers if re.fullmatch(r"m\d+n\d+k\d+", part))
    kinds = tuple(modifiers[-3:])
    known = {"mma_async", "sync", "aligned", shape, "satfinite", *kinds}
    if set(modifiers) - known or kinds[0] not in ("f32", "f16", "s32") or "satfinite" in modifiers:
        raise instruction.unsupported()
    d, a, b, scale, *rest = instruction.operands
    in_registers = a.startswith("{")
    left = low.values(a, "b32") if in_registers else low.read(a, "b64")
    if scale.startswith("%"):
        scale = low.read(scale, "pred")
    else:
        scale = "None" if scale in ("1", "true") else low.constant(False, bool)
    numbers = [low.integer(number) for number in rest]
    signs = tuple(numbers[:2]) or (1, 1)
    major = numbers[2:]
    transposed = (0, major[0]) if in_registers and major else tuple(major) or (0, 0)
    product = low.temporary(
        f"S.warpgroups.multiply({instruction.index}, '{shape}', {kinds}, {low.values(d, 'b32')}, {left}, "
        f"{low.read(b, 'b64')}, {scale}, {signs}, {transposed}, {low.condition})"
    )
    low.scatter(d, product, "b32")


def _groups(low, instruction, unit):
    """Tell whoever watches of groups."""
    if "commit_group" in instruction.modifiers:
        low.emit(f"S.group({unit!r}, {low.condition})")
    elif "wait_group" in instruction.modifiers:
        newest = low.integer(instruction.operands[0])
        low.emit(f"S.waited_group({unit!r}, {newest}, {low.condition})")


_SCOPES = {
    "release",
    "relaxed",
    "acquire",
    "cta",
    "cluster",
    "shared",
    "shared::cta",
    "shared::cluster",
    "b64",
}


@lowers("mbarrier")
def mbarrier(low, instruction):
    modifiers, operands = instruction.modifiers, instruction.operands
    form = modifiers[0]
    rest = set(modifiers[1:]) - _SCOPES
    unit, zero = low.constant(1, u4), low.constant(0, u4)
    at, condition = instruction.index, low.condition
    if form == "init" and not rest:
        low.emit(
            f"S.mbarriers.init({at}, {low.address(operands[0], 32)}, {low.read(operands[1], 'u32')}, {condition})"
        )
    elif form == "inval" and not rest:
        low.emit(f"S.mbarriers.invalidate({at}, {low.address(operands[0], 32)}, {condition})")
    elif form in ("arrive", "arrive_drop") and not rest - {"expect_tx"}:
        # The remote form gives no state back.
        state, operands = (
            (None, operands) if operands[0].startswith("[") else (operands[0], operands[1:])
        )
        amount = low.read(operands[1], "u32") if len(operands) > 1 else unit
        arrivals, nbytes = (unit, amount) if "expect_tx" in rest else (amount, zero)
        call = (
            f"S.mbarriers.change({at}, {low.address(operands[0], 32)}, {arrivals}, {nbytes}, {condition}, "
            f"{form == 'arrive_drop'})"
        )
        if state is None or state == "_":
            low.emit(call)
        else:
            low.write(state, call, "b64")
    elif form == "expect_tx" and not rest:
        address, nbytes = low.address(operands[0], 32), low.read(operands[1], "u32")
        low.emit(f"S.mbarriers.change({at}, {address}, {zero}, {nbytes}, {condition})")
    elif form in ("try_wait", "test_wait") and not rest - {"parity"}:
        parity = "parity" in rest
        value = low.read(operands[2], "u32" if parity else "b64")
        address = low.address(operands[1], 32)
        low.write(
            operands[0],
            f"S.mbarriers.wait({at}, {address}, {value}, {parity}, {condition})",
            "pred",
        )
    else:
        raise instruction.unsupported()


# The ptxas of CUDA 12.5 and earlier puts a replaced stride into the map as it comes, and a map holds it without its
# lowest four bits. Triton hands it such a one where it writes no newer PTX than this (seen on an H100: 3.3.1, whose
# ptxas is 12.4). ptxas 12.8 takes bytes, whatever the version of the text.
_STRIDE_IN_SIXTEENTHS = (8, 5)


@lowers("tensormap")
def tensormap(low, instruction):
    modifiers, operands = instruction.modifiers, instruction.operands
    at, condition = instruction.index, low.condition
    if modifiers[0] == "cp_fenceproxy":
        target, source = low.address(operands[0]), low.address(operands[1], 32)
        low.emit(f"S.tensor_maps.publish({at}, {target}, {source}, {condition})")
        return
    if modifiers[:2] != ["replace", "tile"] or modifiers[2] not in FIELDS:
        raise instruction.unsupported()
    field = modifiers[2]
    space = "shared" if "shared::cta" in modifiers else "global"
    address = low.address(operands[0], 32 if space == "shared" else 64)
    ordinal = low.integer(operands[1]) if len(operands) > 2 else 0
    value = low.read(operands[-1], modifiers[-1])
    if field == "global_stride" and () < low.kernel.version <= _STRIDE_IN_SIXTEENTHS:
        value = f"({value} * 16)"
    low.emit(
        f"S.tensor_maps.replace({at}, {address}, '{field}', {ordinal}, {value}, {condition}, '{space}')"
    )


def bulk(low, instruction):
    """cp.async.bulk and cp.reduce.async.bulk."""
    modifiers = [part for part in instruction.modifiers if not part.startswith("L2")]
    hinted = "L2::cache_hint" in instruction.modifiers
    operands = instruction.operands[:-1] if hinted else list(instruction.operands)
    at, condition = instruction.index, low.condition
    if "commit_group" in modifiers or "wait_group" in modifiers or "prefetch" in modifiers:
        # Stores are done when they are issued.
        _groups(low, instruction, "bulk")
        return
    reduces = modifiers[0] == "reduce"
    loads = any(part.startswith("mbarrier") for part in modifiers)
    if "tensor" not in modifiers:
        _bytes(
            low,
            instruction,
            [part for part in modifiers if part not in ("async", "bulk")],
            operands,
        )
        return
    if (
        any(part.startswith("im2col::") for part in modifiers)
        or "im2col" in modifiers
        and not loads
    ):
        raise instruction.unsupported()
    if loads:
        target, source, barrier, *mask = operands
        tensor, coordinates = _tensor(low, source)
        moved = low.values(mask.pop(0), "b16") if "im2col" in modifiers else "None"
        multicast = low.read(mask[0], "u16") if mask else "None"
        low.emit(
            f"S.tensor_maps.load({at}, {low.address(target, 32)}, {tensor}, {coordinates}, "
            f"{low.address(barrier, 32)}, {multicast}, {'cta_group::2' in modifiers}, {moved}, "
            f"{condition})"
        )
        return
    operation = None
    if reduces:
        operation = next(
            part
            for part in modifiers
            if part in ("add", "min", "max", "and", "or", "xor", "inc", "dec")
        )
    tensor, coordinates = _tensor(low, operands[0])
    low.emit(
        f"S.tensor_maps.store({at}, {low.address(operands[1], 32)}, {tensor}, {coordinates}, {operation!r}, "
        f"{condition})"
    )


_MBARRIER = "mbarrier::complete_tx::bytes"


def _bytes(low, instruction, modifiers, operands):
    """The forms of cp.async.bulk without a tensor map."""
    at, condition = instruction.index, low.condition
    target, source, nbytes, *barrier = operands
    nbytes = low.read(nbytes, "u32")
    if modifiers in (
        ["shared::cluster", "global", _MBARRIER],
        ["shared::cta", "global", _MBARRIER],
    ):
        call, places = "load", (low.address(target, 32), low.address(source))
    elif modifiers == ["shared::cluster", "shared::cta", _MBARRIER]:
        call, places = "send", (low.address(target, 32), low.address(source, 32))
    elif modifiers == ["global", "shared::cta", "bulk_group"]:
        call, places = "store", (low.address(target), low.address(source, 32))
    else:
        raise instruction.unsupported()
    more = [low.address(barrier[0], 32)] if barrier else []
    low.emit(
        f"S.bulk_copies.{call}({', '.join([str(at), *places, nbytes, *more, str(condition)])})"
    )


def _tensor(low, operand):
    """[map, {x, y, …}] as the map's address and a tuple of coordinates."""
    address, _, coordinates = operand.strip()[1:-1].partition(",")
    return low.address(f"[{address}]"), low.values(coordinates.strip(), "b32")
