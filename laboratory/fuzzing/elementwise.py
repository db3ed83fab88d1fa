"""Statements that work on each element by itself: arithmetic, comparisons, selections, casts."""

from __future__ import annotations

from .builder import Builder, is_float
from .values import CARRIED, EXACT, FLOATS, INTEGERS, Value, holds

# Integers whose type a Python literal does not change, in any release: `triton-4613` affects the others.
WIDE = ("int32", "int64")
_COMPARED = ("<", ">", "==", "<=", "!=", ">=")


def tame(builder: Builder, value: Value, most: int, dtype: str = "") -> Value:
    """`value`, or one made of it whose magnitude is below `most`, a power of two; as `dtype` if it is given."""
    dtype = dtype or value.dtype
    if value.most <= most and holds(dtype, value.low, value.high):
        return value if dtype == value.dtype else cast(builder, value, dtype)
    wide = "int64" if value.dtype in ("int64", "float64") else "int32"
    kernel = value.name if value.dtype == wide else f"{value.name}.to(tl.{wide})"
    meaning = f"{value.name}.astype(np.{wide})"
    kernel, meaning = (f"({kernel} & {most - 1})", f"({meaning} & {most - 1})")
    if dtype != wide:
        kernel += f".to(tl.{dtype})"
    return builder.let(dtype, value.shape, (0, most - 1), kernel, meaning)


def cast(builder: Builder, value: Value, dtype: str) -> Value:
    """`value` as `dtype`, which holds it."""
    builder.tags.add(f"cast-{dtype}")
    made = builder.let(
        dtype, value.shape, (value.low, value.high), f"{value.name}.to(tl.{dtype})",
        f"{value.name}.astype(np.{CARRIED[dtype]})",
    )  # fmt: skip
    if value.dtype in ("int8", "uint8", "float8e5"):
        builder.widened.add(made.name)
    return made


def computable(value: Value) -> bool:
    """Whether the value has a type that Triton calculates with."""
    return value.dtype in (*INTEGERS, "float16", "bfloat16", "float32", "float64")


def extreme(builder: Builder, value: Value) -> bool:
    """Whether `tl.maximum` and `tl.minimum` may be asked of such a value."""
    return value.dtype != "bfloat16" or builder.allowed("max-bfloat16")


def comparable(builder: Builder, value: Value) -> bool:
    """Whether such a value may be compared."""
    return value.dtype != "int8" or builder.allowed("compare-int8")


def binary(builder: Builder) -> None:
    left = builder.some(computable)
    if left is None:
        return
    right = builder.like(left)
    signs = ["+", "-", "*", "minimum", "maximum"] + ([] if is_float(left) else ["&", "|", "^"])
    sign = builder.choices.one_of(signs)
    if sign in ("minimum", "maximum") and not extreme(builder, left):
        sign = "+"
    if sign in ("minimum", "maximum"):
        pick = min if sign == "minimum" else max
        builder.let(
            left.dtype, left.shape, (pick(left.low, right.low), pick(left.high, right.high)),
            f"tl.{sign}({left.name}, {right.name})", f"np.{sign}({left.name}, {right.name})",
        )  # fmt: skip
        return
    bounds = _bounds(sign, left, right)
    if not holds(left.dtype, *bounds):
        same = left.name == right.name
        left = tame(builder, left, 8)
        right = left if same else tame(builder, right, 8)
        bounds = _bounds(sign, left, right)
    builder.let(left.dtype, left.shape, bounds, f"{left.name} {sign} {right.name}")


def _bounds(sign: str, left: Value, right: Value) -> tuple[int, int]:
    if sign == "+":
        return left.low + right.low, left.high + right.high
    if sign == "-":
        return left.low - right.high, left.high - right.low
    if sign == "*":
        ends = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
        return min(ends), max(ends)
    # Bitwise operators: bounded by the operands' bit length.
    bits = max(abs(end).bit_length() for end in (left.low, left.high, right.low, right.high))
    negative = min(left.low, right.low) < 0
    return (-(2**bits) if negative else 0), 2**bits - 1


