"""Loops that Triton's thread-locality pass would rewrite wrongly: found in the text of their IR.

The pass takes a reduction of loaded rows whose result updates a variable of the loop. It keeps a part of that update in
each thread, and puts the parts together after the loop. That is right for one form only: the loop itself, in every
iteration, adds the reduced value to the variable (or takes the greater: the operation of the reduction), and nothing
else reads the variable. The pass does not check for that form, and dies if the loop's result is used more than once. It
was made for the last of these:

    total -= sum(x)                 wrong sign: parts are subtracted, and then subtracted from the start again
    if wanted: total += sum(x)      added in every iteration
    store(total); total += sum(x)   the stored value is not the sum so far
    total += sum(x); …; two uses    an assertion
    total += sum(x)                 right, and faster
"""

from typing import Iterator, List, NamedTuple, Optional

from .patterns import lazily

# A value as MLIR prints it: %3, %total_1, %4#1.
_VALUE = lazily(r"%[\w$.-]+(?:#\d+)?")
_REDUCE = lazily(r'(%[\w$.-]+) = "tt\.reduce"\((%[\w$.-]+)\).*?\baxis = (\d+)')
_SHAPE = lazily(r"tensor<((?:\d+x)+)")
_CARRIED = lazily(r"iter_args\((.*?)\) ->")


class _Line(NamedTuple):
    number: int
    indent: int
    text: str

    @property
    def made(self) -> str:
        """The value that the operation makes, or ""."""
        return self.text.partition(" = ")[0] if self.text.startswith("%") else ""

    @property
    def operation(self) -> str:
        """Its name: ``arith.addf``."""
        return self.text.partition(" = ")[2].partition(" ")[0]

    @property
    def operands(self) -> List[str]:
        """The values that it takes, in order, each as often as it is named."""
        given = self.text.partition(" = ")[2] if self.made else self.text
        return _VALUE.findall(given.partition(" : ")[0])


def has_broken_sum(ttir: str, checks_uses: bool = False) -> bool:
    """Whether the thread-locality pass would change the meaning of a loop of this module.

    Args:
        ttir: the text of a module of Triton's IR, inlined, as it is before it gets layouts.
        checks_uses: whether the pass by itself leaves alone a sum that is read in the loop, or added in another block
            of it, and handles one that is used twice behind it.
    """
    if '"tt.reduce"' not in ttir or "scf.for" not in ttir:
        return False
    lines = [
        # The source location of an operation may hold any text.
        _Line(number, len(text) - len(text.lstrip()), text.strip().partition(" loc(")[0])
        for number, text in enumerate(ttir.splitlines())
    ]
    return any(_is_broken(lines, line, checks_uses) for line in lines if '"tt.reduce"' in line.text)


def _is_broken(lines: List[_Line], reduce: _Line, checks_uses: bool) -> bool:
    match = _REDUCE.match(reduce.text)
    if match is None:
        return False
    result, source, axis = match.groups()
    region = [line for line in _below(lines, reduce) if line.made]
    end = lines[reduce.number + len(list(_below(lines, reduce))) + 1]
    shape = _SHAPE.search(end.text)
    load = _definition(lines, reduce, source)
    loop = _parent(lines, reduce)
    # The pattern of the pass: rows that were loaded, reduced by one operation along their last dimension, in a loop …
    if (
        len(region) != 1
        or shape is None
        or shape[1].count("x") < 2
        or int(axis) != shape[1].count("x") - 1
        or load is None
        or load.operation != "tt.load"
        or loop is None
        or "scf.for " not in loop.text
    ):
        return False
    # … with one use, whose one use is a yield, of whichever block.
    updates = _uses(lines, reduce, result)
    yields = _uses(lines, updates[0], updates[0].made) if len(updates) == 1 else []
    if len(yields) != 1 or not yields[0].text.startswith("scf.yield"):
        return False
    update, last = updates[0], yields[0]
    carried = _carried(loop)
    place = last.operands.index(update.made)
    used_well = (
        _parent(lines, last) is loop
        and _parent(lines, update) is loop
        and place < len(carried)
        and len(_uses(lines, loop, carried[place], inside=True)) == 1
        and _survives(lines, loop, place)
    )
    if not used_well:
        return not checks_uses
    return update.operation != region[0].operation or sorted(update.operands) != sorted(
        [carried[place], result]
    )


def _survives(lines: List[_Line], loop: _Line, place: int) -> bool:
    """Whether the pass takes the loop's result at `place`: used once, or stored, for which it is laid out once."""
    left, several, _ = loop.made.partition(":")
    uses = _uses(lines, loop, f"{left}#{place}" if several else left)
    return len(uses) < 2 or all(
        use.text.startswith("tt.store ") and use.indent == loop.indent for use in uses
    )


def _carried(loop: _Line) -> List[str]:
    """The names of a loop's variables inside its body."""
    listed = _CARRIED.search(loop.text)
    return [] if listed is None else [part.split(" = ")[0] for part in listed[1].split(", ")]


def _below(lines: List[_Line], line: _Line) -> Iterator[_Line]:
    """The lines of the region that `line` opens; a label stands as far left as `line`, and so does its end."""
    for inner in lines[line.number + 1 :]:
        if inner.indent <= line.indent and not inner.text.startswith("^"):
            return
        yield inner


def _parent(lines: List[_Line], line: _Line) -> Optional[_Line]:
    """The line that opens the block of `line`: an operation's, ``} else {`` or a label."""
    for outer in reversed(lines[: line.number]):
        if outer.indent < line.indent and outer.text:
            return outer
    return None


def _definition(lines: List[_Line], line: _Line, value: str) -> Optional[_Line]:
    """The operation that makes `value`. Names are reused in separate blocks, so it is the last one before `line`."""
    for above in reversed(lines[: line.number]):
        if above.made.partition(":")[0] == value.partition("#")[0]:
            return above
    return None


def _uses(lines: List[_Line], line: _Line, value: str, inside: bool = False) -> List[_Line]:
    """The lines that take `value`, once for each time: in the rest of the block of `line`, or in the one it opens."""
    uses: List[_Line] = []
    for after in lines[line.number + 1 :]:
        if after.indent < line.indent or (inside and after.indent == line.indent):
            break
        uses += [after] * after.operands.count(value)
    return uses
