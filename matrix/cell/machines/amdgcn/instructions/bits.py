"""Logic, shifts, bit fields, permutes of bytes and counts of vectors.

Rows: kind of the result, kinds of the sources, expression.
"""

from ..lowering import handles
from ..sources import arithmetic

arithmetic(
    {
        "v_mov_b32": ("u32", "u32", "{a}"),
        "v_not_b32": ("u32", "u32", "~{a}"),
        "v_and_b32": ("u32", "u32 u32", "{a} & {b}"),
        "v_or_b32": ("u32", "u32 u32", "{a} | {b}"),
        "v_xor_b32": ("u32", "u32 u32", "{a} ^ {b}"),
        "v_xnor_b32": ("u32", "u32 u32", "~({a} ^ {b})"),
        "v_and_or_b32": ("u32", "u32 u32 u32", "({a} & {b}) | {c}"),
        "v_or3_b32": ("u32", "u32 u32 u32", "{a} | {b} | {c}"),
        "v_xor3_b32": ("u32", "u32 u32 u32", "{a} ^ {b} ^ {c}"),
        "v_bfi_b32": ("u32", "u32 u32 u32", "({a} & {b}) | (~{a} & {c})"),
        "v_bfe_u32": ("u32", "u32 u32 u32", "bits.field({a}, {b}, {c})"),
        "v_bfe_i32": ("i32", "u32 u32 u32", "bits.signed_field({a}, {b}, {c})"),
        "v_bfm_b32": ("u32", "u32 u32", "((u4(1) << ({a} & u4(31))) - u4(1)) << ({b} & u4(31))"),
        "v_bfrev_b32": ("u32", "u32", "bits.reversed_bits({a})"),
        "v_bcnt_u32_b32": ("u32", "u32 u32", "bits.counted({a}) + {b}"),
        "v_ffbh_u32": ("u32", "u32", "bits.leading({a}, 32)"),
        "v_ffbl_b32": ("u32", "u32", "bits.lowest({a}, 32)"),
        "v_ffbh_i32": ("u32", "i32", "bits.leading_signs({a})"),
        "v_perm_b32": ("u32", "u32 u32 u32", "bits.perm({a}, {b}, {c})"),
        "v_alignbit_b32": (
            "u32",
            "u32 u32 u32",
            "((({a}.astype(u8) << u8(32)) | {b}) >> ({c} & u4(31)).astype(u8)).astype(u4)",
        ),
        "v_alignbyte_b32": (
            "u32",
            "u32 u32 u32",
            "((({a}.astype(u8) << u8(32)) | {b}) >> (({c} & u4(3)) * u4(8)).astype(u8)).astype(u4)",
        ),
        "v_lshlrev_b32": ("u32", "u32 u32", "{b} << ({a} & u4(31))"),
        "v_lshrrev_b32": ("u32", "u32 u32", "{b} >> ({a} & u4(31))"),
        "v_ashrrev_i32": ("i32", "u32 i32", "{b} >> ({a} & u4(31)).view(i4)"),
        "v_lshlrev_b64": ("u64", "u32 u64", "{b} << ({a} & u4(63)).astype(u8)"),
        "v_lshrrev_b64": ("u64", "u32 u64", "{b} >> ({a} & u4(63)).astype(u8)"),
        "v_ashrrev_i64": ("i64", "u32 i64", "{b} >> ({a} & u4(63)).astype(i8)"),
        "v_lshlrev_b16": ("u16", "u16 u16", "{b} << ({a} & u2(15))"),
        "v_lshrrev_b16": ("u16", "u16 u16", "{b} >> ({a} & u2(15))"),
        "v_ashrrev_i16": ("i16", "u16 i16", "{b} >> ({a} & u2(15)).view(i2)"),
        "v_lshl_add_u32": ("u32", "u32 u32 u32", "({a} << ({b} & u4(31))) + {c}"),
        "v_add_lshl_u32": ("u32", "u32 u32 u32", "({a} + {b}) << ({c} & u4(31))"),
        "v_lshl_or_b32": ("u32", "u32 u32 u32", "({a} << ({b} & u4(31))) | {c}"),
        "v_lshl_add_u64": ("u64", "u64 u32 u64", "({a} << ({b} & u4(7)).astype(u8)) + {c}"),
        "v_xad_u32": ("u32", "u32 u32 u32", "({a} ^ {b}) + {c}"),
        "v_mov_b64": ("u64", "u64", "{a}"),
        "v_and_b16": ("u16", "u16 u16", "{a} & {b}"),
        "v_or_b16": ("u16", "u16 u16", "{a} | {b}"),
        "v_xor_b16": ("u16", "u16 u16", "{a} ^ {b}"),
        "v_not_b16": ("u16", "u16", "~{a}"),
        "v_mov_b16": ("u16", "u16", "{a}"),
        "v_mbcnt_lo_u32_b32": ("u32", "u32 u32", "bits.mbcnt({a}, {b}, S.lanes, 0)"),
        "v_mbcnt_hi_u32_b32": ("u32", "u32 u32", "bits.mbcnt({a}, {b}, S.lanes, 32)"),
        "v_pack_b32_f16": ("u32", "u16 u16", "{a}.astype(u4) | ({b}.astype(u4) << u4(16))"),
    }  # fmt: skip
)


@handles("v_bitop3_b32", "v_bitop3_b16")
def _bitop3(low, name, instruction):
    """gfx950: any function of three bits, by its truth table at a * 4 + b * 2 + c."""
    kind = f"u{name[-2:]}"
    d, *operands = instruction.operands
    table = int(instruction.modifiers.get("bitop3") or "0", 0)
    a, b, c = (low.temporary(low.read(operand, kind)) for operand in operands)
    terms = []
    for row in range(8):
        if table >> row & 1:
            signs = [
                f"{'' if row >> shift & 1 else '~'}{operand}"
                for shift, operand in ((2, a), (1, b), (0, c))
            ]
            terms.append(f"({' & '.join(signs)})")
    low.write(d, " | ".join(terms) if terms else low.constant(0, kind), kind)