def with_literal(builder: Builder) -> None:
    """An integer and a literal in the source."""
    value = builder.some(lambda one: one.dtype in WIDE)
    if value is None:
        return
    number = 1 + builder.choices.below(8)
    name, low, high = value.name, value.low, value.high
    sign = builder.choices.one_of(("+", ">>", "//", "%", "<<", "abs", "not"))
    if sign == "+":
        value = tame(builder, value, 2**20)
        builder.let(
            value.dtype, value.shape, (value.low + number, value.high + number),
            f"{value.name} + {number}",
        )  # fmt: skip
    elif sign == ">>":
        builder.let(
            value.dtype, value.shape, (low >> number, high >> number), f"{name} >> {number}"
        )
    elif sign == "<<":
        value = tame(builder, value, 2**16)
        builder.let(
            value.dtype, value.shape, (value.low << number, value.high << number),
            f"{value.name} << {number}", f"{value.name} * {2**number}",
        )  # fmt: skip
    elif sign == "//":
        # Triton truncates, as C does.
        most = value.most // number
        bounds = (-most if low < 0 else 0, most if high > 0 else 0)
        meaning = f"np.sign({name}) * (np.abs({name}.astype(np.int64)) // {number})"
        builder.let(value.dtype, value.shape, bounds, f"{name} // {number}", meaning)
    elif sign == "%":
        bounds = (1 - number if low < 0 else 0, number - 1)
        meaning = f"np.sign({name}) * (np.abs({name}.astype(np.int64)) % {number})"
        builder.let(value.dtype, value.shape, bounds, f"{name} % {number}", meaning)
    elif sign == "abs":
        value = tame(builder, value, 2**20)
        bounds = (0, value.most)
        builder.let(
            value.dtype, value.shape, bounds, f"tl.abs({value.name})", f"np.abs({value.name})"
        )
    else:
        builder.let(value.dtype, value.shape, (-1 - high, -1 - low), f"~{name}")


def compare(builder: Builder) -> Value | None:
    """A truth value for each element."""
    left = builder.some(computable)
    if left is None or not comparable(builder, left):
        return None
    right = builder.like(left)
    sign = builder.choices.one_of(_COMPARED)
    return builder.let("int1", left.shape, (0, 1), f"{left.name} {sign} {right.name}")


def logic(builder: Builder) -> None:
    left = builder.some(lambda value: value.dtype == "int1")
    if left is None:
        return
    right = builder.like(left)
    sign = builder.choices.one_of("&|^")
    builder.let("int1", left.shape, (0, 1), f"{left.name} {sign} {right.name}")


def select(builder: Builder) -> None:
    """``tl.where``, on a new comparison or on an existing truth value."""
    left = builder.some(computable)
    if left is None:
        return
    right = builder.like(left)
    held = builder.some(lambda value: value.dtype == "int1" and value.shape == left.shape)
    if held is not None and builder.choices.chance(1, 2):
        condition = held.name
    elif not comparable(builder, left):
        return
    else:
        other = builder.like(left)
        condition = f"{left.name} {builder.choices.one_of(_COMPARED)} {other.name}"
    bounds = (min(left.low, right.low), max(left.high, right.high))
    builder.let(
        left.dtype, left.shape, bounds, f"tl.where({condition}, {left.name}, {right.name})",
        f"np.where({condition}, {left.name}, {right.name})",
    )  # fmt: skip


def convert(builder: Builder) -> None:
    """Converts to another type, which holds the value or a reduced one."""
    value = builder.some(lambda one: one.dtype != "int1" or one.shape != ())
    if value is None:
        return
    # A float of eight bits is refused as an integer by every release.
    kinds = FLOATS[:4] if value.dtype.startswith("float8") else (*INTEGERS, *FLOATS[:4])
    dtype = builder.choices.near([name for name in kinds if name != value.dtype])
    if not holds(dtype, value.low, value.high):
        most = {"int8": 64, "int16": 1024, "bfloat16": 128, "float16": 1024}
        value = tame(builder, value, most.get(dtype, 2**20))
    cast(builder, value, dtype)


def there_and_back(builder: Builder) -> None:
    """To a narrow type and to a wide one again, in one expression."""
    value = builder.some(lambda one: one.dtype in ("int32", "float32"))
    if value is None:
        return
    narrow = ["int16", "int8"] if value.dtype == "int32" else ["float16", "bfloat16", "int32"]
    # One narrow float to begin with: float8e5 is in every release, and converted otherwise on each target.
    if value.dtype == "float32":
        narrow.append("float8e5")
    dtype = builder.choices.one_of(narrow)
    most = {"int16": 1024, "int8": 64, "int32": 2**20}.get(dtype) or EXACT[dtype] // 2
    value = tame(builder, value, most)
    builder.tags.add(f"cast-{dtype}")
    carried = f"{value.name}.astype(np.{CARRIED[dtype]}).astype(np.{CARRIED[value.dtype]})"
    builder.let(
        value.dtype, value.shape, (value.low, value.high),
        f"{value.name}.to(tl.{dtype}).to(tl.{value.dtype})", carried,
    )  # fmt: skip


def clamp(builder: Builder) -> None:
    value = builder.some(lambda one: one.dtype == "float32")
    if value is None or not builder.has("tl.clamp"):
        return
    builder.use("tl.clamp")
    most = 1 + builder.choices.below(30)
    bounds = (max(-most, min(value.low, most)), min(most, max(value.high, -most)))
    builder.let(
        "float32", value.shape, bounds, f"tl.clamp({value.name}, -{most}.0, {most}.0)",
        f"np.clip({value.name}, -{most}, {most})", tag="clamp",
    )  # fmt: skip
