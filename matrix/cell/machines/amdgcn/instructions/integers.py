"""Integers of vectors: sums, products, least and largest, carries.

Rows: kind of the result, kinds of the sources, expression.
"""

from ..lowering import handles
from ..operands import VCC
from ..sources import arithmetic, sources

arithmetic(
    {
        "v_add_u32": ("u32", "u32 u32", "{a} + {b}"),
        "v_sub_u32": ("u32", "u32 u32", "{a} - {b}"),
        "v_subrev_u32": ("u32", "u32 u32", "{b} - {a}"),
        "v_add_i32": ("i32", "i32 i32", "{a} + {b}"),
        "v_sub_i32": ("i32", "i32 i32", "{a} - {b}"),
        "v_add_i16": ("i16", "i16 i16", "{a} + {b}"),
        "v_sub_i16": ("i16", "i16 i16", "{a} - {b}"),
        "v_add3_u32": ("u32", "u32 u32 u32", "{a} + {b} + {c}"),
        "v_add_u16": ("u16", "u16 u16", "{a} + {b}"),
        "v_sub_u16": ("u16", "u16 u16", "{a} - {b}"),
        "v_subrev_u16": ("u16", "u16 u16", "{b} - {a}"),
        "v_mul_lo_u16": ("u16", "u16 u16", "{a} * {b}"),
        "v_mad_legacy_u16": ("u16", "u16 u16 u16", "{a} * {b} + {c}"),
        "v_mad_u16": ("u16", "u16 u16 u16", "{a} * {b} + {c}"),
        "v_max_u16": ("u16", "u16 u16", "np.maximum({a}, {b})"),
        "v_min_u16": ("u16", "u16 u16", "np.minimum({a}, {b})"),
        "v_max_i16": ("i16", "i16 i16", "np.maximum({a}, {b})"),
        "v_min_i16": ("i16", "i16 i16", "np.minimum({a}, {b})"),
        "v_mul_lo_u32": ("u32", "u32 u32", "{a} * {b}"),
        "v_mul_hi_u32": (
            "u32",
            "u32 u32",
            "(({a}.astype(u8) * {b}.astype(u8)) >> u8(32)).astype(u4)",
        ),
        "v_mul_hi_i32": (
            "i32",
            "i32 i32",
            "(({a}.astype(i8) * {b}.astype(i8)) >> i8(32)).astype(i4)",
        ),
        "v_mul_u32_u24": ("u32", "u32 u32", "bits.mul24({a}, {b}, False)"),
        "v_mul_i32_i24": ("u32", "u32 u32", "bits.mul24({a}, {b}, True)"),
        "v_mad_u32_u24": ("u32", "u32 u32 u32", "bits.mul24({a}, {b}, False) + {c}"),
        "v_mad_i32_i24": ("u32", "u32 u32 u32", "bits.mul24({a}, {b}, True) + {c}"),
        "v_mul_hi_u32_u24": (
            "u32",
            "u32 u32",
            "((({a} & u4(0xFFFFFF)).astype(u8) * ({b} & u4(0xFFFFFF)).astype(u8)) >> u8(32)).astype(u4)",
        ),
        "v_max_u32": ("u32", "u32 u32", "np.maximum({a}, {b})"),
        "v_min_u32": ("u32", "u32 u32", "np.minimum({a}, {b})"),
        "v_max_i32": ("i32", "i32 i32", "np.maximum({a}, {b})"),
        "v_min_i32": ("i32", "i32 i32", "np.minimum({a}, {b})"),
        "v_max3_u32": ("u32", "u32 u32 u32", "np.maximum(np.maximum({a}, {b}), {c})"),
        "v_min3_u32": ("u32", "u32 u32 u32", "np.minimum(np.minimum({a}, {b}), {c})"),
        "v_max3_i32": ("i32", "i32 i32 i32", "np.maximum(np.maximum({a}, {b}), {c})"),
        "v_min3_i32": ("i32", "i32 i32 i32", "np.minimum(np.minimum({a}, {b}), {c})"),
        "v_med3_i32": (
            "i32",
            "i32 i32 i32",
            "np.maximum(np.minimum({a}, {b}), np.minimum(np.maximum({a}, {b}), {c}))",
        ),
        "v_med3_u32": (
            "u32",
            "u32 u32 u32",
            "np.maximum(np.minimum({a}, {b}), np.minimum(np.maximum({a}, {b}), {c}))",
        ),
        "v_sad_u32": ("u32", "u32 u32 u32", "np.where({a} > {b}, {a} - {b}, {b} - {a}) + {c}"),
        "v_max3_i16": ("i16", "i16 i16 i16", "np.maximum(np.maximum({a}, {b}), {c})"),
        "v_min3_i16": ("i16", "i16 i16 i16", "np.minimum(np.minimum({a}, {b}), {c})"),
        "v_med3_i16": (
            "i16",
            "i16 i16 i16",
            "np.maximum(np.minimum({a}, {b}), np.minimum(np.maximum({a}, {b}), {c}))",
        ),
        "v_max3_u16": ("u16", "u16 u16 u16", "np.maximum(np.maximum({a}, {b}), {c})"),
        "v_min3_u16": ("u16", "u16 u16 u16", "np.minimum(np.minimum({a}, {b}), {c})"),
        "v_med3_u16": (
            "u16",
            "u16 u16 u16",
            "np.maximum(np.minimum({a}, {b}), np.minimum(np.maximum({a}, {b}), {c}))",
        ),
        "v_maxmin_i32": ("i32", "i32 i32 i32", "np.minimum(np.maximum({a}, {b}), {c})"),
        "v_minmax_i32": ("i32", "i32 i32 i32", "np.maximum(np.minimum({a}, {b}), {c})"),
        "v_maxmin_u32": ("u32", "u32 u32 u32", "np.minimum(np.maximum({a}, {b}), {c})"),
        "v_minmax_u32": ("u32", "u32 u32 u32", "np.maximum(np.minimum({a}, {b}), {c})"),
        "v_mad_i16": ("i16", "i16 i16 i16", "{a} * {b} + {c}"),
        "v_mad_legacy_i16": ("i16", "i16 i16 i16", "{a} * {b} + {c}"),
        "v_mad_i32_i16": ("i32", "i16 i16 i32", "{a}.astype(i4) * {b}.astype(i4) + {c}"),
        "v_mad_u32_u16": ("u32", "u16 u16 u32", "{a}.astype(u4) * {b}.astype(u4) + {c}"),
        "v_mul_hi_i32_i24": (
            "i32",
            "u32 u32",
            "(((({a} << u4(8)).view(i4) >> i4(8)).astype(i8) * (({b} << u4(8)).view(i4) >> i4(8))) >> i8(32))"
            ".astype(i4)",
        ),
        "v_sad_u8": ("u32", "u32 u32 u32", "bits.sum_of_differences({a}, {b}, 8) + {c}"),
        "v_sad_hi_u8": (
            "u32",
            "u32 u32 u32",
            "(bits.sum_of_differences({a}, {b}, 8) << u4(16)) + {c}",
        ),
        "v_sad_u16": ("u32", "u32 u32 u32", "bits.sum_of_differences({a}, {b}, 16) + {c}"),
        "v_prng_b32": ("u32", "u32", "({a} << u4(1)) ^ (({a} >> u4(31)) * u4(197))"),
        "v_add_nc_u64": ("u64", "u64 u64", "{a} + {b}"),
    }  # fmt: skip
)

