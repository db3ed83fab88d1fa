"""shfl, vote, match, redux, elect, activemask."""

from ..lowering import lowers


def _membership(instruction):
    if "sync" not in instruction.modifiers:
        raise instruction.unsupported("without .sync")


@lowers("shfl")
def shfl(low, instruction):
    _membership(instruction)
    mode = instruction.modifiers[1]
    destinations = [part.strip() for part in instruction.operands[0].split("|")]
    a = low.read(instruction.operands[1], "b32")
    b, c = (low.read(operand, "u32") for operand in instruction.operands[2:4])
    pair = low.temporary(f"S.warps.shuffle('{mode}', {a}, {b}, {c}, {low.condition})")
    low.write(destinations[0], f"{pair}[0]", "b32")
    if len(destinations) > 1:
        low.write(destinations[1], f"{pair}[1]", "pred")


@lowers("vote")
def vote(low, instruction):
    _membership(instruction)
    mode = instruction.modifiers[1]
    value = low.read(instruction.operands[1], "pred")
    if mode == "ballot":
        low.write(instruction.operands[0], f"S.warps.ballot({value}, {low.condition})", "b32")
    else:
        low.write(
            instruction.operands[0], f"S.warps.vote('{mode}', {value}, {low.condition})", "pred"
        )


@lowers("activemask")
def activemask(low, instruction):
    ones = low.constant(True, bool)
    low.write(instruction.operands[0], f"S.warps.ballot({ones}, m)", "b32")


@lowers("match")
def match(low, instruction):
    _membership(instruction)
    if instruction.modifiers[0] != "any":
        raise instruction.unsupported()
    value = low.read(instruction.operands[1], instruction.modifiers[-1])
    low.write(instruction.operands[0], f"S.warps.match_any({value}, {low.condition})", "b32")


@lowers("redux")
def redux(low, instruction):
    _membership(instruction)
    mode, type_name = instruction.modifiers[1], instruction.modifiers[-1]
    if type_name == "f32":
        _redux_f32(low, instruction, mode)
        return
    if mode not in ("add", "min", "max", "and", "or", "xor"):
        raise instruction.unsupported()
    value = low.read(instruction.operands[1], type_name)
    low.write(
        instruction.operands[0], f"S.warps.reduce('{mode}', {value}, {low.condition})", type_name
    )


def _redux_f32(low, instruction, mode):
    """min and max of float32: NaN loses, or wins with .NaN; .abs takes the sizes."""
    more = set(instruction.modifiers[2:-1])
    if mode not in ("min", "max") or more - {"abs", "NaN"}:
        raise instruction.unsupported()
    value = low.read(instruction.operands[1], "f32")
    if "abs" in more:
        value = f"np.abs({value})"
    call = f"S.warps.reduce_f32('{mode}', {value}, {low.condition}, {'NaN' in more})"
    low.write(instruction.operands[0], call, "f32")


@lowers("elect")
def elect(low, instruction):
    leader, elected = (part.strip() for part in instruction.operands[0].split("|"))
    pair = low.temporary(f"S.warps.elect({low.condition})")
    if leader != "_":
        low.write(leader, f"{pair}[0]", "b32")
    low.write(elected, f"{pair}[1]", "pred")
