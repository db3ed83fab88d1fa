"""Loops with carried values, and conditionals: most findings are here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from . import memory, products
from .builder import MOST_TURNS, TRIPS, Builder
from .elementwise import tame
from .values import LARGEST, Value, holds, limits

# The most that one iteration may add to a carried value.
_STEPS = {"int32": 2**12, "float32": 2**12, "float16": 64, "int64": 2**12}
# Kinds of loop that may be left out, by the tags they have.
_LEFT_OUT = {"while": "while", "flatten": "loop-flatten"}
Statement = Callable[[Builder], None]


def conditional(builder: Builder, statement: Statement) -> None:
    """A value that one branch replaces, and perhaps stores."""
    start = builder.some(lambda value: value.dtype in _STEPS and len(value.shape) in (0, 1, 2))
    if start is None:
        return
    condition = _condition(builder)
    most = min(2**20, limits(start.dtype)[1])
    if start.most > most:
        start = tame(builder, start, 2**16)
    held = builder.let(start.dtype, start.shape, (-most, most), start.name, tag="if")
    with builder.block(f"if {condition}:"):
        _statements(builder, statement, 3)
        _replace(builder, held)
        if builder.choices.chance(1, 2):
            memory.store(builder, held)
            builder.tags.add("if-store")
    if builder.choices.chance(1, 4):
        with builder.block("else:"):
            _replace(builder, held)


def _condition(builder: Builder) -> str:
    scalar = builder.some(lambda value: value.shape == () and value.dtype in ("int32", "float32"))
    if scalar is not None and builder.choices.chance(2, 3):
        builder.tags.add("if-data")
        return f"{scalar.name} > {builder.choices.below(6)}"
    return f"lim > {builder.choices.below(32)}"


def _replace(builder: Builder, held: Value) -> None:
    other = builder.some(
        lambda value: (
            (value.dtype, value.shape) == (held.dtype, held.shape)
            and value.name != held.name
            and held.low <= value.low
            and value.high <= held.high
        )
    )
    if other is None:
        other = tame(builder, memory.load(builder, *_loadable(held)), 64, held.dtype)
    builder.assign(held, other.name)


def _loadable(value: Value) -> tuple[str, tuple[int, ...]]:
    return value.dtype if value.dtype in memory.LOADED else "int32", value.shape


def _statements(builder: Builder, statement: Statement, most: int) -> None:
    for _ in range(most):
        if not builder.choices.chance(2, 3):
            return
        builder.choices.part(lambda: statement(builder))


def loop(builder: Builder, statement: Statement, nested: bool = True) -> None:
    """A loop over loads that carries some values from iteration to iteration."""
    choices = builder.choices
    turns = choices.one_of((3, 2, TRIPS, TRIPS))
    kind, turns = _kind(builder, turns)
    turn, around = builder.slots
    if around * turns > MOST_TURNS:
        return
    carried = _carried(builder, turns)
    if not carried:
        return
    builder.tags.add("loop")
    index = builder.fresh("i")
    before = builder.slots
    builder.slots = (f"({turn} * {turns} + {index})" if around > 1 else index, around * turns)
    with _head(builder, kind, index, turns):
        if choices.chance(3, 4):
            memory.load(builder, *_loadable(carried[0]))
        for value in carried:
            # The result of the earlier iterations, before this one changes it.
            if choices.chance(1, 4):
                memory.store(builder, value)
                builder.tags.add("loop-read")
        _statements(builder, statement, 3)
        if nested and choices.chance(1, 5):
            builder.tags.add("loop-nested")
            choices.part(lambda: loop(builder, statement, nested=False))
        for value in carried:
            choices.part(lambda value=value: _update(builder, value, carried))  # type: ignore[misc]
            if choices.chance(1, 3):
                memory.store(builder, value)
                builder.tags.add("loop-store")
        if kind == "while":
            builder.line(f"{index} += 1")
    builder.slots = before
    if choices.chance(1, 4):
        # Read behind the loop, under a condition.
        with builder.block(f"if lim > {choices.below(32)}:"):
            memory.store(builder, choices.one_of(carried))
            builder.tags.add("loop-then-if-store")


def _kind(builder: Builder, turns: int) -> tuple[str, int]:
    kinds = [("constant", 3), ("run time", 4), ("static", 1), ("while", 2)]
    if builder.has("tl.range(num_stages=2)"):
        kinds.append(("stages", 2))
    if builder.has("tl.range(flatten=True)"):
        kinds.append(("flatten", 1))
    kind = builder.choices.weighted(kinds)
    if kind in _LEFT_OUT and not builder.allowed(_LEFT_OUT[kind]):
        kind = "run time"
    # At run time the count is `trips`, which is at most that.
    return kind, TRIPS if kind not in ("constant", "static") else turns


def _head(builder: Builder, kind: str, index: str, turns: int) -> AbstractContextManager[None]:
    builder.tags.add(f"loop-{kind.replace(' ', '-')}")
    plain = f"for {index} in range(0, trips):"
    if kind == "constant":
        return builder.block(f"for {index} in range({turns}):")
    if kind == "static":
        return builder.block(
            f"for {index} in tl.static_range({turns}):", f"for {index} in range({turns}):"
        )
    if kind == "while":
        builder.line(f"{index} = 0")
        return builder.block(f"while {index} < trips:")
    if kind in ("stages", "flatten"):
        option = "num_stages=2" if kind == "stages" else "flatten=True"
        builder.use(f"tl.range({option})")
        return builder.block(f"for {index} in tl.range(0, trips, {option}):", plain)
    return builder.block(plain)


def _carried(builder: Builder, turns: int) -> list[Value]:
    """Returns the loop's carried values, which start as existing values or as zeros."""
    choices = builder.choices
    carried: list[Value] = []
    started: set[str] = set()
    start: Value | None = None
    for number in range(3):
        if number and not choices.chance(1, 2):
            break
        # Two names that begin as one value, of which one hands the other on.
        if start is None or not (choices.chance(1, 3) and builder.allowed("alias-start")):
            start = builder.some(
                lambda value: value.dtype in _STEPS and len(value.shape) in (0, 1, 2)
            )
        if start is None:
            break
        if start.name in started and not builder.allowed("alias-start"):
            continue
        step = _STEPS[start.dtype]
        if start.most > step * 4:
            start = tame(builder, start, 64)
        started.add(start.name)
        most = step * 4 + step * turns
        if not holds(start.dtype, -most, most):
            continue
        if start.shape and choices.chance(1, 2):
            carried.append(
                builder.let(
                    start.dtype, start.shape, (-most, most),
                    f"tl.zeros({list(start.shape)}, tl.{start.dtype})",
                    f"np.zeros({start.shape})",
                )
            )  # fmt: skip
        else:
            carried.append(builder.let(start.dtype, start.shape, (-most, most), start.name))
    return carried