# Name -> (sum, carry, whether a carry comes in, whether the sources are swapped).
_CARRIES = {
    "v_add_co_u32": ("{a}.astype(u8) + {b}", "({t} >> u8(32)) != 0", False, False),
    "v_addc_co_u32": ("{a}.astype(u8) + {b} + {k}", "({t} >> u8(32)) != 0", True, False),
    "v_sub_co_u32": ("{a}.astype(u8) - {b}", "{b} > {a}", False, False),
    "v_subrev_co_u32": ("{a}.astype(u8) - {b}", "{b} > {a}", False, True),
    "v_subb_co_u32": ("{a}.astype(u8) - {b} - {k}", "({b}.astype(u8) + {k}) > {a}", True, False),
    "v_subbrev_co_u32": ("{a}.astype(u8) - {b} - {k}", "({b}.astype(u8) + {k}) > {a}", True, True),
}


@handles(*_CARRIES)
def _carries(low, name, instruction):
    expression, flag, takes, swapped = _CARRIES[name]
    d, out, a, b, *rest = instruction.operands
    read, e = sources(low, instruction, ["u32", "u32"], [a, b])
    first, second = read[::-1] if swapped else read
    names = {"a": low.temporary(first), "b": low.temporary(second)}
    if takes:
        mask = low.mask(rest[0]) if rest else f"S.mask({VCC})"
        names["k"] = low.temporary(f"{mask}.astype(u8)")
    value = low.temporary(expression.format(**names))
    carry = low.temporary(f"S.whole({flag.format(t=value, **names)})")
    low.write_words(d, [f"{value}.astype(u4)"], e)
    low.write_mask(out, f"{carry} if {e} is None else {carry} & {e}")


@handles("v_mad_u64_u32", "v_mad_i64_i32")
def _mad64(low, name, instruction):
    d, out, a, b, c = instruction.operands
    raw = "u8" if name == "v_mad_u64_u32" else "i8"
    kind = "u32" if raw == "u8" else "i32"
    product = low.temporary(
        f"({low.read(a, kind)}.astype({raw}) * {low.read(b, kind)}.astype({raw})).view(u8)"
    )
    addend = low.temporary(low.read(c, "u64"))
    total = low.temporary(f"{product} + {addend}")
    low.write(d, total, "u64")
    # Bit 64 of the sum of 65 bits: for signed numbers the sign.
    carry = f"({total} < {product})"
    if raw == "i8":
        carry = f"({carry} ^ ((({product} ^ {addend}) >> u8(63)) != 0))"
    carry = low.temporary(carry)
    low.write_mask(out, f"S.whole({carry}) if e is None else {carry} & e")
