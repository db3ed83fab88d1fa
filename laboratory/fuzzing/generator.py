"""A program from choices. Shapes that were bugs before weigh more; known ones are left out by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod

from . import blocks, control, elementwise, memory, products, reductions, shapes
from .builder import TRIPS, Builder
from .choices import Choices, Seeded
from .program import Program
from .values import FLOATS, INTEGERS, Value

# Raised when the same choices make another program: older recordings do not replay.
VERSION = 14
_MOST_STATEMENTS = 9
_CLUSTERS = "launch.num_ctas(num_ctas=2)"
_MOST_STORED = 6
# Elements of a tile.
_MOST_HELD = 32
# Statement, weight. Element-wise chains alone have shown no bug; they provide inputs for the others.
_FLAT: tuple[tuple[Callable[[Builder], object], int], ...] = (
    (elementwise.binary, 5), (elementwise.with_literal, 4), (elementwise.select, 3), (elementwise.convert, 2),
    (elementwise.there_and_back, 1), (elementwise.compare, 1), (elementwise.logic, 1), (elementwise.clamp, 1),
    (reductions.reduce, 5), (reductions.scan, 3), (reductions.paired, 2),
    (shapes.transpose, 3), (shapes.expand, 2), (shapes.reshape, 2),
    (shapes.join, 2), (shapes.split, 2), (shapes.flip, 2), (shapes.sort, 2), (shapes.gather, 2),
    (shapes.histogram, 1), (memory.atomic, 2), (memory.fetched, 2), (products.dot, 4), (products.chained, 2),
    (products.batched, 1), (blocks.pointer_load, 3), (blocks.pointer_store, 2), (blocks.advancing, 2),
    (blocks.descriptor_load, 3), (blocks.descriptor_store, 2),
)  # fmt: skip


def generate(
    choices: Choices, name: str, names: Collection[str], avoided: Collection[str] = ()
) -> Program:
    """Returns the program that `choices` make.

    Args:
        names: the language's names that all its releases have (as in language.json).
        avoided: tags of shapes that are known to fail, and are not made.
    """
    builder = Builder(choices, names, avoided)
    options = {
        "num_warps": choices.one_of((4, 4, 1, 2, 8, 8, 16)),
        "num_stages": choices.one_of((2, 3, 1, 4, 5)),
    }
    if builder.has(_CLUSTERS) and choices.chance(1, 16):
        # Blocks of a cluster, each with a part of every tensor: for targets that have them (Workers.compiles).
        builder.use(_CLUSTERS)
        builder.tags.add("num-ctas")
        options["num_ctas"] = 2
    numbers = {"lim": choices.below(33), "trips": choices.one_of((3, TRIPS, 2, 4, 1, 0))}
    lengths = (choices.one_of((16, 32, 64, 128)), choices.one_of((16, 32, 64)))
    choices.part(lambda: _load(builder, lengths))
    for _ in range(2):
        if choices.chance(2, 3):
            choices.part(lambda: _load(builder, lengths))
    for _ in range(_MOST_STATEMENTS):
        if not choices.chance(6, 7):
            break
        choices.part(lambda: _statement(builder))
    _store(builder)
    _give_warps(builder, options)
    kernel, meaning = builder.texts()
    return Program(
        name, kernel, meaning, (*builder.inputs, *builder.outputs), numbers, options,
        frozenset(builder.tags), frozenset(builder.needs), tuple(choices.taken), builder.claims,
    )  # fmt: skip


def _give_warps(builder: Builder, options: dict[str, int]) -> None:
    """Three of four programs whose largest tile is much for their threads get more of them.

    LLVM and ptxas take longer the more a thread holds: programs of more than 32 elements a thread were 29 in a hundred,
    and half of the time (300 of seed 5 on 3.6.0, 2026-11-24).
    """
    largest = max((prod(claim.shape) for claim in builder.claims.values()), default=1)
    enough = largest // (_MOST_HELD * 32)
    if options["num_warps"] < enough and builder.choices.chance(3, 4):
        options["num_warps"] = min(enough, 16)


def seeded(
    seed: int, number: int, names: Collection[str], avoided: Collection[str] = ()
) -> Program:
    """Program `number` of `seed`."""
    return generate(Seeded(seed, number), f"s{seed}-{number}", names, avoided)


def _load(builder: Builder, lengths: tuple[int, int]) -> None:
    rows, columns = lengths
    dtype = builder.choices.weighted(
        (("int32", 5), ("float32", 5), ("float16", 2), ("int8", 1), ("bfloat16", 1), ("int64", 1), ("int16", 1),
         ("float64", 1))
    )  # fmt: skip
    shape = builder.choices.weighted(
        (((rows,), 2), ((rows, columns), 5), ((columns,), 2), ((columns, rows), 1), ((), 1))
    )
    memory.load(builder, dtype, shape)


def _flat(builder: Builder) -> None:
    builder.choices.weighted(_FLAT)(builder)


def _loop(builder: Builder) -> None:
    control.loop(builder, _flat)


def _conditional(builder: Builder) -> None:
    control.conditional(builder, _flat)


def _statement(builder: Builder) -> None:
    builder.choices.weighted((*_FLAT, (_loop, 14), (_conditional, 4)))(builder)


def _store(builder: Builder) -> None:
    """Stores all unread values, which would otherwise be dead code, and a few others."""
    held = [value for value in reversed(builder.pool) if _storable(value)]
    unused = [value for value in held if builder.unused(value)]
    for value in (unused or held)[:_MOST_STORED]:
        memory.store(builder, value)
    for value in [value for value in held if value not in unused][:3]:
        if builder.choices.chance(1, 5):
            memory.store(builder, value)


def _storable(value: Value) -> bool:
    return value.dtype in (*INTEGERS, *FLOATS, "int1")
