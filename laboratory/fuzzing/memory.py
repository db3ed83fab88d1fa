"""Statements that load and store: in bounds, with a value for every lane, and one writer for each place."""

from __future__ import annotations

from .builder import Builder
from .values import Value

# Bounds of loaded values: small, so that many can be summed.
LOADED = {
    "int32": (-50, 50), "float32": (-4, 4), "float16": (-3, 3), "int8": (-3, 3), "bfloat16": (-3, 3),
    "int16": (-40, 40), "int64": (-50, 50), "float64": (-9, 9),
}  # fmt: skip
_WORDS = ("int32", "float32", "int64", "float64")
# Sixteen warps.
MOST_THREADS = 512


def load(
    builder: Builder, dtype: str, shape: tuple[int, ...], bounds: tuple[int, int] | None = None
) -> Value:
    """Loads from a new tensor, each iteration of each block at another place; perhaps masked, with a default value."""
    low, high = bounds or LOADED[dtype]
    place, size = builder.place(shape)
    name = builder.input(dtype, size, low, high)
    if shape and builder.choices.chance(1, 4):
        axis = builder.choices.below(len(shape))
        limit = builder.choices.one_of(("lim", str(max(1, shape[axis] - 3))))
        mask = f"{builder.along(shape, axis)} < {limit}"
        # A mask that ends within the 16 bytes that a pipelined loop copies at a time; fewer than 4 it leaves alone.
        ragged = builder.slots[1] > 1 and axis == len(shape) - 1 and dtype in _WORDS
        if not ragged or builder.allowed("loop-mask"):
            if len(shape) > 1:
                mask = f"({mask}) & ({builder.offsets(shape)} >= 0)"
            kernel = f"tl.load({name} + {place}, mask={mask}, other=0)"
            return builder.let(
                dtype, shape, (min(0, low), max(0, high)), kernel,
                f"np.where({mask}, {name}[{place}], 0)", "mask",
            )  # fmt: skip
    return builder.let(dtype, shape, (low, high), f"tl.load({name} + {place})", f"{name}[{place}]")


def store(builder: Builder, value: Value) -> None:
    """Stores into a new tensor, each iteration of each block at another place."""
    builder.read(value)
    dtype = {"int1": "int8", "float8e5": "float32", "float8e4nv": "float32"}.get(
        value.dtype, value.dtype
    )
    kernel = value.name if dtype == value.dtype else f"{value.name}.to(tl.{dtype})"
    place, size = builder.place(value.shape)
    name = builder.output(dtype, size, -7)
    if value.shape and builder.choices.chance(1, 8):
        mask = f"{builder.along(value.shape, 0)} < lim"
        if len(value.shape) > 1:
            mask = f"({mask}) & ({builder.offsets(value.shape)} >= 0)"
        builder.line(
            f"tl.store({name} + {place}, {kernel}, mask={mask})",
            f"{name}[{place}] = np.where({mask}, {value.name}, {name}[{place}])",
        )
        builder.tags.add("store-mask")
        return
    builder.line(f"tl.store({name} + {place}, {kernel})", f"{name}[{place}] = {value.name}")


def atomic(builder: Builder) -> None:
    """Several lanes add to one place, where the order makes no difference; the old value is not read."""
    value = builder.some(lambda one: one.dtype == "int32" and len(one.shape) in (1, 2))
    if value is None:
        return
    index = builder.some(lambda one: one.dtype == "int32" and one.shape == value.shape) or value
    kind = builder.choices.one_of(("add", "max", "xor"))
    if kind == "add" and value.most > 2**12:
        kind = "max"
    place, size = builder.place((32,))
    first = place.rsplit(" + ", 1)[0]
    name = builder.output("int32", size, 0)
    at = f"{first} + ({index.name} & 31)"
    ufunc = {"add": "add", "max": "maximum", "xor": "bitwise_xor"}[kind]
    builder.line(
        f"tl.atomic_{kind}({name} + {at}, {value.name})",
        f"np.{ufunc}.at({name}, np.ravel({at}), np.ravel({value.name}))",
    )
    builder.tags.add(f"atomic-{kind}")


def fetched(builder: Builder) -> None:
    """An atomic at a separate place for each lane, and its returned old value: both results are known."""
    value = builder.some(lambda one: one.dtype == "int32" and len(one.shape) in (0, 1, 2))
    if value is None:
        return
    # Where there are fewer elements than threads, some hold copies.
    if value.shape and value.size < MOST_THREADS and not builder.allowed("atomic-result"):
        return
    # In a loop or a branch what was there before may take the place of what is brought.
    if value.shape and builder.depth and not builder.allowed("fetched-inside"):
        return
    choices = builder.choices
    kind = choices.one_of(("add", "max", "min", "xchg", "cas", "and", "or", "xor"))
    held = choices.one_of((0, -7, 5))
    place, size = builder.place(value.shape)
    name = builder.output("int32", size, held)
    at, other = f"{name}[{place}]", value.name
    if kind == "add" and value.most > 2**20:
        kind = "xchg"
    left = {
        "add": f"{at} + {other}", "max": f"np.maximum({at}, {other})", "min": f"np.minimum({at}, {other})",
        "xchg": other, "and": f"{at} & {other}", "or": f"{at} | {other}", "xor": f"{at} ^ {other}",
        "cas": f"np.where({at} == {other}, {other} + 1, {at})",
    }[kind]  # fmt: skip
    words = f"{other}, {other} + 1" if kind == "cas" else other
    if kind == "cas" and value.most > 2**20:
        return
    builder.let(
        "int32", value.shape, (held, held), f"tl.atomic_{kind}({name} + {place}, {words})", at,
        f"fetched-{kind}",
    )  # fmt: skip
    builder.meant(f"{at} = {left}")
    if not value.shape and choices.chance(1, 2):
        # A scalar's atomics are one thread's, so the second sees the first one's result.
        low, high = (-(2**31), 2**31 - 1)
        builder.let("int32", (), (low, high), f"tl.atomic_xchg({name} + {place}, {other})", at)
        builder.meant(f"{at} = {other}")