def _update(builder: Builder, value: Value, carried: list[Value]) -> None:
    """Updates a carried value in one iteration."""
    choices = builder.choices
    step = _STEPS[value.dtype]
    matrix = len(value.shape) == 2 and min(value.shape) >= 16 and max(value.shape) <= 64
    aliases = 9 if "alias-start" in builder.tags else 3
    kinds = [("add", 5), ("set", 3), ("alias", aliases), ("select", 2), ("keep", 1), ("if", 1)]
    if matrix and value.dtype in ("float32", "int32"):
        kinds.append(("dot", 12))
    if len(value.shape) == 1 and value.dtype in ("float32", "int32"):
        # Triton leaves an integer row sum unchanged.
        kinds.append(("row-sum", 14 if value.dtype == "float32" else 2))
    kind = choices.weighted(kinds)
    if kind == "dot" and products.dot(builder, into=value, most=step) is not None:
        return
    if kind == "row-sum" and _row_sum(builder, value, step):
        return
    if kind == "alias":
        others = [one for one in carried if one.name != value.name]
        others = [
            one for one in others
            if (one.dtype, one.shape, one.high) == (value.dtype, value.shape, value.high)
        ]  # fmt: skip
        if others and builder.allowed("alias-carried"):
            builder.assign(value, choices.one_of(others).name)
            return
        kind = "add"
    if kind == "keep":
        return
    other = builder.some(
        lambda one: (one.dtype, one.shape) == (value.dtype, value.shape) and one.name != value.name
    )
    if other is None:
        other = memory.load(builder, *_loadable(value))
    if kind in ("set", "select", "if"):
        if other.most > value.most:
            other = tame(builder, other, 64)
        if kind == "set":
            builder.assign(value, other.name)
        elif kind == "if":
            builder.tags.add("loop-if")
            with builder.block(_condition(builder).join(("if ", ":"))):
                builder.assign(value, other.name)
        else:
            builder.assign(
                value, f"tl.where({value.name} > {other.name}, {value.name}, {other.name})",
                f"np.where({value.name} > {other.name}, {value.name}, {other.name})",
            )  # fmt: skip
        return
    # "add", also where a matmul or the sum of rows did not fit.
    if other.most > step:
        other = tame(builder, other, 64)
    builder.assign(value, f"{value.name} + {other.name}")
    builder.tags.add("loop-add")


def _row_sum(builder: Builder, value: Value, step: int) -> bool:
    """The sum along a tile's rows, added: a sum of which each thread may keep a part until the loop ends."""
    columns = builder.choices.one_of((16, 32, 64))
    if value.size * columns > LARGEST or not builder.allowed("loop-row-sum"):
        return False
    tile = memory.load(builder, value.dtype, (*value.shape, columns))
    if tile.most * columns > step:
        tile = tame(builder, tile, step // columns)
    builder.read(tile)
    total = builder.let(
        value.dtype, value.shape, (min(0, tile.low) * columns, max(0, tile.high) * columns),
        f"tl.sum({tile.name}, 1)", f"np.sum({tile.name}, 1)", "reduce-sum",
    )  # fmt: skip
    builder.read(total)
    if builder.choices.chance(1, 2):
        # Read during accumulation: each thread's part differs from the sum of the earlier iterations.
        memory.store(builder, value)
        builder.tags.add("loop-read")
    builder.assign(value, f"{value.name} + {total.name}")
    return True
