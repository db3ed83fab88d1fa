"""cp.async with its groups."""

from ..lowering import lowers
from .hopper import bulk


@lowers("cp")
def cp(low, instruction):
    modifiers = instruction.modifiers
    if modifiers[:2] in (["async", "bulk"], ["reduce", "async"]):
        bulk(low, instruction)
        return
    if modifiers[:1] != ["async"] or len(modifiers) < 2:
        raise instruction.unsupported()
    form = modifiers[1]
    if form == "commit_group":
        low.emit(f"S.copies.commit({low.condition})")
    elif form == "wait_group":
        low.emit(f"S.copies.wait({low.condition}, {low.integer(instruction.operands[0])})")
    elif form == "wait_all":
        low.emit(f"S.copies.wait_all({low.condition})")
    elif form == "mbarrier" and not set(modifiers[2:]) - {
        "arrive",
        "noinc",
        "shared",
        "shared::cta",
        "b64",
    }:
        low.emit(
            f"S.mbarriers.arrive_after_copies({instruction.index}, {low.address(instruction.operands[0], 32)}, "
            f"{'noinc' in modifiers}, {low.condition})"
        )
    elif form in ("ca", "cg"):
        _copy(low, instruction)
    else:
        raise instruction.unsupported()


def _copy(low, instruction):
    for part in instruction.modifiers[2:]:
        if part.split("::")[0] not in ("shared", "global", "L2"):
            raise instruction.unsupported(f"modifier .{part}")
    target, source, size, *rest = instruction.operands
    hinted = any(part == "L2::cache_hint" for part in instruction.modifiers)
    if hinted:
        rest = rest[:-1]
    live = _live(low, rest[0], size) if rest else "None"
    low.emit(
        f"S.copies.start({instruction.index}, {low.address(target, 32)}, {low.address(source)}, "
        f"{low.integer(size)}, {live}, {low.condition})"
    )


def _live(low, operand, size):
    """How many bytes come from the source: a number, or none where a predicate says to ignore it."""
    if low.kernel.widths.get(operand.strip().lstrip("!")) != 1:
        return low.read(operand, "u32")
    return f"np.where({low.read(operand, 'pred')}, u4(0), u4({low.integer(size)}))"
